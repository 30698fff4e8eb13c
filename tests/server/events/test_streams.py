"""A client gets a snapshot and then every event, in order, without gaps and duplicates."""

from __future__ import annotations

import itertools

import pytest
from websockets.exceptions import InvalidStatus

fresh = itertools.count()


@pytest.fixture
def path():
    return f"src/{next(fresh)}.py"


def test_the_first_message_is_the_state_and_its_number(live, path):
    token = live.claim("alice", path)

    first = live.connect().next()

    assert (first["type"], first["seq"], first["project"]) == ("init", token, live.served.id)
    assert path in [claim["pattern"] for claim in first["state"]["claims"]]
    assert set(first["state"]) == {"now", "seq", "claims", "queue", "agents", "decisions"}


def test_each_entry_is_one_event_with_its_name_number_and_entry(live, path):
    client = live.connect()
    client.next()

    token = live.claim("bob", path)

    event = client.until(token)[-1]
    assert (event["type"], event["agent"], event["project"]) == (
        "lock:acquired",
        "bob",
        live.served.id,
    )
    assert event["entry"]["kind"] == "lock_acquired"
    assert event["entry"]["details"]["patterns"] == [path]


def test_events_follow_the_snapshot_without_gap_while_others_write(live, path):
    clients = []
    for number in range(20):
        live.claim("carol", f"{path}/{number}")
        clients.append(live.connect())
    last = live.release("carol", f"{path}/0")

    for client in clients:
        first, *rest = client.until(last)
        assert [one["seq"] for one in rest] == live.numbers(first["seq"])


def test_a_client_resumes_after_the_number_it_has(live, path):
    after = live.claim("dave", path)
    last = live.release("dave", path)

    client = live.connect(f"?after={after}")

    first, *rest = client.until(last)
    assert (first["type"], first["seq"]) == ("resumed", after)
    assert [one["seq"] for one in rest] == live.numbers(after)


@pytest.mark.parametrize(
    ("after", "reason"), [("-1", "invalid"), ("999999999", "future"), ("9" * 19, "future")]
)
def test_a_number_from_which_nobody_can_resume_gets_a_new_snapshot(live, path, after, reason):
    newest = live.claim("erin", path)

    client = live.connect(f"?after={after}")

    told, state = client.next(), client.next()
    assert (told["type"], told["reason"], told["seq"]) == ("resync", reason, newest)
    assert (state["type"], state["seq"]) == ("init", newest)
    last = live.release("erin", path)
    assert client.until(last)[-1]["type"] == "lock:released"


def test_a_number_that_was_trimmed_gets_a_new_snapshot(make_live):
    live = make_live()
    for number in range(4):
        live.claim("frank", f"old/{number}")
    newest = live.newest()
    live.project.engine.transact(lambda txn: txn.trim(newest - 1))

    told = live.connect("?after=1").next()
    resumed = live.connect(f"?after={newest - 1}").next()

    assert (told["type"], told["reason"]) == ("resync", "too_old")
    assert (resumed["type"], resumed["seq"]) == ("resumed", newest - 1)


def test_a_new_life_of_the_store_gets_a_new_snapshot(make_live):
    from dibs.core.claims.ledger import Event

    live = make_live()
    old = live.claim("grace", "src/a.py")
    client = live.connect()
    client.next()

    def restart(txn):
        for _ in range(3):
            txn.emit(Event("dibs", "system", "ledger_restarted", "the store was replaced", {}))

    live.project.engine.transact(restart)

    told, state = client.next(), client.next()
    assert (told["type"], told["reason"], state["type"]) == ("resync", "restarted", "init")
    assert live.connect(f"?after={old}").next()["reason"] == "restarted"
    last = live.release("grace", "src/a.py")
    assert [one["seq"] for one in client.until(last)] == live.numbers(state["seq"])


def test_a_filtered_client_gets_only_what_it_asked_for(live, path):
    everything = live.connect()
    chosen = [
        live.connect("?types=lock:released"),
        live.connect("?types=lock&agents=heidi"),
        live.connect(f"?paths={path}/in"),
    ]
    for client in (everything, *chosen):
        client.next()

    live.claim("heidi", f"{path}/in/a")
    live.claim("ivan", f"{path}/out")
    live.release("heidi", f"{path}/in/a")
    last = live.release("ivan", f"{path}/out")

    said = everything.until(last)
    for client, wanted in zip(
        chosen,
        (
            lambda e: e["type"] == "lock:released",
            lambda e: e["agent"] == "heidi" and e["type"].startswith("lock:"),
            lambda e: f"{path}/in/a" in e["entry"]["details"].get("patterns", ()),
        ),
        strict=True,
    ):
        expected = [event for event in said if wanted(event)]
        assert expected
        assert client.until(expected[-1]["seq"]) == expected


def test_heartbeats_tell_a_filtered_client_its_place(make_live, path, monkeypatch):
    monkeypatch.setattr("dibs.server.events.websocket.HEARTBEAT_EVERY", 0.05)
    live = make_live()
    last = live.claim("mia", path)
    client = live.connect("?types=alert:new")
    client.next()

    assert client.next() == {"type": "heartbeat", "seq": last}


def test_the_entries_of_a_self_test_are_not_events(live, path):
    client = live.connect()
    client.next()

    live.claim("prove-0123abcd", ".dibs-prove-1")
    last = live.claim("nina", path)

    assert {event["agent"] for event in client.until(last)} == {"nina"}


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("?after=x", "NUMBER"),
        ("?after=1e9", "NUMBER"),
        ("?typs=lock", "UNKNOWN_FIELD"),
        ("?types=lock:aquired", "KIND"),
        ("?project=other", "NO_PROJECT"),
        ("?" + "&".join(f"paths={n}" for n in range(65)), "LIMIT"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_before_the_upgrade(live, query, code):
    with pytest.raises(InvalidStatus) as refused:
        live.connect(query)

    assert code in refused.value.response.body.decode()
