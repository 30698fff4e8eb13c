"""Find similar tasks, by the words of their titles or by their paths, and tasks that share files.

Pure. The result is advice: tasks that share words may still be different.
"""

from __future__ import annotations

import re
from unicodedata import normalize

from dibs.core.patterns.lookup import PatternIndex
from dibs.core.patterns.pattern import parse
from dibs.core.tasks.rules import FINISHED
from dibs.errors import BadInput
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.core.patterns.pattern import Pattern
    from dibs.core.tasks.rules import Task

#: Titles that share more than this are similar.
THRESHOLD = 0.5
#: The minimum length of a word.
_SHORTEST = 3
_WORD = re.compile(r"[^\W_]+")

#: Words that carry no meaning; shorter ones are dropped anyway.
_STOP = """
    about above after again all also and any are because been before being below between both but can could
    did does doing down during each few for from further had has have having her here hers him his how into
    its itself just more most must nor not now off once only other our ours out over own same shall she
    should some such than that the their theirs them then there these they this those through too under
    until upon very was were what when where which while who whom why will with would you your yours
"""
STOP_WORDS = frozenset(_STOP.split())


class Similarity(Record):
    """Active work that is similar to a new task."""

    #: The task on the board; empty for what an agent says it is doing.
    id: str
    title: str
    #: The share of words in common, 0 to 1.
    share: float
    #: Its artefacts that overlap with the new task's.
    paths: tuple[str, ...] = ()
    #: The assigned agent; empty if there is none.
    agent: str = ""


class TaskOverlap(Record):
    """Two tasks whose artefacts overlap, with a path that both match."""

    first: str
    second: str
    witness: str


def words(text: str) -> frozenset[str]:
    """Return the meaningful words of a text: lower case, three characters or more, no stop words."""
    found = _WORD.findall(normalize("NFKC", text).casefold())
    return frozenset(w for w in found if len(w) >= _SHORTEST and w not in STOP_WORDS)


def overlap_of(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of words that two sets have in common (Dice coefficient).

    It is relative to both sets: otherwise a one-word title would match every title with that word.
    """
    total = len(one) + len(other)
    return 2 * len(one & other) / total if total else 0.0


class Active:
    """The unfinished tasks, indexed for comparison with many new ones."""

    def __init__(self, tasks: Iterable[Task], *, fold_case: bool = True) -> None:
        self._tasks = {task.id: task for task in tasks if task.status not in FINISHED}
        self._fold_case = fold_case
        self._words = {task.id: words(task.title) for task in self._tasks.values()}
        self._having: dict[str, list[str]] = {}
        for id_, about in self._words.items():
            for word in about:
                self._having.setdefault(word, []).append(id_)
        self._paths: PatternIndex | None = None

    def like(self, new: Task) -> list[Similarity]:
        """Return the tasks that ``new`` may duplicate, the most similar first.

        They share more than half of their words, or their artefacts overlap. Dependencies of ``new`` are left
        out, since they often work on the same paths.
        """
        about = words(new.title)
        shares = {
            id_: overlap_of(about, self._words[id_])
            for id_ in {id_ for word in about for id_ in self._having.get(word, ())}
        }
        met = self._met(new)
        left_out = {new.id, *new.dependencies}
        found = [
            Similarity(id_, task.title, shares.get(id_, 0.0), tuple(met.get(id_, ())), task.agent)
            for id_ in {*shares, *met} - left_out
            if (task := self._tasks[id_]) and (id_ in met or shares[id_] > THRESHOLD)
        ]
        return sorted(found, key=lambda like: (-like.share, -len(like.paths), like.id))

    def _met(self, new: Task) -> dict[str, list[str]]:
        """Return the artefacts of each task that overlap with those of ``new``, in that task's order."""
        wanted = _patterns(new.artefacts, fold_case=self._fold_case)
        if not wanted:
            return {}
        if self._paths is None:
            self._paths = self._filed()
        keys = {key for own in wanted for key, _, _ in self._paths.overlapping(own)}
        found: dict[str, list[str]] = {}
        for key in sorted(keys, key=lambda key: int(key.partition(" ")[0])):
            _, id_, text = key.split(" ", 2)
            found.setdefault(id_, []).append(text)
        return found

    def _filed(self) -> PatternIndex:
        index = PatternIndex()
        for task in self._tasks.values():
            for pattern in _patterns(task.artefacts, fold_case=self._fold_case):
                index.add(f"{len(index)} {task.id} {pattern.text}", pattern)
        return index


def _patterns(artefacts: Iterable[str], *, fold_case: bool) -> list[Pattern]:
    """Parse artefacts, skipping invalid ones, which are refused elsewhere."""
    found = []
    for artefact in artefacts:
        try:
            found.append(parse(artefact, fold_case=fold_case))
        except BadInput:
            continue
    return found


def clashes(tasks: Iterable[Task], *, fold_case: bool) -> list[TaskOverlap]:
    """Return each pair of ``tasks`` whose artefacts overlap, ordered by id."""
    index = PatternIndex()
    found: dict[tuple[str, str], str] = {}
    for task in sorted(tasks, key=lambda task: task.id):
        patterns = [parse(text, fold_case=fold_case) for text in task.artefacts]
        for pattern in patterns:
            for key, _, witness in index.overlapping(pattern):
                found.setdefault((key.partition(" ")[2], task.id), witness)
        for pattern in patterns:
            index.add(f"{len(index)} {task.id}", pattern)
    return [TaskOverlap(*pair, witness) for pair, witness in sorted(found.items())]
