"""The working tree that has the integration branch checked out: may it follow a merge, and following."""

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
from dibs.git.update_tree import PATIENCE, bring_forward, in_the_way, move_forward
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
    """Where merges land: a branch, its tip, and the working tree that has it checked out."""

    branch: str
    tip: str
    #: The git directory that all working trees share.
    common: str
    #: Empty where it is checked out nowhere.
    tree: str = ""

    @property
    def ref(self) -> str:
        """The branch's full name."""
        return HEADS + self.branch


def survey(git: GitCalls, common: str, branch: str, trees: Sequence[WorktreeEntry]) -> MergeTarget:
    """Look at the integration branch; refuse one that is not there, or that git is at work on.

    ``trees`` are the working trees as git has just listed them.
    """
    ref = HEADS + branch
    found = [tree for tree in trees if tree.ref == ref and not tree.bare]
    tip = found[0].head if found else tip_of(git, branch)
    if not tip and found:
        raise Unavailable(
            f"{branch} has no commit yet: there is nothing to merge into",
            code="REPO_STATE",
            hint="make the first commit",
        )
    if not tip:
        raise NotFound(
            f"there is no branch {quote(branch)}",
            code="NO_BRANCH",
            field="into",
            hint="name another with --into, or as [merge] into in dibs.toml",
        )
    where = rebased_in(common, ref)
    if where or len(found) > 1:
        why = "is being rebased" if where else "is checked out more than once"
        raise Unavailable(
            f"{branch} {why}", code="REPO_STATE", hint="end that first; then merge again"
        )
    return MergeTarget(branch, tip, common, found[0].path if found else "")


def _state(git: GitCalls, ground: MergeTarget) -> TreeState:
    return read_state(git, ground.common, ground.tip)


def both_changed(git: GitCalls, base: str, one: str, other: str) -> Iterator[str]:
    """Yield the paths that two commits changed since ``base``, so that git has to put them together."""
    first = {change.path for change in differences(git, base, one)}
    yield from (c.path for c in differences(git, base, other) if c.path in first)


def obstacles(guard: SafeGitPool, ground: MergeTarget, changes: Sequence[TreeChange]) -> list[str]:
    """Return why the working tree cannot follow: what is under way, changed, or in the way there.

    Nothing is touched by looking, not even the index's moment.
    """
    if not ground.tree:
        return []
    git = guard.calls(ground.tree)
    state = _state(git, ground)
    under_way = [f"{state.under_way} is under way"] if state.under_way else []
    if state.ref != ground.ref:
        return ["another branch was checked out meanwhile"]
    tracked = [change.path for change in changed(git) if _is_work(change)]
    new = [f"{path} (not tracked)" for path in in_the_way(ground.tree, changes)]
    return under_way + tracked + new


def _is_work(change: PathStatus) -> bool:
    """Return whether a difference is somebody's work in this tree.

    New files are looked at by themselves. What is checked out in a submodule is left alone by merges, so it
    lags behind until somebody updates it.
    """
    lags = change.index_mode == SUBMODULE and not change.staged
    return not change.untracked and not lags


def unlock(guard: SafeGitPool, ground: MergeTarget) -> None:
    """Take away the lock on the index that a killed merge left, before anything else is in the way."""
    if ground.tree:
        clear_up(_state(guard.calls(ground.tree), ground).git_dir)


@contextlib.contextmanager
def held_still(
    guard: SafeGitPool, ground: MergeTarget
) -> Iterator[Callable[[str, Sequence[TreeChange]], list[str]]]:
    """Keep git in the working tree from committing; give out what brings the tree to a new commit.

    Between the branch's move and the index's, a commit of somebody else would take the merge back.
    """
    if not ground.tree:
        yield lambda *_: []
        return
    git = guard.calls(ground.tree)
    git_dir = _state(git, ground).git_dir
    clear_up(git_dir)
    try:
        with index_locked(git_dir, PATIENCE) as index:
            yield lambda new, changes: move_forward(git, git_dir, (ground.tip, new), changes, index)
    except IndexBusy as busy:
        raise busy.refusal(": nothing was merged") from None


def again(git: GitCalls, intent: Intent) -> str:
    """Do it for a merge whose process died; return why that is not possible now, empty when it is done."""
    state = read_state(git)
    if branch_of(git, state.git_dir) != intent.ref:
        return ""  # another branch is checked out by now
    try:
        bring_forward(git, state.git_dir, intent.old, intent.new)
    except Unavailable as error:
        return error.message
    return ""
