"""Remove a worktree without losing work: a forced removal first saves everything and reads it back.

The folder is moved aside first, so that nothing can be added to it by name during the removal. After a crash,
the stage in the row says how to continue: a folder that was only moved is moved back, one whose work is safe
is deleted.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil

from dibs.core.changes.worktrees import Holding, WorktreeContent, WorktreeStage, in_the_way
from dibs.core.claims.ledger import Kind
from dibs.errors import Unavailable
from dibs.git import refs
from dibs.git.refs import HEADS, commit_of
from dibs.git.snapshot import snapshot
from dibs.git.trees import differences
from dibs.git.worktrees import WorktreeEntry, forget, hold, is_back, let_go
from dibs.services.salvage import save as salvage
from dibs.services.salvage.entries import REFS
from dibs.services.state.presence import role_of
from dibs.services.state.worktrees import WorktreeRow, drop_row, put_row, row_of
from dibs.services.worktrees import locks
from dibs.services.worktrees.leftovers import is_checkout
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.agents import Caller
    from dibs.git.calls import GitCalls
    from dibs.services.state.rows import Rows
    from dibs.services.worktrees.context import WorktreeContext
    from dibs.services.worktrees.inspect import InspectedWorktree


#: The reason of the git worktree lock that keeps `git worktree prune` from forgetting the moved folder.
_HOLD = "dibs is removing it"


class Removed(Record):
    """A worktree that was removed."""

    row: WorktreeRow
    #: The ID of the salvaged work, or an empty text if there was none.
    salvage: str = ""
    #: Whether its branch was deleted too, because another branch has all its commits.
    branch_gone: bool = False
    notes: tuple[str, ...] = ()


class KeptWorktree(Record):
    """A worktree that was not removed, and the contents that prevent it."""

    row: WorktreeRow
    held: tuple[Holding, ...]
    code: str


class Remover:
    """Removes worktrees in one clone; the caller holds the agent's lock."""

    def __init__(self, context: WorktreeContext) -> None:
        self._context = context

    def remove(
        self, caller: Caller, row: WorktreeRow, *, force: bool = False, why: str = ""
    ) -> Removed | KeptWorktree:
        """Remove a worktree, or return what prevents it."""
        admin = self._context.admin_of(row.path)
        entry = self._context.entry_at(row.path)
        if entry is None or entry.missing:
            return self._remove_missing(caller, row, admin, force=force, why=why)
        if os.path.islink(row.path):
            raise Unavailable(
                f"{row.path} is now a symbolic link; Dibs does not remove its target",
                code="REPO_STATE",
                hint="restore the folder, or delete the link",
            )
        self._context.check_linked(row.path)
        seen = self._context.inspector().look(entry, admin)
        blocked = in_the_way(seen.held, force=force)
        if blocked:
            return kept(row, blocked)
        # A submodule stores its own path, so it cannot be inspected elsewhere.
        aside = row.path if seen.submodules else f"{row.path}.dibs-{os.urandom(4).hex()}"
        row = self._stage(row._replace(stage=WorktreeStage.REMOVING, aside=aside))
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(self._move_back, row)
            locks.reach("removing")
            hold(self._context.git(), row.path, _HOLD)
            locks.reach("held")
            os.rename(row.path, aside)
            locks.reach("aside")
            seen = self._context.inspector().look(entry, admin, folder=aside)
            blocked = in_the_way(seen.held, force=force)
            if blocked:
                return kept(row, blocked)
            saved = self._save(row, entry, seen, why)
            locks.reach("salvaged")
            row = self._deleting(caller, row, saved)
            on_failure.pop_all()
        gone = self._finish(caller, row)
        return Removed(row, saved, gone, _notes(seen))

    def settle(self, caller: Caller, agent: str) -> list[str]:
        """Finish or undo what a dead process left unfinished; return what was done, as notes."""
        row = self._context.row(agent)
        if row is None or row.clone != self._context.clone:
            return []
        if row.stage == WorktreeStage.MAKING:
            self.abandon(row)
            return [f"removed {agent}'s worktree, whose creation was interrupted"]
        if row.stage == WorktreeStage.REMOVING:
            self._move_back(row)
            return [f"undid an interrupted removal of {agent}'s worktree"]
        if row.stage == WorktreeStage.DELETING:
            self._finish(caller, row)
            return [f"finished an interrupted removal of {agent}'s worktree"]
        return []

    def abandon(self, row: WorktreeRow) -> None:
        """Undo the creation of a worktree that was never reported; salvage any files added to it."""
        context = self._context
        admin = context.admin_of(row.path)
        if os.path.isdir(row.path):
            if set(os.listdir(row.path)) - {".git"}:
                self._save_foreign(row, admin)
            erase(row.path)
        with locks.of_repository(context.state):
            self._forget(row)
            tip = commit_of(context.git(), HEADS + row.branch)
            if row.new_branch and tip == row.base:
                context.git().must("update-ref", "-d", HEADS + row.branch, tip)
        context.store.apply(lambda rows: drop_row(rows, row.agent))

    def forget_missing(self, caller: Caller, row: WorktreeRow) -> None:
        """Forget a worktree whose folder is missing; salvage what only its index has."""
        answer = self._remove_missing(
            caller, row, self._context.admin_of(row.path), force=True, why="its folder was missing"
        )
        if isinstance(answer, KeptWorktree):
            raise Unavailable(
                f"the folder {row.path} is missing, and git still has its worktree: {answer.held[0]}",
                code="WORKTREE_LOCKED",
                hint=answer.held[0].advice,
            )

    def disown(self, caller: Caller, row: WorktreeRow) -> Removed:
        """Forget a worktree of another clone without touching any folder or repository."""

        def step(rows: Rows) -> None:
            if row_of(rows, row.agent) == row:
                drop_row(rows, row.agent)
                _record_removal(rows, caller, row, branch_gone=False)

        self._context.store.apply(step)
        return Removed(
            row, notes=(f"it belonged to another clone, on {row.host}: no folder was touched",)
        )

    # -- steps

    def _stage(self, row: WorktreeRow) -> WorktreeRow:
        self._context.store.apply(lambda rows: put_row(rows, row))
        return row

    def _move_back(self, row: WorktreeRow) -> None:
        if os.path.lexists(row.aside) and row.aside != row.path:
            try:
                os.rename(row.aside, row.path)
            except OSError:
                if not os.path.lexists(row.path):
                    raise
                raise is_back(row.path) from None
            # Git may have recorded the other path in the meantime.
            self._context.git().run("worktree", "repair", "--", row.path)
        entry = self._context.entry_at(row.path)
        if entry is not None:
            let_go(self._context.git(), entry, _HOLD)
        self._stage(row._replace(stage=WorktreeStage.READY, aside=""))

    def _save(
        self, row: WorktreeRow, entry: WorktreeEntry, seen: InspectedWorktree, why: str
    ) -> str:
        """Salvage what would be lost; return its ID, or an empty text if there is nothing."""
        if not (seen.held or seen.ignored.files or seen.left_behind):
            return ""
        git = self._context.git(row.aside)
        stashed = refs.stashes(git, entry.branch) if entry.ref else []
        saved = salvage.save(
            git,
            agent=row.agent,
            about=_about(row, why),
            at=self._context.store.now(),
            extra=(*seen.ignored.files, *seen.ignored.large),
            also=[*stashed, *seen.left_behind],
        )
        return saved.id

    def _save_foreign(self, row: WorktreeRow, admin: str) -> None:
        """Salvage files in an incomplete worktree that differ from the commit."""
        if not admin or not os.path.isfile(os.path.join(row.path, ".git")):
            raise Unavailable(
                f"{row.path} contains files, but is not a git worktree",
                code="GIT_FAILED",
                hint="move the files elsewhere, then try again",
            )
        git = self._context.git(row.path)
        if is_checkout(git, row.path, row.base):
            return
        seen = snapshot(git)
        if any(not change.gone for change in differences(git, seen.head_tree, seen.tree)):
            at = self._context.store.now()
            salvage.save(git, agent=row.agent, about=_about(row, "creation interrupted"), at=at)

    def _deleting(self, caller: Caller, row: WorktreeRow, saved: str) -> WorktreeRow:
        """Record that all work is safe; from now on a crash finishes the removal, and never undoes it."""
        safe = row._replace(stage=WorktreeStage.DELETING)

        def step(rows: Rows) -> None:
            put_row(rows, safe)
            if saved:
                rows.emit(
                    caller.id, role_of(rows, caller.id), Kind.WORK_SALVAGED,
                    f"saved {row.agent}'s work as {REFS}{saved}",
                    toAgentId=row.agent, ref=REFS + saved, branch=row.branch,
                )  # fmt: skip

        self._context.store.apply(step)
        locks.reach("deleting")
        return safe

    def _finish(self, caller: Caller, row: WorktreeRow) -> bool:
        """Delete the folder, git's entry, and the row; return whether the branch was deleted too."""
        if row.aside and os.path.lexists(row.aside):
            erase(row.aside)
        locks.reach("erased")
        with locks.of_repository(self._context.state):
            self._forget(row)
            locks.reach("forgotten")
            gone = self._drop_branch(row)
        locks.reach("branch")

        def step(rows: Rows) -> None:
            drop_row(rows, row.agent)
            _record_removal(rows, caller, row, branch_gone=gone)

        self._context.store.apply(step)
        return gone

    def _forget(self, row: WorktreeRow) -> None:
        """Remove the worktree from git; an incomplete one is missing from git's list, or locked by git."""
        git = self._context.git()
        for path in filter(None, (row.path, row.aside)):
            if not self._context.admin_of(path):
                continue
            entry = self._context.entry_at(path)
            if entry is None or (entry.locked and row.stage == WorktreeStage.MAKING):
                shutil.rmtree(self._context.admin_of(path))
            else:
                forget(git, entry, _HOLD)

    def _drop_branch(self, row: WorktreeRow) -> bool:
        """Delete the branch if Dibs created it, it is not checked out, and another branch has its commits."""
        git = self._context.git()
        tip = commit_of(git, HEADS + row.branch)
        used = any(tree.branch == row.branch for tree in self._context.trees() if tree.head)
        if not tip or not row.new_branch or used or refs.unmerged(git, tip, row.branch):
            return False
        return git.run("update-ref", "-d", HEADS + row.branch, tip).code == 0

    def _remove_missing(
        self, caller: Caller, row: WorktreeRow, admin: str, *, force: bool, why: str
    ) -> Removed | KeptWorktree:
        """Remove a worktree whose folder is missing; its index and reflog may still contain work."""
        if os.path.lexists(row.path):
            raise Unavailable(
                f"git no longer lists a worktree at {row.path}, but its files exist; nothing was removed",
                code="REPO_STATE",
                hint=f"this may repair it: git worktree repair {shlex.quote(row.path)}",
            )
        saved = ""
        if admin:
            git = self._context.git(admin)
            held, tree, parents = _left_in(git, admin, self._context.entry_at(row.path))
            blocked = in_the_way(held, force=force)
            if blocked:
                return kept(row, blocked)
            if held:
                at = self._context.store.now()
                about = _about(row, why)
                saved = salvage.save_commits(
                    git, agent=row.agent, about=about, at=at, tree=tree, parents=parents
                ).id
        row = self._deleting(caller, row._replace(aside=""), saved)
        return Removed(row, saved, self._finish(caller, row))


def _left_in(
    git: GitCalls, admin: str, entry: WorktreeEntry | None
) -> tuple[list[Holding], str, list[str]]:
    """Return what the git directory of a missing worktree still has: its contents, tree, and commits."""
    head = commit_of(git, "HEAD")
    held: list[Holding] = []
    if entry is not None and entry.locked:
        held.append(
            Holding(WorktreeContent.LOCKED, 1, (entry.why_locked,) if entry.why_locked else ())
        )
    result = git.run("write-tree")
    head_tree = f"{head}^{{tree}}"
    tree = result.out.decode().strip() if not result.code else head_tree
    staged = differences(git, head, tree) if head and not result.code else []
    # Before the first checkout the index is missing; that does not mean that all files are deleted.
    if os.path.exists(os.path.join(admin, "index")) and staged:
        held.append(
            Holding(WorktreeContent.STAGED, len(staged), tuple(c.path for c in staged[:10]))
        )
    lost = refs.left_behind(git, entry.ref if entry else "")
    if head and refs.unnamed(git, head):
        held.append(Holding(WorktreeContent.DETACHED, refs.unnamed(git, head)))
    elif lost:
        held.append(Holding(WorktreeContent.DETACHED, len(lost)))
    return held, tree, [oid for oid in (head, *lost, *salvage.sides(git, admin)) if oid]


def erase(folder: str) -> None:
    """Delete a folder, including read-only folders in it, without following links."""
    try:
        shutil.rmtree(folder)
    except PermissionError:
        for place, inner, _ in os.walk(folder):
            for name in ["", *inner]:
                if not os.path.islink(os.path.join(place, name)):
                    os.chmod(os.path.join(place, name), 0o700)
        shutil.rmtree(folder)


def _record_removal(rows: Rows, caller: Caller, row: WorktreeRow, *, branch_gone: bool) -> None:
    rows.emit(
        caller.id, role_of(rows, caller.id), Kind.WORKTREE_REMOVED,
        f"removed the worktree of {row.agent}",
        toAgentId=row.agent, path=row.path, branch=row.branch, branch_gone=branch_gone,
    )  # fmt: skip


def kept(row: WorktreeRow, blocked: list[Holding]) -> KeptWorktree:
    """Return the result for a worktree with contents that prevent its removal."""
    return KeptWorktree(row, tuple(blocked), code="WORK_INSIDE")


def _about(row: WorktreeRow, why: str) -> str:
    return f"{row.agent} on {row.branch}" + (f": {why}" if why else "")


def _notes(seen: InspectedWorktree) -> tuple[str, ...]:
    notes = [] if seen.sees_processes else ["could not check whether processes were running in it"]
    if seen.ignored.folders:
        notes.append(f"also deleted ignored folders: {', '.join(seen.ignored.folders[:5])}")
    return tuple(notes)
