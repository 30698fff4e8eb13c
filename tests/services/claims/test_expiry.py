"""Expiry by a server: everything that is due, once, and when to look again."""

import pytest

from dibs.core.claims.agents import NEVER
from dibs.services.claims.expiry import BATCH, expire_due
from dibs.services.state import deadlines


def test_without_claims_there_is_nothing_to_wait_for(crew):
    assert expire_due(crew.store) == (0, NEVER)


def test_the_next_look_is_at_the_earliest_deadline(crew):
    crew.claim("ann", "a.py", ttl=100)
    crew.clock.advance(10)
    crew.claim("bob", "b.py", ttl=60)
    assert expire_due(crew.store) == (0, 60.0)
    crew.clock.advance(60)
    assert expire_due(crew.store) == (1, 30.0)
    assert crew.held() == {("ann", "a.py")}


def test_a_heartbeat_moves_the_deadline(crew):
    crew.claim("ann", "a.py", ttl=60)
    crew.clock.advance(59)
    crew.renew("ann")
    assert expire_due(crew.store) == (0, 60.0)


def test_an_expired_claim_is_recorded_at_its_time_and_told_once(crew):
    crew.claim("ann", "a.py", ttl=60)
    crew.clock.advance(60)
    for _ in range(3):
        expire_due(crew.store)
    assert crew.kinds().count("lock_expired") == 1
    (lost,) = crew.agents.show("ann")[1]
    assert (lost.why, lost.at) == ("expired", crew.clock.now)


def test_more_than_one_batch_expires_at_once(crew):
    for number in range(BATCH + 5):
        crew.claim("ann", f"file-{number}", ttl=60)
    crew.clock.advance(60)
    assert expire_due(crew.store) == (BATCH + 5, NEVER)


def test_a_silent_waiter_leaves_the_queue_on_time(crew):
    crew.claim("ann", "a.py", ttl=3_600)
    crew.claim("bob", "a.py", queue=True, ttl=60)
    waits = expire_due(crew.store)[1]
    assert waits <= crew.store.config.ttl
    for _ in range(20):
        crew.clock.advance(max(1.0, expire_due(crew.store)[1]))
        crew.renew("ann")
    assert crew.waiting() == []
    assert "lock_unqueued" in crew.kinds()


def test_the_next_waiter_gets_its_turn_in_the_same_transaction(crew):
    crew.claim("ann", "a.py", ttl=60)
    crew.claim("bob", "a.py", queue=True)
    crew.clock.advance(60)
    expire_due(crew.store)
    kinds = crew.kinds()
    assert kinds.index("lock_turn") == kinds.index("lock_expired") + 1


@pytest.mark.parametrize(("what", "expected"), [("promise", 5.0), ("from-a-newer-version", NEVER)])
def test_other_deadlines_count_if_this_version_knows_them(crew, what, expected):
    moment = crew.clock.now + 5.0
    crew.store.apply(lambda rows: deadlines.put(rows, moment, what, "1"))
    assert expire_due(crew.store)[1] == pytest.approx(expected)
