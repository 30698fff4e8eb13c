"""Clients that read slowly or never do not disturb anyone."""

from __future__ import annotations

import contextlib
import time

from tests.server.conftest import until
from tests.server.events.raw import RawSocket


def test_clients_that_never_read_delay_neither_the_writer_nor_others(make_live, monkeypatch):
    monkeypatch.setattr("dibs.server.events.websocket.STALLED", 1.0)
    live = make_live()
    with contextlib.ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(RawSocket(live.path, lazy=True))
        reader = live.connect()
        reader.next()

        began = time.monotonic()
        for _ in range(10):
            live.burst(20, 4000)
        wrote = time.monotonic() - began

        assert [event["seq"] for event in reader.until(live.newest())] == live.numbers()
        assert wrote < 5
        sessions = live.sessions()
        until(lambda: len(sessions._clients) == 1, 10)


def test_a_client_that_fell_behind_starts_again_with_a_snapshot(make_live, monkeypatch):
    monkeypatch.setattr("dibs.server.events.hub.MOST_EVENTS", 100)
    live = make_live()
    reader = live.connect()
    reader.next()
    with RawSocket(live.path, lazy=True) as slow:
        slow.frame()
        for _ in range(20):
            last = live.burst(20, 4000)
            reader.until(last)

        messages = slow.until(last)
        types = [one["type"] for one in messages]
        assert types.count("resync") == 1
        again = types.index("resync")
        assert (messages[again]["reason"], types[again + 1]) == ("slow", "init")
        before = [one["seq"] for one in messages[:again]]
        assert before == live.numbers()[: len(before)]
        last = live.burst(1, 10)
        assert [one["seq"] for one in slow.until(last)] == live.numbers(messages[-1]["seq"])


def test_a_replay_of_many_entries_keeps_the_order_while_others_write(make_live):
    live = make_live()
    live.burst(1500, 10)
    with RawSocket(live.path, "?after=0", lazy=True) as slow:
        for _ in range(20):
            last = live.burst(20, 1000)

        assert [one["seq"] for one in slow.until(last)][1:] == live.numbers()


def test_a_replay_that_is_trimmed_meanwhile_starts_again(make_live):
    live = make_live()
    for _ in range(3):
        live.burst(256, 4000)
    with RawSocket(live.path, "?after=0", lazy=True) as slow:
        assert [slow.frame()[0], slow.frame()[0]] == [0x81, 0x81]
        newest = live.newest()
        live.project.engine.transact(lambda txn: txn.trim(newest - 1))

        told = slow.until(newest)
        assert [one.get("reason") for one in told if one["type"] == "resync"] == ["too_old"]
        assert told[-1]["type"] == "init"


def test_a_server_with_clients_that_never_read_stops_at_once(make_live):
    live = make_live()
    with contextlib.ExitStack() as stack:
        for _ in range(5):
            stack.enter_context(RawSocket(live.path, lazy=True))
        reader = live.connect()
        reader.next()
        for _ in range(20):
            reader.until(live.burst(20, 4000))  # so that the others have much to read

        began = time.monotonic()
        live.web.should_exit = True
        live.thread.join(10)

        assert time.monotonic() - began < 4
