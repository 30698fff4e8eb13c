"""Rate limits: who sends too much waits, and nobody else does."""

from __future__ import annotations

import pytest
from tests.server.callers import client, token

from dibs.server.security import limits
from dibs.server.security.limits import Buckets, RequestLimits


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(resident, monkeypatch):
    for name in ("AGENT_RATE", "HUMAN_RATE", "FAILURE_RATE"):
        monkeypatch.setattr(limits, name, (2.0, 3))
    found = Clock()
    resident.limits = RequestLimits(found)
    return found


def test_a_bucket_allows_a_burst_and_then_a_rate():
    clock = Clock()
    buckets = Buckets((2.0, 3), clock)
    assert [buckets.take("a") for _ in range(4)] == [0, 0, 0, 0.5]

    clock.now += 0.5
    assert [buckets.take("a"), buckets.take("a")] == [0, 0.5]
    clock.now += 1_000
    assert [buckets.take("a") for _ in range(4)] == [0, 0, 0, 0.5]


def test_the_number_of_buckets_is_limited(monkeypatch):
    monkeypatch.setattr(limits, "_MOST", 2)
    buckets = Buckets((1.0, 1), Clock())
    for name in "abcabc":
        buckets.take(name)
    assert len(buckets._levels) == 2


def test_a_token_that_sends_too_much_waits_and_another_does_not(resident, served, clock):
    fast = client(resident, token(resident, agent="alice", served=served))
    statuses = [fast.get("/api/v1/status").status_code for _ in range(4)]
    refused = fast.get("/api/v1/status")

    assert statuses == [200, 200, 200, 429]
    assert (refused.json()["error"]["code"], refused.headers["retry-after"]) == ("RATE", "1")
    other = client(resident, token(resident, agent="bob", served=served))
    assert other.get("/api/v1/status").status_code == 200
    clock.now += 1
    assert fast.get("/api/v1/status").status_code == 200


def test_wrong_tokens_are_limited_but_do_not_lock_out_a_valid_one(resident, served, clock):
    wrong = [client(resident, "wrong").get("/api/v1/status").status_code for _ in range(5)]
    login = client(resident).get("/login?code=x").status_code

    assert wrong == [401, 401, 401, 429, 429]
    assert login == 429
    assert client(resident, token(resident)).get("/api/v1/status").status_code == 200
