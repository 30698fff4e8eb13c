"""The orchestrator: a cycle accepts hand edits, assigns tasks, creates follow-ups, and cleans up.

Each step is a transaction that checks before it changes, so two orchestrators at once do everything once,
and the next cycle finishes one that was interrupted. Pending work has its own rows, so a cycle without work
reads neither tasks nor files, and writes nothing.
"""

from __future__ import annotations

import os
from math import inf

from dibs.core.claims.agents import Caller
from dibs.core.claims.ledger import Kind
from dibs.core.tasks.similarity import clashes
from dibs.errors import BadUsage
from dibs.services.board import worklogs
from dibs.services.board.commits import commit_board
from dibs.services.board.pages import Pages, Roster
from dibs.services.board.push import push_board
from dibs.services.board.validate import refused
from dibs.services.state.ledger import Ledger
from dibs.services.state.presence import role_of
from dibs.services.state.task_index import (
    drop_clash,
    finished,
    fresh,
    handoffs,
    put_clash,
    reported_clashes,
    running,
    silent,
)
from dibs.services.state.tasks import several
from dibs.services.tasks.handoffs import hand_off
from dibs.services.tasks.upkeep import archive, assign, stuck, sweep
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.config.load import Config
    from dibs.core.tasks.rules import Task
    from dibs.core.tasks.similarity import TaskOverlap
    from dibs.services.board.board import Board
    from dibs.services.board.report import BoardReport
    from dibs.services.board.validate import FileFinding
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store
    from dibs.services.state.tasks import Stored

#: Files with what this machine knows about its pages, and about the agents' tasks.
PAGES_STATE, ROSTER_STATE = "board-pages.json", "board-roster.json"
#: The role of a caller that runs cycles and has no role yet.
ROLE = "orchestrator"


class Cycle(Record):
    """What one cycle did: ids of tasks, in the order in which it happened."""

    assigned: tuple[str, ...] = ()
    followups: tuple[str, ...] = ()
    #: Tasks that take too long, each with the action taken.
    timeouts: tuple[tuple[str, str], ...] = ()
    #: Pairs of tasks in progress that share files, each with one such path.
    conflicts: tuple[tuple[str, str, str], ...] = ()
    archived: tuple[str, ...] = ()
    #: Tasks of dead agents.
    returned: tuple[str, ...] = ()
    #: Files that cannot be accepted, each with the reason.
    aside: tuple[FileFinding, ...] = ()
    #: Problems that a human must solve: a task and why.
    troubles: tuple[tuple[str, str], ...] = ()
    #: Files that people created or changed, and files that were restored.
    accepted: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    #: Messages of the commits made, and why others wait.
    commits: tuple[str, ...] = ()
    left: str = ""
    #: Why commits were not pushed.
    unpushed: str = ""

    @property
    def moved(self) -> bool:
        """Return whether the cycle changed something that belongs in the ledger."""
        changed = (
            self.assigned, self.followups, self.timeouts, self.conflicts, self.archived, self.returned,
        )  # fmt: skip
        return any(changed)

    @property
    def busy(self) -> bool:
        """Return whether there is anything to report."""
        remarks = (
            self.aside,
            self.troubles,
            self.accepted,
            self.restored,
            self.left,
            self.unpushed,
        )
        return self.moved or any(remarks)

    def line(self) -> str:
        """Return the line for WORKFLOW_LOG.md in its fixed format; Dibs's own counts follow unless zero."""
        text = (
            f"Coordinator cycle: {len(self.assigned)} assigned, {len(self.followups)} follow-ups,"
            f" {len(self.timeouts)} timeouts, {len(self.conflicts)} conflicts,"
            f" {len(self.archived)} archived"
        )
        for count, word in ((len(self.returned), "returned"), (len(self.aside), "set aside")):
            if count:
                text += f", {count} {word}"
        return text


class Orchestrator:
    """Runs cycles on one board."""

    def __init__(self, store: Store, board: Board, state: str, *, push: bool = False) -> None:
        """Prepare cycles; ``state`` is the folder of this machine's project state."""
        if push and not store.config.board_commit:
            raise BadUsage(
                "orchestrate: --push requires commits", hint="set commit = true under [board]"
            )
        self._push = push or store.config.board_push
        self._store = store
        self._board = board
        self._ledger = Ledger(store)
        self._roster = Roster(store, os.path.join(state, ROSTER_STATE))
        self._pages = Pages(self._ledger, board.folders, os.path.join(state, PAGES_STATE))

    def cycle(self, caller: Caller) -> Cycle:
        """Run one cycle.

        Passed deadlines of decisions and messages take effect first. A project without tasks needs nothing
        else and gets no board.
        """
        self._store.settle()
        if not self._board.begun():
            return Cycle()
        if caller.role == Caller(caller.id).role:
            # A caller first seen here hands out work, so no alert asks it to take some.
            caller = caller._replace(role=ROLE)
        with self._board.command(caller) as report:
            report.pushes_later = True
            found = self._care(caller, report)
            changed = self._roster.refresh()
            if changed:
                found = found._replace(conflicts=self._clashes(caller))
            if found.moved:
                self._tell(caller, found.line())
            self._write(changed=changed)
        return self._commit(caller, found, report)

    def _care(self, caller: Caller, report: BoardReport) -> Cycle:
        """Do what is due, in the order of the orchestration document."""
        store, folder = self._store, self._board.path
        found = Cycle(
            aside=tuple(refused(report.aside, folder)),
            accepted=tuple(verdict.id for verdict in report.accepted),
            followups=tuple(v.follower for v in report.accepted if v.follower),
            restored=tuple(report.restored),
        )
        due = store.look(lambda rows: due_in(rows, store.config))
        if "sweep" in due:
            back = store.apply(lambda rows: sweep(store, rows))
            found = found._replace(returned=_ids(back))
        if "assign" in due:
            new = frozenset(found.followups)  # the next cycle assigns them, as in the document
            given = self._to_the_end("assigning tasks", lambda rows: assign(rows, caller, skip=new))
            found = found._replace(assigned=given)
        if "hand_off" in due:
            made, troubles = store.apply(lambda rows: hand_off(rows, caller))
            problems = tuple((trouble.id, trouble.message) for trouble in troubles)
            found = found._replace(followups=(*found.followups, *_ids(made)), troubles=problems)
        if "stuck" in due:
            late = store.apply(lambda rows: stuck(store, rows, caller))
            found = found._replace(timeouts=tuple((one.stored.id, one.action) for one in late))
        if "archive" in due:
            over = self._to_the_end("archiving tasks", lambda rows: archive(store, rows, caller))
            found = found._replace(archived=over)
        return found

    def _to_the_end(self, what: str, act: Callable[[Rows], list[Stored]]) -> tuple[str, ...]:
        """Repeat a step that handles a limited number of tasks, so that no transaction gets long."""
        done: list[Stored] = []
        while some := self._store.apply(act):
            done += some
            self._board.folders.report(what, len(done), 0)
        return _ids(done)

    def _clashes(self, caller: Caller) -> tuple[tuple[str, str, str], ...]:
        """Warn about tasks in progress that share files."""
        ids = self._roster.in_progress()
        rows = self._store.look(lambda rows: several(rows, ids))
        warned = warn_of_clashes(self._store, caller, [row.task for row in rows.values()])
        return tuple((clash.first, clash.second, clash.witness) for clash in warned)

    def _tell(self, caller: Caller, line: str) -> None:
        self._store.apply(
            lambda rows: rows.emit(caller.id, role_of(rows, caller.id), Kind.BOARD_CYCLE, line)
        )

    def _write(self, *, changed: bool) -> None:
        """Update pages and logs from the ledger, and save the agents' tasks."""
        entries, whole = self._pages.news()
        if whole and not entries and not changed:
            return
        ids = worklogs.ended_in(entries)
        rows = self._store.look(lambda rows: several(rows, ids))
        worklogs.write_logs(self._store, self._board.folders, rows)
        self._pages.update(entries, self._roster.work(), anew=not whole)
        if changed:
            self._roster.save()

    def _commit(self, caller: Caller, found: Cycle, report: BoardReport) -> Cycle:
        """Commit what the cycle changed, including the pages."""
        if not self._store.config.board_commit:
            return found
        with self._board.lock:
            rest = commit_board(self._store, self._board.folders, caller, None)
        found = found._replace(commits=rest.after(report.commits).made, left=rest.left)
        if not self._push:
            return found
        folders = self._board.folders
        return found._replace(unpushed=push_board(folders.base, folders.folder))


def _ids(stored: Sequence[Stored]) -> tuple[str, ...]:
    return tuple(one.id for one in stored)


def due_in(rows: Rows, config: Config) -> set[str]:
    """Return the steps that may have work, judged by the first row of each kind."""
    never = (inf, "")
    due = {
        "sweep": any(running(rows)),
        "assign": any(fresh(rows)),
        "hand_off": bool(handoffs(rows)),
        "stuck": next(silent(rows), never)[0] + config.board_timeout <= rows.now,
        "archive": next(finished(rows), never)[0] + config.board_archive_after <= rows.now,
    }
    return {act for act, is_due in due.items() if is_due}


def warn_of_clashes(store: Store, caller: Caller, working: Sequence[Task]) -> list[TaskOverlap]:
    """Record each overlap of tasks once while it lasts; return the new ones."""
    found = clashes(working, fold_case=store.fold_case)
    pairs = {(clash.first.lower(), clash.second.lower()): clash for clash in found}
    if store.look(reported_clashes) == pairs.keys():
        return []

    def step(rows: Rows) -> list[TaskOverlap]:
        known = reported_clashes(rows)
        for pair in known - pairs.keys():
            drop_clash(rows, pair)
        new = [pair for pair in pairs if pair not in known]
        for pair in new:
            clash = pairs[pair]
            put_clash(rows, pair, clash.witness)
            rows.emit(
                caller.id, role_of(rows, caller.id), Kind.TASK_CLASH,
                f"tasks {clash.first} and {clash.second} are in progress and both use {clash.witness}",
                task=clash.first, other=clash.second, path=clash.witness,
            )  # fmt: skip
        return [pairs[pair] for pair in new]

    return store.apply(step)
