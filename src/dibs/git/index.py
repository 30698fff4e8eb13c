"""Git's index, changed under git's own lock; a lock that a killed process of ours left is taken away.

The lock is a second name of a mark that lies beside it, and a process of ours keeps its mark flocked for as
long as it lives. So a mark that nobody keeps is of a process that was killed. A lock of anybody else is never
touched.

A process of ours may also be stopped while it has the lock. One that has agreed to that (``yields``) writes
its new index in a folder of its own. Whoever waits too long moves that folder away (``freeze``): from then on
the stopped one can put nothing in place, whatever it does when it wakes. Then the lock may change hands
(``set_free``); it stands all the time, so that plain git never gets in between.
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

#: How long one try waits for the index, in seconds.
PATIENCE = 0.5
PAUSE = 0.02
#: After how many seconds a process of ours that has the lock counts as stopped.
STOPPED = 10.0

_MARK, _COPY, _EARLY = "dibs-lock-", "dibs-index-", ".new"
#: A copy whose owner was stopped, and a mark whose lock may change hands.
_FROZEN, _FREE = ".frozen", ".free"
#: After how many seconds a mark that is not seen yet is no longer just being made.
_EARLY_AGE = 60.0
#: How long a process waits for another that is just changing whose the lock is.
_HAND_PATIENCE = 2.0


class IndexBusy(Exception):
    """Another process has the index, or was faster; another try may succeed."""

    def refusal(self, outcome: str) -> Unavailable:
        """Return the error for the caller, with what that means for it."""
        return Unavailable(
            f"{self}{outcome}",
            code="GIT_LOCKED",
            hint="let the other git command end; if none runs, a killed one left that file",
        )


class TakenOver(Exception):
    """This process was stopped for long, and another has git's lock on the index now."""


@contextlib.contextmanager
def index_locked(
    place: str, patience: float | None = None, *, yields: bool = False
) -> Iterator[str]:
    """Hold git's lock in the git directory ``place``; the path given out becomes the index in the end.

    Whoever needs the new index earlier puts it in place with ``settle``, while the lock is still held. With
    ``yields`` others may take the lock over when this process is stopped; ``settle`` tells.
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
            shutil.copystat(index, own)  # by its moment git knows which files it must look into
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
    """Make the index of ``own``, the path that ``index_locked`` gave out; a second time changes nothing.

    Return whether this process still had the lock.
    """
    try:
        os.replace(own, os.path.join(place, "index"))
    except FileNotFoundError:
        return still_has(own)
    return True


def still_has(own: str) -> bool:
    """Return whether nobody has taken over the lock that ``own`` was given out for."""
    return os.path.isdir(os.path.dirname(own))


def _remove(copy: str) -> None:
    """Remove a copy of the index, be it a file or in a folder, and what git left beside it."""
    if os.path.isdir(copy):
        shutil.rmtree(copy, ignore_errors=True)
    for path in (copy, f"{copy}.lock"):
        with contextlib.suppress(OSError):
            os.unlink(path)


def _unlock(place: str, mark: str, lock: str) -> None:
    """Take the lock away, unless it has changed hands, which only one that is linked to its mark can."""
    with contextlib.suppress(OSError), _hand(place):
        if not mark or os.path.samefile(mark, lock):
            os.unlink(lock)


def _keep(mark: str) -> int:
    """Make a mark that shows for as long as this process lives that it does.

    It is seen only once it has its flock; where a file can be without a name, a kill leaves nothing.
    """
    try:
        file = os.open(os.path.dirname(mark), os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, 0o666)
    except (OSError, AttributeError):
        return _keep_early(mark)
    _flocked(file)
    try:
        # With a folder's handle Python follows the link of /proc, without one it does not; it is not used.
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
    """Take the flock of a file; None where there is no such thing."""
    try:
        return locks.try_lock(file) if locks.SUPPORTED else None
    except OSError:
        return None


def _runs(mark: str) -> bool:
    """Tell by its number whether the process that made a mark may still be alive."""
    number = os.path.basename(mark).removeprefix(_MARK).partition("-")[0]
    try:
        os.kill(int(number), 0)
    except (ProcessLookupError, ValueError):
        return False
    except OSError:
        return True
    return True


def _take(mark: str, lock: str, patience: float) -> bool:
    """Make the lock as a second name of the mark, so that there is no moment at which one tells nothing.

    Return whether it is one; there are file systems on which a file has one name only.
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
    return f"git's index is locked by another process ({lock}, {age:.0f} s old)"


def _link(mark: str, lock: str) -> bool:
    try:
        os.link(mark, lock)
    except FileExistsError:
        raise
    except OSError:  # a file system on which a file has one name
        os.close(os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        return False
    return True


def freeze(place: str, after: float | None = None) -> bool:
    """Wait for a process of ours that has the lock; if it seems to be stopped, take its new index from it.

    Return whether that was done. What the process is about to do besides, the caller must prevent, and then
    ``set_free`` the lock.
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
    """Let the lock of a process that ``freeze`` has stopped change hands; until then it stands."""
    mark = _yielding(place)
    if mark and os.path.isdir(_copy_of(mark) + _FROZEN):
        with contextlib.suppress(OSError):
            os.rename(mark, mark + _FREE)


def _yielding(place: str) -> str:
    """Return the mark of the process of ours that has the lock and has agreed to give it up."""
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
    """Make a lock that was set free our own, in one step."""
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
    """Be the only one who changes whose the lock is; one that is stopped just then holds nobody up."""
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
    """Return where the owner of a mark has its copy of the index."""
    place, name = os.path.split(mark.removesuffix(_FREE))
    return os.path.join(place, _COPY + name.removeprefix(_MARK))


def clear_up(place: str) -> bool:
    """Take away what killed processes of ours left; return whether there was one that had the lock."""
    _clear_early(place)
    return sum(_cleared(place, name) for name in _marks(place)) > 0


def _clear_early(place: str) -> None:
    """Take away marks whose makers were killed before they were seen; a moment ago is too soon to tell."""
    for name in os.listdir(place):
        if name.startswith(_MARK) and name.endswith(_EARLY):
            path = os.path.join(place, name)
            with contextlib.suppress(OSError):
                if time.time() - os.stat(path).st_ctime >= _EARLY_AGE and not _runs(path):
                    os.unlink(path)


def _cleared(place: str, name: str) -> bool:
    """Take away what one killed process left; its mark stays flocked, so that nobody else does the same."""
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
