"""The rules of merging: who held what and when, and the search for the branch that breaks a batch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from dibs.core.changes.merges import ClaimHistory, MergeCommit, PastClaim, bisect, judge, spans
from dibs.core.claims.ledger import Entry
from dibs.core.patterns.pattern import parse


def found_by(count, culprit):
    """Return the step that the search finds, and the number of tries."""
    search, tries = bisect(count), 0
    try:
        step = next(search)
        while True:
            tries += 1
            assert 1 <= step < count
            step = search.send(step < culprit)
    except StopIteration as found:
        return found.value, tries


@given(some.integers(1, 400).flatmap(lambda n: some.tuples(some.just(n), some.integers(1, n))))
def test_the_first_failing_step_is_found_by_binary_search(case):
    count, culprit = case
    step, tries = found_by(count, culprit)
    assert step == culprit
    assert tries <= (count - 1).bit_length()


def entry(seq, agent, kind, **details):
    return Entry(seq, float(seq * 100), agent, "agent", kind, "", details)


def held(entries, agent, moment):
    return any(
        span.agent == agent and span.since <= moment < span.until
        for span in spans(entries, {"bob", "eve"}, parse)
    )


BEGIN = entry(1, "bob", "lock_acquired", patterns=["a"], mode="exclusive")


@pytest.mark.parametrize(
    "end",
    [
        entry(2, "bob", "lock_released", patterns=["a"]),
        entry(2, "bob", "lock_expired", pattern="a"),
        entry(2, "hana", "lock_revoked", pattern="a", holder="bob"),
        entry(2, "bob", "lock_transferred", patterns=["a"], to="eve"),
        entry(2, "hana", "agent_terminated", toAgentId="bob"),
        entry(2, "bob", "agent_exited"),
        entry(2, "bob", "lock_released", patterns=[f"x{n}" for n in range(20)]),
    ],
)
def test_a_span_ends_when_its_claim_ends(end):
    assert held([BEGIN, end], "bob", 150.0)
    assert not held([BEGIN, end], "bob", 250.0)


def test_a_transferred_claim_belongs_to_the_recipient_from_then_on():
    handed = entry(2, "bob", "lock_transferred", patterns=["a"], to="eve")
    assert held([BEGIN, handed], "eve", 250.0)
    assert not held([BEGIN, handed], "eve", 150.0)


def test_other_agents_claims_and_shared_claims_create_no_span():
    shared = entry(1, "bob", "lock_acquired", patterns=["a"], mode="shared")
    assert spans([shared, entry(2, "dan", "lock_acquired", patterns=["a"])], {"bob"}, parse) == []


def test_another_agents_commit_is_not_covered_by_the_owners_claims():
    now = PastClaim("bob", (parse("a"),))
    change = MergeCommit("1" * 40, "x", 5.0, ("a",), "eve", (7,))
    assert [o.why for o in judge(change, ClaimHistory({}, {}, (now,)), "bob")] == ["forged"]
    repeated = ClaimHistory({}, {change.oid: frozenset({"a"})}, ())
    assert judge(change, repeated, "bob") == []


def test_a_path_that_looks_like_a_resource_is_a_path():
    change = MergeCommit("1" * 40, "x", 5.0, ("port:80",))
    resource = ClaimHistory({}, {}, (PastClaim("bob", (parse("port:80"),)),))
    assert [o.why for o in judge(change, resource, "bob")] == ["unclaimed"]
    path = ClaimHistory({}, {}, (PastClaim("bob", (parse("./port:80"),)),))
    assert judge(change, path, "bob") == []
