"""Read a task file of the lock-file queue: any YAML, of which few fields matter. No content makes it raise.

Scripts write these files for themselves, so an unknown field or word is not a problem. Only a file that is
not YAML is: its dependencies are unknown.
"""

from __future__ import annotations

from dibs.core.tasks.queue_order import USUAL, QueueTask, needed_name, size_of
from dibs.taskfile.document import NotYaml, decode
from dibs.taskfile.reading import tree_of
from dibs.taskfile.spellings import DEPENDENCIES, PRIORITY_WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.taskfile.document import Node

#: Keys that state a size, the first one in a file counts; and those that name a task in a list of tasks.
SIZE_KEYS = ("size", "estimate", "effort", "points")
NAME_KEYS = ("id", "task", "name", "task_id", "slug", "key")
#: How a file that is YAML, but not a mapping, is reported.
_NO_FIELDS = ("must be a mapping", "the file is empty")


def read_queue_file(content: bytes, name: str, file: str) -> QueueTask:
    """Return the task ``name`` from the content of ``file``."""
    try:
        text = decode(content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n"))
        top: Mapping[str, Node] = tree_of(text)[0].top
    except NotYaml as error:
        remark = error.remark
        if remark.message.startswith(_NO_FIELDS):
            return QueueTask(name, file)
        where = f"line {remark.line}: " if remark.line else ""
        return QueueTask(name, file, broken=f"{where}{remark.message}")
    return task_from(top, name, file)


def task_from(top: Mapping[str, Node], name: str, file: str) -> QueueTask:
    """Return a task from its fields; values that make no sense are ignored."""
    stated = next((_word(top[key]) for key in SIZE_KEYS if key in top), "")
    priority = "_".join(_word(top.get("priority")).lower().replace("-", " ").split())
    return QueueTask(
        name,
        file,
        _word(top.get("title")).partition("\n")[0],
        PRIORITY_WORDS.get(priority, "normal"),
        _needed(top),
        size_of(stated) if stated else USUAL,
    )


def _needed(top: Mapping[str, Node]) -> tuple[str, ...]:
    context = top.get("context")
    inner = context.get("dependencies") if isinstance(context, dict) else None
    found: list[str] = []
    for node in (inner, *(top.get(key) for key in (*DEPENDENCIES, "needs"))):
        items = node if isinstance(node, list) else [node]
        found += [needed_name(_named(item)) for item in items]
    return tuple(dict.fromkeys(filter(None, found)))


def _named(item: Node) -> str:
    if isinstance(item, dict):
        return next((_word(item[key]) for key in NAME_KEYS if key in item), "")
    return _word(item)


def _word(node: Node) -> str:
    return str(node).strip() if isinstance(node, str) else ""
