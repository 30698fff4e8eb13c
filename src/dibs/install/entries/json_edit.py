"""Add entries to JSON and remove them; every other byte stays.

Existing order, comments, indentation, and line endings stay; new entries follow them.
"""

from __future__ import annotations

import json

from dibs.errors import BadInput
from dibs.install.entries.json_scan import Style, comment_end, scan, skip_all, skip_blank

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.install.entries.json_scan import JsonEntry, JsonValue


class Document:
    """The text of one settings file; messages call it ``name``."""

    def __init__(self, text: str, name: str, style: Style | None = None) -> None:
        self.text = text
        self.name = name
        self.style = style or Style()
        self.root = self._scanned()

    def _scanned(self) -> JsonValue:
        root = scan(self.text, self.name, self.style)
        if not isinstance(root.value, dict):
            raise _wrong(self, root.start, "the top level is not an object")
        return root

    # -- reading

    def node(self, path: Sequence[str]) -> JsonValue | None:
        """Return the value at a path of names; None if there is none."""
        node = self.root
        for key in path:
            child = node.child(key) if isinstance(node.value, dict) else None
            if child is None:
                return None
            node = child.node
        return node

    # -- adding

    def put(self, path: Sequence[str], value: Any) -> None:
        """Add a value at a path that does not exist, with the objects above it."""
        node, length = self.root, 0
        while length < len(path) - 1 and (child := self.node(path[: length + 1])) is not None:
            node, length = child, length + 1
            if not isinstance(node.value, dict):
                raise _wrong(self, node.start, f"{'.'.join(path[:length])} is not an object")
        for key in reversed(path[length + 1 :]):
            value = {key: value}
        self._insert(node, path[length], value)

    def append(self, path: Sequence[str], item: Any) -> None:
        """Append an item to the array at a path; create it if needed."""
        node = self.node(path)
        if node is None:
            self.put(path, [item])
        elif isinstance(node.value, list):
            self._insert(node, None, item)
        else:
            raise _wrong(self, node.start, f"{'.'.join(path)} is not an array")

    def _insert(self, node: JsonValue, key: str | None, value: Any) -> None:
        text, newline = self.text, "\r\n" if "\r\n" in self.text else "\n"
        body = text[node.start + 1 : node.end - 1]
        inline = "\n" not in body and (
            bool(node.children) or (node != self.root and "\n" not in text.strip())
        )
        closing, unit = self._indent_of(node), self._unit()
        inner = self._child_indent(node) or closing + unit
        name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
        if inline:
            added = name + json.dumps(value, ensure_ascii=False)
        else:
            shown = json.dumps(value, ensure_ascii=False, indent=unit).replace(
                "\n", newline + inner
            )
            added = f"{newline}{inner}{name}{shown}"
        if node.children:
            self._behind(node.children[-1], f" {added}" if inline else added)
            return
        at = _last_comment(text, node)
        if "\n" not in text[at : node.end - 1] and not inline:
            added += newline + closing
        self._replace(at, at, added)

    def _behind(self, last: JsonEntry, added: str) -> None:
        """Add text after an entry and its comment, with a comma; keep a trailing comma."""
        at = skip_all(self.text, last.end)
        comma = self.text[at] == ","
        end = _line_end(self.text, at + 1 if comma else last.end)
        if not comma:
            added = self.text[last.end : end] + added
            self._replace(last.end, end, f",{added}")
        else:
            self._replace(end, end, f"{added},")

    def _replace(self, start: int, end: int, new: str) -> None:
        self.text = self.text[:start] + new + self.text[end:]
        self.root = self._scanned()

    def _unit(self) -> str:
        """Return the indentation of one level."""
        found = self._child_indent(self.root)
        return found if found and not found.strip() else "  "

    def _child_indent(self, node: JsonValue) -> str:
        for child in node.children:
            begin = self.text.rfind("\n", 0, child.start) + 1
            if begin > node.start and not self.text[begin : child.start].strip(" \t"):
                return self.text[begin : child.start]
        return ""

    def _indent_of(self, node: JsonValue) -> str:
        """Return the indentation of the line on which a container closes."""
        begin = self.text.rfind("\n", 0, node.end) + 1
        line = self.text[begin : node.end]
        return line[: len(line) - len(line.lstrip(" \t"))]

    # -- removing

    def remove(self, path: Sequence[str], index: int | None = None) -> None:
        """Remove the entry at a path, or one item of the array there."""
        node = self.node(path if index is not None else path[:-1])
        assert node is not None
        if index is None:
            at = max(at for at, child in enumerate(node.children) if child.key == path[-1])
        else:
            at = index
        self.cut(node, at)

    def cut(self, node: JsonValue, index: int) -> None:
        """Remove one entry of an object or array, and its comma."""
        text, child = self.text, node.children[index]
        before = node.children[index - 1].end if index else node.start + 1
        start, is_open = _before(text, before, child.start)
        behind = skip_all(text, child.end)
        end = behind + 1 if text[behind] == "," else child.end
        kept = text[child.end : behind] if end > child.end else ""
        kept = kept if kept.strip() else ""
        if is_open and not (kept + text[end:]).lstrip(" \t\r").startswith("\n"):
            start = text.index("\n", start) + 1
        if index + 1 == len(node.children) and index and end == child.end:
            previous = node.children[index - 1]
            comma = skip_all(text, previous.end)
            between = text[previous.end : comma] + text[comma + 1 : start]
            start, kept = previous.end, between + kept
        if not (text[node.start + 1 : start] + kept + text[end : node.end - 1]).strip():
            start, end, kept = node.start + 1, node.end - 1, ""
        self._replace(start, end, kept)


def _last_comment(text: str, node: JsonValue) -> int:
    """Return the end of the last comment in an empty container, or the start of its content."""
    last = at = node.start + 1
    while True:
        blank = skip_blank(text, at)
        at = comment_end(text, blank)
        if at == blank:
            return last
        last = at


def _line_end(text: str, at: int) -> int:
    """Return the end of the comments that follow on the same line."""
    while True:
        blank = at
        while text[blank : blank + 1] in {" ", "\t"}:
            blank += 1
        end = comment_end(text, blank)
        if end == blank or "\n" in text[blank:end]:
            return at
        at = end


def _before(text: str, at: int, end: int) -> tuple[int, bool]:
    """Return the start of the blanks before ``end``, and whether a comment there needs its newline."""
    last = at
    is_open = False
    while (blank := skip_blank(text, at)) < end:
        at = comment_end(text, blank)
        is_open = text.startswith("//", blank)
        if at == blank:  # the comma
            at += 1
        last = at
    return last, is_open


def _wrong(document: Document, at: int, why: str) -> BadInput:
    line = document.text.count("\n", 0, at) + 1
    return BadInput(
        f"{document.name}:{line}: {why}",
        code="SETTINGS_INVALID",
        field=document.name,
        hint="fix that line, because the agent cannot read it; nothing was changed",
    )
