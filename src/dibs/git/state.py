"""Read the state of a working tree: its git directory, branch, commit, and operation in progress."""

from __future__ import annotations

import os

from dibs.core.text.names import printable
from dibs.errors import Unavailable
from dibs.local.files import read_or_empty
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.git.calls import GitCalls

#: The longest file that names a git directory or a branch, in bytes.
_POINTER_MAX = 65_536
#: The files that git keeps in its directory during an operation, and the operation.
_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
    # In the middle of picking several commits, after the user committed one manually.
    "sequencer": "a cherry-pick or a revert",
}
_BRANCH = b"ref: "
#: The content of HEAD with the reftable format, where only git knows the branch.
_ELSEWHERE = "refs/heads/.invalid"
#: The files with the branch that a rebase will move at its end.
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
    #: The operation in progress ("a merge", "a rebase"), or an empty text.
    under_way: str

    @property
    def detached(self) -> bool:
        """Whether a commit is checked out without a branch."""
        return not self.ref

    @property
    def unborn(self) -> bool:
        """Whether the branch has no commit yet."""
        return not self.head

    @property
    def branch(self) -> str:
        """The branch's short name, or ``HEAD`` when it is detached."""
        return self.ref.removeprefix("refs/heads/") or "HEAD"


def read_state(git: GitCalls, common: str = "", head: str = "") -> TreeState:
    """Return the state of a working tree; raise ``Unavailable`` (``REPO_STATE``) if git does not work in it.

    If the shared git directory ``common`` and the commit ``head`` are given, this needs no git process.
    """
    git_dir = git_dir_of(git.tree) if common and head else ""
    if git_dir:
        return TreeState(git_dir, common, branch_of(git, git_dir), head, under_way(git_dir))
    result = git.run("rev-parse", "--absolute-git-dir", "--verify", "--quiet", "HEAD^{commit}")
    # The path comes first, and only it may contain newlines.
    git_dir, head = os.fsdecode(result.out).removesuffix("\n"), ""
    if not result.code:
        git_dir, _, head = git_dir.rpartition("\n")
    if not git_dir:
        raise refusal(result.err)
    ref, common = branch_of(git, git_dir), common_of(git_dir)
    return TreeState(git_dir, common, ref, head, under_way(git_dir))


def pointer(file: str, before: bytes = b"") -> str:
    """Return the path that a git file contains after ``before``, or an empty text."""
    text = read_or_empty(file, _POINTER_MAX).rstrip(b"\r\n")
    if not text or not text.startswith(before):
        return ""
    named = os.fsdecode(text.removeprefix(before))
    return os.path.normpath(os.path.join(os.path.dirname(file), named))


def common_of(git_dir: str) -> str:
    """Return the git directory that all working trees share."""
    named = pointer(os.path.join(git_dir, "commondir"))
    return os.path.realpath(named) if named else git_dir


def git_dir_of(tree: str) -> str:
    """Return the git directory of a working tree from its ``.git`` entry, or an empty text if in doubt."""
    entry = os.path.join(tree, ".git")
    git_dir = os.path.realpath(pointer(entry, b"gitdir: ") or entry)
    return git_dir if os.path.isfile(os.path.join(git_dir, "HEAD")) else ""


def under_way(git_dir: str) -> str:
    """Return the operation in progress with its article, or an empty text."""
    for name, what in _UNDER_WAY.items():
        if os.path.lexists(os.path.join(git_dir, name)):
            return what
    return ""


def branch_of(git: GitCalls, git_dir: str) -> str:
    """Return the full name of the checked-out branch, or an empty text when HEAD is detached."""
    ref = head_of(git_dir)
    if ref != _ELSEWHERE:
        return ref
    return os.fsdecode(git.run("symbolic-ref", "--quiet", "HEAD").out).strip()


def head_of(git_dir: str) -> str:
    """Return the full name of the branch that a git directory's HEAD names; empty if unknown or detached."""
    text = read_or_empty(os.path.join(git_dir, "HEAD"), _POINTER_MAX)
    return os.fsdecode(text[len(_BRANCH) :].strip()) if text.startswith(_BRANCH) else ""


def rebased_ref(git_dir: str) -> str:
    """Return the branch that is being rebased in a git directory; empty if none."""
    found = (read_or_empty(os.path.join(git_dir, note), _POINTER_MAX).strip() for note in _REBASED)
    return os.fsdecode(next(filter(None, found), b""))


def refusal(errors: str) -> Unavailable:
    """Return why git does not work here: not a repository, or one that git does not trust."""
    if "not a git repository" in errors:
        return Unavailable(
            "this is not a git repository", code="REPO_STATE", hint="create one: git init"
        )
    first, _, rest = errors.partition("\n")
    fix = next((line.strip() for line in rest.splitlines() if "safe.directory" in line), "")
    return Unavailable(
        f"git failed: {printable(first.removeprefix('fatal: '))}",
        code="REPO_STATE",
        hint=f"git suggests: {printable(fix)}" if fix else "run `git status` for details",
    )


def rebased_in(common: str, ref: str) -> str:
    """Return the git directory in which ``ref`` is being rebased, or an empty text."""
    linked = os.path.join(common, "worktrees")
    names = sorted(os.listdir(linked)) if os.path.isdir(linked) else []
    places = [common, *(os.path.join(linked, name) for name in names)]
    return next((place for place in places if rebased_ref(place) == ref), "")
