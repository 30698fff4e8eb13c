"""Update the working tree that has the integration branch checked out, if a merge allows it."""

from __future__ import annotations

import contextlib

from dibs.core.text.names import quote
from dibs.errors import NotFound, Unavailable
from dibs.git.index import IndexBusy, clear_up, index_locked
from dibs.git.objects import SUBMODULE
from dibs.git.refs import HEADS, tip_of
from dibs.git.state import branch_of, read_state, rebased_in
from dibs.git.status import changed
from dibs.git.trees import differences
from dibs.git.update_tree import PATIENCE, in_the_way, update_locked_tree, update_to_commit
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dibs.git.calls import GitCalls
    from dibs.git.state import TreeState
    from dibs.git.status import PathStatus
    from dibs.git.trees import TreeChange
    from dibs.git.untrusted import SafeGitPool
    from dibs.git.worktrees import WorktreeEntry
    from dibs.services.state.commits import Intent


class MergeTarget(Record):
    """The integration branch, its tip, and the working tree that has it checked out."""

    branch: str
    tip: str
    #: The git directory that all working trees share.
    common: str
    #: Empty if it is not checked out anywhere.
    tree: str = ""

    @property
    def ref(self) -> str:
        """The branch's full name."""
        return HEADS + self.branch


def survey(git: GitCalls, common: str, branch: str, trees: Sequence[WorktreeEntry]) -> MergeTarget:
    """Return the merge target; raise if the branch does not exist or git is busy with it.

    ``trees`` are the working trees as git lists them now.
    """
    ref = HEADS + branch
    found = [tree for tree in trees if tree.ref == ref and not tree.bare]
    tip = found[0].head if found else tip_of(git, branch)
    if not tip and found:
        raise Unavailable(
            f"{branch} has no commits yet, so there is nothing to merge into",
            code="REPO_STATE",
            hint="make the first commit: git commit",
        )
    if not tip:
        raise NotFound(
            f"branch {quote(branch)} does not exist",
            code="NO_BRANCH",
            field="into",
            hint="name the integration branch with --into, or as [merge] into in dibs.toml",
        )
    where = rebased_in(common, ref)
    if where or len(found) > 1:
        why = "is being rebased" if where else "is checked out more than once"
        todo = "finish or abort the rebase" if where else "check out another branch in one of them"
        raise Unavailable(f"{branch} {why}", code="REPO_STATE", hint=f"{todo}, then merge again")
    return MergeTarget(branch, tip, common, found[0].path if found else "")


def _state(git: GitCalls, target: MergeTarget) -> TreeState:
    return read_state(git, target.common, target.tip)


def both_changed(git: GitCalls, base: str, one: str, other: str) -> Iterator[str]:
    """Yield the paths that both commits changed since ``base``."""
    first = {change.path for change in differences(git, base, one)}
    yield from (c.path for c in differences(git, base, other) if c.path in first)


def obstacles(guard: SafeGitPool, target: MergeTarget, changes: Sequence[TreeChange]) -> list[str]:
    """Return what prevents updating the working tree: an operation in progress, or changed files.

    This changes nothing, not even the index's timestamp.
    """
    if not target.tree:
        return []
    git = guard.calls(target.tree)
    state = _state(git, target)
    under_way = [f"{state.under_way} in progress"] if state.under_way else []
    if state.ref != target.ref:
        return ["another branch checked out since the merge started"]
    tracked = [change.path for change in changed(git) if _is_work(change)]
    new = [f"{path} (untracked)" for path in in_the_way(target.tree, changes)]
    return under_way + tracked + new


def _is_work(change: PathStatus) -> bool:
    """Return whether a difference is uncommitted work in this tree.

    Untracked files are checked separately. Merges do not update submodules, so a submodule may lag behind.
    """
    lags = change.index_mode == SUBMODULE and not change.staged
    return not change.untracked and not lags


def unlock(guard: SafeGitPool, target: MergeTarget) -> None:
    """Remove the index lock that a killed merge left."""
    if target.tree:
        clear_up(_state(guard.calls(target.tree), target).git_dir)


@contextlib.contextmanager
def held_still(
    guard: SafeGitPool, target: MergeTarget
) -> Iterator[Callable[[str, Sequence[TreeChange]], list[str]]]:
    """Lock the working tree's index, and provide the function that updates the tree to a new commit.

    A commit by someone else after the branch moves and before the index does would undo the merge.
    """
    if not target.tree:
        yield lambda *_: []
        return
    git = guard.calls(target.tree)
    git_dir = _state(git, target).git_dir
    clear_up(git_dir)
    try:
        with index_locked(git_dir, PATIENCE) as index:
            yield lambda new, changes: update_locked_tree(
                git, git_dir, (target.tip, new), changes, index
            )
    except IndexBusy as busy:
        raise busy.refusal(": nothing was merged") from None


def again(git: GitCalls, intent: Intent) -> str:
    """Update the working tree for a merge whose process died; return why that fails, or an empty text."""
    state = read_state(git)
    if branch_of(git, state.git_dir) != intent.ref:
        return ""  # another branch is checked out now
    try:
        update_to_commit(git, state.git_dir, intent.old, intent.new)
    except Unavailable as error:
        return error.message
    return ""
