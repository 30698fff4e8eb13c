"""Contract tests for races: what a step has read is still true when the step takes effect.

In each test, a rival acts in the middle of our step, and the later of the two must see the earlier
one. It is fine if we miss what the rival did, or if the rival misses our key. If each misses the
other, no order of the two steps explains the result.
"""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING

from dibs.core.patterns.filing import Range
from dibs.testing.steps import (
    LONG,
    Broken,
    ContractPart,
    drop,
    entries,
    event,
    everything,
    increment,
    put,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.engines.base import Txn
    from dibs.testing.steps import Connect


class Races(ContractPart):
    """A step notices every change that a rival makes to what it has read."""

    def _race(
        self, connect: Connect, look: Callable[[Txn], Any], act: Callable[[Txn], object]
    ) -> None:
        ours, theirs = connect(), connect()
        acted: list[bool] = []

        def rival_step(txn: Txn) -> bool:
            first = txn.get("ours") is None
            if first:
                act(txn)
            return first

        rival = Thread(target=lambda: acted.append(theirs.transact(rival_step)))

        def step(txn: Txn) -> Any:
            found = look(txn)
            self.meanwhile(rival)
            txn.put("ours", "here")
            return found

        before = connect().view(look)
        seen = ours.transact(step)
        rival.join(LONG)

        assert len(acted) == 1
        assert seen != before or not acted[0], "each missed the other"

    def test_a_missing_key_that_was_read_is_guarded(self, connect: Connect) -> None:
        self._race(connect, lambda txn: txn.get("k"), lambda txn: txn.put("k", "new"))

    def test_a_value_that_was_read_is_guarded(self, connect: Connect) -> None:
        put(connect(), k="old")

        self._race(connect, lambda txn: txn.get("k"), lambda txn: txn.put("k", "new"))

    def test_a_key_that_was_read_and_then_deleted_is_guarded(self, connect: Connect) -> None:
        put(connect(), k="old")

        self._race(connect, lambda txn: txn.get("k"), lambda txn: txn.delete("k"))

    def test_an_empty_range_within_a_wider_key_space_is_guarded(self, connect: Connect) -> None:
        put(connect(), **dict.fromkeys(["a", "p/1", "z"], "x"))

        self._race(
            connect,
            lambda txn: list(txn.scan(Range("p/", "//me/"), Range("q/", "//me/"))),
            lambda txn: txn.put("q/1//me/", "x"),
        )

    def test_a_value_in_a_scanned_range_is_guarded(self, connect: Connect) -> None:
        put(connect(), **{"p/1": "old", "p/2": "old"})

        self._race(connect, _scanned, lambda txn: txn.put("p/1", "new"))

    def test_a_key_deleted_from_a_scanned_range_is_noticed(self, connect: Connect) -> None:
        put(connect(), **{"p/1": "x", "p/2": "x"})

        self._race(connect, _scanned, lambda txn: txn.delete("p/2"))

    def test_a_key_that_replaces_another_one_is_noticed(self, connect: Connect) -> None:
        put(connect(), **{"p/1": "x", "p/2": "x", "p/4": "x"})

        def swap(txn: Txn) -> None:
            txn.delete("p/2")
            txn.put("p/3", "x")

        self._race(connect, _scanned, swap)

    def test_a_key_before_the_end_of_an_abandoned_scan_is_noticed(self, connect: Connect) -> None:
        put(connect(), **{"p/1": "x", "p/2": "x"})

        self._race(
            connect,
            lambda txn: next(txn.scan(Range("p/"))),
            lambda txn: txn.put("p/0", "x"),
        )

    def test_an_entry_added_to_a_ledger_that_was_read_is_noticed(self, connect: Connect) -> None:
        connect().transact(increment)

        self._race(
            connect,
            lambda txn: next(txn.events(newest_first=True)).seq,
            lambda txn: txn.emit(event("new")),
        )

    def test_an_entry_trimmed_from_a_ledger_that_was_read_is_noticed(
        self, connect: Connect
    ) -> None:
        last = connect().transact(lambda txn: [increment(txn) for _ in range(3)])[-1]

        self._race(
            connect,
            lambda txn: [entry.seq for entry in txn.events()],
            lambda txn: txn.trim(last - 1),
        )

    def test_rivals_that_write_the_same_change_are_still_two(self, connect: Connect) -> None:
        ours, theirs = connect(), connect()

        def count(txn: Txn, *, wait: bool = False) -> None:
            before = int(txn.get("count") or 0)
            if wait:
                self.meanwhile(rival)
            txn.put("count", str(before + 1))

        rival = Thread(target=lambda: theirs.transact(count))
        ours.transact(lambda txn: count(txn, wait=True))
        rival.join(LONG)

        assert connect().transact(lambda txn: txn.get("count")) == "2"

    def test_emit_returns_the_number_of_its_entry(self, connect: Connect) -> None:
        ours, theirs = connect(), connect()
        rival = Thread(target=lambda: theirs.transact(lambda txn: txn.emit(event("theirs"))))

        def step(txn: Txn) -> int:
            number = txn.emit(event("ours"))
            self.meanwhile(rival)
            return number

        number = ours.transact(step)
        rival.join(LONG)

        written = {entry.seq: entry.summary for entry in entries(connect())}
        assert written[number] == "ours"
        assert sorted(written.values()) == ["ours", "theirs"]

    def test_a_step_that_runs_again_leaves_nothing_of_its_first_run(self, connect: Connect) -> None:
        ours, theirs = connect(), connect()
        rival = Thread(target=lambda: put(theirs, count="1"))

        def step(txn: Txn) -> str:
            seen = txn.get("count") or "0"
            txn.put("run/" + seen, "")
            txn.emit(event("saw " + seen))
            self.meanwhile(rival)
            return seen

        seen = ours.transact(step)
        rival.join(LONG)

        assert [key for key, _ in everything(connect())] == ["count", "run/" + seen]
        assert [entry.summary for entry in entries(connect())] == ["saw " + seen]

    def test_a_step_that_writes_nothing_sees_one_snapshot(self, connect: Connect) -> None:
        put(connect(), a="old", b="old")
        ours, theirs = connect(), connect()
        rival = Thread(target=lambda: put(theirs, a="new", b="new"))

        def step(txn: Txn) -> tuple[str | None, str | None]:
            first = txn.get("a")
            self.meanwhile(rival)
            return first, txn.get("b")

        first, second = ours.transact(step)
        rival.join(LONG)

        assert first == second

    def test_a_step_never_sees_an_inconsistent_state(self, connect: Connect) -> None:
        put(connect(), a="x", b="x")
        ours, theirs = connect(), connect()
        rival = Thread(target=lambda: drop(theirs, "a", "b"))

        def step(txn: Txn) -> None:
            first = txn.get("a")
            self.meanwhile(rival)
            if first != txn.get("b"):
                raise Broken  # a rule that sees contradictory records

        ours.transact(step)
        rival.join(LONG)

        assert everything(connect()) == []


def _scanned(txn: Txn) -> list[tuple[str, str]]:
    return list(txn.scan(Range("p/")))
