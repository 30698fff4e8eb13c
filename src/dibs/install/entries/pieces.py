"""What Dibs puts into one file: how it is added, and how it is removed.

A piece turns the bytes of a file into others and back. ``put`` on what holds it already changes nothing.
``take`` is told how the file was before, as far as that is known, and keeps what was there then.
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
        """One addition of Dibs to a file."""

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
        """Return the text with all handlers; those of another installation go."""
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
        """Return the text without any handler of ours."""
        document = Document(text, name, self.style)
        _drop(document, self.path, {}, before=before)
        return document.text


def _drop(
    document: Document, path: tuple[str, ...], wanted: Mapping[str, tuple[Any, ...]], *, before: str
) -> None:
    """Remove our handlers that are not wanted, and containers that are empty then and are new."""
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
    """Remove our handlers from a group that also has the user's."""
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
    """An entry for our MCP server; a server of the user with its name stays."""

    path: tuple[str, ...]
    value: Any
    style: Style = Style()

    def put(self, text: str, name: str) -> str:
        """Return the text with the entry."""
        document = Document(text or "{}\n", name, self.style)
        node, value = document.node(self.path), self.value
        if node is not None and is_our_server(node.value):
            value = {**node.value, **value}  # such as variables that its user added
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
    """A value that a file must have; put in where there is none."""

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
        """Return the text without the value; what others put into a file that we made needs it still."""
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

    def take(self, text: str, name: str, before: str) -> str:  # noqa: ARG002 - the marks say all
        """Return the text without the table."""
        return toml_edit.take(text, name)


class Block(Record):
    """A block between marks in a file for people and agents."""

    text: str

    def put(self, text: str, name: str) -> str:
        """Return the text with the block."""
        return blocks.put(text, self.text, MARKS, name)

    def take(self, text: str, name: str, before: str) -> str:  # noqa: ARG002 - the marks say all
        """Return the text without the block."""
        return blocks.take(text, MARKS, name)


class WholeFile(Record):
    """A file that is all ours; one of that name which is not ours is left alone."""

    text: str
    #: A line that identifies an older version of ours; without it the file is the user's once it is created.
    mark: str = ""

    def put(self, text: str, name: str) -> str:
        """Return our text, or the user's."""
        if text and self.mark not in text:
            raise BadInput(
                f"{name} is there already, and Dibs did not write it",
                code="SETTINGS_INVALID",
                field=name,
                hint="move it away, or leave this agent out",
            )
        return text if text and not self.mark else self.text

    def take(self, text: str, name: str, before: str) -> str:  # noqa: ARG002 - it goes, or it stays
        """Return nothing if this is as we wrote it; else what its owner made of it."""
        return "" if text == self.text else text


def put_all(pieces: tuple[Piece, ...], content: bytes, name: str) -> bytes:
    """Return the bytes of a file with all pieces in them."""
    bom, text = _decoded(content, name)
    for piece in pieces:
        if bom and isinstance(piece, HookEntries | McpEntry | Default) and not piece.style.mark:
            scan(bom + text, name, piece.style)  # it says what is wrong
        text = piece.put(text, name)
    return (bom + text).encode()


def take_all(pieces: tuple[Piece, ...], content: bytes, name: str, before: bytes) -> bytes:
    """Return the bytes of a file without the pieces; none where nothing else is left of it."""
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
            hint="mend that line, or move the file away; nothing was changed",
        ) from None
    return (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
