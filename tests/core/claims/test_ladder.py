"""When a waiter asks the owner, and when it escalates to a human."""

from hypothesis import given
from hypothesis import strategies as st

from dibs.core.claims.agents import NEVER
from dibs.core.claims.ladder import EscalationTimes, Rung, due, moments, next_moment

spans = st.floats(0, 1e5)
times = st.floats(0, 1e6)


def test_an_owner_is_asked_before_a_human():
    at = moments(EscalationTimes(120.0, 900.0), 1000.0, 0.0)

    assert at == {Rung.ASK: 1120.0, Rung.ESCALATE: 1900.0}
    assert due(at, set(), 1119.9) == []
    assert due(at, set(), 1120.0) == [Rung.ASK]
    assert due(at, {Rung.ASK}, 1900.0) == [Rung.ESCALATE]
    assert due(at, set(), 1900.0) == [Rung.ASK, Rung.ESCALATE]


def test_zero_means_never():
    at = moments(EscalationTimes(0.0, 0.0), 1000.0, 0.0)

    assert set(at.values()) == {NEVER}
    assert EscalationTimes(0.0, 0.0).soonest == 0.0
    assert EscalationTimes(0.0, 900.0).soonest == 900.0


def test_a_step_counts_from_when_claim_and_ticket_both_exist():
    assert moments(EscalationTimes(120.0, 0.0), 1000.0, 5000.0)[Rung.ASK] == 5120.0


def test_a_step_already_taken_is_not_next():
    at = moments(EscalationTimes(120.0, 900.0), 0.0, 0.0)

    assert next_moment(at, set()) == 120.0
    assert next_moment(at, {Rung.ASK}) == 900.0
    assert next_moment(at, {Rung.ASK, Rung.ESCALATE}) == NEVER


@given(spans, spans, times, times)
def test_no_conflict_is_escalated_before_its_owner_is_asked(ask, escalate, waits, held):
    at = moments(EscalationTimes(ask, escalate), waits, held)

    if ask and escalate:
        assert at[Rung.ASK] <= at[Rung.ESCALATE]
    assert (at[Rung.ASK] == NEVER) == (ask == 0)
    assert (at[Rung.ESCALATE] == NEVER) == (escalate == 0)


@given(spans, spans, times, times, times)
def test_no_step_is_due_before_its_time(ask, escalate, waits, held, now):
    at = moments(EscalationTimes(ask, escalate), waits, held)

    assert bool(due(at, set(), now)) == (next_moment(at, set()) <= now)
