"""Git's index, changed under git's own lock; a lock that a killed process of ours left is taken away.

The lock is a second name of a mark that lies beside it. Whoever comes next holds the board's lock, so nobody
else of ours is at work: a mark that is found then is of a process that was killed. A lock of anybody else is
never touched.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

#: How long one try waits for the index, in seconds.
PATIENCE = 0.5
PAUSE = 0.02

_MARK, _COPY = "dibs-lock-", "dibs-index-"


class Busy(Exception):
    """Somebody else was faster, or has the index; another try may succeed."""


@contextlib.contextmanager
def index_locked(place: str) -> Iterator[str]:
    """Hold git's lock in the git directory ``place``; the path given out becomes the index in the end."""
    index, lock = os.path.join(place, "index"), os.path.join(place, "index.lock")
    own = os.path.join(place, f"{_COPY}{os.getpid()}")
    mark = os.path.join(place, f"{_MARK}{os.getpid()}")
    held = False
    try:
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT, 0o666))
        _take(mark, lock)
        held = True
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(index, own)
            shutil.copystat(index, own)  # by its moment git knows which files it must look into
        yield own
        if os.path.exists(own):
            os.replace(own, index)
    finally:
        with contextlib.suppress(OSError):  # the lock must go in any case
            os.unlink(own)
        if held:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(lock)
        with contextlib.suppress(OSError):
            os.unlink(mark)


def _take(mark: str, lock: str) -> None:
    """Make the lock as a second name of the mark, so that there is no moment at which one tells nothing."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            _link(mark, lock)
        except FileExistsError:
            if time.monotonic() >= until:
                raise Busy(f"git's index is locked by another process ({lock})") from None
            time.sleep(PAUSE)
        else:
            return


def _link(mark: str, lock: str) -> None:
    try:
        os.link(mark, lock)
    except FileExistsError:
        raise
    except OSError:  # a file system on which a file has one name
        os.close(os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))


def clear_up(place: str) -> bool:
    """Take away what a killed process of ours left; tell whether there was one that had the lock."""
    left = [name for name in os.listdir(place) if name.startswith((_MARK, _COPY))]
    lock = os.path.join(place, "index.lock")
    for name in left:
        path = os.path.join(place, name)
        with contextlib.suppress(OSError):
            if name.startswith(_MARK) and os.path.samefile(path, lock):
                os.unlink(lock)
        with contextlib.suppress(OSError):
            os.unlink(path)
    return any(name.startswith(_MARK) for name in left)
