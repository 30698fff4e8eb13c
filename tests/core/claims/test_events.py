"""The names of events, which events a client wants, and from where it can resume."""

from __future__ import annotations

import pytest

from dibs.core.claims.event_filters import cannot_resume, event_filter
from dibs.core.claims.event_names import CONTROL, event_name, event_table
from dibs.core.claims.ledger import Entry, Kind
from dibs.errors import BadInput


def entry(kind="lock_acquired", agent="alice", **details):
    return Entry(1, 0.0, agent, "agent", kind, "", details)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("lock_acquired", "lock:acquired"),
        ("lock_released", "lock:released"),
        ("lock_expired", "lock:expired"),
        ("alert_opened", "alert:new"),
        ("agent_joined", "agent:spawned"),
        ("sub_agent_spawned", "agent:spawned"),
        ("agent_crashed", "agent:crashed"),
        ("agent_auto_restarted", "agent:auto_restarted"),
        ("agent_restart_limit", "agent:restart_limit"),
        ("agent_context_compacted", "agent:context_compacted"),
        ("commit", "commit"),
    ],
)
def test_events_have_the_names_of_the_crew_document(kind, name):
    assert event_name(kind) == name


def test_every_kind_has_a_name_and_none_is_a_message_about_the_stream():
    assert sorted(kind for kinds in event_table().values() for kind in kinds) == sorted(Kind)
    assert set(event_table()).isdisjoint(CONTROL)


@pytest.mark.parametrize(
    ("wanted", "found", "wants"),
    [
        ("src/auth", "src/auth", True),
        ("src/auth", "src/auth/a.py", True),
        ("src/auth/", "src/auth/a.py", True),
        ("./src", "src/a.py", True),
        ("src/auth", "src/authority.py", False),
        ("src/auth", "src", True),
        ("src/auth", "src/**", True),
        ("src/auth", "**/*.py", True),
        ("src/auth", "src/auth/*.py", True),
        ("src/auth", "docs/*.md", False),
        ("src/auth", "task:src/auth", False),
    ],
)
def test_a_path_also_means_what_is_below_it_and_globs_that_may_contain_it(wanted, found, wants):
    chosen = event_filter(paths=[wanted])

    assert chosen.wants(entry(patterns=[found])) is wants
    assert chosen.wants(entry(path=found)) is wants
    assert not chosen.wants(entry())


def test_a_filter_accepts_what_matches_all_of_its_fields():
    chosen = event_filter(["lock", "task:started"], ["alice", "bob"])

    assert chosen.wants(entry())
    assert chosen.wants(entry("lock_expired", "bob"))
    assert chosen.wants(entry("task_started"))
    assert not chosen.wants(entry("task_added"))
    assert not chosen.wants(entry(agent="carol"))


def test_equal_filters_are_equal_values_so_that_clients_share_their_work():
    one = event_filter(["lock", "task"], paths=["b", "a/"])

    assert one == event_filter(["task", "lock"], paths=["./a", "b", "b"])
    assert hash(one) == hash(event_filter(["task", "lock"], paths=["a", "b"]))


@pytest.mark.parametrize("name", ["lock:aquired", "lock:", "lock:.*", "", "*", "init"])
def test_an_unknown_name_is_refused(name):
    with pytest.raises(BadInput) as refused:
        event_filter([name])

    assert (refused.value.code, refused.value.field) == ("KIND", "types")


@pytest.mark.parametrize(
    ("after", "first", "last", "why"),
    [
        (0, 0, 0, ""),
        (0, 1, 9, ""),
        (9, 1, 9, ""),
        (4, 5, 9, ""),
        (3, 5, 9, "too_old"),
        (10, 1, 9, "future"),
        (1, 0, 0, "future"),
        (-1, 1, 9, "invalid"),
    ],
)
def test_a_client_resumes_only_where_nothing_is_missing(after, first, last, why):
    assert cannot_resume(after, first, last) == why
