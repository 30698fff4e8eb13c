"""Read one file with many tasks: a list, a mapping with the list under ``tasks``, or several documents.

Each task has the fields of a task file, plus three more: ``key`` is a name for use by other tasks of the
file, ``needs`` lists dependencies (keys or ids), ``slug`` is the end of its id.
"""

from __future__ import annotations

import re

from dibs.core.text.names import quote
from dibs.startup.records import Record
from dibs.taskfile.document import MAX_NODES as TASK_NODES
from dibs.taskfile.document import NotYaml, Remark, TaskDocument, decode, error_of
from dibs.taskfile.fields import task_of
from dibs.taskfile.reading import tree_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.taskfile.document import Lines, Node

_MARK = re.compile(r"(?:---|\.\.\.)[ \t]*(?:#.*)?")
#: The key of the list in a mapping.
_LIST = "tasks"

#: Limits of the whole file: bytes, and values.
MAX_BYTES, MAX_NODES = 4 * 1024 * 1024, 100_000


class Item(Record):
    """One task of the file: its fields, and the line of each."""

    tree: TaskDocument
    line: int
    id: str = ""
    key: str = ""
    slug: str = ""

    @property
    def fields(self) -> dict[str, Node]:
        """The fields for the task's own file."""
        return self.tree.top


def read_batch(content: bytes, name: str) -> list[Item]:
    """Return the tasks of a file in order; ``BadInput`` names the line of a problem."""
    try:
        items = [
            item
            for line, text in _documents(decode(content, MAX_BYTES))
            for item in _items(text, line)
        ]
        if not items:
            raise _wrong("the file contains no tasks", 1)
        _check_keys(items)
        for item in items:
            _check_fields(item)
    except NotYaml as error:
        raise error_of(error.remark, name) from None
    return items


def _documents(text: str) -> Iterator[tuple[int, str]]:
    """Yield each non-empty document with the number of lines before it."""
    lines = text.split("\n")
    marks = [at for at, line in enumerate(lines) if _MARK.fullmatch(line)]
    for start, end in zip([-1, *marks], [*marks, len(lines)], strict=True):
        rows = lines[start + 1 : end]
        if any(row.strip() and not row.lstrip().startswith("#") for row in rows):
            yield start + 1, "\n".join(rows)


def _items(text: str, before: int) -> Iterator[Item]:
    """Yield the tasks of one document, which is a list of tasks or a single one."""
    rows = (row.lstrip(" ") for row in text.split("\n"))
    first = next(row for row in rows if row.strip() and row[0] != "#")
    bare = first.startswith(("- ", "[")) or first.rstrip() == "-"
    if first.startswith("["):
        text = " " + text.replace("\n", "\n ")  # under a key it must be indented
    tree, _ = tree_of(f"{_LIST}:\n{text}" if bare else text, MAX_NODES, before - bare)
    lines = tree.lines
    if _LIST not in tree.top:
        yield _item(tree.top, lines, min(lines.values()))
        return
    others = [key for key in tree.top if key != _LIST]
    if others:
        message = f"unexpected key {quote(others[0])} next to `{_LIST}`: only the list is allowed"
        raise _wrong(message, lines[others[0],])
    found = tree.top[_LIST]
    if not isinstance(found, list):
        raise _wrong("must be a list of tasks", lines[_LIST,], _LIST)
    below: list[Lines] = [{} for _ in found]
    for path, line in lines.items():
        if len(path) > 1:
            below[int(path[1])][path[2:]] = line
    for entry, inner in zip(found, below, strict=True):
        if not isinstance(entry, dict):
            raise _wrong("each task must be a mapping (write `title: …`)", inner[()])
        if len(inner) > TASK_NODES:
            raise _wrong(f"more than {TASK_NODES} values in one task", inner[()], code="LIMIT")
        yield _item(entry, inner, inner[()])


def _item(entry: dict[str, Node], lines: Lines, line: int) -> Item:
    """Remove the batch's own keys from the fields of one task."""
    own = {}
    for word in ("id", "key", "slug"):
        value = entry.pop(word, None)
        if value is not None and not isinstance(value, str):
            raise _wrong("must be text", lines[word,], word)
        own[word] = str(value or "")
    needs = entry.pop("needs", None)
    if needs is not None:
        asked = [needs] if isinstance(needs, str) else needs
        if not isinstance(asked, list) or not all(isinstance(need, str) for need in asked):
            raise _wrong("must be a key, an id, or a list of them", lines["needs",], "needs")
        there = entry.get("dependencies") or []
        entry["dependencies"] = [*(there if isinstance(there, list) else [there]), *asked]
        lines.setdefault(("dependencies",), lines["needs",])
    return Item(TaskDocument(entry, lines), line, **own)


def _check_fields(item: Item) -> None:
    """Refuse an invalid task, with its line in this file."""
    _, remarks = task_of(item.tree, item.id or "task")
    if remarks and remarks[0].fatal:
        remark = remarks[0]
        raise NotYaml(remark._replace(line=remark.line or item.line))


def _check_keys(items: list[Item]) -> None:
    seen: dict[str, int] = {}
    for item in items:
        if item.key and item.key in seen:
            message = f"key {quote(item.key)} is already used by the task in line {seen[item.key]}"
            line = item.tree.lines.get(("key",), item.line)
            raise _wrong(message, line, "key", code="YAML_DUPLICATE")
        seen[item.key] = item.line


def _wrong(message: str, line: int, field: str = "", code: str = "YAML_SHAPE") -> NotYaml:
    return NotYaml(Remark(code=code, message=message, line=line, field=field))
