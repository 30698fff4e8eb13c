"""Turn a body or a query into the arguments of a route; refuse everything that is not exactly right.

JSON is parsed once, by the standard library, whose errors have a line and a column. Problems that it
accepts (repeated names, numbers without a finite value, lone surrogates) are located after one was found.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

import msgspec

from dibs.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

#: How deeply lists and objects may be nested.
MOST_DEPTH = 64
#: How many parameters a query may have.
MOST_PARAMETERS = 200
_WHERE = re.compile(r"(.*) - at `(key in )?\$(.*)`", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`", re.DOTALL)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[-+.\w]+|[\[\]{}:,]', re.DOTALL)
_DIGITS = 18
_PLAIN = {":", ",", "true", "false", "null"}


class _Refused(Exception):
    """Something that is valid JSON but not accepted."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Refused
    return found


def _refused(_: str) -> Any:
    raise _Refused


def _whole(text: str) -> int:
    if len(text) > _DIGITS + 1:
        raise _Refused
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if number - number != 0:
        raise _Refused
    return number


_parse = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_refused, parse_int=_whole, parse_float=_finite
).decode


def parse_json(body: bytes) -> Any:
    """Return the value of a JSON document; raise ``BadInput`` with line and column."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _wrong("it is not UTF-8", body.decode("latin-1"), error.start) from None
    if body.count(b"[") + body.count(b"{") > MOST_DEPTH:
        _check_depth(text)
    try:
        value = _parse(text)
    except json.JSONDecodeError as error:
        raise _wrong(error.msg, text, error.pos) from None
    except _Refused:
        raise _wrong(*_find_refused(text)) from None
    if "\\u" in text:
        _check_surrogates(text)
    return value


def _wrong(what: str, text: str, position: int) -> BadInput:
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    what = what[:1].lower() + what[1:]
    return BadInput(
        f"the body is not valid JSON: {what} (line {line}, column {column})", code="JSON"
    )


def _check_depth(text: str) -> None:
    depth = 0
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark in "[{":
            depth += 1
            if depth > MOST_DEPTH:
                raise BadInput(
                    f"the body is nested more than {MOST_DEPTH} levels deep", code="JSON_DEPTH"
                )
        elif mark in "]}":
            depth -= 1


def _check_surrogates(text: str) -> None:
    for token in _TOKEN.finditer(text):
        if "\\u" in token[0]:
            try:
                json.loads(token[0]).encode()
            except UnicodeEncodeError:
                raise _wrong("a lone surrogate is not a character", text, token.start()) from None


def _find_refused(text: str) -> tuple[str, str, int]:
    """Return what the parser refused, and where; the text before it is valid JSON."""
    seen: list[set[str]] = []
    previous = ""
    for token in _TOKEN.finditer(text):
        mark, at = token[0], token.start()
        if mark in "[{":
            seen.append(set())
        elif mark in "]}":
            seen.pop()
        elif mark[0] == '"':
            following = text[token.end() :].lstrip()[:1]
            names = following == ":" and previous in "{,"
            name = json.loads(mark) if names else ""
            if names and name in seen[-1]:
                return f"the name {name[:80]!r} is repeated", text, at
            if names:
                seen[-1].add(name)
        elif mark not in _PLAIN:
            try:
                _finite(mark) if set("eE.") & set(mark) else _whole(mark)
            except (_Refused, ValueError):
                return f"the number {mark[:20]} is too large or not a number", text, at
        previous = mark
    return "it has a value that is not allowed", text, 0


def decode_body(body: bytes, takes: type[Any]) -> Any:
    """Return the arguments in a JSON body."""
    return _converted(parse_json(body) if body else {}, takes, strict=True)


def query_decoder(takes: type[Any], common: Collection[str]) -> Callable[[bytes], Any]:
    """Return a function that decodes the query of a route, and returns its arguments and the common ones."""
    lists = {
        field.encode_name
        for field in msgspec.structs.fields(takes)
        if _is_list(msgspec.inspect.type_info(field.type))
    }
    known = frozenset(common)

    def decode(query: bytes) -> tuple[Any, dict[str, str]]:
        shared: dict[str, str] = {}
        own: dict[str, Any] = {}
        for name, value in pairs(query) if query else ():
            if name in lists:
                own.setdefault(name, []).append(value)
                continue
            place = shared if name in known else own
            if name in place:
                raise BadInput(f"the parameter {name[:80]!r} is repeated", field=name[:80])
            place[name] = value
        return _converted(own, takes, strict=False, known=known), shared

    return decode


def _is_list(info: msgspec.inspect.Type) -> bool:
    if isinstance(info, msgspec.inspect.Metadata):
        return _is_list(info.type)
    if isinstance(info, msgspec.inspect.UnionType):
        return any(_is_list(one) for one in info.types)
    return isinstance(info, (msgspec.inspect.ListType, msgspec.inspect.VarTupleType))


def pairs(query: bytes) -> list[tuple[str, str]]:
    """Return the parameters of a query."""
    found: list[tuple[str, str]] = []
    parts = [part for part in query.split(b"&") if part]
    if len(parts) > MOST_PARAMETERS:
        raise BadInput(f"the query has more than {MOST_PARAMETERS} parameters", code="LIMIT")
    for part in parts:
        name, _, value = part.partition(b"=")
        try:
            pair = [unquote_to_bytes(one.replace(b"+", b" ")).decode() for one in (name, value)]
        except UnicodeDecodeError:
            raise BadInput("the query is not UTF-8", code="BAD_INPUT") from None
        if "\0" in pair[0] or "\0" in pair[1]:
            raise BadInput("the query contains a NUL character", field=pair[0][:80])
        found.append((pair[0], pair[1]))
    return found


def _converted(value: Any, takes: type[Any], *, strict: bool, known: Collection[str] = ()) -> Any:
    try:
        return msgspec.convert(value, takes, strict=strict)
    except msgspec.ValidationError as error:
        raise explained(str(error), takes, known) from None


def explained(message: str, takes: type[Any], known: Collection[str] = ()) -> BadInput:
    """Return the error for what msgspec says."""
    where = _WHERE.fullmatch(message)
    what, place = (where[1], where[3].lstrip(".")) if where else (message, "")
    if (unknown := _UNKNOWN.fullmatch(what)) is not None:
        name = unknown[1]
        meant = [] if place else _similar(name, takes, known)
        return BadInput(
            f"unknown field {name[:80]!r}" + (f" in {place}" if place else ""),
            code="UNKNOWN_FIELD",
            field=name[:80],
            hint=f"did you mean {meant[0]}?" if meant else "see /api/v1/openapi.json",
        )
    if (missing := _MISSING.fullmatch(what)) is not None:
        name = f"{place}.{missing[1]}" if place else missing[1]
        return BadInput(f"the field {name} is missing", field=name)
    what = what[:1].lower() + what[1:].replace("`", "")
    return BadInput(f"{place}: {what}" if place else f"the body is wrong: {what}", field=place)


def _similar(name: str, takes: type[Any], known: Collection[str]) -> list[str]:
    from difflib import get_close_matches

    names = [field.encode_name for field in msgspec.structs.fields(takes)]
    return get_close_matches(name[:80], [*names, *known], 1, 0.5)
