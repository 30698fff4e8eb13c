"""File locks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from dibs.local.locks import FileLock, try_lock, unlock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_HOLD = """
import sys
from dibs.local.locks import FileLock
with FileLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "lock")


@pytest.fixture
def holder(path: str) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that holds the lock until its input is closed."""
    command = [sys.executable, "-c", _HOLD, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def test_a_free_lock_is_taken_once(path: str) -> None:
    one, other = FileLock(path), FileLock(path)
    assert one.take()
    assert not other.take()
    one.release()
    assert other.take()
    other.release()


def test_a_lock_of_another_process_is_held(path: str, holder: subprocess.Popen[bytes]) -> None:
    assert holder.poll() is None
    lock = FileLock(path)
    assert not lock.take()
    assert lock.handle == -1
    assert lock.is_held()


def test_a_lock_that_does_not_exist_is_not_held_and_not_created(path: str) -> None:
    assert not FileLock(path).is_held()
    assert not os.path.exists(path)


def test_waiting_ends_at_the_timeout(path: str, holder: subprocess.Popen[bytes]) -> None:
    assert holder.poll() is None
    started = time.monotonic()
    assert not FileLock(path).take(0.1)
    assert 0.1 <= time.monotonic() - started < 5


@pytest.mark.parametrize("timeout", [30.0, None])
def test_a_killed_process_releases_its_lock(
    path: str, holder: subprocess.Popen[bytes], timeout: float | None
) -> None:
    holder.send_signal(signal.SIGKILL)
    lock = FileLock(path)
    assert lock.take(timeout)
    lock.release()


def test_a_block_that_fails_releases_its_lock(path: str) -> None:
    with pytest.raises(ZeroDivisionError), FileLock(path):
        _ = 1 / 0
    assert not FileLock(path).is_held()


def test_a_lock_file_that_is_a_link_is_not_followed(path: str, tmp_path: Path) -> None:
    os.symlink(tmp_path / "elsewhere", path)
    with pytest.raises(OSError, match="symbolic links"):
        FileLock(path).take()


def test_a_child_that_inherits_the_file_keeps_the_lock(path: str) -> None:
    lock = FileLock(path)
    lock.take()
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[lock.handle]) as child:
        lock.release()
        assert lock.is_held()
        assert child.stdin is not None
        child.stdin.close()
    assert not lock.is_held()


def test_an_open_file_is_locked_and_unlocked(path: str) -> None:
    one = os.open(path, os.O_RDWR | os.O_CREAT)
    other = os.open(path, os.O_RDWR)
    assert try_lock(one)
    assert not try_lock(other)
    unlock(one)
    assert try_lock(other)
    os.close(one)
    os.close(other)
