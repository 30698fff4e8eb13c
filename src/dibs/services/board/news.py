"""What happened on the board since this machine last looked: one look at the store for all of it.

A look may be a question to a server far away, so a command asks once, not once for each thing that it needs.
The ledger names the tasks that changed. Where it does not reach back far enough, or the store is not the one
that the files were written from, the versions of all tasks tell.
"""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.services.state.tasks import several, standing, versions
from dibs.startup.records import Record
from dibs.workdir.scan import stem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store
    from dibs.services.state.tasks import Stored
    from dibs.workdir.index import Index

#: From how many ledger entries on the versions of all tasks are read instead.
MANY_ENTRIES = 2_000
#: Stands for a change that no index has seen.
NOTHING = -1


class News(Record):
    """The board as the store has it, compared with what a machine knows."""

    #: The number of the last change of any task, and the board's life.
    head: int
    life: str
    #: The tasks that changed, and their rows if they have one.
    ids: Collection[str]
    rows: dict[str, Stored]


def news_since(store: Store, index: Index, since: int) -> News:
    """Return what changed ``since`` a change, compared with what the index knows."""

    def step(rows: Rows) -> News:
        head, life = standing(rows)
        ids = _changed(rows, index, since, head, life)
        return News(head, life, ids, several(rows, (*ids, *index.behind)))

    return store.look(step)


def is_lost(news: News, life: str) -> bool:
    """Tell whether the store may not know the archive of a machine whose files are of ``life``.

    A machine that knows of no life has just come, or has lost its index.
    """
    return not news.life or life != news.life


def _changed(rows: Rows, index: Index, since: int, head: int, life: str) -> Collection[str]:
    """Return the tasks whose rows changed, or are not as this machine has them."""
    if index.life and life != index.life:
        # Numbers of another life say nothing about this one.
        return {**_shown(index), **versions(rows)}.keys()
    if head == since:
        return ()
    if 0 <= since < head:
        told = _told_since(rows, since, head)
        if told is not None:
            return told
    there, here = versions(rows), _shown(index)
    return [id_ for id_ in {**here, **there} if there.get(id_) != here.get(id_)]


def _shown(index: Index) -> dict[str, int]:
    """Return the version of each task that has a file here."""
    return {stem(name): version for name, version in index.versions().items()}


def _told_since(rows: Rows, after: int, head: int) -> set[str] | None:
    """Return the tasks that the ledger names since ``after``; None if it does not hold all of that."""
    ids, last = set(), after
    for entry in rows.events(after):
        if entry.seq != last + 1 or entry.seq > after + MANY_ENTRIES:
            return None
        if entry.kind == Kind.LEDGER_RESTARTED:
            return None  # writes of before may be lost, and with them what this machine knows
        last = entry.seq
        if "task" in entry.details:
            ids.add(str(entry.details["task"]))
    return ids if last >= head else None
