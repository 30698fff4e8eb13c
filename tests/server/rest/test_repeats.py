"""A write with an idempotency key runs once, whatever happens to the client or the server."""

from __future__ import annotations

import os
import threading

import pytest
from tests.server.rest.conftest import agent

from dibs.errors import BadInput, Unavailable, Unknown
from dibs.server.rest.routes import Call
from dibs.server.rest.wire import repeats
from dibs.server.rest.wire.repeats import Repeats
from dibs.testing import ManualClock


class Writes:
    """A server's answers, and how often the write ran."""

    def __init__(self, folder):
        self.folder, self.clock, self.runs = folder, ManualClock(1_000.0), 0
        self.repeats = Repeats(str(folder), self.clock)

    def write(self, key="k", who="ada", body=b"1", route="r", act=None):
        identity = agent(who)
        call = Call(None, identity, identity.caller, {}, None, "", "", route)

        def once():
            self.runs += 1
            return (act or (lambda: (200, b"%d" % self.runs, b"application/json")))()

        return self.repeats.once(call, key, (b"", body, {}), once)


@pytest.fixture
def writes(tmp_path):
    return Writes(tmp_path)


def test_a_repeat_gets_the_same_answer_and_nothing_runs_twice(writes):
    assert writes.write() == writes.write() == (200, b"1", b"application/json")
    assert writes.runs == 1


def test_another_body_with_the_same_key_is_refused(writes):
    writes.write()

    with pytest.raises(BadInput) as refused:
        writes.write(body=b"2")

    assert refused.value.code == "REQUEST_REUSED"


def test_keys_belong_to_one_identity_and_route(writes):
    for who, route in (("ada", "r"), ("bob", "r"), ("ada", "s")):
        writes.write(who=who, route=route, body=who.encode())
    assert writes.runs == 3


def test_a_concurrent_repeat_learns_that_the_request_is_running(writes):
    began, done = threading.Event(), threading.Event()

    def slow():
        began.set()
        done.wait(10)
        return 200, b"slow", b""

    first = threading.Thread(target=writes.write, kwargs={"act": slow})
    first.start()
    began.wait(10)
    with pytest.raises(Unavailable) as refused:
        writes.write()
    done.set()
    first.join(10)

    assert refused.value.code == "REQUEST_RUNNING"
    assert writes.write() == (200, b"slow", b"")
    assert writes.runs == 1


def failing(error):
    def act():
        raise error

    return act


def test_an_error_that_changed_nothing_is_not_remembered(writes):
    with pytest.raises(BadInput):
        writes.write(act=failing(BadInput("wrong")))

    assert writes.write()[0] == 200


@pytest.mark.parametrize("error", [Unknown("the disk failed"), RuntimeError("a bug")])
def test_after_a_failure_with_unknown_outcome_a_repeat_does_not_run(writes, error):
    with pytest.raises(type(error)):
        writes.write(act=failing(error))

    with pytest.raises(Unknown):
        writes.write()
    assert writes.runs == 1


def test_after_the_server_died_between_effect_and_record_a_repeat_does_not_run(writes):
    child = os.fork()
    if child == 0:
        Writes(writes.folder).write(act=lambda: os._exit(0))
    os.waitpid(child, 0)

    with pytest.raises(Unknown):
        Writes(writes.folder).write()
    assert writes.runs == 0


def test_answers_survive_a_restart_and_are_forgotten_after_a_day(writes):
    writes.write()
    again = Writes(writes.folder)

    assert again.write() == (200, b"1", b"application/json")
    assert again.runs == 0
    again.clock.now += 24 * 3600
    again.write()
    assert again.runs == 1


def test_the_number_of_answers_is_limited(writes, monkeypatch):
    monkeypatch.setattr(repeats, "MOST_ANSWERS", 3)
    for number in range(5):
        writes.clock.now += 1
        writes.write(key=f"k{number}")

    for number in (4, 3, 2):
        writes.write(key=f"k{number}")
    assert writes.runs == 5
    writes.write(key="k0")
    assert writes.runs == 6


@pytest.mark.parametrize("key", ["x" * 129, "a/b", "\x07"])
def test_a_key_is_short_and_printable(key):
    with pytest.raises(BadInput) as refused:
        repeats.check_key(key)

    assert refused.value.code == "REQUEST_ID"


def test_a_repeated_request_over_http_gets_the_first_answer(api):
    ada, key = api("ada"), {"Idempotency-Key": "k"}
    api("bob").post("/api/v1/claims", json={"patterns": ["a"]})
    asked = ada.post("/api/v1/claims/ask", json={"patterns": ["a"]}, headers=key)
    again = ada.post("/api/v1/claims/ask", json={"patterns": ["a"]}, headers=key)
    other = ada.post("/api/v1/claims/ask", json={"patterns": ["b"]}, headers=key)

    assert asked.json()["asked"]
    assert again.json() == asked.json()
    assert (other.status_code, other.json()["error"]["code"]) == (409, "REQUEST_REUSED")
