"""Which tasks that are in progress work on the same files. Pure."""

from __future__ import annotations

from dibs.core.patterns.pattern import overlap, parse
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.core.patterns.pattern import Pattern
    from dibs.core.tasks.rules import Task


class TaskOverlap(Record):
    """Two tasks whose artefacts overlap, with a path that both match."""

    first: str
    second: str
    witness: str


def clashes(tasks: Iterable[Task], *, fold_case: bool) -> list[TaskOverlap]:
    """Return each pair of ``tasks`` that overlaps, once, in the order of their ids.

    Plain paths meet by their key; only globs are compared with everything else.
    """
    plain: dict[str, list[tuple[str, Pattern]]] = {}
    globs: list[tuple[str, Pattern]] = []
    found: dict[tuple[str, str], str] = {}
    for task in sorted(tasks, key=lambda task: task.id):
        for text in task.artefacts:
            pattern = parse(text, fold_case=fold_case)
            rivals = list(globs)
            if pattern.literal:
                rivals += plain.get(pattern.key, ())
                plain.setdefault(pattern.key, []).append((task.id, pattern))
            else:
                rivals += (rival for same in plain.values() for rival in same)
                globs.append((task.id, pattern))
            for other, rival in rivals:
                pair = (other, task.id)
                if other != task.id and pair not in found:
                    witness = overlap(rival, pattern)
                    if witness is not None:
                        found[pair] = witness
    return [
        TaskOverlap(first, second, witness) for (first, second), witness in sorted(found.items())
    ]
