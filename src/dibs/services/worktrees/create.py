"""Create a worktree for an agent completely or not at all."""

from __future__ import annotations

import contextlib
import os

from dibs.core.changes.worktrees import WorktreeStage, branch_for, free_slot
from dibs.core.claims.ledger import Kind
from dibs.core.text.names import check_agent_id, check_branch, quote
from dibs.errors import BadInput, DibsError, NotFound, Unavailable
from dibs.git import worktrees
from dibs.git.calls import last_words
from dibs.git.refs import HEADS, commit_of, is_in
from dibs.git.untrusted import refuse_filters
from dibs.git.worktrees import entries
from dibs.services.state.presence import arrive, role_of
from dibs.services.state.worktrees import WorktreeRow, all_rows, forget_command, is_live, put_row
from dibs.services.worktrees import locks
from dibs.services.worktrees.copied_files import Supply, hide_links, wired
from dibs.services.worktrees.place import choose, ports_in_use
from dibs.services.worktrees.remove import Remover
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.agents import Caller
    from dibs.services.state.rows import Rows
    from dibs.services.worktrees.context import WorktreeContext


class WorktreeRequest(Record):
    """The worktree to create; empty texts mean the defaults."""

    agent: str
    branch: str = ""
    base: str = ""
    path: str = ""


class CreatedWorktree(Record):
    """A worktree that now exists."""

    row: WorktreeRow
    #: Whether this call created it.
    new: bool
    notes: tuple[str, ...] = ()


class SharedTree(Record):
    """The shared working tree, which an agent uses because no worktree could be created."""

    agent: str
    path: str
    #: Why no worktree was created, and the code of that error.
    reason: str
    code: str


class WorktreeCreator:
    """Creates worktrees in one clone; the caller holds the agent's lock."""

    def __init__(self, context: WorktreeContext) -> None:
        self._context = context

    def create(self, caller: Caller, wanted: WorktreeRequest, *, setup: bool) -> CreatedWorktree:
        """Create an agent's worktree, or return the existing one."""
        check_agent_id(wanted.agent)
        notes = Remover(self._context).settle(caller, wanted.agent)
        known = self._context.row(wanted.agent)
        if known is not None and known.clone != self._context.clone:
            if not known.is_missing_on(caller.host):
                raise _elsewhere(known)
            notes += Remover(self._context).disown(caller, known).notes
        elif known is not None:
            found = self._existing(known, wanted)
            if found is not None:
                return CreatedWorktree(found, new=False, notes=tuple(notes))
            notes.append(f"the earlier folder {known.path} was missing")
            Remover(self._context).forget_missing(caller, known)
        row = self._plan(caller, wanted)
        row = self._register(caller, row)
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(self._undo, row)
            locks.reach("row")
            self._check_out(row)
            notes += self._supply(row)
            row = self._finish(caller, row, setup=setup)
            on_failure.pop_all()
        notes += self._taken_ports(row)
        return CreatedWorktree(row, new=True, notes=tuple(notes))

    def _existing(self, row: WorktreeRow, wanted: WorktreeRequest) -> WorktreeRow | None:
        """Return the existing worktree, or None if its folder is missing."""
        tree = next((t for t in self._context.trees() if t.row and t.agent == row.agent), None)
        if tree is None or tree.missing:
            return None
        self._context.check_linked(tree.path)
        if wanted.branch and wanted.branch != row.branch:
            raise _exists(f"{row.agent} already has a worktree on {row.branch}: {tree.path}")
        if wanted.path and os.path.realpath(wanted.path) != tree.path:
            raise _exists(f"{row.agent} already has a worktree: {tree.path}")
        return row._replace(path=tree.path)

    def _plan(self, caller: Caller, wanted: WorktreeRequest) -> WorktreeRow:
        """Choose the branch, commit, and folder, without changing anything."""
        context, git = self._context, self._context.git()
        branch = check_branch(wanted.branch) if wanted.branch else branch_for(wanted.agent)
        for entry in entries(git):
            if entry.branch == branch:
                raise BadInput(
                    f"{branch} is already checked out in {entry.path}",
                    code="WORKTREE_EXISTS",
                    hint="work there, or choose another branch with --branch",
                )
        tip = commit_of(git, HEADS + branch)
        base = self._base(wanted.base)
        if tip and wanted.base and base != tip:
            raise BadInput(
                f"branch {branch} already exists, at {tip[:10]}",
                code="BRANCH_EXISTS",
                field="base",
                hint="omit --base to continue on it, or choose another branch with --branch",
            )
        folder = choose(
            git, context.main, context.common, agent=wanted.agent,
            folder=context.store.config.worktree_folder, given=wanted.path,
        )  # fmt: skip
        # An agent's branch without unmerged commits restarts from the integration branch.
        goes_on = bool(tip) and (bool(wanted.branch) or not is_in(git, tip, base))
        refuse_filters(git, None, tree=tip if goes_on else base)
        return WorktreeRow(
            wanted.agent, folder, branch, tip if goes_on else base, 0, context.clone, caller.host,
            0.0, WorktreeStage.MAKING, new_branch=not tip,
        )  # fmt: skip

    def _base(self, named: str) -> str:
        git = self._context.git()
        if named:
            found = commit_of(git, named)
            if not found:
                raise NotFound(
                    f"{quote(named)} is not a commit", code="NO_BRANCH", field="base",
                    hint="use a branch, a tag, or a commit",
                )  # fmt: skip
            return found
        branch = self._context.integration()
        found = commit_of(git, HEADS + branch if branch else "HEAD")
        if not found:
            raise Unavailable(
                f"{branch or 'HEAD'} has no commits yet, so there is nothing to check out",
                code="REPO_STATE",
                hint="make the first commit: git commit",
            )
        return found

    def _register(self, caller: Caller, plan: WorktreeRow) -> WorktreeRow:
        """Write the row, which reserves a slot and marks the worktree as being created."""
        config = self._context.store.config

        def step(rows: Rows) -> WorktreeRow:
            arrive(rows, caller)
            taken = {row.slot for row in all_rows(rows)}
            slot = free_slot(taken, config.worktree_port, config.worktree_ports)
            waiting = not is_live(rows, plan.agent)
            own = caller.human and caller.id == plan.agent
            row = plan._replace(slot=slot, made=rows.now, waiting=waiting, human=own)
            put_row(rows, row)
            return row

        return self._context.store.apply(step)

    def _check_out(self, row: WorktreeRow) -> None:
        context, git = self._context, self._context.git()
        with locks.of_repository(context.state):
            tip = commit_of(git, HEADS + row.branch)
            if tip and tip != row.base:
                git.must("update-ref", HEADS + row.branch, row.base, tip)
            os.makedirs(os.path.dirname(row.path), exist_ok=True)
            worktrees.add(git, row.path, row.branch, "" if tip else row.base)
        locks.reach("added")
        # Outside the lock: each worktree has its own index, and writing the files takes time.
        result = context.git(row.path).run("reset", "--hard", "--quiet")
        if result.code:
            # The first error says why, for example that the disk is full.
            errors = (line for line in result.err.splitlines() if line.startswith("error: "))
            why = next(errors, last_words(result.err)) or f"exit status {result.code}"
            raise Unavailable(f"git cannot check out the files: {why}", code="GIT_FAILED")
        locks.reach("files")

    def _supply(self, row: WorktreeRow) -> list[str]:
        config = self._context.store.config
        supply = Supply(self._context.git(), row.path)
        supply.copy(config.worktree_copy)
        supply.copy(wired(self._context.state), aloud=False)
        links = supply.link(config.worktree_link)
        if links:
            with locks.of_repository(self._context.state):
                hidden = hide_links(self._context.git(row.path), self._context.common, links)
            supply.notes += [f"added the link {name} to .git/info/exclude" for name in hidden]
        return supply.notes

    def _taken_ports(self, row: WorktreeRow) -> list[str]:
        """Return a note about the worktree's ports that another program uses."""
        config = self._context.store.config
        first = config.worktree_port + row.slot * config.worktree_ports
        taken = ports_in_use(first, config.worktree_ports)
        named = ", ".join(map(str, taken[:5])) + (", …" if len(taken) > 5 else "")  # noqa: PLR2004
        ports = "port" if len(taken) == 1 else "ports"
        return [f"another program is using its {ports} {named}"] if taken else []

    def _finish(self, caller: Caller, row: WorktreeRow, *, setup: bool) -> WorktreeRow:
        done = row._replace(stage=WorktreeStage.SETUP if setup else WorktreeStage.READY)

        def step(rows: Rows) -> None:
            put_row(rows, done)
            rows.emit(
                caller.id, role_of(rows, caller.id), Kind.WORKTREE_ADDED,
                f"{row.agent} has a worktree on {row.branch}",
                toAgentId=row.agent, path=row.path, branch=row.branch, base=row.base, slot=row.slot,
            )  # fmt: skip

        self._context.store.apply(step)
        locks.reach("ready")
        return done

    def _undo(self, row: WorktreeRow) -> None:
        """Undo an incomplete creation; if that fails now, the next command does it."""
        with contextlib.suppress(DibsError, OSError):
            Remover(self._context).abandon(row)


def _elsewhere(row: WorktreeRow) -> BadInput:
    return BadInput(
        f"{row.agent} has a worktree in another clone, on {row.host}: {row.path}",
        code="WORKTREE_EXISTS",
        hint=f"work there; if it no longer exists, a human can run {forget_command(row.agent)}",
    )


def _exists(what: str) -> BadInput:
    return BadInput(what, code="WORKTREE_EXISTS", hint="work there, or remove it first")
