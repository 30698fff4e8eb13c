"""Decode a file's bytes, and the tree that YAML is read into: strings, lists, and mappings, with lines.

A scalar stays the text that was written: ``no``, ``12:30``, and ``1.10`` are strings, and only an empty
value or ``null`` is None. Numbers and times are parsed where they are needed.
"""

from __future__ import annotations

import re

from dibs.errors import BadInput
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Node: TypeAlias = "str | list[Node] | dict[str, Node] | None"
    #: Keys and indexes that lead from the top to a node.
    Path: TypeAlias = "tuple[str | int, ...]"
    Lines: TypeAlias = dict[Path, int]

#: Limits of a task file: bytes, levels, nodes, and characters per line.
MAX_BYTES, MAX_DEPTH, MAX_NODES, MAX_LINE = 256 * 1024, 20, 10_000, 64 * 1024

#: What YAML forbids, and line endings and marks on which YAML readers disagree.
#: Compiled at its first use, because that takes 5 ms.
_FORBIDDEN = (
    "[^\n\t\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_NAMES = {
    "\r": "a carriage return (save the file with Unix line endings)",
    "\0": "a NUL",
    "\f": "a form feed",
    "\ufeff": "a byte order mark (save the file without it)",
    "\x1b": 'an escape character (write it as "\\e" in double quotes)',
}

#: Plain scalars that mean None.
NULLS = frozenset({"", "~", "null", "Null", "NULL"})


class Remark(Record):
    """A remark about one place in a file."""

    code: str
    message: str
    #: Counted from 1; 0 for the whole file.
    line: int
    field: str = ""
    #: Whether it prevents the file from being a task.
    fatal: bool = True


class TaskDocument(Record):
    """A whole file: its top-level mapping, and the line of each node."""

    top: dict[str, Node]
    lines: Lines


class NotYaml(Exception):
    """The text is not the YAML that Dibs accepts; carries the remark that says why."""

    def __init__(self, remark: Remark) -> None:
        super().__init__(remark.message)
        self.remark = remark


class Plain(str):
    """A scalar that was written without quotes, so that it can be written that way again."""

    __slots__ = ()


def field_name(path: Path) -> str:
    """Return a path as messages show it: ``context.dependencies[2]``."""
    name = ""
    for part in path:
        name += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if name else part
    return name


def depth(row: str) -> int:
    """Return how many spaces a line begins with."""
    return len(row) - len(row.lstrip(" "))


def error_of(remark: Remark, name: str) -> BadInput:
    """Return a remark as an error: ``inbox/x.yaml:7: priority: …``."""
    place = f"{name}:{remark.line}" if remark.line else name
    field = f"{remark.field}: " if remark.field else ""
    return BadInput(f"{place}: {field}{remark.message}", code=remark.code, field=remark.field)


def decode(content: bytes, most: int = MAX_BYTES) -> str:
    """Return the text of a file of at most ``most`` bytes; raise ``NotYaml``."""
    if len(content) > most:
        message = f"the file has more than {most} bytes"
        raise NotYaml(Remark(code="LIMIT", message=message, line=0))
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _syntax("the file is UTF-16; save it as UTF-8", "")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8")
        message = f"byte 0x{content[error.start]:02x} is not valid UTF-8; save the file as UTF-8"
        raise _syntax(message, before) from None
    if not text.replace("\n", "").isprintable():
        found = re.search(_FORBIDDEN, text)
        if found is not None:
            said = _NAMES.get(found[0], f"the character U+{ord(found[0]):04X}")
            raise _syntax(f"{said} is not allowed in YAML", text[: found.start()])
    for number, row in enumerate(text.split("\n") if len(text) > MAX_LINE else (), start=1):
        if len(row) > MAX_LINE:
            message = f"a line has {len(row)} characters; at most {MAX_LINE} are allowed"
            raise NotYaml(Remark(code="LIMIT", message=message, line=number))
    return text


def _syntax(message: str, before: str) -> NotYaml:
    """Return the error about the character after the text ``before``."""
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return NotYaml(Remark(code="YAML_SYNTAX", message=f"{message} (column {column})", line=line))
