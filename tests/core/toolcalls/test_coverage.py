"""Guarded and unguarded agents, according to the ledger."""

from dibs.core.claims.ledger import Entry, Kind
from dibs.core.toolcalls.coverage import GuardStatus, standings


def told(*events):
    """Return a ledger from (agent, kind) or (agent, kind, details)."""
    return [
        Entry(at, float(at), agent, "agent", kind, "", details[0] if details else {})
        for at, (agent, kind, *details) in enumerate(events, start=1)
    ]


def test_a_commit_by_an_agent_that_never_reported_in_is_unguarded():
    found = standings(told(("a", Kind.COMMITTED), ("a", Kind.FILE_EDIT), ("b", Kind.LOCK_ACQUIRED)))

    assert found == [GuardStatus("a", False, 2, 2.0)]


def test_only_writes_before_the_first_report_count_as_unguarded():
    found = standings(told(("a", Kind.COMMITTED), ("a", Kind.AGENT_GUARDED), ("a", Kind.COMMITTED)))

    assert found == [GuardStatus("a", True, 1, 1.0)]


def test_a_subagent_is_guarded_with_its_parent_and_grandparent():
    found = standings(
        told(
            ("a", Kind.AGENT_GUARDED),
            ("a.b", Kind.SUB_AGENT_SPAWNED, {"parent": "a"}),
            ("a.b.c", Kind.SUB_AGENT_SPAWNED, {"parent": "a.b"}),
            ("a.b.c", Kind.FILE_EDIT),
        )
    )

    assert [(one.agent, one.guarded, one.unguarded_writes) for one in found] == [
        ("a", True, 0),
        ("a.b.c", True, 0),
    ]


def test_a_cycle_of_parents_ends():
    found = standings(
        told(
            ("a", Kind.SUB_AGENT_SPAWNED, {"parent": "b"}),
            ("b", Kind.SUB_AGENT_SPAWNED, {"parent": "a"}),
            ("a", Kind.FILE_EDIT),
        )
    )

    assert found == [GuardStatus("a", False, 1, 3.0)]


def test_blocked_and_foreign_writes_are_counted_without_humans():
    entries = told(("a", Kind.WRITE_REFUSED), ("a", Kind.WRITE_REFUSED), ("a", Kind.FOREIGN_WRITE))
    human = Entry(9, 9.0, "you", "human", Kind.COMMITTED, "", {})

    assert standings([*entries, human]) == [GuardStatus("a", False, refused=2, foreign=1)]


def test_agents_of_a_guard_test_are_left_out():
    assert standings(told(("claude-prove0f3", Kind.AGENT_GUARDED))) == []
