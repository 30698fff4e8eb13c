"""A new life of a store voids its claims and notifies their owners."""

import pytest
from tests.services.several_agents import caller

from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import Granted
from dibs.errors import Fenced
from dibs.services.state.lifecycle import begin_life


def test_a_new_life_voids_every_claim_and_fences_its_token(crew):
    token = crew.claim("alice", "src/**").token

    crew.engine.transact(lambda txn: begin_life(txn, "the server lost its newest writes"))

    assert crew.held() == set()
    with pytest.raises(Fenced, match="void"):
        crew.release("alice", "src/**", token=token)
    assert isinstance(crew.claim("bob", "src/a.py"), Granted)


def test_a_request_of_the_previous_life_is_not_answered_with_a_void_grant(crew):
    first = crew.claim("alice", "src/a.py", request_id="r1")
    denied = crew.claim("bob", "src/a.py", request_id="r2")
    assert crew.claim("alice", "src/a.py", request_id="r1") == first

    crew.engine.transact(lambda txn: begin_life(txn, "the server lost its newest writes"))
    held = crew.claim("bob", "src/a.py")

    assert not isinstance(crew.claim("alice", "src/a.py", request_id="r1"), Granted)
    assert crew.claim("bob", "src/a.py", request_id="r2") == denied
    assert crew.release("bob", "src/a.py", token=held.token)
    assert crew.claim("alice", "src/a.py", request_id="r3").token > held.token


def test_an_owner_learns_why_its_claim_is_void(crew):
    crew.claim("alice", "src/a.py")

    crew.engine.transact(lambda txn: begin_life(txn, "the server lost its newest writes"))

    (lost,) = crew.agents.show("alice")[1]
    assert str(lost) == "your claim on src/a.py is void: the server lost its newest writes"


def test_the_ledger_records_that_a_new_life_started(crew):
    crew.claim("alice", "a", "b")

    crew.engine.transact(lambda txn: begin_life(txn, "it was emptied"))

    entry = crew.engine.view(lambda txn: next(txn.events(newest_first=True)))
    assert (entry.kind, entry.details) == (
        Kind.LEDGER_RESTARTED, {"why": "it was emptied", "claims": 2},
    )  # fmt: skip


def test_the_queue_survives_a_new_life(crew):
    crew.claim("alice", "a")
    crew.claim("bob", "a", queue=True)

    crew.engine.transact(lambda txn: begin_life(txn, "it was emptied"))

    assert crew.waiting() == ["bob"]
    assert not isinstance(crew.claim("carol", "a"), Granted)
    assert isinstance(crew.claim("bob", "a"), Granted)
    assert crew.agents.show(caller("bob").id)[0].agent.id == "bob"
