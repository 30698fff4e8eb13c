"""Find stale locks of killed git processes, and move them away.

Git creates ``NAME.lock`` next to a file and removes it at the end; a killed git leaves it forever. A lock
does not name its owner, so it counts as stale only if it is old, no process on this machine has it open, and
no git is running in the repository. It is moved away, not deleted. Outside Linux, no lock counts as stale.
"""

from __future__ import annotations

import os
import time

from dibs.git.state import pointer
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

#: How old a lock must be to count as stale, in seconds.
AGE = 60.0
_ENDING = ".lock"
#: The folder in the git directory to which they are moved.
_ASIDE = "dibs-stale-locks"
_PROCESSES = "/proc"
#: Folders of a git directory without locks on the repository's state.
_WITHOUT_LOCKS = frozenset(("objects", "hooks", "dibs", "lfs", "logs", "modules", _ASIDE))


class StaleLock(Record):
    """A lock that a dead process left."""

    path: str
    #: Its age in seconds.
    age: float


def find_stale(common: str, *, now: float | None = None) -> list[StaleLock]:
    """Return the stale locks in a git directory and in those of its worktrees."""
    moment = time.time() if now is None else now
    old = [lock for lock in _locks(common, moment) if lock.age >= AGE and _is_ours(lock.path)]
    if not old or _is_at_work(common, {lock.path for lock in old}):
        return []
    return old


def put_aside(lock: StaleLock, common: str) -> str:
    """Move a stale lock away if it is still the same; return its new path, or an empty text if not moved.

    It must leave its folder: among the refs, git would take it for a branch.
    """
    folder = os.path.join(common, _ASIDE)
    try:
        status = os.lstat(lock.path)
        if time.time() - status.st_mtime < AGE:
            return ""
        name = os.path.relpath(lock.path, common).replace("/", "-")
        aside = os.path.join(folder, f"{name}-{int(status.st_mtime)}")
        os.makedirs(folder, exist_ok=True)
        os.rename(lock.path, aside)
    except OSError:
        return ""
    return aside


def _locks(common: str, now: float) -> Iterator[StaleLock]:
    for folder, folders, names in os.walk(common):
        if folder == common:
            folders[:] = [name for name in folders if name not in _WITHOUT_LOCKS]
        for name in names:
            if name.endswith(_ENDING):
                path = os.path.join(folder, name)
                try:
                    yield StaleLock(path, now - os.lstat(path).st_mtime)
                except FileNotFoundError:
                    continue


def _is_ours(path: str) -> bool:
    """Return whether a lock belongs to our user, so that we can see the processes that may hold it."""
    me = os.geteuid() if hasattr(os, "geteuid") else -1
    try:
        return me in {0, os.lstat(path).st_uid}
    except OSError:
        return False


def _is_at_work(common: str, locks: set[str]) -> bool:
    """Return whether a process may still hold one of the locks, or whether that is unknown."""
    try:
        numbers = [name for name in os.listdir(_PROCESSES) if name.isdecimal()]
    except OSError:
        return True
    places = tuple(os.path.join(place, "") for place in _places(common))
    own = str(os.getpid())
    return any(_may_hold(number, places, locks) for number in numbers if number != own)


def _places(common: str) -> list[str]:
    """Return the git directory and the working trees of a repository."""
    found = [common]
    if os.path.basename(common) == ".git":
        found.append(os.path.dirname(common))
    linked = os.path.join(common, "worktrees")
    for name in os.listdir(linked) if os.path.isdir(linked) else ():
        tree = pointer(os.path.join(linked, name, "gitdir"))
        if tree:
            found.append(os.path.dirname(tree))
    return [os.path.realpath(place) for place in found]


def _may_hold(number: str, places: tuple[str, ...], locks: set[str]) -> bool:
    base = os.path.join(_PROCESSES, number)
    is_git = False
    try:
        with open(os.path.join(base, "comm"), "rb") as file:
            is_git = file.read().startswith(b"git")
        if locks.intersection(_open_files(base)):
            return True
        if not is_git:
            return False
        with open(os.path.join(base, "cmdline"), "rb") as file:
            words = os.fsdecode(file.read()).split("\0")
        here = os.path.join(os.readlink(os.path.join(base, "cwd")), "")
    except PermissionError:  # another user's
        return is_git
    except OSError:
        return False  # it has ended
    return here.startswith(places) or any(place[:-1] in word for place in places for word in words)


def _open_files(base: str) -> Iterator[str]:
    folder = os.path.join(base, "fd")
    for name in os.listdir(folder):
        try:
            yield os.readlink(os.path.join(folder, name))
        except FileNotFoundError:
            continue
