"""Old decisions are forgotten, what waits is not, and the ledger still has what was decided."""

import pytest
from tests.services.deciding import Court
from tests.services.several_agents import caller

from dibs.errors import NotFound
from dibs.services import retention
from dibs.services.retention import trim_decisions as trim
from dibs.services.state.ledger import Query

YEAR = 365 * 86_400


def ids(court):
    return [decision.id for decision in court.decisions.all()]


def test_old_decisions_are_deleted_and_pending_ones_are_not():
    court = Court()
    recorded = court.decisions.new(caller("bob"), "use tabs")
    waits = court.ask("bob", "drop it")
    late = court.ask("bob", "keep it")
    court.clock.advance(YEAR - 1)
    court.decisions.confirm(caller("human"), late.id)
    assert trim(court.store) == 0

    court.clock.advance(1)

    assert trim(court.store) == 1
    assert sorted(ids(court)) == sorted([waits.id, late.id])
    with pytest.raises(NotFound):
        court.decisions.show(recorded.id)
    court.clock.advance(YEAR)
    assert trim(court.store) == 1
    assert ids(court) == [waits.id]
    assert court.decisions.confirm(caller("human"), waits.id).outcome == "confirmed"


def test_the_ledger_has_why_something_was_decided():
    court = Court()
    court.decisions.new(caller("bob"), "use tabs", rationale="they are fewer")
    court.ask("bob", "drop it", rationale="nobody reads it")

    told = {entry.details.get("rationale") for entry in court.ledger.newest(Query(), 10)}

    assert {"they are fewer", "nobody reads it"} <= told


def test_one_transaction_deletes_a_limited_number(monkeypatch):
    monkeypatch.setattr(retention, "BATCH", 3)
    court = Court()
    for number in range(5):
        court.decisions.new(caller("bob"), f"number {number}")
    court.clock.advance(YEAR)

    assert [trim(court.store) for _ in range(3)] == [3, 2, 0]


def test_old_decisions_are_deleted_when_the_ledger_is_trimmed():
    court = Court(ledger_limit=1_000)
    court.decisions.new(caller("bob"), "use tabs")
    court.clock.advance(YEAR)

    for _ in range(court.store.trim_every):
        court.claim("bob", "a")
        court.release("bob")

    assert ids(court) == []
