"""The paths that a text in a tool's arguments may mean: as written, as a URI, or with a line number. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST, _LONGEST_EXTENSION = 4096, 8
#: How many paths are read from one text.
_MOST_PARTS = 200
#: Schemes of URIs that are never files here.
_REMOTE = frozenset((
    *("http", "https", "ws", "wss", "ssh", "git", "ftp", "s3", "gs", "data", "mailto"),
))  # fmt: skip


def is_pathlike(text: str) -> bool:
    """Return whether a text looks like a path: it has no space, and a slash or an extension."""
    if not text or len(text) > _LONGEST or any(c.isspace() for c in text):
        return False
    if text[:5].lower() == "file:":
        return True
    if "://" in text or text.startswith("-"):
        return False
    name = text.replace("\\", "/").rstrip("/").rpartition("/")[2]
    stem, _, extension = name.rpartition(".")
    short = extension.isalnum() and len(extension) <= _LONGEST_EXTENSION
    return "/" in text or "\\" in text or bool(stem and short)


def candidate_paths(text: str) -> Iterator[str]:
    """Yield the paths that a text may mean, such as ``src/a.py`` for ``file:src/a.py#L3``."""
    parts = text.replace(",", " ").replace(";", " ").replace("|", " ").split()
    several = len(parts) > 1 and all(is_pathlike(_bare(part)) for part in parts)
    for part in parts[:_MOST_PARTS] if several else (text,):
        yield from dict.fromkeys(_with_variants(_bare(part)))


def _bare(text: str) -> str:
    return text.strip().strip("'\"`<>()").removeprefix("@")


def _with_variants(text: str) -> Iterator[str]:
    for one in _decoded(text):
        if not one:
            continue
        yield one
        short = _without_position(one)
        if short != one:
            yield short
        if "\\" in one:
            yield from (short.replace("\\", "/"), one.replace("\\", "/"))
        if short.startswith("/"):
            yield short.lstrip("/")
        if short.startswith("$") and "/" in short:  # ${workspaceFolder}/src/a.py
            yield short.partition("/")[2]


def _decoded(text: str) -> Iterator[str]:
    """Yield a text, and the path in it if it is a URI or has escapes."""
    scheme, colon, rest = text.partition(":")
    if text[:5].lower() == "file:":
        from dibs.core.patterns.spelling import file_path

        yield file_path(text, literal=True).removeprefix("./")
        yield rest.lstrip("/")
    elif colon and len(scheme) > 1 and rest.startswith("/") and scheme.lower() not in _REMOTE:
        yield from (rest, rest.lstrip("/"))
    yield text
    if "%" in text:
        from urllib.parse import unquote

        plain = unquote(rest if rest.startswith("/") else text)
        if "\0" not in plain:
            yield plain


def _without_position(text: str) -> str:
    """Return a path without a line, a column, a fragment, or a query after it."""
    head = text.partition("#")[0].partition("?")[0]
    while True:
        shorter, colon, last = head.rpartition(":")
        if not colon or not last.lstrip("L").replace("-", "").isdigit():
            break
        head = shorter
    shorter, bracket, last = head.rpartition("(")
    if bracket and last.rstrip(")").replace(",", "").isdigit():
        head = shorter
    return head
