"""What Dibs adds to one file, and how it removes it.

``put`` changes nothing if the addition is already there. ``take`` gets the original file, if known, and keeps
what was in it.
"""

from __future__ import annotations

from dibs.errors import BadInput
from dibs.install.entries import blocks, toml_edit
from dibs.install.entries.commands import is_our_hook, is_our_server
from dibs.install.entries.json_edit import Document
from dibs.install.entries.json_scan import Style, scan
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    class Piece(Protocol):
        """One addition to a file."""

        def put(self, text: str, name: str) -> str:
            """Return the text with it."""

        def take(self, text: str, name: str, before: str) -> str:
            """Return the text without it."""


#: The marks around our block in Markdown files.
MARKS = blocks.BlockMarkers("<!-- dibs:begin -->", "<!-- dibs:end -->")

_BOM = "\ufeff"


class HookEntries(Record):
    """Handlers in a table of events, each in an array."""

    groups: Mapping[str, tuple[Any, ...]]
    style: Style = Style()
    path: tuple[str, ...] = ("hooks",)

    def put(self, text: str, name: str) -> str:
        """Return the text with all handlers, which replace those of another installation."""
        document = Document(text or "{}\n", name, self.style)
        _drop(document, self.path, self.groups, before=text)
        for event, groups in self.groups.items():
            node = document.node((*self.path, event))
            there = node.value if node is not None else ()
            for group in groups:
                if group not in there:
                    document.append((*self.path, event), group)
        return document.text

    def take(self, text: str, name: str, before: str) -> str:
        """Return the text without our handlers."""
        document = Document(text, name, self.style)
        _drop(document, self.path, {}, before=before)
        return document.text


def _drop(
    document: Document, path: tuple[str, ...], wanted: Mapping[str, tuple[Any, ...]], *, before: str
) -> None:
    """Remove our unwanted handlers, and containers that become empty and were not in the original."""
    node = document.node(path)
    events = list(node.value) if node is not None and isinstance(node.value, dict) else []
    changed = False
    for event in events:
        keep = wanted.get(event, ())
        changed = _drop_event(document, (*path, event), keep) or changed
    if not changed:
        return
    was = Document(before or "{}", document.name, document.style)
    for event in [event for event in events if event not in wanted]:
        _drop_empty(document, (*path, event), was)
    if not wanted:
        _drop_empty(document, path, was)


def _drop_event(document: Document, path: tuple[str, ...], keep: tuple[Any, ...]) -> bool:
    node = document.node(path)
    groups = node.value if node is not None and isinstance(node.value, list) else []
    changed = False
    for index in range(len(groups) - 1, -1, -1):
        group = groups[index]
        if group in keep and group not in groups[:index]:
            continue  # the first of its kind
        inner = group.get("hooks") if isinstance(group, dict) else None
        handlers = inner if isinstance(inner, list) else [group]
        ours = [at for at, handler in enumerate(handlers) if is_our_hook(handler)]
        if ours and len(ours) == len(handlers):
            document.remove(path, index)
        elif ours:
            _drop_handlers(document, path, index, ours)
        changed = changed or bool(ours)
    return changed


def _drop_handlers(document: Document, path: tuple[str, ...], index: int, ours: list[int]) -> None:
    """Remove our handlers from a group that also contains the user's."""
    for at in reversed(ours):
        node = document.node(path)
        assert node is not None
        inner = node.children[index].node.child("hooks")
        assert inner is not None
        document.cut(inner.node, at)


def _drop_empty(document: Document, path: tuple[str, ...], was: Document) -> None:
    node = document.node(path)
    if node is not None and not node.children and was.node(path) is None:
        document.remove(path)


class McpEntry(Record):
    """An entry for our MCP server; a user's server with the same name stays."""

    path: tuple[str, ...]
    value: Any
    style: Style = Style()

    def put(self, text: str, name: str) -> str:
        """Return the text with the entry."""
        document = Document(text or "{}\n", name, self.style)
        node, value = document.node(self.path), self.value
        if node is not None and is_our_server(node.value):
            value = {**node.value, **value}  # such as variables that the user added
            if node.value != value:
                document.remove(self.path)
                node = None
        if node is None:
            document.put(self.path, value)
        return document.text

    def take(self, text: str, name: str, before: str) -> str:
        """Return the text without the entry."""
        document = Document(text, name, self.style)
        node = document.node(self.path)
        if node is not None and is_our_server(node.value):
            document.remove(self.path)
            was = Document(before or "{}", name, self.style)
            for length in range(len(self.path) - 1, 0, -1):
                _drop_empty(document, self.path[:length], was)
        return document.text


class Default(Record):
    """A value that a file must have; added if it has none."""

    path: tuple[str, ...]
    value: Any
    style: Style = Style()

    def put(self, text: str, name: str) -> str:
        """Return the text with the value."""
        document = Document(text or "{}\n", name, self.style)
        if document.node(self.path) is None:
            document.put(self.path, self.value)
        return document.text

    def take(self, text: str, name: str, before: str) -> str:
        """Return the text without the value, unless other entries in a file that we created need it."""
        document = Document(text, name, self.style)
        was = Document(before or "{}", name, self.style)
        node = document.node(self.path)
        if node is None or node.value != self.value or was.node(self.path) is not None:
            return text
        if before or document.root.value == {self.path[0]: self.value}:
            document.remove(self.path)
        return document.text


class Table(Record):
    """A table in TOML."""

    path: tuple[str, ...]
    values: Mapping[str, Any]

    def put(self, text: str, name: str) -> str:
        """Return the text with the table."""
        return toml_edit.put(text, self.path, self.values, name)

    def take(self, text: str, name: str, before: str) -> str:  # noqa: ARG002 - the marks are enough
        """Return the text without the table."""
        return toml_edit.take(text, name)


class NewTable(Record):
    """A table in TOML for a file that has none of that name; then it is the user's."""

    path: tuple[str, ...]
    values: Mapping[str, Any]

    def put(self, text: str, name: str) -> str:
        """Return the text with a table of that name."""
        if toml_edit.lookup(toml_edit.parse(text, name), self.path) is not None:
            return text
        return toml_edit.put(text, self.path, self.values, name)

    def take(self, text: str, name: str, before: str) -> str:  # noqa: ARG002 - the marks are enough
        """Return the text without our table."""
        return toml_edit.take(text, name)


class Block(Record):
    """A marked block in a file for people and agents."""

    text: str

    def put(self, text: str, name: str) -> str:
        """Return the text with the block."""
        return blocks.put(text, self.text, MARKS, name)

    def take(self, text: str, name: str, before: str) -> str:  # noqa: ARG002 - the marks are enough
        """Return the text without the block."""
        return blocks.take(text, MARKS, name)


class WholeFile(Record):
    """A file that is entirely ours; a user's file with this name is left alone."""

    text: str
    #: A line that identifies what we wrote; without a mark, the file is the user's once it exists.
    mark: str = ""

    def put(self, text: str, name: str) -> str:
        """Return our text, or the user's."""
        if text and self.mark not in text:
            raise BadInput(
                f"{name} already exists, and Dibs did not write it",
                code="SETTINGS_INVALID",
                field=name,
                hint="move it, or name other agents with --agents",
            )
        return text if text and not self.mark else self.text

    def take(self, text: str, name: str, before: str) -> str:  # noqa: ARG002 - all or nothing
        """Return an empty text if the file is as we wrote it; else the user's version."""
        return "" if text == self.text else text


def put_all(pieces: tuple[Piece, ...], content: bytes, name: str) -> bytes:
    """Return the content of a file with all pieces added."""
    bom, text = _decoded(content, name)
    for piece in pieces:
        if bom and isinstance(piece, HookEntries | McpEntry | Default) and not piece.style.mark:
            scan(bom + text, name, piece.style)  # raises an error that says what is wrong
        text = piece.put(text, name)
    return (bom + text).encode()


def take_all(pieces: tuple[Piece, ...], content: bytes, name: str, before: bytes) -> bytes:
    """Return the content of a file without the pieces; empty if nothing else is left."""
    bom, given = _decoded(content, name)
    _, was = _decoded(before, name)
    text = given
    for piece in reversed(pieces):
        text = piece.take(text, name, was) if text else text
    if text == given:
        return content
    if text.strip() in {"", "{}"} and not was:
        return b""
    return (bom + text).encode()


def _decoded(content: bytes, name: str) -> tuple[str, str]:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadInput(
            f"{name}:{line}: the text is not UTF-8",
            code="SETTINGS_INVALID",
            field=name,
            hint="fix that line or move the file; nothing was changed",
        ) from None
    return (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
