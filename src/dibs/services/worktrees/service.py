"""Create, list, set up, remove, and clean up agents' worktrees."""

from __future__ import annotations

import os
import shlex
import time

from dibs.core.changes.worktrees import WorktreeStage, variables
from dibs.core.claims.rules import check_text
from dibs.core.text.names import check_agent_id
from dibs.errors import BadInput, NotAllowed, NotFound, Unavailable
from dibs.git import refs
from dibs.git.worktrees import WorktreeEntry
from dibs.services.salvage.save import sweep
from dibs.services.state.presence import arrive
from dibs.services.state.worktrees import is_abandoned, is_awaited, put_row
from dibs.services.worktrees import locks
from dibs.services.worktrees.context import CloneTree, WorktreeContext
from dibs.services.worktrees.create import CreatedWorktree, WorktreeCreator, WorktreeRequest
from dibs.services.worktrees.remove import KeptWorktree, Removed, Remover
from dibs.services.worktrees.setup import run_setup, words_of
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.core.changes.worktrees import Holding
    from dibs.core.claims.agents import Caller
    from dibs.local.repository import Repository
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store
    from dibs.services.state.worktrees import WorktreeRow

__all__ = [
    "CloneTree",
    "CreatedWorktree",
    "KeptWorktree",
    "Listed",
    "Removed",
    "Skipped",
    "WorktreeRequest",
    "Worktrees",
]


def _nothing(*_: object) -> None:
    """Do nothing."""


class Listed(Record):
    """A working tree as ``dibs worktree ls`` shows it."""

    tree: CloneTree
    held: tuple[Holding, ...] = ()
    unpushed: int = 0
    #: The time and the subject of the last commit.
    at: int = 0
    subject: str = ""


class Skipped(Record):
    """A worktree that a cleanup skipped, and why."""

    row: WorktreeRow
    why: str


class Worktrees:
    """The worktrees of one clone."""

    def __init__(self, store: Store, repository: Repository) -> None:
        self._store = store
        self._context = WorktreeContext(store, repository)

    def all(self) -> list[CloneTree]:
        """Return all working trees of this clone, the main one first, including those Dibs did not create."""
        return self._context.trees()

    def listed(self) -> list[Listed]:
        """Return the linked working trees with their unsaved work."""
        return [self._list(tree) for tree in self.all() if not tree.main]

    def new(
        self,
        caller: Caller,
        wanted: WorktreeRequest,
        *,
        setup: str | None = None,
        before_setup: Callable[[str], None] = _nothing,
    ) -> CreatedWorktree:
        """Create a worktree and set it up, or return the existing one.

        ``setup`` is the setup command; None means the configured one, an empty text means none.
        ``before_setup`` is called with a line for the user before the command runs.
        """
        command = self._store.config.worktree_setup if setup is None else setup
        if command:
            words_of(command)
        check_agent_id(wanted.agent)
        with locks.of_agent(self._context.state, wanted.agent):
            made = WorktreeCreator(self._context).create(caller, wanted, setup=bool(command))
            if made.new and command:
                before_setup(f"running setup: {command}")
                made = made._replace(row=self._set_up(made.row, command))
        return made

    def setup(self, caller: Caller, named: str, command: str = "") -> WorktreeRow:
        """Run the setup command of a worktree again."""
        words = command or self._store.config.worktree_setup
        if not words:
            raise NotFound(
                "no setup command is configured",
                code="SETUP",
                hint="set [worktree] setup in dibs.toml, or use --setup COMMAND",
            )
        row = self._context.find(named)
        self._store.apply(lambda rows: arrive(rows, caller))
        with locks.of_agent(self._context.state, row.agent):
            Remover(self._context).settle(caller, row.agent)
            return self._set_up(self._context.find(row.agent), words)

    def environment(self, named: str) -> dict[str, str]:
        """Return the environment variables of a worktree."""
        return self._variables(self._context.find(named))

    def remove(
        self, caller: Caller, named: str, *, force: bool = False, reason: str = ""
    ) -> Removed | KeptWorktree:
        """Remove a worktree if it contains no unsaved work; with ``force``, salvage that work first."""
        if force and not reason.strip():
            raise BadInput(
                "--force requires a reason",
                code="REASON",
                field="reason",
                hint='add --reason "abandoned"',
            )
        words = check_text(reason, "reason")
        for row in self._context.rows_elsewhere() if force and caller.human else ():
            if row.agent == named:
                return Remover(self._context).disown(caller, row)
        row = self._context.find(named)
        self._store.apply(lambda rows: _admit(rows, caller, row))
        _refuse_own_place(row)
        with locks.of_agent(self._context.state, row.agent):
            notes = Remover(self._context).settle(caller, row.agent)
            if notes and self._context.row(row.agent) is None:
                return Removed(row, notes=tuple(notes))
            row = self._context.find(row.agent)
            return Remover(self._context).remove(caller, row, force=force, why=words)

    def clean_up(
        self,
        caller: Caller,
        *,
        dry_run: bool = False,
        progress: Callable[[str, int, int], None] = _nothing,
    ) -> list[Removed | KeptWorktree | Skipped]:
        """Remove the worktrees of dead agents, except those with unsaved work.

        ``progress`` is called with the current step, and how much of it is done.
        """
        if not dry_run:
            self._store.apply(lambda rows: arrive(rows, caller))
            sweep(self._context.common, time.time())
        rows = self._context.rows()
        own = []
        for number, row in enumerate(rows):
            progress(f"checking the worktree of {row.agent}", number, len(rows))
            own.append(self._clean(caller, row, dry_run=dry_run))
        gone = [row for row in self._context.rows_elsewhere() if self._is_lost(caller, row)]
        return own + [
            Removed(row) if dry_run else Remover(self._context).disown(caller, row) for row in gone
        ]

    # -- parts

    def _list(self, tree: CloneTree) -> Listed:
        if tree.missing or tree.wrong or not tree.head:
            return Listed(tree)
        try:
            return self._look(tree)
        except FileNotFoundError:  # it was removed just now
            return Listed(tree._replace(missing=True))
        except Unavailable as error:  # the others can still be listed
            return Listed(tree._replace(wrong=error.message))

    def _look(self, tree: CloneTree) -> Listed:
        git = self._context.git(tree.path)
        held = self._context.inspector().glance(_entry(tree), self._context.admin_of(tree.path))
        shape = ("-1", "--no-show-signature", "--format=%ct %s")
        output = git.must("log", *shape, "--end-of-options", tree.head, "--")
        at, _, subject = output.decode("utf-8", "replace").strip().partition(" ")
        return Listed(tree, tuple(held), refs.unpushed(git, tree.head), int(at), subject)

    def _set_up(self, row: WorktreeRow, command: str) -> WorktreeRow:
        run_setup(command, row.path, self._variables(row), self._setup_command(row, command))
        ready = row._replace(stage=WorktreeStage.READY)
        self._store.apply(lambda rows: put_row(rows, ready))
        return ready

    def _setup_command(self, row: WorktreeRow, command: str) -> str:
        """Return the command line that runs the setup of a worktree again."""
        usual = command == self._store.config.worktree_setup
        option = "" if usual else f" --setup {shlex.quote(command)}"
        return f"dibs worktree setup {row.agent}{option}"

    def _variables(self, row: WorktreeRow) -> dict[str, str]:
        config = self._store.config
        return variables(
            row.agent,
            row.path,
            project=config.project or os.path.basename(self._context.main),
            slot=row.slot,
            port=config.worktree_port,
            ports=config.worktree_ports,
        )

    def _clean(
        self, caller: Caller, row: WorktreeRow, *, dry_run: bool
    ) -> Removed | KeptWorktree | Skipped:
        if not self._store.look(lambda rows: is_abandoned(rows, row)):
            unfinished = row.stage not in {WorktreeStage.READY, WorktreeStage.SETUP}
            if not unfinished or dry_run:
                return Skipped(row, self._why_not_alone(row))
        try:
            with locks.of_agent(self._context.state, row.agent, patience=0.0):
                return self._clean_held(caller, row, dry_run=dry_run)
        except Unavailable as error:
            return Skipped(row, error.message)

    def _clean_held(
        self, caller: Caller, row: WorktreeRow, *, dry_run: bool
    ) -> Removed | KeptWorktree | Skipped:
        """Clean up one worktree while holding its lock, so no living process is at work on it."""
        if dry_run:
            return self._would_clean(row)
        notes = Remover(self._context).settle(caller, row.agent)
        if notes and self._context.row(row.agent) is None:
            return Removed(row, notes=tuple(notes))
        row = self._context.find(row.agent)
        if not self._store.look(lambda rows: is_abandoned(rows, row)):
            return Skipped(row, "; ".join(notes) or self._why_not_alone(row))
        if not os.path.isdir(os.path.dirname(row.path)):
            return Skipped(row, "its parent folder is missing; the disk may not be mounted")
        return Remover(self._context).remove(caller, row)

    def _why_not_alone(self, row: WorktreeRow) -> str:
        awaited = self._store.look(lambda rows: is_awaited(rows, row))
        return "its agent has not started yet" if awaited else "its agent is active"

    def _is_lost(self, caller: Caller, row: WorktreeRow) -> bool:
        """Return whether a worktree belongs to a clone that was deleted from this host."""
        return row.is_missing_on(caller.host) and self._store.look(
            lambda rows: is_abandoned(rows, row)
        )

    def _would_clean(self, row: WorktreeRow) -> Removed | KeptWorktree | Skipped:
        tree = next((tree for tree in self.all() if tree.row == row), None)
        if row.stage not in {WorktreeStage.READY, WorktreeStage.SETUP}:
            return Skipped(row, "an interrupted command would be finished or undone")
        if tree is None or tree.missing:
            return Removed(row)
        if tree.wrong:
            return Skipped(row, tree.wrong)
        seen = self._context.inspector().look(_entry(tree), self._context.admin_of(tree.path))
        return KeptWorktree(row, seen.held, code="WORK_INSIDE") if seen.held else Removed(row)


def _admit(rows: Rows, caller: Caller, row: WorktreeRow) -> None:
    """Record the caller's heartbeat; refuse to remove the worktree of an active agent."""
    arrive(rows, caller)
    if not caller.human and caller.id != row.agent and not is_abandoned(rows, row):
        raise NotAllowed(
            f"{row.agent} is active: only {row.agent} or a human may remove its worktree",
            code="HUMANS_ONLY",
            hint="ask a human to remove it",
        )


def _entry(tree: CloneTree) -> WorktreeEntry:
    ref = f"refs/heads/{tree.branch}" if tree.branch else ""
    return WorktreeEntry(tree.path, tree.head, ref, locked=tree.locked)


def _refuse_own_place(row: WorktreeRow) -> None:
    """Refuse to remove the caller's current folder."""
    here = os.path.realpath(os.getcwd())
    if here == row.path or here.startswith(row.path + "/"):
        raise BadInput(
            f"{row.path} is your current folder",
            code="WORKTREE_FOLDER",
            hint="change to another folder first",
        )
