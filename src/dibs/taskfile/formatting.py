"""Brings a drifted file into line: our keys, words and moments; comments and unknown keys stay as they are.

What would lose something is left: a list item that says more than a path, an entry with a comment of its own
that would have to be merged into another one.
"""

from __future__ import annotations

from codecs import BOM_UTF8

from dibs.taskfile.block_lines import split
from dibs.taskfile.document import error_of
from dibs.taskfile.reading import read, tree_of
from dibs.taskfile.spellings import ALIASES, DEPENDENCIES, RESULT_ALIASES
from dibs.taskfile.writing import edit, stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.tasks.rules import Task
    from dibs.taskfile.document import Node
    from dibs.taskfile.scalars import Value

_MOMENTS = {
    "created_at": "created",
    "assigned_at": "assigned",
    "started_at": "started",
    "completed_at": "completed",
}
_BLOCKS = (("result", "summary"), ("error", "message"))


def formatted(content: bytes, name: str) -> tuple[str, list[str]]:
    """Return the file in our spelling, and what was changed; raise ``BadInput`` if it cannot be read."""
    content, changed = _as_utf8(content)
    reading = read(content, name)
    task = reading.task
    if task is None:
        raise error_of(reading.remarks[0], name)
    text = reading.text
    if text.encode() != content:
        changed.append("the layout is plain now")
    if not text.endswith("\n"):
        changed.append("the last line ends")
    text = _renamed(text, changed)
    for step in (_words, _lists, _dependencies, _moments, _blocks):
        changes = step(text, task)
        if changes:
            changed += [f"{key} is written as Dibs does" for key in changes]
            text = edit(text, changes)
    assert read(text.encode(), name).task == task, "formatting changed what the file says"
    return text, changed


def _as_utf8(content: bytes) -> tuple[bytes, list[str]]:
    changed = []
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            content = content.decode("utf-16").encode()
        except UnicodeError:
            return content, []  # the reader says what is wrong
        changed.append("UTF-16 became UTF-8")
    if content.startswith(BOM_UTF8):
        content = content.removeprefix(BOM_UTF8)
        changed.append("the byte order mark is gone")
    if b"\r\n" in content:
        content = content.replace(b"\r\n", b"\n")
        changed.append("line ends are line feeds")
    return content, changed


def _renamed(text: str, changed: list[str]) -> str:
    """Give keys that are spelled otherwise their names, where that name is still free."""
    layout = split(text.removesuffix("\n").split("\n"))
    assert layout is not None, "a reading can be edited"
    wanted = dict(ALIASES)
    context = _top(text).get("context")
    if not isinstance(context, dict) or "dependencies" not in context:
        wanted["dependencies"] = DEPENDENCIES[1:]
    for key, aliases in wanted.items():
        found = next((entry for name in (key, *aliases) if (entry := layout.find(name))), None)
        if found is not None and found.key != key:
            changed.append(f"{found.key} became {key}")
            found.rows[0] = f"{key}:{found.rest}"
    result = layout.find("result")
    if result is not None:
        result.rows[1:] = _result_renamed(result.rows[1:], changed)
    return "\n".join([*layout.rows(), ""])


def _result_renamed(rows: list[str], changed: list[str]) -> list[str]:
    first = next((row for row in rows if row.lstrip(" ")[:1] not in {"", "#"}), "")
    layout = split(rows, len(first) - len(first.lstrip(" "))) if first[:1] == " " else None
    if layout is None:
        return rows
    for key, aliases in RESULT_ALIASES.items():
        found = next((entry for name in (key, *aliases) if (entry := layout.find(name))), None)
        if found is not None and found.key != key:
            changed.append(f"result.{found.key} became result.{key}")
            indent = found.rows[0][: len(found.rows[0]) - len(found.rows[0].lstrip(" "))]
            found.rows[0] = f"{indent}{key}:{found.rest}"
    return layout.rows()


def _top(text: str) -> dict[str, Node]:
    return tree_of(text)[0].top


def _words(text: str, task: Task) -> dict[str, Value]:
    top = _top(text)
    wanted = {"status": task.status, "priority": task.priority, "agent": task.agent}
    return {key: word for key, word in wanted.items() if top.get(key) and top[key] != word}


def _lists(text: str, task: Task) -> dict[str, Value]:
    changes: dict[str, Value] = {}
    top = _top(text)
    if isinstance(top.get("artefacts"), str):
        changes["artefacts"] = list(task.artefacts)
    result = top.get("result")
    if isinstance(result, dict):
        inner: dict[str, Value] = {}
        if isinstance(result.get("artefacts"), str):
            inner["artefacts"] = list(task.made)
        if not task.handoff and result.get("next_agent"):
            inner["next_agent"] = ""
        if task.handoff and isinstance(result.get("next_artefacts"), str):
            inner["next_artefacts"] = list(task.handoff.artefacts)
        if task.handoff and isinstance(result.get("next_task_notes"), str):
            inner["next_task_notes"] = list(task.handoff.notes)
        if inner:
            changes["result"] = inner
    return changes


def _dependencies(text: str, task: Task) -> dict[str, Value]:
    """Put dependencies into one place, unless an item says more than an id or a comment would go."""
    top, layout = _top(text), split(text.removesuffix("\n").split("\n"))
    assert layout is not None, "a reading can be edited"
    places = [top[key] for key in DEPENDENCIES if key in top]
    context = top.get("context")
    if isinstance(context, dict) and "dependencies" in context:
        places.append(context["dependencies"])
    if not places or (len(places) == 1 and places[0] in (None, list(task.dependencies))):
        return {}
    entries = [entry for key in DEPENDENCIES if (entry := layout.find(key))]
    noted = len(places) > 1 and any("#" in row for entry in entries for row in entry.rows)
    if noted or any(isinstance(item, dict) for place in places for item in place or ()):
        return {}
    return {"dependencies": list(task.dependencies)}


def _moments(text: str, task: Task) -> dict[str, Value]:
    """Write moments in UTC and in quotes: unquoted ones are no texts to other readers of YAML."""
    layout = split(text.removesuffix("\n").split("\n"))
    assert layout is not None, "a reading can be edited"
    top = _top(text)
    changes: dict[str, Value] = {}
    for key, field in _MOMENTS.items():
        moment, entry = getattr(task, field), layout.find(key)
        if key == "completed_at" and isinstance(top.get("result"), dict):
            continue
        if entry is None or not top.get(key) or moment != int(moment):
            continue
        if top[key] != stamp(moment) or entry.rest.lstrip(" ")[:1] not in {'"', "'"}:
            changes[key] = stamp(moment)
    return changes


def _blocks(text: str, task: Task) -> dict[str, Value]:
    """Make blocks of what was a mere text."""
    top = _top(text)
    said = {"result": task.summary, "error": task.error}
    return {
        key: {main: said[key] or top[key]}
        for key, main in _BLOCKS
        if isinstance(top.get(key), str) and top[key]
    }
