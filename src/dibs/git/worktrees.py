"""List, add, and remove git's working trees."""

from __future__ import annotations

import os
import time

from dibs.errors import Unavailable
from dibs.git.calls import last_words
from dibs.git.refs import HEADS
from dibs.git.state import pointer
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.git.calls import GitCalls

#: How long to retry when the list cannot be read, in seconds.
_PATIENCE, _PAUSE = 5.0, 0.02


class WorktreeEntry(Record):
    """One working tree; the first of a list is the main one."""

    path: str
    #: The commit that is checked out; empty or zeros before the first one.
    head: str = ""
    #: ``refs/heads/x``; empty when HEAD is detached.
    ref: str = ""
    bare: bool = False
    #: Whether it is locked with `git worktree lock`, and why.
    locked: bool = False
    why_locked: str = ""

    @property
    def branch(self) -> str:
        """The branch's short name, or an empty text."""
        return self.ref.removeprefix(HEADS)

    @property
    def missing(self) -> bool:
        """Whether its folder is missing."""
        return not os.path.isdir(self.path)


def listing(git: GitCalls) -> bytes:
    """Return git's list of working trees; retry while one of them is being added."""
    until = time.monotonic() + _PATIENCE
    while True:
        result = git.run("worktree", "list", "--porcelain", "-z")
        if not result.code:
            return result.out
        if "failed to read" not in result.err or time.monotonic() > until:
            git.fail("worktree", result)
        time.sleep(_PAUSE)


def entries(git: GitCalls) -> list[WorktreeEntry]:
    """Return all working trees that git knows, including those with missing folders."""
    out = listing(git)
    found = []
    for block in out.split(b"\0\0"):
        fields = dict(_field(line) for line in block.split(b"\0") if line)
        if "worktree" in fields:
            found.append(
                WorktreeEntry(
                    fields["worktree"],
                    fields.get("HEAD", "").strip("0") and fields["HEAD"],
                    fields.get("branch", ""),
                    "bare" in fields,
                    "locked" in fields,
                    fields.get("locked", ""),
                )
            )
    return found


def present(git: GitCalls) -> list[WorktreeEntry]:
    """Return the working trees whose folders exist, the main one first."""
    return [entry for entry in entries(git) if not entry.missing]


def _field(line: bytes) -> tuple[str, str]:
    name, _, value = line.partition(b" ")
    return name.decode("ascii", "replace"), os.fsdecode(value)


def git_dir_of(common: str, path: str) -> str:
    """Return the git directory of the linked working tree ``path``, or an empty text."""
    linked = os.path.join(common, "worktrees")
    try:
        names = sorted(os.listdir(linked))
    except OSError:
        return ""
    for name in names:
        place = os.path.join(linked, name)
        if pointer(os.path.join(place, "gitdir")) == os.path.join(path, ".git"):
            return place
    return ""


def owner_of(path: str) -> str:
    """Return the git directory that the linked working tree ``path`` names, or an empty text."""
    found = pointer(os.path.join(path, ".git"), b"gitdir: ")
    return os.path.realpath(found) if found else ""


def is_linked(common: str, path: str) -> bool:
    """Return whether a folder and its git directory point to each other, and the latter is in ``common``."""
    owner = owner_of(path)
    if os.path.dirname(owner) != os.path.join(os.path.realpath(common), "worktrees"):
        return False
    return pointer(os.path.join(owner, "gitdir")) == os.path.join(path, ".git")


def add(git: GitCalls, path: str, branch: str, base: str) -> None:
    """Register a working tree at ``path`` without its files.

    With ``base``, create the branch there, tracking nothing; otherwise it must exist.
    """
    new = ("--no-track", "-b", branch) if base else ()
    result = git.run("worktree", "add", "--no-checkout", *new, "--", path, base or branch)
    if result.code:
        last = last_words(result.err) or f"exit status {result.code}"
        raise Unavailable(f"git cannot create the worktree: {last}", code="GIT_FAILED")


def hold(git: GitCalls, path: str, why: str) -> None:
    """Lock a working tree, so that nobody prunes it while its folder is elsewhere."""
    git.must("worktree", "lock", "--reason", why, "--", path)


def let_go(git: GitCalls, entry: WorktreeEntry, why: str) -> None:
    """Unlock a working tree that ``hold`` locked for the same reason."""
    if entry.locked and entry.why_locked == why:
        git.must("worktree", "unlock", "--", entry.path)


def forget(git: GitCalls, entry: WorktreeEntry, why: str) -> None:
    """Make git forget a working tree whose folder is missing, even if it is locked for the reason ``why``."""
    if os.path.lexists(entry.path):
        raise is_back(entry.path)
    force = ("--force",) * (2 if entry.why_locked == why else 1)
    result = git.run("worktree", "remove", *force, "--", entry.path)
    # Someone else's prune may have been faster.
    if result.code and any(known.path == entry.path for known in entries(git)):
        raise Unavailable(f"git cannot forget {entry.path}: {result.err}", code="GIT_FAILED")


def is_back(path: str) -> Unavailable:
    """Return the error for a folder that someone created again during its removal."""
    return Unavailable(
        f"the folder {path} was created again while its worktree was being removed",
        code="REPO_STATE",
        hint="move its contents elsewhere, then try again",
    )
