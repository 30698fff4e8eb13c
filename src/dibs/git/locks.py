"""Locks that git left: finding those that nobody can hold any more, and putting them aside.

Git makes ``NAME.lock`` beside a file and takes it away at the end; a killed git leaves it for ever. Who made
a lock is written nowhere, so a lock counts as left only when it is old, nobody on this machine has it open,
and no git is at work in the repository. It is put aside, not deleted. On systems other than Linux none is.
"""

from __future__ import annotations

import os
import time

from dibs.git.state import pointer
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

#: How old a lock must be to count as left, in seconds.
AGE = 60.0
_ENDING = ".lock"
#: Where they go, in the git directory.
_ASIDE = "dibs-stale-locks"
_PROCESSES = "/proc"
#: Folders of a git directory in which no lock stands for the state of the repository.
_WITHOUT_LOCKS = frozenset(("objects", "hooks", "dibs", "lfs", "logs", "modules", _ASIDE))


class StaleLock(Record):
    """A lock that a process left behind."""

    path: str
    #: How many seconds ago it was made.
    age: float


def find_stale(common: str, *, now: float | None = None) -> list[StaleLock]:
    """Return the locks in a git directory, and in those of its worktrees, that nobody can hold any more."""
    moment = time.time() if now is None else now
    old = [lock for lock in _locks(common, moment) if lock.age >= AGE and _is_ours(lock.path)]
    if not old or _is_at_work(common, {lock.path for lock in old}):
        return []
    return old


def put_aside(lock: StaleLock, common: str) -> str:
    """Move a stale lock away, if it is still the same; return where it is then, empty if it stays.

    It leaves its folder: git would take it for a branch among the refs.
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
    """Return whether we can see the processes that may hold a lock: those of our own user."""
    me = os.geteuid() if hasattr(os, "geteuid") else -1
    try:
        return me in {0, os.lstat(path).st_uid}
    except OSError:
        return False


def _is_at_work(common: str, locks: set[str]) -> bool:
    """Return whether a process may still hold one of the locks; where that cannot be seen, it may."""
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
