"""Git's lock on the index: a stopped Dibs process loses it, and no other process ever does."""

from __future__ import annotations

import os
import threading

import pytest

from dibs.git import index
from dibs.git.index import (
    IndexBusy,
    clear_up,
    freeze,
    index_locked,
    set_free,
    settle,
    still_has,
)


@pytest.fixture
def place(tmp_path):
    (tmp_path / "index").write_text("first")
    return tmp_path


def names(place):
    return sorted(path.name for path in place.iterdir())


def test_a_lock_is_handed_over_without_ever_being_missing(place):
    with index_locked(str(place), yields=True) as stopped:
        assert freeze(str(place), after=0.0)
        assert (place / "index.lock").exists()
        with pytest.raises(IndexBusy), index_locked(str(place), 0.0):
            pass
        set_free(str(place))
        assert (place / "index.lock").exists(), "plain git never gets in between"

        with index_locked(str(place), yields=True) as own:
            (place / "index.lock").stat()
            with open(own, "w") as file:
                file.write("second")

        assert not still_has(stopped)
        assert not settle(str(place), stopped)

    assert (place / "index").read_text() == "second"
    assert names(place) == ["index"]


def test_a_stopped_process_does_not_remove_its_successors_lock(place):
    outer = index_locked(str(place), yields=True)
    outer.__enter__()
    assert freeze(str(place), after=0.0)
    set_free(str(place))

    with index_locked(str(place), yields=True):
        outer.__exit__(None, None, None)
        assert (place / "index.lock").exists()

    assert names(place) == ["index"]


def test_a_stopped_process_cannot_write_a_new_index(place):
    with index_locked(str(place), yields=True) as stopped:
        assert freeze(str(place), after=0.0)

        with pytest.raises(FileNotFoundError):
            os.open(stopped, os.O_WRONLY | os.O_CREAT)


def test_a_process_that_has_the_lock_for_a_short_time_keeps_it(place):
    with index_locked(str(place), yields=True) as own:
        waiter = threading.Thread(target=freeze, args=(str(place), 600.0))
        waiter.start()
        assert still_has(own)
        assert settle(str(place), own)
        assert settle(str(place), own), "a second call changes nothing"
    waiter.join(timeout=60)
    assert not waiter.is_alive(), "it has waited until the lock was released"


def test_a_foreign_lock_and_one_that_does_not_yield_are_not_touched(place):
    (place / "index.lock").touch()
    assert not freeze(str(place), after=0.0)
    assert names(place) == ["index", "index.lock"]
    (place / "index.lock").unlink()

    with index_locked(str(place)) as own:
        assert not freeze(str(place), after=0.0)
        assert os.path.exists(own)


def test_a_killed_takeover_is_finished_by_the_next_process(place):
    with index_locked(str(place), yields=True):
        assert freeze(str(place), after=0.0)  # and then its process died

        assert freeze(str(place), after=0.0)
        set_free(str(place))
        with index_locked(str(place), yields=True):
            pass
    assert names(place) == ["index"]


@pytest.mark.parametrize("reached", ["lock", "frozen", "free"])
def test_leftovers_of_a_killed_process_are_removed_in_any_state(place, reached):
    pid = os.fork()
    if not pid:  # no code of the test may run in the child
        held = index_locked(str(place), yields=True)
        held.__enter__()
        if reached != "lock":
            freeze(str(place), after=0.0)
        if reached == "free":
            set_free(str(place))
        os._exit(0)
    os.waitpid(pid, 0)

    assert clear_up(str(place))
    assert names(place) == ["index"]


def killed_before_its_mark_is_seen(place, monkeypatch):
    """Let a process start to take the lock, and die when it has its mark's flock."""
    with monkeypatch.context() as patched:
        patched.setattr(index, "_flocked", lambda _: os._exit(9))
        pid = os.fork()
        if not pid:
            with index_locked(str(place)):
                os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9


def test_a_process_killed_before_its_mark_is_visible_leaves_nothing(place, monkeypatch):
    killed_before_its_mark_is_seen(place, monkeypatch)

    assert names(place) == ["index"]


def test_without_unnamed_files_such_a_mark_is_removed_once_it_is_old(place, monkeypatch):
    monkeypatch.delattr(os, "O_TMPFILE")
    killed_before_its_mark_is_seen(place, monkeypatch)
    (place / f"dibs-lock-{os.getpid()}-0.new").touch()  # someone else is just making one
    assert len(names(place)) == 3

    clear_up(str(place))
    assert len(names(place)) == 3, "it may have been created just now"
    monkeypatch.setattr(index, "_EARLY_AGE", 0.0)
    clear_up(str(place))

    assert names(place) == [f"dibs-lock-{os.getpid()}-0.new", "index"]
    with index_locked(str(place)):
        assert (place / "index.lock").exists()
