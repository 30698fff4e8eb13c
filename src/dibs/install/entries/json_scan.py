"""Read JSON so that it can be changed in place: each value with its position.

Comments and trailing commas are accepted only if the file's agent accepts them: a hook in a file that its
agent cannot read protects nothing.
"""

from __future__ import annotations

import json
import re

from dibs.errors import BadInput
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

#: The deepest nesting, which protects the stack.
_DEPTH = 64

_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"')
_PLAIN = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")
_BLANK = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)


class Style(Record):
    """The JSON extensions that an agent accepts."""

    comments: bool = False
    #: Whether trailing commas are allowed.
    trailing: bool = False
    #: Whether a byte order mark and duplicate names are allowed.
    mark: bool = False
    twice: bool = True


#: Everything that any agent accepts.
ANY = Style(comments=True, trailing=True, mark=True)

_BOM = "\ufeff"
_EARLY = "unexpected end of file"


class JsonValue(Record):
    """A value from ``start`` to ``end``, and its entries."""

    start: int
    end: int
    value: Any
    children: tuple[JsonEntry, ...] = ()

    def child(self, key: str) -> JsonEntry | None:
        """Return the entry with this name; of duplicates, the last one, which counts."""
        return next((child for child in reversed(self.children) if child.key == key), None)


class JsonEntry(Record):
    """An entry of an object, including its key, or of an array, without one."""

    key: str
    start: int
    node: JsonValue

    @property
    def end(self) -> int:
        """Where its value ends."""
        return self.node.end


def scan(text: str, name: str, style: Style) -> JsonValue:
    """Return the value of a whole file; messages call it ``name``."""
    reader = _Reader(text, name, style)
    if text.startswith(_BOM) and not style.mark:
        reader.fail(0, "it starts with a byte order mark, which its agent does not accept")
    root = reader.value(reader.skip(len(_BOM) if text.startswith(_BOM) else 0), 0)
    if reader.skip(root.end) != len(text):
        reader.fail(reader.skip(root.end), "unexpected text after its end")
    return root


def skip_blank(text: str, at: int) -> int:
    """Return the position of the first non-blank character at or after ``at``."""
    found = _BLANK.match(text, at)
    return found.end() if found else at


def comment_end(text: str, at: int) -> int:
    """Return the end of the comment at ``at``; ``at`` itself if there is none."""
    found = _COMMENT.match(text, at)
    return found.end() if found else at


def skip_all(text: str, at: int) -> int:
    """Return the position of the first character at or after ``at`` that is not blank or a comment."""
    while True:
        blank = skip_blank(text, at)
        at = comment_end(text, blank)
        if at == blank:
            return at


class _Reader:
    """One pass over one text."""

    def __init__(self, text: str, name: str, style: Style) -> None:
        self.text = text
        self._name = name
        self._style = style

    def fail(self, at: int, why: str) -> NoReturn:
        line = self.text.count("\n", 0, at) + 1
        raise BadInput(
            f"{self._name}:{line}: invalid JSON: {why}",
            code="SETTINGS_INVALID",
            field=self._name,
            hint="fix that line or move the file; nothing was changed",
        )

    def skip(self, at: int) -> int:
        found = skip_all(self.text, at)
        if not self._style.comments and found != skip_blank(self.text, at):
            self.fail(skip_blank(self.text, at), "its agent does not accept comments in this file")
        return found

    def value(self, at: int, depth: int) -> JsonValue:
        if depth > _DEPTH:
            self.fail(at, f"it is nested more than {_DEPTH} levels deep")
        mark = self.text[at : at + 1]
        if mark in {"{", "["}:
            return self._container(at, depth)
        found = (_STRING if mark == '"' else _PLAIN).match(self.text, at)
        if found is None:
            self.fail(at, "a value is missing" if mark else _EARLY)
        return JsonValue(at, found.end(), json.loads(found.group()))

    def _container(self, start: int, depth: int) -> JsonValue:
        """Read an object or an array."""
        keyed = self.text[start] == "{"
        closing = "}" if keyed else "]"
        children: list[JsonEntry] = []
        at = self.skip(start + 1)
        while self.text[at : at + 1] != closing:
            key, begin = self._key(at, children) if keyed else ("", at)
            node = self.value(begin, depth + 1)
            children.append(JsonEntry(key, at, node))
            at = self._next(node.end, closing)
        named = {child.key: child.node.value for child in children}
        value = named if keyed else [child.node.value for child in children]
        return JsonValue(start, at + 1, value, tuple(children))

    def _key(self, at: int, before: list[JsonEntry]) -> tuple[str, int]:
        """Return a name and the position of its value."""
        found = _STRING.match(self.text, at)
        if found is None:
            self.fail(at, "a name in double quotes is missing" if at < len(self.text) else _EARLY)
        key = json.loads(found.group())
        if not self._style.twice and any(child.key == key for child in before):
            self.fail(at, f"{found.group()} appears twice, which its agent does not accept")
        colon = self.skip(found.end())
        if self.text[colon : colon + 1] != ":":
            self.fail(colon, "a colon is missing")
        return key, self.skip(colon + 1)

    def _next(self, at: int, closing: str) -> int:
        """Return the position of the next entry or of the closing bracket."""
        at = self.skip(at)
        mark = self.text[at : at + 1]
        if mark == closing:
            return at
        if mark != ",":
            self.fail(at, "a comma is missing" if mark else _EARLY)
        after = self.skip(at + 1)
        if self.text[after : after + 1] == closing and not self._style.trailing:
            self.fail(at, "trailing comma")
        return after
