"""Create, list, set up, remove, and clean up agents' worktrees."""

from __future__ import annotations

import contextlib
import os
import shlex

from dibs.core.changes.worktrees import FALLS_BACK, WorktreeStage, variables
from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import check_text
from dibs.core.text.names import check_agent_id
from dibs.errors import BadInput, DibsError, NotAllowed, NotFound, Unavailable, system_error
from dibs.git import refs
from dibs.local.repository import main_tree
from dibs.services.state.presence import arrive, role_of
from dibs.services.state.worktrees import is_abandoned, put_row
from dibs.services.worktrees import locks
from dibs.services.worktrees.context import CloneTree, WorktreeContext, entry_of
from dibs.services.worktrees.create import (
    CreatedWorktree,
    SharedTree,
    WorktreeCreator,
    WorktreeRequest,
)
from dibs.services.worktrees.orphans import OrphanCleaner, Skipped
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
    "SharedTree",
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
    #: Whether its agent is dead.
    orphaned: bool = False
    unpushed: int = 0
    #: The time and the subject of the last commit.
    at: int = 0
    subject: str = ""


class Worktrees:
    """The worktrees of one clone."""

    def __init__(self, store: Store, repository: Repository) -> None:
        self._store = store
        self._repository = repository
        self._known: WorktreeContext | None = None

    @property
    def _context(self) -> WorktreeContext:
        if self._known is None:
            self._known = WorktreeContext(self._store, self._repository)
        return self._known

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

    def new_or_shared(
        self,
        caller: Caller,
        wanted: WorktreeRequest,
        *,
        setup: str | None = None,
        before_setup: Callable[[str], None] = _nothing,
    ) -> CreatedWorktree | SharedTree:
        """Create a worktree like ``new``; if that is not possible, return the shared tree and the reason."""
        try:
            made = self.new(caller, wanted, setup=setup, before_setup=before_setup)
            command = self._store.config.worktree_setup if setup is None else setup
            if made.row.stage == WorktreeStage.SETUP and command:
                made = made._replace(row=self.setup(caller, wanted.agent, command))
        except (DibsError, OSError) as error:
            failed = error if isinstance(error, DibsError) else system_error(error)
            if failed.code not in FALLS_BACK:
                raise
            return self._share(caller, wanted.agent, failed)
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
        salvage: bool = False,
        progress: Callable[[str, int, int], None] = _nothing,
    ) -> list[Removed | KeptWorktree | Skipped]:
        """Remove the worktrees of dead agents, except those with unsaved work.

        With ``salvage``, save that work and remove these too.
        ``progress`` is called with the current step, and how much of it is done.
        """
        return OrphanCleaner(self._context, caller, dry_run=dry_run, salvage=salvage).all(progress)

    # -- parts

    def _share(self, caller: Caller, agent: str, error: DibsError) -> SharedTree:
        """Return the shared tree, and record it in the ledger if the disk has room for that."""
        path = main_tree(self._repository)

        def step(rows: Rows) -> None:
            arrive(rows, caller)
            rows.emit(
                caller.id, role_of(rows, caller.id), Kind.ERROR,
                f"{agent} uses the shared tree instead of a worktree: {error.message}",
                toAgentId=agent, path=path, code=error.code,
            )  # fmt: skip

        with contextlib.suppress(Unavailable):
            self._store.apply(step)
        return SharedTree(agent, path, error.message, error.code)

    def _list(self, tree: CloneTree) -> Listed:
        row = tree.row
        orphaned = row is not None and self._store.look(lambda rows: is_abandoned(rows, row))
        if tree.missing or tree.wrong or not tree.head:
            return Listed(tree, orphaned=orphaned)
        try:
            return self._look(tree)._replace(orphaned=orphaned)
        except FileNotFoundError:  # it was removed just now
            return Listed(tree._replace(missing=True))
        except Unavailable as error:  # the others can still be listed
            return Listed(tree._replace(wrong=error.message))

    def _look(self, tree: CloneTree) -> Listed:
        git = self._context.git(tree.path)
        held = self._context.inspector().glance(entry_of(tree), self._context.admin_of(tree.path))
        shape = ("-1", "--no-show-signature", "--format=%ct %s")
        output = git.must("log", *shape, "--end-of-options", tree.head, "--")
        at, _, subject = output.decode("utf-8", "replace").strip().partition(" ")
        unpushed = refs.unpushed(git, tree.head)
        return Listed(tree, tuple(held), unpushed=unpushed, at=int(at), subject=subject)

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


def _admit(rows: Rows, caller: Caller, row: WorktreeRow) -> None:
    """Record the caller's heartbeat; refuse to remove the worktree of an active agent."""
    arrive(rows, caller)
    if not caller.human and caller.id != row.agent and not is_abandoned(rows, row):
        raise NotAllowed(
            f"{row.agent} is active: only {row.agent} or a human may remove its worktree",
            code="HUMANS_ONLY",
            hint="ask a human to remove it",
        )


def _refuse_own_place(row: WorktreeRow) -> None:
    """Refuse to remove the caller's current folder."""
    here = os.path.realpath(os.getcwd())
    if here == row.path or here.startswith(row.path + "/"):
        raise BadInput(
            f"{row.path} is your current folder",
            code="WORKTREE_FOLDER",
            hint="change to another folder first",
        )
