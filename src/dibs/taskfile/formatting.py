"""Format a task file: our keys, words, and times; comments and unknown keys stay.

Anything that would lose information is left alone: a list item that is more than a path, or an entry with a
comment that would have to be merged into another one.
"""

from __future__ import annotations

from codecs import BOM_UTF8

from dibs.taskfile.block_lines import split
from dibs.taskfile.document import depth, error_of
from dibs.taskfile.reading import read, tree_of
from dibs.taskfile.scalars import stamp
from dibs.taskfile.spellings import ALIASES, DEPENDENCIES, RESULT_ALIASES
from dibs.taskfile.writing import edit, inner_layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dibs.core.tasks.rules import Task
    from dibs.taskfile.block_lines import Layout
    from dibs.taskfile.document import Node
    from dibs.taskfile.scalars import Value

_MOMENTS = {
    "created_at": "created",
    "assigned_at": "assigned",
    "started_at": "started",
    "completed_at": "completed",
}


def formatted(content: bytes, name: str) -> tuple[str, list[str]]:
    """Return the formatted file, and what changed; raise ``BadInput`` if it cannot be read."""
    content, changed = _as_utf8(content)
    reading = read(content, name)
    task = reading.task
    if task is None:
        raise error_of(reading.remarks[0], name)
    text = reading.text
    if text.encode() != content:
        changed.append("simplified the layout")
    if not text.endswith("\n"):
        changed.append("added the final newline")
    text = _renamed(text, changed)
    top, layout = tree_of(text)[0].top, _layout(text)
    changes: dict[str, Value] = {
        **_words(top, task),
        **_lists(top, task),
        **_dependencies(top, layout, task),
        **_moments(top, layout, task),
    }
    changed += [f"rewrote {key}" for key in changes]
    text = edit(text, changes)
    assert read(text.encode(), name).task == task, "formatting changed what the file says"
    return text, changed


def _layout(text: str) -> Layout:
    layout = split(text.removesuffix("\n").split("\n"))
    assert layout is not None, "a reading can be edited"
    return layout


def _as_utf8(content: bytes) -> tuple[bytes, list[str]]:
    changed = []
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            content = content.decode("utf-16").encode()
        except UnicodeError:
            return content, []  # the reader reports what is wrong
        changed.append("converted UTF-16 to UTF-8")
    if content.startswith(BOM_UTF8):
        content = content.removeprefix(BOM_UTF8)
        changed.append("removed the byte order mark")
    if b"\r\n" in content:
        content = content.replace(b"\r\n", b"\n")
        changed.append("converted line endings to LF")
    return content, changed


def _renamed(text: str, changed: list[str]) -> str:
    """Rename keys to their standard spelling, unless that is already used."""
    layout = _layout(text)
    wanted: dict[str, Sequence[str]] = {**ALIASES}
    context = tree_of(text)[0].top.get("context")
    if not isinstance(context, dict) or "dependencies" not in context:
        wanted["dependencies"] = DEPENDENCIES[1:]
    _rename(layout, wanted, "", changed)
    result = layout.find("result")
    inner = inner_layout(result, 0) if result is not None else None
    if result is not None and inner is not None:
        _rename(inner, RESULT_ALIASES, "result.", changed)
        result.rows[1:] = inner.rows()
    return "\n".join([*layout.rows(), ""])


def _rename(
    layout: Layout, wanted: Mapping[str, Sequence[str]], prefix: str, changed: list[str]
) -> None:
    for key, aliases in wanted.items():
        found = next((entry for name in (key, *aliases) if (entry := layout.find(name))), None)
        if found is not None and found.key != key:
            changed.append(f"renamed {prefix}{found.key} to {prefix}{key}")
            found.rows[0] = f"{' ' * depth(found.rows[0])}{key}:{found.rest}"


def _words(top: Mapping[str, Node], task: Task) -> dict[str, Value]:
    wanted = {"status": task.status, "priority": task.priority, "agent": task.agent}
    return {key: word for key, word in wanted.items() if top.get(key) and top[key] != word}


def _lists(top: Mapping[str, Node], task: Task) -> dict[str, Value]:
    """Turn plain strings into lists and blocks."""
    changes: dict[str, Value] = {}
    if isinstance(top.get("artefacts"), str):
        changes["artefacts"] = list(task.artefacts)
    for key, main, said in (("result", "summary", task.summary), ("error", "message", task.error)):
        block = top.get(key)
        if isinstance(block, str) and block:
            changes[key] = {main: said or block}
    result = top.get("result")
    if isinstance(result, dict):
        next_one = task.handoff
        lists = {"artefacts": task.made}
        if next_one is not None:
            lists |= {"next_artefacts": next_one.artefacts, "next_task_notes": next_one.notes}
        inner: dict[str, Value] = {
            key: list(items) for key, items in lists.items() if isinstance(result.get(key), str)
        }
        if next_one is None and result.get("next_agent"):
            inner["next_agent"] = ""
        if inner:
            changes["result"] = inner
    return changes


def _dependencies(top: Mapping[str, Node], layout: Layout, task: Task) -> dict[str, Value]:
    """Move dependencies into one place, unless an item is more than an id or a comment would be lost."""
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


def _moments(top: Mapping[str, Node], layout: Layout, task: Task) -> dict[str, Value]:
    """Write times in UTC and in quotes, since other YAML readers do not treat unquoted ones as text."""
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
