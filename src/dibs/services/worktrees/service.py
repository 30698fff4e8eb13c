"""Worktrees of agents: made, listed, set up, removed, and cleaned up after agents that are gone."""

from __future__ import annotations

import os
import time

from dibs.core.changes.worktrees import WorktreeStage, variables
from dibs.core.claims.rules import check_text
from dibs.core.text.names import check_agent_id
from dibs.errors import BadInput, NotAllowed, NotFound, Unavailable
from dibs.git import refs
from dibs.git.worktrees import WorktreeEntry
from dibs.services.state.presence import arrive
from dibs.services.state.worktrees import is_awaited, left_alone, put_row
from dibs.services.worktrees import locks
from dibs.services.worktrees.context import CloneTree, WorktreeContext
from dibs.services.worktrees.create import CreatedWorktree, Maker, WorktreeRequest
from dibs.services.worktrees.remove import KeptWorktree, Removed, Remover
from dibs.services.worktrees.salvage import sweep
from dibs.services.worktrees.setup import run_setup, words_of
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
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


class Listed(Record):
    """A working tree with all that a listing tells of it."""

    tree: CloneTree
    held: tuple[Holding, ...] = ()
    unpushed: int = 0
    #: The last commit: when, and its first line.
    at: int = 0
    subject: str = ""


class Skipped(Record):
    """A worktree that a clean-up left alone, and why."""

    row: WorktreeRow
    why: str


class Worktrees:
    """The use cases of worktrees, in one clone."""

    def __init__(self, store: Store, repository: Repository) -> None:
        self._store = store
        self._ground = WorktreeContext(store, repository)

    def all(self) -> list[CloneTree]:
        """Return all working trees of this clone, the main one first, whoever made them."""
        return self._ground.trees()

    def listed(self) -> list[Listed]:
        """Return the linked working trees with what each holds."""
        return [self._list(tree) for tree in self.all() if not tree.main]

    def new(
        self, caller: Caller, wanted: WorktreeRequest, *, setup: str | None = None
    ) -> CreatedWorktree:
        """Make a worktree and set it up, or return the one that is there.

        ``setup`` is the command; None means the setting's, an empty text means none.
        """
        command = self._store.config.worktree_setup if setup is None else setup
        if command:
            words_of(command)
        check_agent_id(wanted.agent)
        with locks.of_agent(self._ground.state, wanted.agent):
            made = Maker(self._ground).make(caller, wanted, setup=bool(command))
            if made.new and command:
                made = made._replace(row=self._set_up(made.row, command))
        return made

    def setup(self, caller: Caller, named: str, command: str = "") -> WorktreeRow:
        """Run the set-up command of a worktree again."""
        words = command or self._store.config.worktree_setup
        if not words:
            raise NotFound(
                "there is no set-up command", code="SETUP", hint="set [worktree] setup in dibs.toml"
            )
        row = self._ground.find(named)
        self._store.apply(lambda rows: arrive(rows, caller))
        with locks.of_agent(self._ground.state, row.agent):
            Remover(self._ground).settle(caller, row.agent)
            return self._set_up(self._ground.find(row.agent), words)

    def environment(self, named: str) -> dict[str, str]:
        """Return the variables of a worktree's agent."""
        return self._variables(self._ground.find(named))

    def remove(
        self, caller: Caller, named: str, *, force: bool = False, reason: str = ""
    ) -> Removed | KeptWorktree:
        """Remove a worktree if it holds no work; by force, after its work is salvaged."""
        if force and not reason.strip():
            raise BadInput("say why: --reason is needed", code="REASON", field="reason")
        words = check_text(reason, "reason")
        for row in self._ground.rows_elsewhere() if force and caller.human else ():
            if row.agent == named:
                return Remover(self._ground).disown(caller, row)
        row = self._ground.find(named)
        self._store.apply(lambda rows: _admit(rows, caller, row))
        _refuse_own_place(row)
        with locks.of_agent(self._ground.state, row.agent):
            told = Remover(self._ground).settle(caller, row.agent)
            if told and self._ground.row(row.agent) is None:
                return Removed(row, notes=tuple(told))
            row = self._ground.find(row.agent)
            return Remover(self._ground).remove(caller, row, force=force, why=words)

    def clean_up(
        self, caller: Caller, *, dry_run: bool = False
    ) -> list[Removed | KeptWorktree | Skipped]:
        """Remove the worktrees of agents that are gone, but for those that hold work."""
        if not dry_run:
            self._store.apply(lambda rows: arrive(rows, caller))
            sweep(self._ground.common, time.time())
        own = [self._clean(caller, row, dry_run=dry_run) for row in self._ground.rows()]
        gone = [row for row in self._ground.rows_elsewhere() if self._is_lost(caller, row)]
        return own + [
            Removed(row) if dry_run else Remover(self._ground).disown(caller, row) for row in gone
        ]

    # -- parts

    def _list(self, tree: CloneTree) -> Listed:
        if tree.missing or tree.wrong or not tree.head:
            return Listed(tree)
        try:
            return self._look(tree)
        except FileNotFoundError:  # somebody removes it at this moment
            return Listed(tree._replace(missing=True))
        except Unavailable as error:  # the others can be listed all the same
            return Listed(tree._replace(wrong=error.message))

    def _look(self, tree: CloneTree) -> Listed:
        git = self._ground.git(tree.path)
        held = self._ground.looker().glance(_entry(tree), self._ground.admin_of(tree.path))
        shape = ("-1", "--no-show-signature", "--format=%ct %s")
        said = git.must("log", *shape, "--end-of-options", tree.head, "--")
        at, _, subject = said.decode("utf-8", "replace").strip().partition(" ")
        return Listed(tree, tuple(held), refs.unpushed(git, tree.head), int(at), subject)

    def _set_up(self, row: WorktreeRow, command: str) -> WorktreeRow:
        run_setup(command, row.path, self._variables(row), f"dibs worktree setup {row.agent}")
        ready = row._replace(stage=WorktreeStage.READY)
        self._store.apply(lambda rows: put_row(rows, ready))
        return ready

    def _variables(self, row: WorktreeRow) -> dict[str, str]:
        config = self._store.config
        return variables(
            row.agent,
            row.path,
            project=config.project or os.path.basename(self._ground.main),
            slot=row.slot,
            port=config.worktree_port,
            ports=config.worktree_ports,
        )

    def _clean(
        self, caller: Caller, row: WorktreeRow, *, dry_run: bool
    ) -> Removed | KeptWorktree | Skipped:
        if not self._store.look(lambda rows: left_alone(rows, row)):
            unfinished = row.stage not in {WorktreeStage.READY, WorktreeStage.SETUP}
            if not unfinished or dry_run:
                return Skipped(row, self._why_not_alone(row))
        try:
            with locks.of_agent(self._ground.state, row.agent, patience=0.0):
                return self._clean_held(caller, row, dry_run=dry_run)
        except Unavailable as error:
            return Skipped(row, error.message)

    def _clean_held(
        self, caller: Caller, row: WorktreeRow, *, dry_run: bool
    ) -> Removed | KeptWorktree | Skipped:
        """Clean up one worktree, whose lock is held; what is unfinished there is of nobody alive."""
        if dry_run:
            return self._would_clean(row)
        told = Remover(self._ground).settle(caller, row.agent)
        if told and self._ground.row(row.agent) is None:
            return Removed(row, notes=tuple(told))
        row = self._ground.find(row.agent)
        if not self._store.look(lambda rows: left_alone(rows, row)):
            return Skipped(row, "; ".join(told) or self._why_not_alone(row))
        if not os.path.isdir(os.path.dirname(row.path)):
            return Skipped(row, "the folder above it is gone: its disk may not be there")
        return Remover(self._ground).remove(caller, row)

    def _why_not_alone(self, row: WorktreeRow) -> str:
        awaited = self._store.look(lambda rows: is_awaited(rows, row))
        return "its agent has not begun yet" if awaited else "its agent is at work"

    def _is_lost(self, caller: Caller, row: WorktreeRow) -> bool:
        """Tell whether nobody can clean up a worktree but another clone: its own is gone from this host."""
        return row.is_gone_from(caller.host) and self._store.look(
            lambda rows: left_alone(rows, row)
        )

    def _would_clean(self, row: WorktreeRow) -> Removed | KeptWorktree | Skipped:
        tree = next((tree for tree in self.all() if tree.row == row), None)
        if row.stage not in {WorktreeStage.READY, WorktreeStage.SETUP}:
            return Skipped(row, "a command on it was broken off; it is finished or undone")
        if tree is None or tree.missing:
            return Removed(row)
        if tree.wrong:
            return Skipped(row, tree.wrong)
        seen = self._ground.looker().look(_entry(tree), self._ground.admin_of(tree.path))
        return KeptWorktree(row, seen.held, code="WORK_INSIDE") if seen.held else Removed(row)


def _admit(rows: Rows, caller: Caller, row: WorktreeRow) -> None:
    """Take the call as a sign of life; refuse an agent that would pull a folder from under another."""
    arrive(rows, caller)
    if not caller.human and caller.id != row.agent and not left_alone(rows, row):
        raise NotAllowed(
            f"{row.agent} is at work: only it or a human removes its worktree",
            code="HUMANS_ONLY",
            hint="ask it to finish, or stop it first",
        )


def _entry(tree: CloneTree) -> WorktreeEntry:
    ref = f"refs/heads/{tree.branch}" if tree.branch else ""
    return WorktreeEntry(tree.path, tree.head, ref, locked=tree.locked)


def _refuse_own_place(row: WorktreeRow) -> None:
    """Refuse to take the folder away that the caller stands in."""
    here = os.path.realpath(os.getcwd())
    if here == row.path or here.startswith(row.path + "/"):
        raise BadInput(
            f"you stand in {row.path}",
            code="WORKTREE_FOLDER",
            hint="change to another folder first",
        )
