"""Read a queue kept in one file, and remove one task from it. No content makes it raise.

``tasks/pending.yml`` is a list of tasks (names, or mappings with one), a mapping with that list under
``tasks``, or a mapping from names to fields. In ``tasks/pending.txt`` each line is a task; a checked box
means done.
"""

from __future__ import annotations

import re

from dibs.core.tasks.names import task_of_file
from dibs.core.tasks.queue_order import QueueTask
from dibs.core.text.names import slug
from dibs.startup.records import Record
from dibs.taskfile.document import NotYaml, decode
from dibs.taskfile.queue_file import NAME_KEYS, task_from
from dibs.taskfile.reading import tree_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dibs.taskfile.document import Lines, Node

_YAML = (".yml", ".yaml")
_LIST = "tasks"
#: A list marker, a box, and the text of an item.
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])?[ \t]*(?:\[(?P<box>[ xX])\])?[ \t]*(?P<text>\S.*)")
_NAMED = re.compile(r"`?(?P<name>[\w][\w.-]*)`?(?:[ \t]*(?::|--|—)[ \t]+(?P<title>.*))?")


class ListedTask(Record):
    """One task of the file, and its lines there, counted from 0; ``end`` is the line behind it."""

    task: QueueTask
    start: int
    end: int
    done: bool = False


def read_queue_list(content: bytes, file: str) -> list[ListedTask]:
    """Return the tasks in a file; one that is not YAML is a single broken task."""
    name = file.rpartition("/")[2]
    text = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    if not name.endswith(_YAML):
        return list(_from_lines(text.decode("utf-8", "replace"), name))
    try:
        plain = decode(text)
        if not plain.replace("-", "").strip():
            return []
        return list(_from_yaml(plain, name))
    except NotYaml as error:
        where = f"line {error.remark.line}: " if error.remark.line else ""
        broken = QueueTask(name, name, broken=f"{where}{error.remark.message}")
        return [ListedTask(broken, 0, 0)]


def text_of(content: bytes, item: ListedTask) -> bytes:
    """Return the lines of a task."""
    return b"".join(content.splitlines(keepends=True)[item.start : item.end])


def without(content: bytes, item: ListedTask, others: Sequence[ListedTask]) -> bytes:
    """Return the file without a task: its box checked, or its lines removed if no other task shares them."""
    lines = content.splitlines(keepends=True)
    own = lines[item.start : item.end]
    if own and b"[ ]" in own[0]:
        return b"".join(
            [*lines[: item.start], own[0].replace(b"[ ]", b"[x]", 1), *lines[item.start + 1 :]]
        )
    shared = any(o is not item and o.start < item.end and item.start < o.end for o in others)
    if shared or not own:
        return content  # its file in tasks/done says that it is done
    return b"".join([*lines[: item.start], *lines[item.end :]])


def _from_lines(text: str, file: str) -> Iterator[ListedTask]:
    seen: set[str] = set()
    for number, line in enumerate(text.split("\n")):
        found = _ITEM.fullmatch(line.rstrip())
        if not found or line.lstrip().startswith("#"):
            continue
        name, title = _named(found["text"])
        if name and name not in seen:
            seen.add(name)
            done = (found["box"] or " ") in "xX"
            yield ListedTask(QueueTask(name, file, title), number, number + 1, done=done)


def _from_yaml(text: str, file: str) -> Iterator[ListedTask]:
    first = next((row for row in text.split("\n") if row.strip() and row.lstrip()[0] != "#"), "")
    bare = first.lstrip().startswith(("- ", "[")) or first.strip() == "-"
    if bare and first.lstrip().startswith("["):
        text = " " + text.replace("\n", "\n ")
    tree, _ = tree_of(f"{_LIST}:\n{text}" if bare else text, 100_000, -1 if bare else 0)
    top: Node = tree.top.get(_LIST, tree.top)
    path = (_LIST,) if _LIST in tree.top else ()
    last = len(text.split("\n")) - (0 if text.endswith("\n") is False else 1)
    starts = _starts(top, path, tree.lines)
    seen: set[str] = set()
    for at, (item, start) in enumerate(starts):
        end = starts[at + 1][1] if at + 1 < len(starts) else last
        task = _task(item, file)
        if task is not None and task.name not in seen:
            seen.add(task.name)
            yield ListedTask(task, start, max(end, start + 1))


def _starts(top: Node, path: tuple[str, ...], lines: Lines) -> list[tuple[Node, int]]:
    """Return the items of a list or a mapping, each with its first line."""
    if isinstance(top, list):
        return [(item, lines.get((*path, at), 1) - 1) for at, item in enumerate(top)]
    if isinstance(top, dict):
        return [({key: value}, lines.get((*path, key), 1) - 1) for key, value in top.items()]
    return []


def _task(item: Node, file: str) -> QueueTask | None:
    if isinstance(item, str):
        name, title = _named(item)
        return QueueTask(name, file, title) if name else None
    if not isinstance(item, dict):
        return None
    named = next(
        (item[key] for key in (*NAME_KEYS, "title") if isinstance(item.get(key), str)), None
    )
    fields: Node = item
    if named is None and len(item) == 1:
        named, fields = next(iter(item.items()))
        fields = fields if isinstance(fields, dict) else {"title": fields}
    name = _valid(str(named)) or slug(str(named)) if named else ""
    return task_from(fields, name, file) if name and isinstance(fields, dict) else None


def _named(text: str) -> tuple[str, str]:
    """Return the name and the title of an item: ``fix-header: Fix the header``, one word, or a sentence."""
    found = _NAMED.fullmatch(text.strip())
    if found and (name := _valid(found["name"])):
        return name, found["title"] or ""
    return _valid(slug(text)), text.strip()


def _valid(name: str) -> str:
    return task_of_file(f"{name}{_YAML[0]}", fold_case=True)
