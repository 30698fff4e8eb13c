"""Contract tests for the ledger, waiting, views, and time."""
# ruff: noqa: PLR2004

from __future__ import annotations

import time
from threading import Thread
from typing import TYPE_CHECKING

from dibs.core.claims.ledger import Entry, Event, Kind
from dibs.core.patterns.filing import Range
from dibs.testing.steps import (
    LONG,
    ContractPart,
    entries,
    event,
    everything,
    increment,
    put,
    refused,
)

if TYPE_CHECKING:
    from dibs.engines.base import Engine, Txn
    from dibs.testing.steps import Connect

_FOREIGN = Entry(7, 1_700_000_000.25, "agent-1", "coder", Kind.ERROR, "it's ☃", {"deep": [1, None]})


class LedgerPart:
    """The ledger keeps every entry, in order."""

    def test_an_entry_contains_its_event_a_number_and_the_time(self, connect: Connect) -> None:
        told = event('it\'s "so"\n☃', path="a/ü", tries=3, none=None, deep={"list": [1, 2.5, True]})

        seq, now = connect().transact(lambda txn: (txn.emit(told), txn.now))

        (entry,) = entries(connect())
        assert (entry.seq, entry.at) == (seq, now)
        assert (entry.agent, entry.role, entry.kind) == ("agent-1", "coder", Kind.DECISION_MADE)
        assert (entry.summary, entry.details) == (told.summary, told.details)

    def test_the_ledger_copies_the_details_at_that_moment(self, connect: Connect) -> None:
        told = event("then", tries=1)
        connect().transact(lambda txn: txn.emit(told))

        told.details["tries"] = 2

        assert entries(connect())[0].details == {"tries": 1}

    def test_a_step_sees_its_own_entries(self, connect: Connect) -> None:
        connect().transact(lambda txn: txn.emit(event("before")))

        def step(txn: Txn) -> tuple[list[str], list[str], list[str]]:
            first = txn.emit(event("first"))
            txn.emit(event("second"))
            return (
                [entry.summary for entry in txn.events()],
                [entry.summary for entry in txn.events(newest_first=True)],
                [entry.summary for entry in txn.events(first)],
            )

        assert connect().transact(step) == (
            ["before", "first", "second"],
            ["second", "first", "before"],
            ["second"],
        )

    def test_entries_are_filtered_by_agent_and_kind(self, connect: Connect) -> None:
        def write(txn: Txn) -> None:
            for agent, kind in (("a", "x"), ("b", "x"), ("a", "y"), ("b", "y")):
                txn.emit(Event(agent, "agent", kind, agent + kind, {}))

        connect().transact(write)

        def step(txn: Txn) -> list[list[str]]:
            txn.emit(Event("c", "agent", "x", "cx", {}))
            wanted: list[tuple[list[str], list[str]]] = [
                (["b"], []),
                ([], ["x"]),
                (["a", "c"], ["x"]),
            ]
            return [
                [e.summary for e in txn.events(newest_first=True, agents=agents, kinds=kinds)]
                for agents, kinds in wanted
            ]

        assert connect().transact(step) == [["by", "bx"], ["cx", "bx", "ax"], ["cx", "ax"]]

    def test_numbers_start_above_zero_and_grow_across_steps_and_handles(
        self, connect: Connect
    ) -> None:
        numbers = [connect().transact(increment) for _ in range(3)]
        numbers += connect().transact(lambda txn: [increment(txn), increment(txn)])

        assert numbers[0] > 0
        assert numbers == sorted(set(numbers))
        assert [entry.seq for entry in entries(connect())] == numbers

    def test_an_entry_of_another_store_keeps_its_number_and_time(self, connect: Connect) -> None:
        later = _FOREIGN._replace(seq=10**10, summary="later")

        def step(txn: Txn) -> list[Entry]:
            txn.restore(_FOREIGN)
            txn.restore(later)
            return list(txn.events())

        assert connect().transact(step) == [_FOREIGN, later]
        assert entries(connect()) == [_FOREIGN, later]
        assert connect().transact(increment) > later.seq

    def test_an_entry_of_another_store_below_the_newest_number_is_refused(
        self, connect: Connect
    ) -> None:
        connect().transact(lambda txn: txn.restore(_FOREIGN))

        for seq in (_FOREIGN.seq, _FOREIGN.seq - 1):
            wrong = _FOREIGN._replace(seq=seq)
            refused(ValueError, lambda: connect().transact(lambda txn: txn.restore(wrong)))  # noqa: B023

        assert entries(connect()) == [_FOREIGN]

    def test_entries_can_be_read_from_a_number_and_in_both_directions(
        self, connect: Connect
    ) -> None:
        numbers = connect().transact(lambda txn: [increment(txn) for _ in range(5)])

        def read(after: int, *, newest_first: bool) -> list[int]:
            return [entry.seq for entry in entries(connect(), after, newest_first=newest_first)]

        assert read(numbers[1], newest_first=False) == numbers[2:]
        assert read(numbers[1], newest_first=True) == numbers[:1:-1]
        assert read(0, newest_first=True) == numbers[::-1]
        assert read(numbers[-1], newest_first=False) == []
        assert read(numbers[-1] + 10, newest_first=True) == []

    def test_reading_can_stop_early(self, connect: Connect) -> None:
        connect().transact(lambda txn: [increment(txn) for _ in range(5)])
        engine = connect()

        newest = engine.transact(lambda txn: next(txn.events(newest_first=True)))

        assert newest.seq == engine.transact(increment) - 1

    def test_trimming_drops_the_oldest_entries_and_returns_how_many(self, connect: Connect) -> None:
        numbers = connect().transact(lambda txn: [increment(txn) for _ in range(5)])

        assert connect().transact(lambda txn: txn.trim(numbers[1])) == 2
        assert connect().transact(lambda txn: txn.trim(numbers[1])) == 0
        assert [entry.seq for entry in entries(connect())] == numbers[2:]

    def test_trimming_keeps_the_newest_entry_so_that_no_number_repeats(
        self, connect: Connect
    ) -> None:
        numbers = connect().transact(lambda txn: [increment(txn) for _ in range(3)])

        assert connect().transact(lambda txn: txn.trim(10**15)) == 2
        assert connect().transact(lambda txn: txn.trim(10**15)) == 0

        assert [entry.seq for entry in entries(connect())] == numbers[-1:]
        assert connect().transact(increment) > numbers[-1]

    def test_a_step_can_trim_entries_that_it_just_wrote(self, connect: Connect) -> None:
        connect().transact(increment)

        def step(txn: Txn) -> tuple[int, int, list[int]]:
            last = [increment(txn) for _ in range(3)][-1]
            return txn.trim(last), increment(txn), [entry.seq for entry in txn.events()]

        dropped, newest, seen = connect().transact(step)

        assert dropped == 3
        assert seen == [newest - 1, newest]
        assert [entry.seq for entry in entries(connect())] == seen

    def test_trimming_an_empty_ledger_does_nothing(self, connect: Connect) -> None:
        assert connect().transact(lambda txn: txn.trim(5)) == 0

    def test_now_is_constant_during_a_step_and_never_decreases(self, connect: Connect) -> None:
        def step(txn: Txn) -> list[float]:
            first = txn.now
            time.sleep(0.002)
            return [first, txn.now]

        readings = [connect().transact(step) for _ in range(3)] + [connect().view(step)]

        assert all(first == second for first, second in readings)
        assert readings == sorted(readings)


class Waiting:
    """``wait`` returns when the ledger moves, or at its timeout."""

    def test_waiting_for_a_past_entry_returns_immediately(self, connect: Connect) -> None:
        newest = connect().transact(increment)
        started = time.monotonic()

        assert connect().wait(newest - 1, LONG) == newest
        assert time.monotonic() - started < LONG / 2

    def test_waiting_ends_at_its_timeout(self, connect: Connect) -> None:
        engine, found = connect(), [-1, -1, -1.0]

        def watch() -> None:
            found[0] = engine.wait(0, 0)
            newest = engine.transact(increment)
            started = time.monotonic()
            found[1] = engine.wait(newest, 0.05) - newest
            found[2] = time.monotonic() - started

        watching = Thread(target=watch, daemon=True)  # a broken engine might never return
        watching.start()
        watching.join(LONG)

        assert found[:2] == [0, 0]
        assert found[2] >= 0.05

    def test_waiting_ends_when_a_rival_writes(self, connect: Connect) -> None:
        before = connect().transact(increment)
        waiter, found = connect(), [0]

        def watch() -> None:
            found[0] = waiter.wait(before, LONG)

        watching = Thread(target=watch, daemon=True)
        watching.start()
        newest = connect().transact(increment)
        watching.join(LONG / 2)

        assert found == [newest]

    def test_waiting_ends_when_the_same_handle_writes(self, connect: Connect) -> None:
        engine, found = connect(), [0]

        def watch() -> None:
            found[0] = engine.wait(0, LONG)

        watching = Thread(target=watch, daemon=True)
        watching.start()
        newest = engine.transact(increment)
        watching.join(LONG / 2)

        assert found == [newest]

    def test_no_write_is_missed_between_the_check_and_the_sleep(self, connect: Connect) -> None:
        # Each thread wakes the other just before it sleeps, so every round is a race.
        turns, lost = 20, []

        def play(engine: Engine, newest: int) -> None:
            for _ in range(turns):
                found = engine.wait(newest, LONG / 4)
                if found <= newest:
                    lost.append(newest)
                    return
                newest = engine.transact(increment)

        players = [Thread(target=play, args=(connect(), 0), daemon=True)]
        players += [
            Thread(target=play, args=(connect(), connect().transact(increment)), daemon=True)
        ]
        for player in players:
            player.start()
        for player in players:
            player.join(LONG * 2)

        assert not lost
        assert not any(player.is_alive() for player in players)


class Views(ContractPart):
    """A view reads one snapshot and writes nothing."""

    def test_a_view_sees_what_was_written(self, connect: Connect) -> None:
        put(connect(), a="1", b="2")
        newest = connect().transact(increment)

        def step(txn: Txn) -> tuple[str | None, list[str], list[int]]:
            keys = [key for key, _ in txn.scan(Range(""))]
            return txn.get("a"), keys, [entry.seq for entry in txn.events()]

        assert connect().view(step) == ("1", ["a", "b", "count"], [newest])

    def test_a_view_sees_one_snapshot_whatever_is_written_meanwhile(self, connect: Connect) -> None:
        put(connect(), a="old")
        ours, theirs = connect(), connect()

        def interfere() -> None:
            put(theirs, a="new", b="new")
            theirs.transact(increment)

        rival = Thread(target=interfere)

        def look(txn: Txn) -> list[object]:
            return [txn.get("a"), list(txn.scan(Range(""))), list(txn.events())]

        def step(txn: Txn) -> list[object]:
            before = look(txn)
            self.meanwhile(rival)
            assert before == look(txn)
            return before

        old = ours.view(look)
        seen = ours.view(step)
        rival.join(LONG)
        new = ours.view(look)

        assert new[0] == "new"
        assert seen in (old, new)  # new, if the step ran again

    def test_a_view_sees_one_snapshot_even_of_what_it_has_not_read_yet(
        self, connect: Connect
    ) -> None:
        put(connect(), **{"a": "old", "p/1": "old"})
        ours, theirs = connect(), connect()

        def interfere() -> None:
            def step(txn: Txn) -> None:
                for key in ("a", "p/1"):
                    txn.put(key, "new")
                txn.emit(event("new"))

            theirs.transact(step)

        rival = Thread(target=interfere)

        def step(txn: Txn) -> tuple[str | None, list[tuple[str, str]], int]:
            value = txn.get("a")
            self.meanwhile(rival)
            return value, list(txn.scan(Range("p/"))), len(list(txn.events()))

        seen = ours.view(step)
        rival.join(LONG)

        assert seen in (("old", [("p/1", "old")], 0), ("new", [("p/1", "new")], 1))

    def test_a_view_refuses_writes(self, connect: Connect) -> None:
        put(connect(), a="old")
        connect().transact(lambda txn: [txn.emit(event("one")), txn.emit(event("two"))])
        engine = connect()

        refused(RuntimeError, lambda: engine.view(lambda txn: txn.put("a", "new")))
        refused(RuntimeError, lambda: engine.view(lambda txn: txn.delete("a")))
        refused(RuntimeError, lambda: engine.view(lambda txn: txn.emit(event("three"))))
        refused(RuntimeError, lambda: engine.view(lambda txn: txn.restore(_FOREIGN)))
        refused(RuntimeError, lambda: engine.view(lambda txn: txn.trim(1)))

        assert everything(connect()) == [("a", "old")]
        assert [entry.summary for entry in entries(connect())] == ["one", "two"]
