"""Where a working tree stands: its git directory, its branch and commit, and what git is in the middle of."""

from __future__ import annotations

import os

from dibs.core.text.names import printable
from dibs.errors import Unavailable
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.git.calls import GitCalls

#: What git leaves in its directory while it is in the middle of something, and what that is.
_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
    # Several commits are picked, and the user has just made one of them by hand.
    "sequencer": "a cherry-pick or a revert",
}
_BRANCH = b"ref: "
#: What HEAD's file holds where refs are kept in tables: the branch is known to git alone.
_ELSEWHERE = "refs/heads/.invalid"
#: Where git notes the branch that a rebase will move at its end.
_REBASED = ("rebase-merge/head-name", "rebase-apply/head-name")


class TreeState(Record):
    """A working tree at one moment."""

    #: The git directory of this working tree, and the one that all working trees share.
    git_dir: str
    common: str
    #: ``refs/heads/x``; empty when HEAD is detached.
    ref: str
    #: The commit that is checked out; empty on a branch that has none yet.
    head: str
    #: "a merge", "a rebase" and so on; empty when git is in the middle of nothing.
    under_way: str

    @property
    def detached(self) -> bool:
        """Whether a commit is checked out and no branch."""
        return not self.ref

    @property
    def unborn(self) -> bool:
        """Whether the branch has no commit yet."""
        return not self.head

    @property
    def branch(self) -> str:
        """The branch's short name, ``HEAD`` when there is none."""
        return self.ref.removeprefix("refs/heads/") or "HEAD"


def read_state(git: GitCalls, common: str = "", head: str = "") -> TreeState:
    """Look at a working tree; raise ``Unavailable`` (``REPO_STATE``) where git does not work in it.

    Where the shared git directory ``common`` and the commit ``head`` are known, that takes no process.
    """
    git_dir = _git_dir(git.tree) if common and head else ""
    if git_dir:
        return TreeState(git_dir, common, branch_of(git, git_dir), head, under_way(git_dir))
    said = git.run("rev-parse", "--absolute-git-dir", "--verify", "--quiet", "HEAD^{commit}")
    # The path is first, and only it may have a line end in it.
    git_dir, head = os.fsdecode(said.out).removesuffix("\n"), ""
    if not said.code:
        git_dir, _, head = git_dir.rpartition("\n")
    if not git_dir:
        raise refusal(said.err)
    ref, common = branch_of(git, git_dir), common_of(git_dir)
    return TreeState(git_dir, common, ref, head, under_way(git_dir))


def pointer(file: str, before: bytes = b"") -> str:
    """Return the path that a file of git's holds behind ``before``, empty if it holds none."""
    try:
        with open(file, "rb") as stream:
            said = stream.read().rstrip(b"\r\n")
    except OSError:
        return ""
    if not said.startswith(before):
        return ""
    named = os.fsdecode(said.removeprefix(before))
    return os.path.normpath(os.path.join(os.path.dirname(file), named))


def common_of(git_dir: str) -> str:
    """Return the git directory that all working trees share, which that of a linked one names."""
    named = pointer(os.path.join(git_dir, "commondir"))
    return os.path.realpath(named) if named else git_dir


def _git_dir(tree: str) -> str:
    """Return the git directory of a working tree by its entry ``.git``, empty where that is in doubt."""
    entry = os.path.join(tree, ".git")
    git_dir = os.path.realpath(pointer(entry, b"gitdir: ") or entry)
    return git_dir if os.path.isfile(os.path.join(git_dir, "HEAD")) else ""


def under_way(git_dir: str) -> str:
    """Return what git is in the middle of, with its article; empty for nothing."""
    for name, what in _UNDER_WAY.items():
        if os.path.lexists(os.path.join(git_dir, name)):
            return what
    return ""


def branch_of(git: GitCalls, git_dir: str) -> str:
    """Return the full name of the branch that is checked out, empty when HEAD is detached."""
    with open(os.path.join(git_dir, "HEAD"), "rb") as file:
        text = file.read(4096)
    ref = os.fsdecode(text[len(_BRANCH) :].strip()) if text.startswith(_BRANCH) else ""
    if ref != _ELSEWHERE:
        return ref
    return os.fsdecode(git.run("symbolic-ref", "--quiet", "HEAD").out).strip()


def refusal(said: str) -> Unavailable:
    """Return why git does not work here: no repository, or one that it does not trust."""
    if "not a git repository" in said:
        return Unavailable("this is no git repository", code="REPO_STATE", hint="run git init")
    first, _, rest = said.partition("\n")
    fix = next((line.strip() for line in rest.splitlines() if "safe.directory" in line), "")
    return Unavailable(
        f"git refuses: {printable(first.removeprefix('fatal: '))}",
        code="REPO_STATE",
        hint=f"git's own advice: {printable(fix)}" if fix else "run git status to see more",
    )


def rebased_in(common: str, ref: str) -> str:
    """Return the git directory in which ``ref`` is being rebased, empty if it is in none."""
    linked = os.path.join(common, "worktrees")
    names = sorted(os.listdir(linked)) if os.path.isdir(linked) else []
    for place in [common, *(os.path.join(linked, name) for name in names)]:
        for note in _REBASED:
            try:
                with open(os.path.join(place, note), "rb") as file:
                    if os.fsdecode(file.read(4096)).strip() == ref:
                        return place
            except OSError:
                continue
    return ""
