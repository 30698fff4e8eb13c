"""The orchestrator: one cycle takes hand-made files in, hands tasks out, makes handoffs, cares for the rest.

Every act is a transaction of its own that looks before it changes, so two orchestrators at once do each thing
once, and a cycle that is cut off is finished by the next. What there is to do stands in rows of its own, so a
cycle without any reads neither tasks nor files, and writes nothing.
"""

from __future__ import annotations

import os
from functools import partial

from dibs.core.claims.agents import Caller
from dibs.core.claims.ledger import Kind
from dibs.services.board import worklogs
from dibs.services.board.cycle import Cycle
from dibs.services.board.due import Due, due_in, warn_of_clashes
from dibs.services.board.pages import Pages
from dibs.services.board.roster import Roster
from dibs.services.board.trail import Trail
from dibs.services.board.validate import refused
from dibs.services.state.ledger import Ledger
from dibs.services.state.presence import role_of
from dibs.services.state.tasks import several
from dibs.services.talk.decisions import settle
from dibs.services.tasks.handoffs import hand_off
from dibs.services.tasks.upkeep import archive, assign, stuck, sweep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.services.board.board import Board
    from dibs.services.board.report import BoardReport
    from dibs.services.state.store import Store
    from dibs.services.state.tasks import Stored

#: What this machine keeps of its pages, and of who has what.
PAGES_STATE, ROSTER_STATE = "board-pages.json", "board-roster.json"
#: As what somebody joins who has no role yet and runs cycles.
ROLE = "orchestrator"


class Orchestrator:
    """Runs cycles over one board."""

    def __init__(self, store: Store, board: Board, state: str, *, spread: bool = True) -> None:
        """``state`` is the folder in which this machine keeps what it knows of the project."""
        self._store = store
        self._board = board
        self._spread = spread
        self._ledger = Ledger(store)
        self._trail = Trail(store, board.folders)
        self._roster = Roster(store, os.path.join(state, ROSTER_STATE))
        self._pages = Pages(self._ledger, board.folders, os.path.join(state, PAGES_STATE))

    def cycle(self, caller: Caller, *, thorough: bool = False) -> Cycle:
        """Run one cycle; a ``thorough`` one looks at every file, however many there are.

        Deadlines that passed are carried out, of decisions as of mail. Where no task was ever made there is
        nothing else to look after, and no board is left behind.
        """
        settle(self._store)
        if not self._board.begun():
            return Cycle()
        if caller.role == Caller(caller.id).role:
            # Whoever is first heard of by this hands out work: another orchestrator gives it none.
            caller = caller._replace(role=ROLE)
        with self._board.command(caller, thorough=thorough) as report:
            due = self._store.look(
                lambda rows: due_in(rows, self._store.config, spread=self._spread)
            )
            found = self._care(caller, due, report)
            changed = self._roster.refresh()
            if changed:
                found = found._replace(conflicts=self._clashes(caller))
            if found.moved:
                self._tell(caller, found.line())
            self._write(changed=changed)
        return self._commit(caller, found, report)

    def _care(self, caller: Caller, due: Due, report: BoardReport) -> Cycle:
        """Do what is due, in the order of the orchestration document."""
        found = _of_files(report, self._board.path)
        store = self._store
        if due.sweep:
            found = found._replace(returned=_ids(store.apply(partial(sweep, store))))
        if due.assign:
            act = partial(assign, store, caller=caller, spread=self._spread)
            assigned = _to_the_end(lambda: store.apply(act))
            found = found._replace(assigned=_ids(assigned))
        if due.hand_off:
            made, troubles = store.apply(lambda rows: hand_off(rows, caller, report.agents))
            told = tuple((trouble.id, trouble.message) for trouble in troubles)
            found = found._replace(followups=_ids(made), troubles=told)
        if due.stuck:
            late = store.apply(partial(stuck, store, caller=caller))
            found = found._replace(timeouts=tuple((one.stored.id, one.action) for one in late))
        if due.archive:
            act = partial(archive, store, caller=caller)
            found = found._replace(archived=_ids(_to_the_end(lambda: store.apply(act))))
        return found

    def _clashes(self, caller: Caller) -> tuple[tuple[str, str, str], ...]:
        """Warn of tasks in progress that are about the same files."""
        ids = self._roster.in_progress()
        rows = self._store.look(lambda rows: several(rows, ids))
        warned = warn_of_clashes(self._store, caller, [row.task for row in rows.values()])
        return tuple((clash.first, clash.second, clash.witness) for clash in warned)

    def _tell(self, caller: Caller, line: str) -> None:
        self._store.apply(
            lambda rows: rows.emit(caller.id, role_of(rows, caller.id), Kind.BOARD_CYCLE, line)
        )

    def _write(self, *, changed: bool) -> None:
        """Bring pages and logs up to what the ledger tells, and remember who has what."""
        entries, whole = self._pages.news()
        if whole and not entries and not changed:
            return
        if self._store.config.board_logs:
            self._trail.log(worklogs.ended_in(entries))
        self._pages.update(entries, self._roster.work(), anew=not whole)
        if changed:
            self._roster.save()

    def _commit(self, caller: Caller, found: Cycle, report: BoardReport) -> Cycle:
        """Commit what the cycle left, the pages included; what it moved is committed with its files."""
        if not self._store.config.board_commit:
            return found
        before = report.commits
        with self._board.lock:
            rest = self._trail.commit(caller, None)
        made = (*(before.made if before else ()), *rest.made)
        return found._replace(commits=made, left=rest.left)


def _ids(stored: Sequence[Stored]) -> tuple[str, ...]:
    return tuple(one.id for one in stored)


def _to_the_end(act: Callable[[], list[Stored]]) -> list[Stored]:
    """Repeat an act that does a bounded number of tasks at a time, so that no transaction grows long."""
    done: list[Stored] = []
    while some := act():
        done += some
    return done


def _of_files(report: BoardReport, folder: str) -> Cycle:
    return Cycle(
        aside=tuple(refused(report.aside, folder)),
        accepted=tuple(v.id for v in report.accepted),
        restored=tuple(map(str, report.restored)),
    )
