"""Whether a new task is one that somebody has already: by the words of its title, or by its paths.

Pure. The answer is advice: two tasks that share words may well be two tasks.
"""

from __future__ import annotations

import re
from unicodedata import normalize

from dibs.core.patterns import overlap, parse
from dibs.core.tasks import FINISHED
from dibs.core.values import Record
from dibs.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.core.patterns import Pattern
    from dibs.core.tasks import Task

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


class Likeness(Record):
    """An active task that a new one looks like."""

    id: str
    title: str
    #: Which part of the words of both they share, from 0 to 1.
    share: float
    #: Those of its artefacts that the new task's meet.
    paths: tuple[str, ...] = ()


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


def similar(new: Task, active: Iterable[Task], *, fold_case: bool = True) -> list[Likeness]:
    """Return the active tasks that ``new`` may repeat, the likest first.

    They share more than half of their words, or their artefacts overlap. A task that ``new`` waits for is
    none of them: that one is to be done before, and on the same paths as like as not.
    """
    about = words(new.title)
    wanted = _patterns(new.artefacts, fold_case=fold_case)
    left_out = {new.id, *new.dependencies}
    found = []
    for task in active:
        if task.id in left_out or task.status in FINISHED:
            continue
        share = overlap_of(about, words(task.title))
        paths = _met(wanted, _patterns(task.artefacts, fold_case=fold_case)) if wanted else ()
        if share > THRESHOLD or paths:
            found.append(Likeness(task.id, task.title, share, paths))
    return sorted(found, key=lambda like: (-like.share, -len(like.paths), like.id))


def _met(wanted: list[Pattern], theirs: list[Pattern]) -> tuple[str, ...]:
    return tuple(
        their.text for their in theirs if any(overlap(their, own) is not None for own in wanted)
    )


def _patterns(artefacts: Iterable[str], *, fold_case: bool) -> list[Pattern]:
    """Read artefacts; what is no pattern meets none, and is refused where it is checked."""
    found = []
    for artefact in artefacts:
        try:
            found.append(parse(artefact, fold_case=fold_case))
        except BadInput:
            continue
    return found
