"""The lines of a mapping in block layout, by key. Lines between keys belong to no key.

Everything here is text: lines are moved and replaced, never parsed and rewritten.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_KEY = re.compile(
    r"""(?P<key>"(?:[^"\\]|\\.)+"|'(?:[^']|'')+'|[^\s"'\[\]{}#&*!|>%@`,?:-](?:[^:#]|:(?=\S)|(?<=\S)\#)*?)"""
    r"""[ ]*:(?=[ \t]|$)"""
).match
#: A line that is followed by the lines of a block scalar.
_BLOCK = re.compile(r".*[:-] +[|>][-+0-9]*[ ]*(?:#.*)?").fullmatch
_KEEPING = re.compile(r".*[:-] +[|>][0-9]?[+][0-9]?[ ]*(?:#.*)?").fullmatch


class KeyBlock:
    """A key with its lines, and the blank lines and comments between it and the next key."""

    __slots__ = ("after", "key", "rows", "width")

    def __init__(self, key: str, row: str, width: int) -> None:
        self.key = key
        self.rows = [row]
        self.after: list[str] = []
        #: The length of the first line up to and including the colon.
        self.width = width

    @property
    def head(self) -> str:
        """The first line up to its colon."""
        return self.rows[0][: self.width]

    @property
    def rest(self) -> str:
        """The rest of the first line after the colon."""
        return self.rows[0][self.width :]

    def keeps_blanks(self) -> bool:
        """Return whether blank lines that follow belong to the value: it ends with a ``|+`` block."""
        return not self.after and any("+" in row and _KEEPING(row) for row in self.rows)

    def note(self) -> str:
        """Return the comment after the value, with the space before it."""
        rest = self.rest
        value = rest.lstrip(" ")
        if value[:1] in {"", "#"}:
            return rest if value else ""
        if value[:1] in {'"', "'"}:
            return _tail("\n".join([value, *self.rows[1:]]))
        if value[:1] in {"|", ">", "[", "{"} or len(self.rows) == 1:
            return _comment(value)
        return _comment(self.rows[-1])

    def comments(self) -> list[str]:
        """Return the comments in the lines below the key, except text that only looks like one."""
        if self.rest.lstrip(" ")[:1] in {'"', "'"} or any(map(_BLOCK, self.rows)):
            return []
        return [row.lstrip(" ") for row in self.rows[1:] if row.lstrip(" ")[:1] == "#"]


class Layout:
    """A mapping as entries, with the lines before the first one."""

    __slots__ = ("entries", "head")

    def __init__(self, head: list[str], entries: list[KeyBlock]) -> None:
        self.head = head
        self.entries = entries

    def find(self, key: str) -> KeyBlock | None:
        """Return the entry of a key."""
        return next((entry for entry in self.entries if entry.key == key), None)

    def remove(self, entry: KeyBlock) -> None:
        """Remove an entry; the comments after it stay."""
        at = self.entries.index(entry)
        left = self.entries[at - 1].after if at else self.head
        left += entry.after
        del self.entries[at]

    def rows(self) -> list[str]:
        """Return all lines."""
        found = list(self.head)
        for entry in self.entries:
            found += entry.rows
            found += entry.after
        return found


def split(rows: Sequence[str], indent: int = 0) -> Layout | None:
    """Return the layout of the mapping with this indentation; None if it is not plain."""
    layout = Layout([], [])
    between = layout.head
    for row in rows:
        bare = row.lstrip(" ")
        depth = len(row) - len(bare)
        if not bare and layout.entries and layout.entries[-1].keeps_blanks():
            layout.entries[-1].rows.append(row)
        elif not bare or (bare[0] == "#" and (depth <= indent or not layout.entries)):
            between.append(row)
        elif layout.entries and (depth > indent or (depth == indent and _is_item(bare))):
            last = layout.entries[-1]
            last.rows += last.after
            last.rows.append(row)
            last.after.clear()
        elif not layout.entries and row == "---" and not indent:
            between.append(row)
        else:
            match = _KEY(bare) if depth == indent else None
            if match is None:
                return None
            entry = KeyBlock(_key(match["key"]), row, depth + match.end())
            layout.entries.append(entry)
            between = entry.after
    return layout


def keys_of(text: str) -> list[tuple[str, int]]:
    """Return the top-level keys with their lines; nothing if the layout is not plain."""
    layout = split(text.split("\n"))
    if layout is None:
        return []
    found, line = [], len(layout.head) + 1
    for entry in layout.entries:
        found.append((entry.key, line))
        line += len(entry.rows) + len(entry.after)
    return found


def _key(written: str) -> str:
    """Return an unquoted key; one with rare escapes stays as it is."""
    if written[0] == "'":
        return written[1:-1].replace("''", "'")
    if written[0] == '"':
        return re.sub(r"\\([\\\"])", r"\1", written[1:-1])
    return written


def _is_item(bare: str) -> bool:
    return bare == "-" or bare.startswith("- ")


def _comment(text: str) -> str:
    at = text.find(" #") if '"' not in text and "'" not in text else text.rfind(" #")
    if at < 0 or text[at:].count('"') % 2 or text[at:].count("'") % 2:
        return ""
    return text[len(text[:at].rstrip(" ")) :]


def _tail(text: str) -> str:
    """Return the comment after a quoted text."""
    quote, at = text[0], 1
    while at < len(text) and text[at] != quote:
        at += 2 if text[at] == "\\" and quote == '"' else 1
        if quote == "'" and text[at : at + 2] == "''":
            at += 2
    tail = text[at + 1 :]
    return tail if tail.lstrip(" ")[:1] == "#" else ""
