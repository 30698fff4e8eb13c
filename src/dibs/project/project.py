"""Opens a located project: its engine and its services."""

from __future__ import annotations

import os
import sys

from dibs.local.repository import main_tree
from dibs.project.committed_settings import load_settings
from dibs.project.engines import is_recorded, is_there, open_engine
from dibs.project.location import Location, locate
from dibs.project.store import carry_out, open_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Protocol

    from dibs.config.load import Config
    from dibs.core.patterns.pattern import Pattern
    from dibs.core.text.findings import Finding
    from dibs.engines.base import Engine
    from dibs.git.calls import GitCalls
    from dibs.services.alerts.service import Alerts
    from dibs.services.board.board import Board
    from dibs.services.board.delegation import Delegation
    from dibs.services.board.report import BoardReport
    from dibs.services.board.tasks import Tasks
    from dibs.services.briefing.service import Briefings
    from dibs.services.claims.agents import Agents
    from dibs.services.claims.answers import Answers
    from dibs.services.claims.escalation import Escalations
    from dibs.services.claims.holdings import Holdings
    from dibs.services.claims.service import Claims
    from dibs.services.claims.views import Overview
    from dibs.services.commits.changes import Changes
    from dibs.services.commits.gate import Gate
    from dibs.services.commits.service import Commits
    from dibs.services.files.service import ProjectFiles
    from dibs.services.forecast.service import Forecasts
    from dibs.services.guard.departures import Departures
    from dibs.services.guard.doctor import Doctoring
    from dibs.services.guard.file_log import Observation
    from dibs.services.guard.git_hooks import Gating
    from dibs.services.guard.service import Guarding
    from dibs.services.history.service import History
    from dibs.services.merging.service import Merges
    from dibs.services.salvage.entries import Salvage
    from dibs.services.state.commits import Intent
    from dibs.services.state.ledger import Ledger
    from dibs.services.talk.decisions import Decisions
    from dibs.services.talk.groups import Groups
    from dibs.services.talk.mail import Mail
    from dibs.services.tasks.lock_queue.tasks import LockTasks
    from dibs.services.tasks.lock_queue.view import QueuedFile
    from dibs.services.worktrees.service import Worktrees

    class Lender(Protocol):
        """Keeps engines open between calls."""

        def engine(self, place: Location) -> Engine:
            """Return the open engine of a project."""

        def observer(self, place: Location) -> Callable[[Observation], None] | None:
            """Return what collects the files that agents edit and read; None if they are not collected."""


class _Service:
    """A service that is loaded on first use, with the store and optionally the repository."""

    def __init__(self, module: str, name: str, *, repository: bool) -> None:
        self._module, self._name, self._repository = module, name, repository

    def __get__(self, project: Project, _: type[Project]) -> Any:
        __import__(self._module)
        service = getattr(sys.modules[self._module], self._name)
        if self._repository:
            return service(project.store, project.place.repository)
        return service(project.store)


def _service(module: str, name: str, *, repository: bool = False) -> Any:
    """Return a service for a class body; type checkers use the attribute's own type."""
    return _Service(module, name, repository=repository)


class Project:
    """An open project: its location, its engine, and its services.

    A ``lent`` engine stays open when the project is closed. ``observe`` collects the files that agents edit
    and read.
    """

    #: Renews, releases, requests, transfers, and revokes claims.
    holdings: Holdings = _service("dibs.services.claims.holdings", "Holdings")
    #: Replies to release requests.
    answers: Answers = _service("dibs.services.claims.answers", "Answers")
    #: Escalates a conflict to a human.
    escalations: Escalations = _service("dibs.services.claims.escalation", "Escalations")
    #: Lets agents join, report, leave, and be stopped.
    agents: Agents = _service("dibs.services.claims.agents", "Agents")
    #: Sends and reads messages.
    mail: Mail = _service("dibs.services.talk.mail", "Mail")
    #: Groups of agents that receive messages together.
    groups: Groups = _service("dibs.services.talk.groups", "Groups")
    #: The record of what happened.
    ledger: Ledger = _service("dibs.services.state.ledger", "Ledger")
    #: Tells an agent what its crew is doing, and delivers each message once.
    briefings: Briefings = _service("dibs.services.briefing.service", "Briefings")
    #: Finds conditions that need attention.
    alerts: Alerts = _service("dibs.services.alerts.service", "Alerts")
    #: What happened over time.
    history: History = _service("dibs.services.history.service", "History")
    #: Ends sessions, and agents whose processes are dead.
    departures: Departures = _service(
        "dibs.services.guard.departures", "Departures", repository=True
    )
    #: Checks commits that are made without ``dibs commit``.
    gating: Gating = _service("dibs.services.guard.git_hooks", "Gating")
    #: Predicts merge conflicts.
    forecasts: Forecasts = _service("dibs.services.forecast.service", "Forecasts", repository=True)

    def __init__(
        self,
        place: Location,
        engine: Engine,
        *,
        lent: bool = False,
        observe: Callable[[Observation], None] | None = None,
    ) -> None:
        self.place = place
        self._lent = lent
        self._observe = observe
        self.config: Config = place.loaded.config
        self.engine = engine
        self.store = open_store(engine, self.config, place.repository)
        self.tree = place.tree
        self._board: Board | None = None
        self._locks: LockTasks | None = None
        #: Receives what each board command did to files in addition.
        self.tell_board: Callable[[BoardReport], None] | None = None
        #: Called during long board commands with what is done, how many of it, and of how many.
        self.board_progress: Callable[[str, int, int], None] | None = None

    @property
    def claims(self) -> Claims:
        """Grants patterns, waits for them, and shows who holds what."""
        from dibs.services.claims.service import Claims

        return Claims(self.store)

    @property
    def tasks(self) -> Tasks:
        """Creates, takes, finishes, and hands off the tasks of the board and of the lock-file queue."""
        from dibs.services.board.tasks import Tasks

        return Tasks(self.store, self.board, self._lock_tasks)

    def renew_locks(self, agent: str) -> None:
        """Renew the agent's lock files in a lock-file queue, if they are due."""
        if self._lock_tasks is not None:
            from dibs.services.tasks.lock_queue.upkeep import renew_due

            renew_due(self._lock_tasks, agent)

    def queue_lock(self, name: str) -> QueuedFile | None:
        """Return a task of the lock-file queue, with its owner; None if it is not there."""
        if self._lock_tasks is None or (locked := self._lock_tasks.view()) is None:
            return None
        if not locked.snapshot.has(name):
            return None
        return next((file for file in self.tasks.queued() if file.name == name), None)

    def queue_place(self) -> str:
        """Return the branch of the lock-file queue, without asking a remote; empty if there is none."""
        from dibs.services.tasks.lock_queue.layout import on_disk

        if not on_disk(self.place.repository.root) or self._lock_tasks is None:
            return ""
        queue = self._lock_tasks.queue
        return queue.place if queue.exists() else ""

    def check_queue(self) -> list[Finding]:
        """Return what there is to know about the lock-file queue."""
        if self._lock_tasks is None:
            return []
        from dibs.services.tasks.lock_queue.upkeep import check_queue

        return check_queue(self._lock_tasks)

    @property
    def _lock_tasks(self) -> LockTasks | None:
        """The lock-file queue, if this clone may have one; it remembers what it last read."""
        if self._locks is None:
            from dibs.services.tasks.lock_queue.layout import may_have_queue

            if may_have_queue(self.place.repository):
                from dibs.project.remotes import lock_queue
                from dibs.services.tasks.lock_queue.tasks import LockTasks

                self._locks = LockTasks(self.store, lock_queue(self.place))
        return self._locks

    @property
    def delegation(self) -> Delegation:
        """Delegates work to other agents."""
        from dibs.services.board.delegation import Delegation

        return Delegation(self.store, self.board)

    @property
    def board(self) -> Board:
        """The task files; one object per project, because it remembers what it last saw."""
        if self._board is None:
            from dibs.services.board.board import Board

            repository = self.place.repository
            self._board = Board(
                self.store,
                main_tree(repository),
                repository.state,
                tell=self.tell_board,
                progress=self.board_progress,
                writers=self._writers,
            )
        return self._board

    @property
    def worktrees(self) -> Worktrees:
        """Creates, lists, and removes worktrees."""
        from dibs.services.worktrees.service import Worktrees

        return Worktrees(self.store, self.place.repository)

    @property
    def doctoring(self) -> Doctoring:
        """Checks the crew: which agents are guarded, and what dead agents left."""
        from dibs.services.guard.doctor import Doctoring

        repository = self.place.repository
        return Doctoring(self.store, repository, self.worktrees if repository.common else None)

    @property
    def salvage(self) -> Salvage:
        """Lists and restores saved copies of removed worktrees."""
        from dibs.services.salvage.entries import Salvage
        from dibs.services.worktrees.context import WorktreeContext

        return Salvage(WorktreeContext(self.store, self.place.repository).git)

    @property
    def merges(self) -> Merges:
        """The merge queue, with the settings of the main working tree."""
        from dibs.services.merging.service import Merges

        repository, main = self.place.repository, main_tree(self.place.repository)
        config = self.config
        if main != repository.root:
            from dibs.project.environment import trusted_variables

            variables = trusted_variables(os.environ, repository.state)
            config = load_settings(repository._replace(root=main), variables).config
        return Merges(self.store, repository, self.gate, self.tasks, config=config, main=main)

    @property
    def decisions(self) -> Decisions:
        """Records, requests, and makes decisions."""
        from dibs.services.talk.decisions import Decisions

        return Decisions(self.store, carry_out)

    @property
    def guarding(self) -> Guarding:
        """Answers the hooks of coding agents."""
        from dibs.services.guard.service import Guarding

        guarding = Guarding(self.store, self.place.repository)
        guarding.observe = self._observe
        return guarding

    @property
    def changes(self) -> Changes:
        """Shows uncommitted changes by owner, and who is known to have made them."""
        from dibs.services.commits.changes import Changes

        return Changes(self.store, self.place.repository, self._writers)

    @property
    def files(self) -> ProjectFiles:
        """Lists files with their owners, and shows what happened to one."""
        from dibs.services.files.service import ProjectFiles

        return ProjectFiles(self.store, self.place.repository, self.ledger)

    def _writers(self, root: str, paths: Sequence[str]) -> dict[str, str]:
        """Return the agents whose own calls left files of a working tree as they are now."""
        from dibs.services.guard.uncommitted.before_call import TreeSnapshots

        return TreeSnapshots(self.place.repository._replace(root=root)).writers(paths)

    @property
    def commits(self) -> Commits:
        """Commits what an agent holds, and nothing else."""
        from dibs.services.commits.service import Commits

        return Commits(self.store, self.place.repository, self.gate)

    @property
    def gate(self) -> Gate:
        """Moves branches while the claims behind a commit or a merge are valid."""
        from dibs.services.commits.gate import Gate

        return Gate(self.store, self.place.repository, _follower)

    def overview(self, agent: str = "") -> Overview:
        """Return agents, claims, and queue at one moment, for one agent or all."""
        from dibs.services.claims.views import overview

        return overview(self.store, agent)

    def pattern(self, text: str) -> Pattern:
        """Parse a canonical pattern, without checking the disk again."""
        from dibs.core.patterns.pattern import parse

        return parse(text, fold_case=self.store.fold_case)

    def close(self) -> None:
        """Close the engine, unless it was lent."""
        if not self._lent:
            self.engine.close()


def _follower(kind: str) -> Callable[[GitCalls, Intent], str]:
    """Return the function that updates a working tree after a commit or a merge whose process died."""
    if kind == "merge":
        from dibs.services.merging.checkout import again
    else:
        from dibs.services.commits.shared_index import again
    return again


def open_project(
    start: str = "",
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
    *,
    lenient: bool = False,
) -> Project:
    """Open a folder's project; in a git repository, the first change creates the state."""
    return open_at(locate(start, environ, flags, lenient=lenient))


def open_at(place: Location, lender: Lender | None = None) -> Project:
    """Open a located project, with its own engine or a lent one."""
    known = is_recorded(place)
    engine = open_engine(place, recreate=False) if lender is None else lender.engine(place)
    return Project(
        place,
        engine if known else _recording(engine, place),
        lent=lender is not None,
        observe=None if lender is None else lender.observer(place),
    )


def _recording(engine: Engine, place: Location) -> Any:
    """Return an engine whose first change records that the clone uses it."""
    from dibs.project.clone_record import UnrecordedEngine

    return UnrecordedEngine(engine, place)


def create(
    start: str = "",
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
) -> tuple[Project, bool]:
    """Initialize a project, or open an existing one; return whether state was created.

    Lost state is recreated; its numbers continue above those of the lost store.
    """
    place = locate(start, environ, flags)
    known, made = is_recorded(place), not is_there(place)
    engine = open_engine(place, recreate=True)
    engine.view(lambda _: None)  # fail now, not at the first claim, if the store is unreachable
    if not known:
        from dibs.project import clone_record

        clone_record.write(place)
    return Project(place, engine), made
