"""Which tasks are alike, by the words of their titles or by their paths, and which share files.

Pure. The answer is advice: two tasks that share words may well be two tasks.
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

#: Tasks are alike that share more than this.
THRESHOLD = 0.5
#: A word has at least so many characters.
_SHORTEST = 3
_WORD = re.compile(r"[^\W_]+")

#: Words that say nothing of what a task is about; those of two characters are left out anyway.
_STOP = """
    about above after again all also and any are because been before being below between both but can could
    did does doing down during each few for from further had has have having her here hers him his how into
    its itself just more most must nor not now off once only other our ours out over own same shall she
    should some such than that the their theirs them then there these they this those through too under
    until upon very was were what when where which while who whom why will with would you your yours
"""
STOP_WORDS = frozenset(_STOP.split())


class Similarity(Record):
    """Active work that a new task looks like."""

    #: The task of the board; empty for what an agent only says that it does.
    id: str
    title: str
    #: Which part of the words of both they share, from 0 to 1.
    share: float
    #: Those of its artefacts that the new task's overlap.
    paths: tuple[str, ...] = ()
    #: Who does it or shall do it; empty if anybody may.
    agent: str = ""


class TaskOverlap(Record):
    """Two tasks whose artefacts overlap, with a path that both match."""

    first: str
    second: str
    witness: str


def words(text: str) -> frozenset[str]:
    """Return the words that a text is about: in lower case, over two characters, no stop words."""
    found = _WORD.findall(normalize("NFKC", text).casefold())
    return frozenset(w for w in found if len(w) >= _SHORTEST and w not in STOP_WORDS)


def overlap_of(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of words that two sets have in common: twice the common ones by all (Dice).

    Measured by both sets, not by the smaller: else a title of one word would be like each that holds it.
    """
    total = len(one) + len(other)
    return 2 * len(one & other) / total if total else 0.0


class Active:
    """The tasks that are not finished, filed so that many new ones can be compared with them."""

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
        """Return the tasks that ``new`` may repeat, the likest first.

        They share more than half of their words, or their artefacts overlap. A task that ``new`` waits for is
        none of them: that one is to be done before, and on the same paths as like as not.
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
        """Return the artefacts of each task that those of ``new`` meet, in the order of that task."""
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
    """Read artefacts; what is no pattern meets none, and is refused where it is checked."""
    found = []
    for artefact in artefacts:
        try:
            found.append(parse(artefact, fold_case=fold_case))
        except BadInput:
            continue
    return found


def clashes(tasks: Iterable[Task], *, fold_case: bool) -> list[TaskOverlap]:
    """Return each pair of ``tasks`` whose artefacts overlap, once, in the order of their ids."""
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
