"""What YAML text is read into, before anybody asks what it means: texts, lists and mappings, with lines.

A scalar stays the text that was written: ``no``, ``12:30`` and ``1.10`` are texts, and only an empty value or
``null`` is nothing. Whoever needs a number or a moment reads it out of the text.
"""

from __future__ import annotations

from dibs.errors import BadInput
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Node: TypeAlias = "str | list[Node] | dict[str, Node] | None"
    #: Keys and positions that lead from the top to a node.
    Path: TypeAlias = "tuple[str | int, ...]"
    Lines: TypeAlias = dict[Path, int]

#: Limits of a task's file: bytes, levels, nodes, characters of one line.
MAX_BYTES, MAX_DEPTH, MAX_NODES, MAX_LINE = 256 * 1024, 20, 10_000, 64 * 1024

#: Plain scalars that stand for nothing.
NULLS = frozenset({"", "~", "null", "Null", "NULL"})


class Remark(Record):
    """What is to be said about one place of a file."""

    code: str
    message: str
    #: Counted from 1; 0 where no line is meant.
    line: int
    field: str = ""
    #: Whether the file cannot be a task because of it.
    fatal: bool = True


class TaskDocument(Record):
    """A whole file: its top mapping, and the line of each node."""

    top: dict[str, Node]
    lines: Lines


class NotYaml(Exception):
    """The text is not YAML as we take it; carries the remark that says why."""

    def __init__(self, remark: Remark) -> None:
        super().__init__(remark.message)
        self.remark = remark


class Plain(str):
    """A scalar that was written without quotes, so that it can be written so again."""

    __slots__ = ()


def field_name(path: Path) -> str:
    """Return how a message names the place: ``context.dependencies[2]``."""
    name = ""
    for part in path:
        name += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if name else part
    return name


def error_of(remark: Remark, name: str) -> BadInput:
    """Return the error that says a remark: ``inbox/x.yaml:7: priority: …``."""
    place = f"{name}:{remark.line}" if remark.line else name
    field = f"{remark.field}: " if remark.field else ""
    return BadInput(f"{place}: {field}{remark.message}", code=remark.code, field=remark.field)
