"""Snapshots of agents that have ended do not pile up, and cost nothing in later calls."""

import os
import time

import pytest
from tests.services.guards import Guarded

from dibs.core.toolcalls.values import EventKind
from dibs.services.guard.uncommitted.before_call import TreeSnapshot, TreeSnapshots

A, B = "11111111-a", "22222222-b"
ONE, TWO = "claude-11111111", "claude-22222222"
HOUR = 3_600


@pytest.fixture
def guarded(tmp_path, own_git):
    found = Guarded(tmp_path / "repo")
    for session in (A, B):
        found.start(session)
    return found


def snapshots(guarded):
    return TreeSnapshots(guarded.repository)


def leave(guarded, agent, call="c1"):
    """Leave the snapshot of a call whose end is never reported."""
    snapshots(guarded).put(TreeSnapshot(agent, call, 0.0, {}, {}))


def left(guarded):
    folder = os.path.join(guarded.repository.state, "marks")
    return sorted(name for _, _, names in os.walk(folder) for name in names)


def age(guarded, ending, seconds):
    folder = os.path.join(guarded.repository.state, "marks")
    for place, _, names in os.walk(folder):
        for name in names:
            if name.endswith(ending):
                at = time.time() - seconds
                os.utime(os.path.join(place, name), (at, at))


@pytest.mark.parametrize("moment", [EventKind.STARTED, EventKind.ENDED])
def test_a_session_that_starts_or_ends_deletes_what_ended_agents_left(guarded, moment):
    for number in range(30):
        leave(guarded, f"dead-{number}")
    leave(guarded, TWO)

    guarded.hear(A, moment)

    assert [name.partition("~")[0] for name in left(guarded)] == [TWO]


def test_the_end_of_a_session_deletes_its_own_snapshots(guarded):
    leave(guarded, ONE)

    guarded.hear(A, EventKind.ENDED)

    assert left(guarded) == []


def test_what_an_ended_agent_wrote_is_known_while_another_call_may_run(guarded):
    guarded.write("a.py")
    snapshots(guarded).note_own("dead", ["a.py"], 0.0)
    guarded.start(A)
    assert left(guarded) == ["dead~own"]

    age(guarded, "~own", HOUR + 1)
    guarded.start(A)

    assert left(guarded) == []


def test_a_live_agents_outdated_snapshots_are_deleted(guarded):
    leave(guarded, TWO)
    snapshots(guarded).note_own(TWO, ["a.py"], 0.0)
    age(guarded, "", HOUR + 1)

    guarded.start(A)

    assert left(guarded) == [f"{TWO}~own"]


def test_the_snapshots_of_a_removed_worktree_are_deleted(guarded):
    leave(guarded, "dead")
    folder = os.path.join(guarded.repository.state, "marks")
    (tree,) = os.listdir(folder)
    os.rename(os.path.join(folder, tree), os.path.join(folder, "0badcafe"))

    guarded.start(A)

    assert left(guarded) == []
