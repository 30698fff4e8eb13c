"""Change keys of a task's text, leaving every other byte alone; write new texts.

``edit`` works on lines, not on a parsed tree. It loads a YAML reader only for a nested block whose layout
the lines do not show.
"""

from __future__ import annotations

from dibs.taskfile import yaml_fast
from dibs.taskfile.block_lines import split
from dibs.taskfile.changes import changes_for
from dibs.taskfile.document import depth
from dibs.taskfile.scalars import UNQUOTED, beside, entry, stamp
from dibs.taskfile.spellings import ALIASES, DEPENDENCIES, ORDER, RESULT_ALIASES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dibs.taskfile.block_lines import KeyBlock, Layout
    from dibs.taskfile.document import Node
    from dibs.taskfile.scalars import Value

__all__ = ["changes_for", "edit", "render", "stamp"]

_RANK = {key: rank for rank, key in enumerate(ORDER)}
#: The key for a block that was a plain string.
_MAIN = {"result": "summary", "error": "message"}


def render(fields: Mapping[str, Value]) -> str:
    """Return the text of a new file, keys in the documented order, without fields that are None."""
    rows: list[str] = []
    for key in _ordered(fields):
        value = _without_nothing(fields[key])
        if value is not None:
            rows += entry(key, value)
    return "\n".join([*rows, ""])


def edit(text: str, changes: Mapping[str, Value]) -> str:
    """Set or remove (None) top-level keys; all other bytes stay.

    A mapping is merged into the existing one: its keys are set or removed, the others stay. A key keeps the
    spelling that the file has. ``text`` comes from ``reading.read`` or ``render``.
    """
    if not changes:
        return text
    rows = text.removesuffix("\n").split("\n")
    layout = split(rows)
    if layout is None:
        raise ValueError("the text is not in plain layout; edit the text of reading.read")
    return "\n".join([*_edited(layout, _in_its_places(layout, changes), 0), ""])


def _ordered(keys: Iterable[str]) -> list[str]:
    return sorted(keys, key=lambda key: _RANK.get(key, len(_RANK)))


def _without_nothing(value: Value) -> Value:
    """Return a value without the keys that are None."""
    if isinstance(value, dict):
        return {key: _without_nothing(inner) for key, inner in value.items() if inner is not None}
    return value


def _in_its_places(layout: Layout, changes: Mapping[str, Value]) -> dict[str, Value]:
    """Return the changes with the keys that the file uses."""
    found: dict[str, Value] = {}
    for key, value in changes.items():
        if key == "dependencies":
            found |= _dependencies(layout, value, found)
        else:
            found[_spelling(layout, key, ALIASES)] = value
    return found


def _spelling(layout: Layout, key: str, aliases: Mapping[str, Sequence[str]]) -> str:
    """Return the file's spelling of one of our keys."""
    return next((name for name in (key, *aliases.get(key, ())) if layout.find(name)), key)


def _dependencies(layout: Layout, value: Value, others: Mapping[str, Value]) -> dict[str, Value]:
    """Put dependencies where the file has them first, and remove them elsewhere."""
    context = layout.find("context")
    inner = inner_layout(context, 0) if context is not None else None
    places = [key for key in DEPENDENCIES if layout.find(key)]
    if inner is not None and inner.find("dependencies"):
        places.insert(1 if places[:1] == ["dependencies"] else 0, "context")
    if not places:
        if not value:
            return {}
        places = ["context" if context is None or inner is not None else "dependencies"]
    found: dict[str, Value] = {}
    for place in places:
        there = value if place == places[0] else None
        if place == "context":
            before = others.get("context")
            given = before if isinstance(before, dict) else {}
            found[place] = {**given, "dependencies": there}
        else:
            found[place] = there
    return found


def _edited(layout: Layout, changes: Mapping[str, Value], indent: int) -> list[str]:
    missing: dict[str, Value] = {}
    for key, value in changes.items():
        there = layout.find(key)
        if there is None:
            if value is not None and value != {}:
                missing[key] = value
        elif value is None:
            layout.remove(there)
        else:
            there.rows = _replaced(there, value, indent)
            if _has_lines(value):  # else spaces in the next lines would belong to the text
                there.after = [row if row.strip(" ") else "" for row in there.after]
    rows = layout.rows()
    for key in _ordered(missing):
        value = _without_nothing(missing[key])
        if value != {}:
            rows += entry(key, value, indent)
    return rows


def _has_lines(value: Value) -> bool:
    if isinstance(value, dict):
        return any(map(_has_lines, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_has_lines, value))
    return isinstance(value, str) and "\n" in value


def _replaced(old: KeyBlock, value: Value, indent: int) -> list[str]:
    """Return the lines of an entry with a new value."""
    if isinstance(value, dict):
        layout = inner_layout(old, indent)
        if layout is not None:
            inner = depth(layout.entries[0].rows[0])
            aliases = RESULT_ALIASES if old.key == "result" else {}
            spelled = {_spelling(layout, key, aliases): value[key] for key in value}
            return [old.rows[0], *_edited(layout, spelled, inner)]
        value = _merged(_tree(old), value, old.key)
    rest = old.rest
    first = rest.lstrip(" ")[:1]
    gap = rest[: depth(rest)] if first not in {"", "#"} else ""
    plain = first not in {'"', "'"} and (old.key in UNQUOTED or first.isalnum())
    if isinstance(value, list | tuple) and value:
        rows = _list_rows(old, list(value), indent, plain=plain)
    else:
        rows = beside(old.head, value, indent, plain=plain, gap=gap or " ", note=old.note())
    # At the key's indentation a comment is never taken for the text of a preceding block.
    return rows + [f"{' ' * indent}{comment}" for comment in old.comments()]


def _list_rows(old: KeyBlock, items: list[Value], indent: int, *, plain: bool) -> list[str]:
    """Return the lines of a list; an existing item keeps its line, and thus its comment."""
    before: dict[str, str] = {}
    margin = indent + 2
    for row in old.rows[1:]:
        item = yaml_fast.item_of(row)
        if item is not None:
            before.setdefault(item, row)
            margin = depth(row)
    rows = [f"{old.head}{old.note() if not before else _first_note(old)}"]
    for value in items:
        kept = before.get(value) if isinstance(value, str) else None
        if kept is None:
            rows += beside(f"{' ' * margin}-", value, margin, plain=plain)
        else:
            rows.append(kept)
    return rows


def _first_note(old: KeyBlock) -> str:
    return old.rest if old.rest.lstrip(" ")[:1] == "#" else ""


def inner_layout(old: KeyBlock, indent: int) -> Layout | None:
    """Return the layout of the mapping below a key, None if the lines do not show it."""
    if old.rest.strip(" ") and old.rest.lstrip(" ")[0] != "#":
        return None
    first = next((row for row in old.rows[1:] if row.lstrip(" ")[:1] not in {"", "#"}), "")
    if depth(first) <= indent:
        return None
    layout = split(old.rows[1:], depth(first))
    if layout is None:
        return None
    tree = _tree(old)
    if not isinstance(tree, dict) or list(tree) != [entry.key for entry in layout.entries]:
        return None
    return layout


def _tree(old: KeyBlock) -> Node:
    """Return the value of an entry."""
    from dibs.taskfile.reading import tree_of

    margin = " " * depth(old.rows[0])
    rows = [
        row.removeprefix(margin) if row.startswith(margin) else row.lstrip(" ") for row in old.rows
    ]
    tree, _ = tree_of("\n".join([*rows, ""]))
    return next(iter(tree.top.values()))


def _merged(before: Node, changes: Mapping[str, Value], key: str) -> dict[str, Value]:
    """Merge changes into a block that is written in another layout."""
    found: dict[str, Value]
    if isinstance(before, dict):
        found = dict(before)
    else:
        found = {_MAIN[key]: before} if before and key in _MAIN else {}
    for name, value in changes.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = _without_nothing(value)
    return found
