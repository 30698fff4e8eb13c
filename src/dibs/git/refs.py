"""Resolve names to commits, and find commits that few refs reach."""

from __future__ import annotations

import os

from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.git.calls import GitCalls

HEADS = "refs/heads/"
_STASH = "refs/stash"
#: The most commits that one update removes from a branch and that are checked.
_MOST_REMOVED = 5_000
#: Refs of a single working tree, which are removed with it.
_OWN = ("refs/worktree/", "refs/bisect/", "refs/rewritten/")
#: All refs that stay when a working tree is removed.
_LASTING = (*(f"--exclude={prefix}*" for prefix in _OWN), "--glob=refs/*")


def value_of(git: GitCalls, name: str) -> str:
    """Return the object that ``name`` refers to, or an empty text."""
    result = git.run("rev-parse", "--verify", "--quiet", "--end-of-options", name)
    # An older git also prints the end-of-options marker, on a line before.
    return result.out.decode().strip().splitlines()[-1] if not result.code and result.out else ""


def commit_of(git: GitCalls, name: str) -> str:
    """Return the commit that ``name`` refers to, or an empty text."""
    return value_of(git, f"{name}^{{commit}}")


def tip_of(git: GitCalls, branch: str) -> str:
    """Return the commit of a branch, or an empty text if it does not exist."""
    return commit_of(git, HEADS + branch)


def branches(git: GitCalls, *names: str) -> dict[str, str]:
    """Return the commits of the named branches, and of all branches below a name that ends in a slash."""
    refs = [f"{HEADS}{name}" for name in names]
    output = git.must("for-each-ref", "--format=%(objectname) %(refname)", "--", *refs)
    rows = (os.fsdecode(line).partition(" ") for line in output.splitlines())
    found = {ref.removeprefix(HEADS): oid for oid, _, ref in rows}
    return {
        name: oid
        for name, oid in found.items()
        if name in names or any(n.endswith("/") and name.startswith(n) for n in names)
    }


# -- commits that would be hard to find again


def unmerged(git: GitCalls, commit: str, branch: str) -> int:
    """Count the commits in ``commit`` that no local or remote branch except ``branch`` has."""
    own = (f"--exclude={branch}",) if branch else ()
    return _count(git, commit, "--not", *own, "--branches", "--remotes")


class Upstream(Record):
    """The branch of a remote that a local branch follows."""

    #: The local branch, without ``refs/heads/``.
    branch: str
    remote: str
    ref: str
    #: The local ref that shows where it was at the last fetch.
    tracking: str


def upstream_of(git: GitCalls, ref: str) -> Upstream | None:
    """Return what the local branch with the full name ``ref`` follows; None if it follows no remote."""
    form = "--format=%(upstream:remotename)%00%(upstream:remoteref)%00%(upstream)"
    told = git.run("for-each-ref", form, "--", ref).out.decode("utf-8", "surrogateescape")
    remote, there, tracking = (*told.rstrip("\n").split("\0"), "", "")[:3]
    if not tracking or remote == ".":
        return None
    return Upstream(ref.removeprefix(HEADS), remote, there, tracking)


def unpushed(git: GitCalls, commit: str) -> int:
    """Count the commits in ``commit`` that no remote branch has; 0 without a remote."""
    if not git.must("for-each-ref", "--count=1", "--format=%(refname)", "refs/remotes"):
        return 0
    return _count(git, commit, "--not", "--remotes")


def unnamed(git: GitCalls, commit: str) -> int:
    """Count the commits in ``commit`` that only refs of this working tree reach."""
    return _count(git, commit, "--not", *_LASTING)


def _count(git: GitCalls, *which: str) -> int:
    return int(git.must("rev-list", "--count", *which))


def merge_base(git: GitCalls, one: str, other: str) -> str:
    """Return the best common ancestor of two commits, or an empty text."""
    result = git.run("merge-base", "--end-of-options", one, other)
    return "" if result.code else result.out.decode().split()[0]


def is_in(git: GitCalls, commit: str, other: str) -> bool:
    """Return whether ``commit`` is in the history of ``other``."""
    return git.run("merge-base", "--is-ancestor", "--end-of-options", commit, other).code == 0


def other_refs(ref: str) -> tuple[str, ...]:
    """Return the options that select all branches and tags except one branch."""
    return (f"--exclude={ref.removeprefix(HEADS)}", "--branches", "--remotes", "--tags")


def removed_from(
    git: GitCalls, old: str, new: str, others: Sequence[str]
) -> tuple[list[str], set[str]]:
    """Return the commits that an update removes from a branch, and which of them no ref in ``others`` has.

    A deleted branch, whose ``new`` commit is null, removes only the latter: merged commits are still on
    another branch.
    """
    beyond = (f"^{new}",) if new.strip("0") else ()
    lost = git.must(
        "rev-list", f"--max-count={_MOST_REMOVED}", "--not", *others, "--not", "--end-of-options",
        old, *beyond,
    ).decode().split()  # fmt: skip
    if not beyond:
        return lost, set(lost)
    found = git.must(
        "rev-list", f"--max-count={_MOST_REMOVED}", "--end-of-options", old, *beyond
    ).decode().split()  # fmt: skip
    return found, set(lost)


def stashes(git: GitCalls, branch: str) -> list[str]:
    """Return the stashes made on ``branch``, newest first."""
    begins = (f"WIP on {branch}: ", f"On {branch}: ")
    logged = _log(git, _STASH, "%H %gs")
    return [
        line[:64].split(" ", 1)[0] for line in logged if line.partition(" ")[2].startswith(begins)
    ]


def left_behind(git: GitCalls, ref: str) -> list[str]:
    """Return commits that only this working tree refers to.

    They were made on a detached HEAD and are in its reflog, or in a ref such as ``refs/worktree/x``.
    """
    with_branch = set(_log(git, ref, "%H")) if ref else set()
    seen = [oid for oid in _log(git, "HEAD", "%H") if oid not in with_branch]
    named = git.must("for-each-ref", "--format=%(objectname)", *_OWN).decode().split()
    return _without_ref(git, dict.fromkeys([*seen, *named]))


def _without_ref(git: GitCalls, commits: Iterable[str]) -> list[str]:
    given = "".join(f"{commit}\n" for commit in commits)
    if not given:
        return []
    listed = git.must(
        "rev-list", "--ignore-missing", "--stdin", "--not", *_LASTING, given=given.encode()
    )
    lost = set(listed.decode().split())
    return [commit for commit in given.split() if commit in lost]


def _log(git: GitCalls, ref: str, shape: str) -> list[str]:
    """Return a line for each entry in the reflog of a ref, if it has one."""
    # rev-list shows the commits of a reflog, but not its messages.
    result = git.run(
        "log", "--walk-reflogs", "--no-show-signature", "--no-notes", "--no-color", "--no-patch",
        f"--format={shape}", "--end-of-options", ref, "--",
    )  # fmt: skip
    return [] if result.code else result.out.decode("utf-8", "replace").splitlines()
