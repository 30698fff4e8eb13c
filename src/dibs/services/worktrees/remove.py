"""Removing a worktree: not while it holds work; by force only after all of it is salvaged and read back.

The folder is moved aside first, so that nobody can add to it by its name between the last look and the end.
The stage in the row tells whoever comes after a crash what to do: a folder that is only moved goes back, one
whose work is safe is deleted.
"""

from __future__ import annotations

import contextlib
import os
import shutil

from dibs.core.changes.worktrees import Holding, WorktreeContent, WorktreeStage, in_the_way
from dibs.core.claims.ledger import Kind
from dibs.errors import Unavailable
from dibs.git import refs
from dibs.git.refs import HEADS, commit_of
from dibs.git.snapshot import snapshot
from dibs.git.trees import differences
from dibs.git.worktrees import WorktreeEntry, forget, hold, is_back, let_go
from dibs.services.state.presence import role_of
from dibs.services.state.worktrees import WorktreeRow, drop_row, put_row, row_of
from dibs.services.worktrees import locks, salvage
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.agents import Caller
    from dibs.git.calls import GitCalls
    from dibs.services.state.rows import Rows
    from dibs.services.worktrees.context import WorktreeContext
    from dibs.services.worktrees.inspect import InspectedWorktree


#: Why git is told to keep a worktree: without it, git worktree prune would forget a folder that is aside.
_HOLD = "dibs is removing it"


class Removed(Record):
    """A worktree that is gone."""

    row: WorktreeRow
    #: The id of what was salvaged from it, empty where nothing had to be.
    salvage: str = ""
    #: Whether its branch went too, because another branch has all of it.
    branch_gone: bool = False
    notes: tuple[str, ...] = ()


class KeptWorktree(Record):
    """A worktree that was not removed, and what forbids it."""

    row: WorktreeRow
    held: tuple[Holding, ...]
    code: str


class Remover:
    """Removes worktrees of one clone; the caller holds the agent's lock."""

    def __init__(self, ground: WorktreeContext) -> None:
        self._ground = ground

    def remove(
        self, caller: Caller, row: WorktreeRow, *, force: bool = False, why: str = ""
    ) -> Removed | KeptWorktree:
        """Remove a worktree, or say what it holds."""
        admin = self._ground.admin_of(row.path)
        entry = self._ground.entry_at(row.path)
        if entry is None or entry.missing:
            return self._remove_missing(caller, row, admin, force=force, why=why)
        if os.path.islink(row.path):
            raise Unavailable(
                f"{row.path} is a symbolic link now: what is behind it is not Dibs's to remove",
                code="REPO_STATE",
                hint="put the folder back, or remove the link",
            )
        self._ground.check_linked(row.path)
        seen = self._ground.looker().look(entry, admin)
        blocked = in_the_way(seen.held, force=force)
        if blocked:
            return _kept(row, blocked)
        # A submodule knows where it lies, and cannot be looked into elsewhere.
        aside = row.path if seen.submodules else f"{row.path}.dibs-{os.urandom(4).hex()}"
        row = self._stage(row._replace(stage=WorktreeStage.REMOVING, aside=aside))
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(self._move_back, row)
            locks.reach("removing")
            hold(self._ground.git(), row.path, _HOLD)
            locks.reach("held")
            os.rename(row.path, aside)
            locks.reach("aside")
            seen = self._ground.looker().look(entry, admin, folder=aside)
            blocked = in_the_way(seen.held, force=force)
            if blocked:
                return _kept(row, blocked)
            saved = self._save(row, entry, seen, why)
            locks.reach("salvaged")
            row = self._deleting(caller, row, saved)
            on_failure.pop_all()
        gone = self._finish(caller, row)
        return Removed(row, saved, gone, _notes(seen))

    def settle(self, caller: Caller, agent: str) -> list[str]:
        """Finish or take back what a process that died had begun; return what was done, for people."""
        row = self._ground.row(agent)
        if row is None or row.clone != self._ground.clone:
            return []
        if row.stage == WorktreeStage.MAKING:
            self.abandon(row)
            return [f"a worktree of {agent} that was never finished is taken back"]
        if row.stage == WorktreeStage.REMOVING:
            self._move_back(row)
            return [f"a removal of {agent}'s worktree that was broken off is undone"]
        if row.stage == WorktreeStage.DELETING:
            self._finish(caller, row)
            return [f"a removal of {agent}'s worktree that was broken off is finished"]
        return []

    def abandon(self, row: WorktreeRow) -> None:
        """Take back a worktree that nobody was told of; whatever somebody put into it is salvaged."""
        ground = self._ground
        admin = ground.admin_of(row.path)
        if os.path.isdir(row.path):
            if set(os.listdir(row.path)) - {".git"}:
                self._save_foreign(row, admin)
            erase(row.path)
        with locks.of_repository(ground.state):
            self._forget(row)
            tip = commit_of(ground.git(), HEADS + row.branch)
            if row.new_branch and tip == row.base:
                ground.git().must("update-ref", "-d", HEADS + row.branch, tip)
        ground.store.apply(lambda rows: drop_row(rows, row.agent))

    def forget_missing(self, caller: Caller, row: WorktreeRow) -> None:
        """Forget a worktree whose folder is gone; what only its index held is salvaged."""
        answer = self._remove_missing(
            caller, row, self._ground.admin_of(row.path), force=True, why="its folder was gone"
        )
        if isinstance(answer, KeptWorktree):
            raise Unavailable(
                f"the folder {row.path} is gone, and its worktree is {answer.held[0]}",
                code="WORKTREE_LOCKED",
                hint=answer.held[0].advice,
            )

    def disown(self, caller: Caller, row: WorktreeRow) -> Removed:
        """Forget a worktree of another clone; no folder and no repository is touched."""

        def step(rows: Rows) -> None:
            if row_of(rows, row.agent) == row:
                drop_row(rows, row.agent)
                _tell_removed(rows, caller, row, branch_gone=False)

        self._ground.store.apply(step)
        return Removed(
            row, notes=(f"it was of another clone, on {row.host}: no folder is touched",)
        )

    # -- steps

    def _stage(self, row: WorktreeRow) -> WorktreeRow:
        self._ground.store.apply(lambda rows: put_row(rows, row))
        return row

    def _move_back(self, row: WorktreeRow) -> None:
        if os.path.lexists(row.aside) and row.aside != row.path:
            try:
                os.rename(row.aside, row.path)
            except OSError:
                if not os.path.lexists(row.path):
                    raise
                raise is_back(row.path) from None
            # Git may have noted the other place in the meantime.
            self._ground.git().run("worktree", "repair", "--", row.path)
        entry = self._ground.entry_at(row.path)
        if entry is not None:
            let_go(self._ground.git(), entry, _HOLD)
        self._stage(row._replace(stage=WorktreeStage.READY, aside=""))

    def _save(
        self, row: WorktreeRow, entry: WorktreeEntry, seen: InspectedWorktree, why: str
    ) -> str:
        """Salvage what would be lost; return the id, empty where nothing would."""
        if not (seen.held or seen.ignored.files or seen.left_behind):
            return ""
        git = self._ground.git(row.aside)
        stashed = refs.stashes(git, entry.branch) if entry.ref else []
        saved = salvage.save(
            git,
            agent=row.agent,
            about=_about(row, why),
            at=self._ground.store.now(),
            extra=(*seen.ignored.files, *seen.ignored.large),
            also=[*stashed, *seen.left_behind],
        )
        return saved.id

    def _save_foreign(self, row: WorktreeRow, admin: str) -> None:
        """Salvage files of an unfinished worktree that the commit does not have just so."""
        if not admin or not os.path.isfile(os.path.join(row.path, ".git")):
            raise Unavailable(
                f"{row.path} holds files, and git knows no worktree there",
                code="GIT_FAILED",
                hint="move them elsewhere, and try again",
            )
        git = self._ground.git(row.path)
        seen = snapshot(git)
        if any(not change.gone for change in differences(git, seen.head_tree, seen.tree)):
            at = self._ground.store.now()
            salvage.save(git, agent=row.agent, about=_about(row, "never finished"), at=at)

    def _deleting(self, caller: Caller, row: WorktreeRow, saved: str) -> WorktreeRow:
        """Write that all is safe: from here on the removal is only finished, never taken back."""
        safe = row._replace(stage=WorktreeStage.DELETING)

        def step(rows: Rows) -> None:
            put_row(rows, safe)
            if saved:
                rows.emit(
                    caller.id, role_of(rows, caller.id), Kind.WORK_SALVAGED,
                    f"work of {row.agent} is kept as {salvage.REFS}{saved}",
                    toAgentId=row.agent, ref=salvage.REFS + saved, branch=row.branch,
                )  # fmt: skip

        self._ground.store.apply(step)
        locks.reach("deleting")
        return safe

    def _finish(self, caller: Caller, row: WorktreeRow) -> bool:
        """Delete what is safe; tell whether the branch went too."""
        if row.aside and os.path.lexists(row.aside):
            erase(row.aside)
        locks.reach("erased")
        with locks.of_repository(self._ground.state):
            self._forget(row)
            locks.reach("forgotten")
            gone = self._drop_branch(row)
        locks.reach("branch")

        def step(rows: Rows) -> None:
            drop_row(rows, row.agent)
            _tell_removed(rows, caller, row, branch_gone=gone)

        self._ground.store.apply(step)
        return gone

    def _forget(self, row: WorktreeRow) -> None:
        """Let git forget the worktree; one that it had only begun is not in its list, or locked by git."""
        git = self._ground.git()
        for path in filter(None, (row.path, row.aside)):
            if not self._ground.admin_of(path):
                continue
            entry = self._ground.entry_at(path)
            if entry is None or (entry.locked and row.stage == WorktreeStage.MAKING):
                shutil.rmtree(self._ground.admin_of(path))
            else:
                forget(git, entry, _HOLD)

    def _drop_branch(self, row: WorktreeRow) -> bool:
        """Delete the branch if Dibs made it, nobody has it checked out, and another branch has all of it."""
        git = self._ground.git()
        tip = commit_of(git, HEADS + row.branch)
        used = any(tree.branch == row.branch for tree in self._ground.trees() if tree.head)
        if not tip or not row.new_branch or used or refs.unmerged(git, tip, row.branch):
            return False
        return git.run("update-ref", "-d", HEADS + row.branch, tip).code == 0

    def _remove_missing(
        self, caller: Caller, row: WorktreeRow, admin: str, *, force: bool, why: str
    ) -> Removed | KeptWorktree:
        """Remove a worktree whose folder is gone: its index and its log may still hold something."""
        if os.path.lexists(row.path):
            raise Unavailable(
                f"git does not know the worktree at {row.path} any more, but its files are there",
                code="REPO_STATE",
                hint=f"git worktree repair {row.path} may help; nothing was removed",
            )
        saved = ""
        if admin:
            git = self._ground.git(admin)
            held, tree, parents = _left_in(git, admin, self._ground.entry_at(row.path))
            blocked = in_the_way(held, force=force)
            if blocked:
                return _kept(row, blocked)
            if held:
                at = self._ground.store.now()
                about = _about(row, why)
                saved = salvage.save_commits(
                    git, agent=row.agent, about=about, at=at, tree=tree, parents=parents
                ).id
        row = self._deleting(caller, row._replace(aside=""), saved)
        return Removed(row, saved, self._finish(caller, row))


def _left_in(
    git: GitCalls, admin: str, entry: WorktreeEntry | None
) -> tuple[list[Holding], str, list[str]]:
    """Return what the git directory of a worktree without files still holds: as holdings, tree, commits."""
    head = commit_of(git, "HEAD")
    held: list[Holding] = []
    if entry is not None and entry.locked:
        held.append(
            Holding(WorktreeContent.LOCKED, 1, (entry.why_locked,) if entry.why_locked else ())
        )
    said = git.run("write-tree")
    head_tree = f"{head}^{{tree}}"
    tree = said.out.decode().strip() if not said.code else head_tree
    staged = differences(git, head, tree) if head and not said.code else []
    # Without files git has no index before the first checkout, which is no wish to delete all.
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
    """Delete a folder; links in it are not followed, and folders that are read-only are opened."""
    try:
        shutil.rmtree(folder)
    except PermissionError:
        for place, inner, _ in os.walk(folder):
            for name in ["", *inner]:
                if not os.path.islink(os.path.join(place, name)):
                    os.chmod(os.path.join(place, name), 0o700)
        shutil.rmtree(folder)


def _tell_removed(rows: Rows, caller: Caller, row: WorktreeRow, *, branch_gone: bool) -> None:
    rows.emit(
        caller.id, role_of(rows, caller.id), Kind.WORKTREE_REMOVED,
        f"the worktree of {row.agent} is removed",
        toAgentId=row.agent, path=row.path, branch=row.branch, branch_gone=branch_gone,
    )  # fmt: skip


def _kept(row: WorktreeRow, blocked: list[Holding]) -> KeptWorktree:
    return KeptWorktree(row, tuple(blocked), code="WORK_INSIDE")


def _about(row: WorktreeRow, why: str) -> str:
    return f"{row.agent} on {row.branch}" + (f": {why}" if why else "")


def _notes(seen: InspectedWorktree) -> tuple[str, ...]:
    told = [] if seen.sees_processes else ["which processes worked in it cannot be told here"]
    if seen.ignored.folders:
        told.append(f"ignored folders went with it: {', '.join(seen.ignored.folders[:5])}")
    return tuple(told)
