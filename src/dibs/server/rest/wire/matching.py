"""Find the route of a request. The path is split before it is decoded, so that ``%2F`` is not a separator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote_to_bytes

from dibs.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: The type of the last parameter that takes the rest of the path.
_REST = ":path}"


class Match(NamedTuple):
    """The endpoint of a request; without one, the methods that its path allows."""

    endpoint: Any
    values: Mapping[str, str]
    allowed: tuple[str, ...] = ()


class _Shape(NamedTuple):
    """One path with parameters."""

    segments: tuple[str, ...]
    rest: str
    methods: dict[str, Any]


class RouteTable:
    """Endpoints by method and path."""

    def __init__(self, routes: Iterable[tuple[str, str, Any]]) -> None:
        self._fixed: dict[str, dict[str, Any]] = {}
        self._shapes: dict[str, list[_Shape]] = {}
        for method, path, endpoint in routes:
            self._methods(path)[method] = endpoint
        for shapes in self._shapes.values():
            # A fixed word wins over a parameter, and a parameter over the rest of the path.
            shapes.sort(key=lambda one: (bool(one.rest), [s[:1] == "{" for s in one.segments]))

    def find(self, method: str, path: str) -> Match | None:
        """Return the endpoint for a raw path, which is still percent-encoded."""
        method = "GET" if method == "HEAD" else method
        fixed = self._fixed.get(path)
        if fixed is not None and method in fixed:
            return Match(fixed[method], {})
        allowed: list[str] = []
        given = path[1:].split("/")
        for shape in self._shapes.get(_anchor(given), ()):
            values = _fit(shape, given)
            if values is None:
                continue
            if method in shape.methods:
                return Match(shape.methods[method], {k: decoded(v) for k, v in values.items()})
            allowed = allowed or list(shape.methods)
        allowed = list(fixed or allowed)
        return Match(None, {}, tuple(sorted(set(allowed)))) if allowed else None

    def _methods(self, path: str) -> dict[str, Any]:
        if "{" not in path:
            return self._fixed.setdefault(path, {})
        segments = path[1:].split("/")
        rest = segments.pop()[1 : -len(_REST)] if segments[-1].endswith(_REST) else ""
        known = self._shapes.setdefault(_anchor(segments), [])
        for shape in known:
            if shape.segments == tuple(segments) and shape.rest == rest:
                return shape.methods
        known.append(_Shape(tuple(segments), rest, {}))
        return known[-1].methods


def raw_path(scope: Mapping[str, Any]) -> str:
    """Return the path as it was sent; raise if it is not what a client sends."""
    raw: bytes | None = scope.get("raw_path")
    if raw is None:
        return quote(scope["path"])
    return raw.partition(b"?")[0].decode("latin-1")


def decoded(text: str) -> str:
    """Return a part of the path without percent-encoding."""
    if "%" not in text and text.isascii():
        return text
    try:
        found = unquote_to_bytes(text.encode("latin-1")).decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput("the path is not UTF-8", code="PATH_ENCODING") from None
    if "\0" in found:
        raise BadInput("the path contains a NUL byte", code="PATH_NUL")
    return found


def _anchor(segments: list[str]) -> str:
    """Return the words of a path by which its routes are found: ``api``, the version, and the noun."""
    return "/".join(segments[:3])


def _fit(shape: _Shape, given: list[str]) -> dict[str, str] | None:
    count = len(shape.segments)
    if len(given) <= count if shape.rest else len(given) != count:
        return None
    values: dict[str, str] = {}
    for wanted, have in zip(shape.segments, given, strict=False):
        if wanted[:1] == "{":
            if not have:
                return None
            values[wanted[1:-1]] = have
        elif wanted != have:
            return None
    if shape.rest:
        values[shape.rest] = "/".join(given[count:])
        if not values[shape.rest]:
            return None
    return values
