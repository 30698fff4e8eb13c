"""Who is guarded, as the ledger tells it."""

from dibs.core.claims.ledger import Entry, Kind
from dibs.core.toolcalls.coverage import GuardStatus, standings


def told(*events):
    """Make a ledger of (agent, kind) or (agent, kind, details)."""
    return [
        Entry(at, float(at), agent, "agent", kind, "", details[0] if details else {})
        for at, (agent, kind, *details) in enumerate(events, start=1)
    ]


def test_an_agent_that_commits_without_ever_having_reported_in_wrote_unguarded():
    found = standings(told(("a", Kind.COMMITTED), ("a", Kind.FILE_EDIT), ("b", Kind.LOCK_ACQUIRED)))

    assert found == [GuardStatus("a", False, 2, 2.0)]


def test_what_was_written_after_the_report_is_guarded_and_what_was_before_is_told():
    found = standings(told(("a", Kind.COMMITTED), ("a", Kind.AGENT_GUARDED), ("a", Kind.COMMITTED)))

    assert found == [GuardStatus("a", True, 1, 1.0)]


def test_a_subagent_is_guarded_with_its_parent_also_through_two_steps():
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


def test_parents_in_a_circle_end():
    found = standings(
        told(
            ("a", Kind.SUB_AGENT_SPAWNED, {"parent": "b"}),
            ("b", Kind.SUB_AGENT_SPAWNED, {"parent": "a"}),
            ("a", Kind.FILE_EDIT),
        )
    )

    assert found == [GuardStatus("a", False, 1, 3.0)]


def test_refusals_and_foreign_writes_are_counted_and_people_are_left_out():
    entries = told(("a", Kind.WRITE_REFUSED), ("a", Kind.WRITE_REFUSED), ("a", Kind.FOREIGN_WRITE))
    human = Entry(9, 9.0, "you", "human", Kind.COMMITTED, "", {})

    assert standings([*entries, human]) == [GuardStatus("a", False, refused=2, foreign=1)]


def test_agents_of_a_guard_test_are_left_out():
    assert standings(told(("claude-prove0f3", Kind.AGENT_GUARDED))) == []
