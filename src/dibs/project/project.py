"""Open a project: find the repository, read the configuration, open the engine, hand out services."""

from __future__ import annotations

import os
import sys

from dibs.config import load
from dibs.errors import Misconfigured, NotFound
from dibs.local.repository import STATE_OUTSIDE_GIT, find, main_tree, shared_state, with_own_state
from dibs.project.engines import Location, is_there, open_engine
from dibs.project.store import carry_out, open_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Protocol

    from dibs.config.load import Config
    from dibs.core.patterns.pattern import Pattern
    from dibs.core.toolcalls.values import HookEvent, Verdict
    from dibs.engines.base import Engine
    from dibs.git.calls import GitCalls
    from dibs.local.repository import Repository
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
    from dibs.services.forecast.service import Forecasts
    from dibs.services.guard.departures import Departures
    from dibs.services.guard.doctor import Doctoring
    from dibs.services.guard.git_hooks import Gating
    from dibs.services.guard.service import Guarding
    from dibs.services.guard.sessions import HookCaller
    from dibs.services.guard.unfinished import Row
    from dibs.services.merging.service import Merges
    from dibs.services.state.commits import Intent
    from dibs.services.state.ledger import Ledger
    from dibs.services.talk.decisions import Decisions
    from dibs.services.talk.groups import Groups
    from dibs.services.talk.mail import Mail
    from dibs.services.tasks.plain_queue import Queue
    from dibs.services.worktrees.salvage import Salvage
    from dibs.services.worktrees.service import Worktrees

    class Lender(Protocol):
        """Keeps engines open from call to call."""

        def engine(self, place: Location) -> Engine:
            """Return the open engine of a project."""


class _Service:
    """A service that is loaded when it is asked for; it is given the store, and maybe the repository."""

    def __init__(self, module: str, name: str, *, repository: bool) -> None:
        self._module, self._name, self._repository = module, name, repository

    def __get__(self, project: Project, _: type[Project]) -> Any:
        __import__(self._module)
        service = getattr(sys.modules[self._module], self._name)
        if self._repository:
            return service(project.store, project.place.repository)
        return service(project.store)


def _service(module: str, name: str, *, repository: bool = False) -> Any:
    """Return a service for a class body; a checker takes the attribute's own type."""
    return _Service(module, name, repository=repository)


class Project:
    """An open project: its place, its engine, and its services.

    An engine that was ``lent`` stays open when the project is closed.
    """

    #: Renewing, releasing, asking for, handing over and revoking claims.
    holdings: Holdings = _service("dibs.services.claims.holdings", "Holdings")
    #: Answering those who ask for a claim.
    answers: Answers = _service("dibs.services.claims.answers", "Answers")
    #: Putting a conflict before a human.
    escalations: Escalations = _service("dibs.services.claims.escalation", "Escalations")
    #: Joining, reporting, leaving and stopping.
    agents: Agents = _service("dibs.services.claims.agents", "Agents")
    #: Taking, finishing, giving back and listing tasks.
    queue: Queue = _service("dibs.services.tasks.plain_queue", "Queue")
    #: Saying something to others, and reading what they said.
    mail: Mail = _service("dibs.services.talk.mail", "Mail")
    #: Agents that are written to together.
    groups: Groups = _service("dibs.services.talk.groups", "Groups")
    #: What happened.
    ledger: Ledger = _service("dibs.services.state.ledger", "Ledger")
    #: Telling an agent where its crew stands, and its mail exactly once.
    briefings: Briefings = _service("dibs.services.briefing.service", "Briefings")
    #: What is changed and not committed, by whose it is.
    changes: Changes = _service("dibs.services.commits.changes", "Changes", repository=True)
    #: Ending sessions, and agents whose processes are gone.
    departures: Departures = _service(
        "dibs.services.guard.departures", "Departures", repository=True
    )
    #: Judging commits that are made without ``dibs commit``.
    gating: Gating = _service("dibs.services.guard.git_hooks", "Gating")
    #: What would conflict if it were merged now.
    forecasts: Forecasts = _service("dibs.services.forecast.service", "Forecasts", repository=True)

    def __init__(self, place: Location, engine: Engine, *, lent: bool = False) -> None:
        self.place = place
        self._lent = lent
        self.config: Config = place.loaded.config
        self.engine = engine
        self.store = open_store(engine, self.config, place.repository)
        self.tree = place.tree
        self._board: Board | None = None
        #: Hears after each board command what it did to files besides.
        self.tell_board: Callable[[BoardReport], None] | None = None
        self._shared: Engine | None = None

    @property
    def claims(self) -> Claims:
        """Asking for patterns, waiting for them, and seeing who holds what."""
        from dibs.services.claims.service import Claims

        return Claims(self.store, self.tell_left)

    @property
    def tasks(self) -> Tasks:
        """Making, taking, finishing and handing on the tasks of the board."""
        from dibs.services.board.tasks import Tasks

        return Tasks(self.store, self.board)

    @property
    def delegation(self) -> Delegation:
        """Sending work to other agents."""
        from dibs.services.board.delegation import Delegation

        return Delegation(self.store, self.board)

    @property
    def board(self) -> Board:
        """The files of the tasks; one for the whole project, because it knows what it saw last."""
        if self._board is None:
            from dibs.services.board.board import Board

            repository = self.place.repository
            own = repository.state != shared_state(repository)
            tree = repository.root if own else main_tree(repository)
            self._board = Board(self.store, tree, repository.state, tell=self.tell_board)
        return self._board

    @property
    def worktrees(self) -> Worktrees:
        """Making, listing and removing worktrees; known to the whole clone even where claims are not."""
        from dibs.services.worktrees.service import Worktrees

        repository = self.place.repository
        shared = shared_state(repository)
        if shared == repository.state:
            return Worktrees(self.store, repository)
        if self._shared is None:
            place = Location(repository._replace(state=shared), self.place.loaded)
            self._shared = open_engine(place, anew=False)
        whole = repository._replace(state=shared)
        return Worktrees(open_store(self._shared, self.config, whole), repository)

    @property
    def doctoring(self) -> Doctoring:
        """Looking after the crew: who is guarded, what nobody holds any more."""
        from dibs.services.guard.doctor import Doctoring

        repository = self.place.repository
        return Doctoring(self.store, repository, self.worktrees if repository.common else None)

    @property
    def salvage(self) -> Salvage:
        """Looking at work that was kept when a worktree went, and bringing it back."""
        from dibs.services.worktrees.context import WorktreeContext
        from dibs.services.worktrees.salvage import Salvage

        return Salvage(WorktreeContext(self.store, self.place.repository).git)

    @property
    def merges(self) -> Merges:
        """The merge queue; its settings are those of the main working tree, whoever calls from where."""
        from dibs.services.merging.service import Merges

        repository, main = self.place.repository, main_tree(self.place.repository)
        config = self.config
        if main != repository.root:
            config = load.load(main, repository.state, os.environ, {}).config
        return Merges(self.store, repository, self.gate, self.tasks, config=config, main=main)

    @property
    def decisions(self) -> Decisions:
        """Recording, asking and deciding; the policy is that of the file in the main working tree."""
        from dibs.services.talk.decisions import Decisions

        repository = self.place.repository
        written = load.load(main_tree(repository), repository.state, {}, {})
        return Decisions(self.store, written, carry_out)

    @property
    def guarding(self) -> Guarding:
        """Answering the hooks of coding agents."""
        from dibs.services.guard.service import Guarding

        guarding = Guarding(self.store, self.place.repository)
        if self.config.worktree_claims == "worktree":
            guarding.elsewhere = _hear_elsewhere
        return guarding

    def tell_left(self, agent: str, found: list[Row]) -> None:
        """Tell an agent by mail what of its new claims was left half-done."""
        from dibs.services.guard.unfinished import settle

        settle(self.store, self.place.repository, agent, found)

    @property
    def commits(self) -> Commits:
        """Committing what an agent holds, and nothing else."""
        from dibs.services.commits.service import Commits

        return Commits(self.store, self.place.repository, self.gate)

    @property
    def gate(self) -> Gate:
        """Moving branches while the claims behind a commit or a merge are in force."""
        from dibs.services.commits.gate import Gate

        return Gate(self.store, self.place.repository, _follower)

    def overview(self, agent: str = "") -> Overview:
        """Look at agents, claims and queue at one moment, of one agent or of all."""
        from dibs.services.claims.views import overview

        return overview(self.store, agent)

    def pattern(self, text: str) -> Pattern:
        """Parse a pattern that Dibs itself spelled, without looking at the disk again."""
        from dibs.core.patterns.pattern import parse

        return parse(text, fold_case=self.store.fold_case)

    def close(self) -> None:
        """Close the engine, unless it was lent."""
        if not self._lent:
            self.engine.close()
        if self._shared is not None:
            self._shared.close()


def _follower(kind: str) -> Callable[[GitCalls, Intent], str]:
    """Return what lets a working tree follow a commit or a merge whose process died."""
    if kind == "merge":
        from dibs.services.merging.checkout import again
    else:
        from dibs.services.commits.shared_index import again
    return again


def _hear_elsewhere(root: str, heard: HookEvent, who: HookCaller) -> Verdict:
    """Ask the guard of another working tree, which has claims of its own, about a call of an agent here."""
    from dibs.local.identity import VARIABLE

    other = open_project(root)
    try:
        guarding = other.guarding
        guarding.elsewhere = None
        named = {VARIABLE: who.named}
        return guarding.hear(heard, who.agent or 0, named, tells=False)
    finally:
        other.close()


def locate(
    start: str = "",
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
) -> Location:
    """Find the project of a folder and read its settings; open and change nothing."""
    variables = os.environ if environ is None else environ
    repository = find(start, variables)
    loaded = load.load(repository.root, repository.state, variables, flags or {})
    if loaded.config.worktree_claims == "worktree":
        repository = _apart(repository, loaded.config)
    return Location(repository, loaded)


def _apart(repository: Repository, config: Config) -> Repository:
    """Return the repository with claims of its worktree alone, which only a store in it can keep."""
    if config.engine:
        raise Misconfigured(
            "per-worktree claims only work with the default engine",
            field="worktree_claims",
            hint='remove engine from dibs.toml, or set claims = "project" under [worktree]',
        )
    return with_own_state(repository)


def open_project(
    start: str = "",
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
) -> Project:
    """Open the project of a folder; in a git repository its state is made on first use."""
    return open_at(locate(start, environ, flags))


def open_at(place: Location, lender: Lender | None = None) -> Project:
    """Open a project that was located, with an engine of its own or one that somebody keeps open."""
    if lender is None:
        return Project(place, open_engine(place, anew=False))
    return Project(place, lender.engine(place), lent=True)


def create(
    start: str = "",
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
) -> tuple[Project, bool]:
    """Make a project of a folder, or open the one that is there; tell whether state was made.

    State that was lost is made anew; its numbers go on above every number of the lost one.
    """
    try:
        place = locate(start, environ, flags)
    except NotFound as missing:
        place = _place_outside_git(start, environ, flags, missing)
    made = not is_there(place)
    engine = open_engine(place, anew=True)
    engine.view(lambda _: None)  # a store that lies elsewhere is met now, not at the first claim
    return Project(place, engine), made


def _place_outside_git(
    start: str,
    environ: Mapping[str, str] | None,
    flags: Mapping[str, object] | None,
    missing: NotFound,
) -> Location:
    """Make the folder for the state of a project that no git directory can hold.

    Where there is no such folder, or it is a git directory itself, nothing is left behind.
    """
    try:
        state = os.path.join(os.getcwd(), start, STATE_OUTSIDE_GIT)
        os.mkdir(state, mode=0o700)
    except FileNotFoundError:
        raise missing from None
    except OSError as error:
        raise Misconfigured(f"cannot create {error.filename}: {error.strerror}") from error
    try:
        return locate(start, environ, flags)
    except NotFound:
        os.rmdir(state)
        raise
