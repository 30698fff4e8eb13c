"""Change git's index under git's own lock, and remove locks that killed Dibs processes left.

Our lock file is a hard link to a mark next to it, and a Dibs process keeps its mark flocked while it lives.
So a mark without a flock belongs to a dead process. Other programs' locks are never touched.

A Dibs process may also be stopped while it has the lock. If it allows that (``yields``), it writes its new
index in its own folder. A process that has waited too long moves that folder away (``freeze``), so that the
stopped process cannot install its index when it wakes up. Then the lock can be handed over (``set_free``).
The lock file exists all the time, so plain git never gets in between.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time

from dibs.errors import Unavailable
from dibs.local import locks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

#: How long one attempt waits for the index, in seconds.
PATIENCE = 0.5
PAUSE = 0.02
#: After this many seconds, a Dibs process that has the lock counts as stopped.
STOPPED = 10.0

_MARK, _COPY, _EARLY = "dibs-lock-", "dibs-index-", ".new"
#: Suffixes of a stopped process's copy, and of a mark whose lock can be taken over.
_FROZEN, _FREE = ".frozen", ".free"
#: After this many seconds, an unfinished mark is no longer being created.
_EARLY_AGE = 60.0
#: How long to wait for a process that is handing over the lock, in seconds.
_HAND_PATIENCE = 2.0


class IndexBusy(Exception):
    """Another process has the index; a later attempt may succeed."""

    def refusal(self, outcome: str) -> Unavailable:
        """Return the error for the user, ending in ``outcome``."""
        return Unavailable(
            f"{self}{outcome}",
            code="GIT_LOCKED",
            hint="wait for the other git command; if none is running, run `dibs doctor --fix`",
        )


class TakenOver(Exception):
    """This process was stopped, and another one has taken over git's lock on the index."""


@contextlib.contextmanager
def index_locked(
    place: str, patience: float | None = None, *, yields: bool = False
) -> Iterator[str]:
    """Hold git's lock in the git directory ``place``; the yielded path becomes the index at the end.

    ``settle`` installs the new index earlier, while the lock is still held. With ``yields``, other processes
    may take over the lock if this one is stopped; ``settle`` then returns False.
    """
    index, lock = os.path.join(place, "index"), os.path.join(place, "index.lock")
    name = f"{os.getpid()}-{os.urandom(4).hex()}"
    copy, mark = os.path.join(place, _COPY + name), os.path.join(place, _MARK + name)
    own = os.path.join(copy, "index") if yields else copy
    held, linked, kept = False, False, _keep(mark)
    try:
        if yields:
            os.mkdir(copy)
        linked = _take(mark, lock, PATIENCE if patience is None else patience)
        held = True
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(index, own)
            shutil.copystat(index, own)  # git needs its timestamp to know which files to read
        yield own
        settle(place, own)
    finally:
        _remove(copy)
        if held:
            _unlock(place, mark if linked else "", lock)
        with contextlib.suppress(OSError):
            os.unlink(mark)
        os.close(kept)


def settle(place: str, own: str) -> bool:
    """Install ``own``, the path that ``index_locked`` yielded, as the index; repeating changes nothing.

    Return whether this process still had the lock.
    """
    try:
        os.replace(own, os.path.join(place, "index"))
    except FileNotFoundError:
        return still_has(own)
    return True


def publish(place: str, own: str) -> bool:
    """Install ``own`` as the index for now; ``withdraw`` restores the old one, ``settle`` keeps the new one.

    Return whether this process still had the lock.
    """
    index = os.path.join(place, "index")
    try:
        with contextlib.suppress(FileExistsError, FileNotFoundError):
            _link_or_copy(index, f"{own}.old")
        _link_or_copy(own, f"{own}.now")
        os.replace(f"{own}.now", index)
    except FileNotFoundError:
        return False
    return True


def withdraw(place: str, own: str) -> None:
    """Restore the index as it was before ``publish``, if this process still has the lock."""
    with contextlib.suppress(FileNotFoundError):
        os.replace(f"{own}.old", os.path.join(place, "index"))


def _link_or_copy(path: str, other: str) -> None:
    try:
        os.link(path, other)
    except (FileExistsError, FileNotFoundError):
        raise
    except OSError:  # a file system without hard links
        shutil.copy2(path, other)


def still_has(own: str) -> bool:
    """Return whether this process still has the lock that belongs to ``own``."""
    return os.path.isdir(os.path.dirname(own))


def _remove(copy: str) -> None:
    """Remove a copy of the index, a file or a folder, and git's lock file next to it."""
    if os.path.isdir(copy):
        shutil.rmtree(copy, ignore_errors=True)
    for path in (copy, f"{copy}.lock"):
        with contextlib.suppress(OSError):
            os.unlink(path)


def _unlock(place: str, mark: str, lock: str) -> None:
    """Remove the lock, unless another process has taken it over, which only a linked lock allows."""
    with contextlib.suppress(OSError), _hand(place):
        if not mark or os.path.samefile(mark, lock):
            os.unlink(lock)


def _keep(mark: str) -> int:
    """Create a mark that stays flocked while this process lives.

    It becomes visible only with its flock. With unnamed files, a kill leaves nothing behind.
    """
    try:
        file = os.open(os.path.dirname(mark), os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, 0o666)
    except (OSError, AttributeError):
        return _keep_early(mark)
    _flocked(file)
    try:
        # Python follows the /proc link only if it gets a folder handle, which is not used.
        os.link(f"/proc/self/fd/{file}", mark, src_dir_fd=file, follow_symlinks=True)
    except OSError:
        os.close(file)
        return _keep_early(mark)
    return file


def _keep_early(mark: str) -> int:
    early = f"{mark}{_EARLY}"
    file = os.open(early, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    _flocked(file)
    os.rename(early, mark)
    return file


def _flocked(file: int) -> bool | None:
    """Take the flock of a file; return None if flocks are not supported."""
    try:
        return locks.try_lock(file) if locks.SUPPORTED else None
    except OSError:
        return None


def _runs(mark: str) -> bool:
    """Return whether the process in a mark's name may still be alive."""
    number = os.path.basename(mark).removeprefix(_MARK).partition("-")[0]
    try:
        os.kill(int(number), 0)
    except (ProcessLookupError, ValueError):
        return False
    except OSError:
        return True
    return True


def _take(mark: str, lock: str, patience: float) -> bool:
    """Create the lock as a hard link to the mark, so that it always shows its owner.

    Return False on a file system without hard links.
    """
    until = time.monotonic() + patience
    while True:
        try:
            return _link(mark, lock)
        except FileExistsError:
            if _adopt(mark, lock):
                return True
            if time.monotonic() >= until:
                raise IndexBusy(_who_has(lock)) from None
            time.sleep(PAUSE)


def _who_has(lock: str) -> str:
    try:
        age = max(0.0, time.time() - os.stat(lock, follow_symlinks=False).st_mtime)
    except OSError:
        age = 0.0
    return f"git's index is locked by another process ({lock}, {age:.0f}s old)"


def _link(mark: str, lock: str) -> bool:
    try:
        os.link(mark, lock)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        os.close(os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        return False
    return True


def freeze(place: str, after: float | None = None) -> bool:
    """Wait for a Dibs process that has the lock; if it seems stopped, take its new index away.

    Return whether that was done. The caller must then prevent the process's other effects, and call
    ``set_free``.
    """
    limit = STOPPED if after is None else after
    while True:
        mark = _yielding(place)
        if not mark:
            return False
        with contextlib.suppress(OSError):
            # Linking the mark to the lock was the last change of its inode.
            if time.time() - os.stat(mark).st_ctime >= limit:
                with contextlib.suppress(FileNotFoundError):
                    os.rename(_copy_of(mark), _copy_of(mark) + _FROZEN)
                return True
        time.sleep(PAUSE)


def set_free(place: str) -> None:
    """Allow other processes to take over the lock of a process that ``freeze`` found stopped."""
    mark = _yielding(place)
    if mark and os.path.isdir(_copy_of(mark) + _FROZEN):
        with contextlib.suppress(OSError):
            os.rename(mark, mark + _FREE)


def _yielding(place: str) -> str:
    """Return the mark of the Dibs process that has the lock and allows a takeover."""
    if not locks.SUPPORTED:
        return ""
    for name in _marks(place):
        mark = os.path.join(place, name)
        copy = _copy_of(mark)
        with contextlib.suppress(OSError):
            folder = os.path.isdir(copy) or os.path.isdir(copy + _FROZEN)
            free = name.endswith(_FREE)
            if folder and not free and os.path.samefile(mark, os.path.join(place, "index.lock")):
                return "" if _cleared(place, name) else mark
    return ""


def _adopt(mark: str, lock: str) -> bool:
    """Take over a lock that was set free, atomically."""
    place = os.path.dirname(lock)
    for name in _marks(place):
        free = os.path.join(place, name)
        if name.endswith(_FREE):
            with contextlib.suppress(OSError), _hand(place):
                if os.path.samefile(free, lock):
                    os.link(mark, f"{mark}{_EARLY}")
                    os.rename(f"{mark}{_EARLY}", lock)
                    os.unlink(free)
                    _remove(_copy_of(free) + _FROZEN)
                    return True
    return False


@contextlib.contextmanager
def _hand(place: str) -> Iterator[None]:
    """Be the only process that hands over the lock; do not wait long for one that is stopped."""
    if not locks.SUPPORTED:
        yield
        return
    file = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
    try:
        give_up = time.monotonic() + _HAND_PATIENCE
        while _flocked(file) is False and time.monotonic() < give_up:
            time.sleep(PAUSE / 20)
        yield
    finally:
        os.close(file)


def _marks(place: str) -> list[str]:
    names = os.listdir(place)
    return [name for name in names if name.startswith(_MARK) and not name.endswith(_EARLY)]


def _copy_of(mark: str) -> str:
    """Return the path of the index copy that belongs to a mark."""
    place, name = os.path.split(mark.removesuffix(_FREE))
    return os.path.join(place, _COPY + name.removeprefix(_MARK))


def clear_up(place: str) -> bool:
    """Remove what killed Dibs processes left; return whether there was anything."""
    _clear_early(place)
    return sum(_cleared(place, name) for name in _marks(place)) > 0


def _clear_early(place: str) -> None:
    """Remove unfinished marks of dead processes, once they are old enough to be sure."""
    for name in os.listdir(place):
        if name.startswith(_MARK) and name.endswith(_EARLY):
            path = os.path.join(place, name)
            with contextlib.suppress(OSError):
                if time.time() - os.stat(path).st_ctime >= _EARLY_AGE and not _runs(path):
                    os.unlink(path)


def _cleared(place: str, name: str) -> bool:
    """Remove what one killed process left; hold its mark's flock, so that no one else does the same."""
    mark, lock = os.path.join(place, name), os.path.join(place, "index.lock")
    try:
        file = os.open(mark, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        alone = _flocked(file)
        if alone is False or (alone is None and _runs(mark)):
            return False
        _unlock(place, mark, lock)
        for copy in (_copy_of(mark), _copy_of(mark) + _FROZEN):
            _remove(copy)
        for path in (f"{mark}{_EARLY}", mark):
            with contextlib.suppress(OSError):
                os.unlink(path)
    finally:
        os.close(file)
    return True
