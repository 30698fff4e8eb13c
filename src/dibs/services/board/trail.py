"""What a board command leaves beside the files of its tasks: work logs, and commits where they are wished.

Neither decides anything. A command whose log or commit fails has still done what it did; the orchestrator
makes up for it later.
"""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import islice

from dibs.core.tasks.rules import Status
from dibs.errors import DibsError
from dibs.services.state.tasks import several
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Container, Mapping

    from dibs.core.claims.agents import Caller
    from dibs.core.claims.ledger import Entry
    from dibs.services.board.commits import BoardCommits
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store
    from dibs.services.state.tasks import Stored
    from dibs.workdir.disk import Folders

#: How far back the ledger is read for the steps of a task; the rest of a long story is in the ledger itself.
LOOK_BACK = 1_000
#: A log is about an attempt that came to one of these.
_ENDED = frozenset({Status.DONE, Status.ERROR, Status.IN_REVIEW})


class Trail(Record):
    """Where a board keeps what, and whether it is to be logged and committed."""

    store: Store
    folders: Folders

    def follow(
        self, caller: Caller, ids: Collection[str], rows: Mapping[str, Stored]
    ) -> BoardCommits | None:
        """Log the attempts that ended among these tasks, and commit their files; the board's lock is held."""
        config = self.store.config
        if config.board_logs:
            with suppress(OSError, DibsError):  # without its log, the task is done all the same
                self._log(rows)
        return self.commit(caller, ids) if config.board_commit else None

    def log(self, ids: Collection[str]) -> None:
        """Write a work log for each of these tasks whose attempt ended and has none."""
        self._log(self.store.look(lambda rows: several(rows, ids)))

    def _log(self, listed: Mapping[str, Stored]) -> None:
        listed = {id_: row for id_, row in listed.items() if row.task.status in _ENDED}
        if not listed:
            return
        from dibs.services.board import worklogs

        told, ended = self.store.look(lambda rows: _ended(rows, listed))
        for id_, row in listed.items():
            if id_ in ended:
                worklogs.write_log(self.folders, self.folders.base, row, ended[id_], told[id_])

    def commit(self, caller: Caller, ids: Collection[str] | None) -> BoardCommits:
        """Commit the files of these tasks, of all and the pages by None; say what waits and why."""
        from dibs.services.board.commits import BoardCommits, commit

        told = self.store.look(lambda rows: _told(rows, ids))
        movers = {id_: steps[-1].agent for id_, steps in told.items()}
        try:
            return commit(
                self.folders.base,
                self.folders.folder,
                by=lambda id_: movers.get(id_, caller.id),
                ids=None if ids is None else tuple(ids),
            )
        except DibsError as error:
            why = error.message
        except OSError as error:  # the move is made, whatever becomes of its commit
            why = f"git's directory cannot be written: {error.strerror}"
        return BoardCommits(left=f"{why}; the changes are committed next time")


def _told(rows: Rows, ids: Container[str] | None) -> dict[str, list[Entry]]:
    """Return what the newest part of the ledger says of each task, the oldest first."""
    newest = list(islice(rows.events(newest_first=True), LOOK_BACK))
    found: dict[str, list[Entry]] = {}
    for entry in reversed(newest):
        id_ = entry.details.get("task")
        if isinstance(id_, str) and (ids is None or id_ in ids):
            found.setdefault(id_, []).append(entry)
    return found


def _ended(rows: Rows, listed: Container[str]) -> tuple[dict[str, list[Entry]], dict[str, Entry]]:
    """Return the steps of tasks, and how those ended whose agent works on this machine.

    Those of others are logged there.
    """
    from dibs.services.board.worklogs import ended_in

    told = _told(rows, listed)
    ended = ended_in(entry for steps in told.values() for entry in steps)
    return told, {id_: entry for id_, entry in ended.items() if _is_here(rows, entry.agent)}


def _is_here(rows: Rows, agent: str) -> bool:
    known = rows.agent(agent) if hasattr(os, "uname") else None
    return known is None or known.host in {"", os.uname().nodename}
