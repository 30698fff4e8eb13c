"""Read the plain block layout in which nearly all tasks are written; give up on everything else.

It supports a top-level mapping at column 0, nested mappings and lists, one-line scalars, ``[a, b]``, ``|``
and simple ``>`` blocks, and comments. The full reader takes forty times as long. Both give the same result;
in case of doubt this one returns None, so it never reports an error.
"""

from __future__ import annotations

import re

from dibs.taskfile.document import MAX_DEPTH, MAX_NODES, NULLS, TaskDocument, depth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.taskfile.document import Lines, Node, Path

_ENTRY = re.compile(r"( *)([A-Za-z_][A-Za-z0-9_-]*):(?: +(.*))?").fullmatch
_ITEM = re.compile(r"( *)- +([^ ].*)").fullmatch
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_PLAIN_START = frozenset(_LETTERS + "0123456789_/.(+$~")
_NOT_IN_FLOW = re.compile(r"[][{}:#&*!|>%@`?\\]").search


class _Odd(Exception):
    """Raised for anything that the full reader must handle."""


def parse(text: str, most: int = MAX_NODES, before: int = 0) -> TaskDocument | None:
    """Return the tree of ``text``, or None if the full reader must handle it."""
    if "\t" in text:
        return None
    rows = text.split("\n")
    if rows[-1]:
        rows.append("")
    if 2 * len(rows) + text.count(",") > most:
        return None
    reader = _Reader(rows, before)
    try:
        top, at = reader.mapping(1 if rows[0] == "---" else 0, 0, ())
    except _Odd:
        return None
    return TaskDocument(top, reader.lines) if top and at == len(rows) else None


class _Reader:
    """One pass over the lines. Each method returns what it read, and the next line."""

    def __init__(self, rows: list[str], before: int = 0) -> None:
        self.rows, self.before = rows, before
        self.lines: Lines = {}

    def mapping(self, at: int, indent: int, path: Path) -> tuple[dict[str, Node], int]:
        rows, lines = self.rows, self.lines
        found: dict[str, Node] = {}
        if len(path) >= MAX_DEPTH - 1:
            raise _Odd
        while at < len(rows):
            row = rows[at]
            match = _ENTRY(row)
            if match is None or len(match[1]) != indent:
                if _is_empty(row):
                    at += 1
                    continue
                if depth(row) < indent and (match or row.lstrip(" ").startswith("- ")):
                    break
                raise _Odd
            _, key, value = match.groups()
            if key in found:
                raise _Odd
            here = (*path, key)
            at += 1
            lines[here] = at + self.before
            if not value or value[0] == "#":
                found[key], at = self.below(at, indent, here)
            elif value[0] in "|>":
                found[key], at = self.block(at, indent, value)
            else:
                found[key] = self.inline(value, here, lines[here])
        return found, at

    def below(self, at: int, indent: int, path: Path) -> tuple[Node, int]:
        """Read the value of a key that has nothing after its colon."""
        start = at
        while at < len(self.rows) and _is_empty(self.rows[at]):
            at += 1
        if at == len(self.rows):
            return None, start
        row = self.rows[at]
        deeper = depth(row)
        if row.startswith("- ", deeper) and deeper >= indent:
            return self.sequence(at, deeper, path)
        if deeper > indent:
            return self.mapping(at, deeper, path)
        return None, start

    def sequence(self, at: int, indent: int, path: Path) -> tuple[Node, int]:
        rows, lines = self.rows, self.lines
        found: list[Node] = []
        if len(path) >= MAX_DEPTH - 1:
            raise _Odd
        while at < len(rows):
            row = rows[at]
            match = _ITEM(row)
            if match is None or len(match[1]) != indent:
                if _is_empty(row):
                    at += 1
                    continue
                if depth(row) > indent:
                    raise _Odd
                break
            value = match[2]
            here = (*path, len(found))
            lines[here] = at + 1 + self.before
            if _ENTRY(value):
                rows[at] = " " * match.start(2) + value
                inner, at = self.mapping(at, match.start(2), here)
                found.append(inner)
            else:
                found.append(self.inline(value, here, lines[here]))
                at += 1
        return found, at

    def inline(self, value: str, path: Path, line: int) -> Node:
        """Read a value on one line."""
        first = value[0]
        if first in _PLAIN_START or first.isalpha():
            if " #" in value:
                value = value[: value.index(" #")]
            value = value.rstrip(" ")
            if ":" in value and (": " in value or value[-1] == ":"):
                raise _Odd
            return None if value in NULLS else value
        if first in "\"'":
            return _quoted(value, first)
        if first == "[":
            items = _flow(value)
            self.lines.update({(*path, at): line for at in range(len(items))})
            return items
        if value.rstrip(" ") == "{}":
            return {}
        raise _Odd

    def block(self, at: int, indent: int, header: str) -> tuple[str, int]:
        """Read a literal or folded scalar whose header is on the line before ``at``."""
        start, header = at, header.partition(" #")[0].rstrip(" ")
        if header not in {"|", "|-", "|+", ">", ">-"}:
            raise _Odd
        row = self.rows[at]
        margin = depth(row)
        if margin <= indent or not row[margin:]:
            raise _Odd
        content: list[str] = []
        while at < len(self.rows):
            row = self.rows[at]
            if row and (len(row) <= margin or not row.startswith(" " * margin)):
                if not row.strip(" "):
                    raise _Odd
                break
            content.append(row[margin:])
            at += 1
        return _text(content, header, last=at == len(self.rows)), start + len(content)


def _is_empty(row: str) -> bool:
    stripped = row.lstrip(" ")
    return not stripped or stripped[0] == "#"


def _quoted(value: str, quote: str) -> str:
    end = value.find(quote, 1)
    inner, rest = value[1:end], value[end + 1 :].rstrip(" ")
    if end < 0 or (quote == '"' and "\\" in inner):
        raise _Odd
    if rest and not (rest[0] == " " and rest.lstrip(" ")[0] == "#"):
        raise _Odd
    return inner


def _flow(value: str) -> list[Node]:
    value = value.partition(" #")[0].rstrip(" ")
    inner = value[1:-1]
    if value[-1] != "]" or _NOT_IN_FLOW(inner):
        raise _Odd
    return [_flow_item(item.strip(" ")) for item in inner.split(",")] if inner.strip(" ") else []


def _flow_item(item: str) -> str | None:
    if not item or item[0] == "-":
        raise _Odd
    if item[0] in "\"'" and len(item) > 1 and item[-1] == item[0]:
        item, quoted = item[1:-1], True
    else:
        quoted = False
    if '"' in item or "'" in item:
        raise _Odd
    return None if not quoted and item in NULLS else item


def _text(content: list[str], header: str, *, last: bool) -> str:
    """Join the lines of a block scalar as its header says."""
    if last:  # the text ends with a newline
        content = content[:-1]
    body = list(content)
    while body and not body[-1]:
        body.pop()
    if any(row and not row.strip(" ") for row in content):
        raise _Odd
    if header[0] == ">":
        if not all(row and row[0] != " " for row in body):
            raise _Odd
        joined = " ".join(body)
    else:
        joined = "\n".join(body)
    if header[1:] == "-":
        return joined
    kept = len(content) - len(body) if header[1:] == "+" else 0
    return joined + "\n" * (1 + kept)


def item_of(row: str) -> str | None:
    """Return the text of a list item's line, None if it is anything else."""
    match = _ITEM(row)
    if match is None:
        return None
    try:
        found = _Reader([]).inline(match[2], (), 0)
    except _Odd:
        return None
    return found if isinstance(found, str) else None
