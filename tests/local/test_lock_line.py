"""Processes that wait for a lock file get it in the order in which they asked."""

import os
from threading import Thread

import pytest

from dibs.local import locks
from dibs.local.locks import FileLock

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/locks"), reason="needs /proc/locks")


def in_line(path):
    """Return how many wait for the lock of a file."""
    inode = f":{os.stat(path).st_ino} "
    with open("/proc/locks", encoding="ascii") as file:
        return sum("-> FLOCK" in line and inode in line for line in file)


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "lock")


def test_waiters_are_served_in_order_and_newcomers_do_not_pass(path):
    """On a busy machine the system may wake them in another order, but not each time."""
    assert any(serve_five(path) == [0, 1, 2, 3, 4] for _ in range(5))


def serve_five(path):
    """Let five threads wait for a lock; return the order in which they get it."""
    held = FileLock(path)
    assert held.take()
    order, threads = [], []

    def wait(name):
        lock = FileLock(path)
        assert lock.take(30.0)
        order.append(name)
        lock.release()

    for name in range(5):
        threads.append(Thread(target=wait, args=(name,)))
        threads[-1].start()
        while in_line(path) <= name:
            pass
    held.release()
    for thread in threads:
        thread.join(30)

    return order


def test_a_waiter_that_gave_up_does_not_keep_the_lock(path, monkeypatch):
    held = FileLock(path)
    assert held.take()
    late = FileLock(path)
    assert not late.take(0.2)
    assert late.handle == -1
    assert in_line(path) == 1

    held.release()

    assert FileLock(path).take(30.0)


def test_a_short_wait_needs_no_thread(path, monkeypatch):
    held = FileLock(path)
    assert held.take()
    monkeypatch.setattr(locks, "_wait_in_line", None)

    assert not FileLock(path).take(0.001)
