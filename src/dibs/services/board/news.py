"""What changed on the board since this machine last looked, in one read of the store.

The store may be a remote server, so a command reads once. The ledger names the changed tasks. If it does not
reach back far enough, or the files were written from another store, the versions of all tasks are compared.
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

#: Above this number of ledger entries, the versions of all tasks are read instead.
MANY_ENTRIES = 2_000
#: The number of a change that no index has seen.
NOTHING = -1


class News(Record):
    """The board's rows, compared with what a machine knows."""

    #: The number of the last change to any task, and the board's life.
    head: int
    life: str
    #: The tasks that changed, and the rows of those that have one.
    ids: Collection[str]
    rows: dict[str, Stored]


def news_since(store: Store, index: Index, since: int) -> News:
    """Return what changed after the change number ``since``."""

    def step(rows: Rows) -> News:
        head, life = standing(rows)
        ids = _changed(rows, index, since, head, life)
        return News(head, life, ids, several(rows, (*ids, *index.behind)))

    return store.look(step)


def is_lost(news: News, life: str) -> bool:
    """Return whether the store may lack the archive of a machine whose files are from ``life``.

    A machine without a life is new, or has lost its index.
    """
    return not news.life or life != news.life


def _changed(rows: Rows, index: Index, since: int, head: int, life: str) -> Collection[str]:
    """Return the tasks whose rows changed, or differ from what this machine has."""
    if index.life and life != index.life:
        # Numbers from another life mean nothing here.
        return {**_shown(index), **versions(rows)}.keys()
    if head == since:
        return ()
    if 0 <= since < head:
        named = _named_since(rows, since, head)
        if named is not None:
            return named
    there, here = versions(rows), _shown(index)
    return [id_ for id_ in {**here, **there} if there.get(id_) != here.get(id_)]


def _shown(index: Index) -> dict[str, int]:
    """Return the version of each task that has a file here."""
    return {stem(name): version for name, version in index.versions().items()}


def _named_since(rows: Rows, after: int, head: int) -> set[str] | None:
    """Return the tasks that the ledger names after ``after``; None if the ledger is incomplete."""
    ids, last = set(), after
    for entry in rows.events(after):
        if entry.seq != last + 1 or entry.seq > after + MANY_ENTRIES:
            return None
        if entry.kind == Kind.LEDGER_RESTARTED:
            return None  # earlier writes may be lost, including what this machine knows
        last = entry.seq
        if "task" in entry.details:
            ids.add(str(entry.details["task"]))
    return ids if last >= head else None
