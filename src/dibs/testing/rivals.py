"""Contract tests for concurrent steps and for steps that fail."""
# ruff: noqa: PLR2004

from __future__ import annotations

import subprocess
import sys
from threading import Thread
from typing import TYPE_CHECKING

from dibs.core.patterns.filing import Range
from dibs.testing.steps import (
    LONG,
    Broken,
    ContractPart,
    entries,
    event,
    everything,
    in_threads,
    increment,
    put,
    refused,
)

if TYPE_CHECKING:
    from dibs.engines.base import Txn
    from dibs.testing.steps import Connect


class Rivals(ContractPart):
    """Steps take effect one after the other.

    A rival starts inside a step, so that the race is certain to happen.
    """

    def test_a_rival_in_the_middle_of_a_step_is_not_lost(self, connect: Connect) -> None:
        ours, theirs = connect(), connect()
        rival = Thread(target=lambda: theirs.transact(increment))

        def step(txn: Txn) -> None:
            before = int(txn.get("count") or 0)
            self.meanwhile(rival)
            txn.put("count", str(before + 1))

        ours.transact(step)
        rival.join(LONG)

        assert connect().transact(lambda txn: txn.get("count")) == "2"

    def test_a_key_that_a_rival_adds_to_a_scanned_range_is_noticed(self, connect: Connect) -> None:
        ours, theirs = connect(), connect()

        def take(txn: Txn, name: str) -> None:
            if not list(txn.scan(Range("taken/"))):
                if name == "ours":
                    self.meanwhile(rival)
                txn.put("taken/" + name, "")

        rival = Thread(target=lambda: theirs.transact(lambda txn: take(txn, "theirs")))
        ours.transact(lambda txn: take(txn, "ours"))
        rival.join(LONG)

        assert len(everything(connect())) == 1

    def test_many_threads_with_one_handle_each_lose_nothing(self, connect: Connect) -> None:
        in_threads([connect() for _ in range(4)], times=25)

        assert connect().transact(lambda txn: txn.get("count")) == "100"
        numbers = [entry.seq for entry in entries(connect())]
        assert len(numbers) == 100
        assert numbers == sorted(set(numbers))

    def test_many_threads_on_one_handle_lose_nothing(self, connect: Connect) -> None:
        in_threads([connect()] * 4, times=25)

        assert connect().transact(lambda txn: txn.get("count")) == "100"


class Processes:
    """Rules for an engine whose state other processes share."""

    #: Python source that opens a handle named ``engine`` in a new process.
    elsewhere: str
    #: How many times each of four processes writes; use fewer for slow engines.
    times = 50

    def test_many_processes_lose_nothing(self, connect: Connect) -> None:
        connect().transact(increment)
        program = (
            "from dibs.testing.steps import add_up\n"
            f"{self.elsewhere}\n"
            f"add_up(engine, {self.times})\n"
        )  # fmt: skip

        processes = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(4)]  # noqa: S603
        ended = [process.wait(LONG * 3) for process in processes]

        assert ended == [0, 0, 0, 0]
        total = 1 + 4 * self.times
        assert connect().transact(lambda txn: txn.get("count")) == str(total)
        assert len({entry.seq for entry in entries(connect())}) == total


class Failures:
    """A step that fails has no effect."""

    def test_a_step_that_fails_changes_nothing(self, connect: Connect) -> None:
        put(connect(), kept="old", also="old")
        engine = connect()
        first = engine.transact(lambda txn: txn.emit(event("first")))

        def step(txn: Txn) -> None:
            txn.put("kept", "new")
            txn.delete("also")
            txn.put("added", "new")
            txn.emit(event("never"))
            txn.trim(10**15)
            raise Broken

        refused(Broken, lambda: engine.transact(step))

        for handle in (engine, connect()):
            assert everything(handle) == [("also", "old"), ("kept", "old")]
            assert [entry.summary for entry in entries(handle)] == ["first"]
        assert engine.transact(lambda txn: txn.emit(event("next"))) > first

    def test_an_interrupted_step_changes_nothing_and_the_engine_still_works(
        self, connect: Connect
    ) -> None:
        engine = connect()

        def step(txn: Txn) -> None:
            txn.put("k", "v")
            txn.emit(event("never"))
            next(txn.events(), None)
            raise KeyboardInterrupt

        refused(KeyboardInterrupt, lambda: engine.transact(step))

        put(connect(), other="handle")
        put(engine, same="handle")
        assert everything(connect()) == [("other", "handle"), ("same", "handle")]
        assert entries(connect()) == []

    def test_a_failed_view_leaves_the_engine_usable(self, connect: Connect) -> None:
        engine = connect()

        def step(txn: Txn) -> None:
            next(txn.scan(Range("")), None)
            raise Broken

        refused(Broken, lambda: engine.view(step))

        put(engine, k="v")
        assert everything(connect()) == [("k", "v")]

    def test_closing_one_handle_does_not_affect_the_others(self, connect: Connect) -> None:
        ours, theirs = connect(), connect()
        put(ours, k="v")

        ours.close()

        assert theirs.transact(lambda txn: txn.get("k")) == "v"
        assert connect().view(lambda txn: txn.get("k")) == "v"
