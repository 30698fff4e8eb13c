"""Hot files, which many agents need briefly: one at a time, first come, first served."""

import threading

import pytest
from tests.services.guards import Guarded

from dibs.core.toolcalls.values import EventKind, Word
from dibs.engines.memory import MemoryEngine

ONE, TWO, THREE = "claude-11111111", "claude-22222222", "claude-33333333"
A, B, C = "11111111-a", "22222222-b", "33333333-c"
LOG = "CHANGELOG.md"


def waiting(seconds, *place):
    """Return a guard whose calls wait for a hot file for so many seconds."""
    guarded = Guarded(*place)
    guarded.guarding.hot_wait = seconds
    return guarded


@pytest.fixture
def hot(tmp_path, own_git):
    """A repository in which no call waits: only the test's clock advances."""
    return waiting(0.0, tmp_path / "repo")


def test_a_hot_file_is_claimed_only_briefly(hot):
    hot.edit(A, LOG, "src/a.py")
    hot.clock.advance(29)
    hot.hear(A, EventKind.AFTER)
    hot.clock.advance(2)
    hot.hear(A, EventKind.AFTER)

    assert hot.held() == {(ONE, "src/a.py")}


def test_each_edit_of_a_hot_file_extends_the_claim(hot):
    hot.edit(A, LOG)
    hot.clock.advance(20)
    hot.edit(A, LOG)
    hot.clock.advance(20)

    assert hot.held() == {(ONE, LOG)}


def test_the_claim_is_not_extended_while_another_agent_waits(hot):
    hot.edit(A, LOG)
    hot.clock.advance(20)
    hot.edit(B, LOG)
    assert hot.edit(A, LOG).word == Word.PASS
    hot.clock.advance(11)

    assert hot.edit(A, LOG).word == Word.DENY
    assert hot.edit(B, LOG).word == Word.PASS


def test_a_denied_agent_keeps_its_position_in_the_queue(hot):
    hot.edit(A, LOG)
    assert "you keep your position" in hot.edit(B, LOG).text
    assert hot.edit(C, LOG).word == Word.DENY
    assert hot.waiting() == [TWO, THREE]
    hot.clock.advance(29)
    hot.edit(B, LOG)
    hot.edit(C, LOG)
    hot.clock.advance(1)

    assert hot.edit(C, LOG).word == Word.DENY
    assert hot.edit(B, LOG).word == Word.PASS


def test_an_agent_that_does_not_return_for_its_turn_loses_it(hot):
    hot.edit(A, LOG)
    hot.edit(B, LOG)
    for _ in range(3):
        hot.clock.advance(11)
        hot.hear(B, EventKind.AFTER)  # a heartbeat, but not for the file

    assert hot.edit(C, LOG).word == Word.PASS


def test_a_denied_file_next_to_a_hot_one_leaves_no_ticket(hot):
    hot.edit(A, LOG, "src/a.py")

    assert hot.edit(B, LOG, "src/a.py").word == Word.DENY
    assert hot.waiting() == []
    assert hot.edit(B, "src/b.py", LOG).word == Word.DENY
    assert (TWO, "src/b.py") not in hot.held()


def test_a_hot_file_is_released_when_its_owners_turn_ends_without_a_change(hot):
    hot.edit(A, LOG)
    hot.stop(A)

    assert hot.edit(B, LOG).word == Word.PASS


def test_three_agents_get_a_hot_file_in_order_of_arrival(tmp_path, own_git):
    engine = MemoryEngine()
    first = waiting(20.0, tmp_path / "repo", engine)
    first.edit(A, LOG)
    order, threads = [], []
    for session, agent in ((B, TWO), (C, THREE)):
        other = waiting(20.0, tmp_path / "repo", engine.connect())

        def take(guarded=other, session=session):
            verdict = guarded.edit(session, LOG)
            order.append((session, verdict.word))
            guarded.end(session)

        threads.append(threading.Thread(target=take))
        threads[-1].start()
        while agent not in first.waiting():
            pass
    first.end(A)
    for thread in threads:
        thread.join(30)

    assert order == [(B, Word.PASS), (C, Word.PASS)]
    assert first.waiting() == []


def test_a_hooks_deadline_includes_the_wait(tmp_path, own_git):
    guarded = waiting(0.1, tmp_path / "repo")
    told = []
    guarded.guarding.waits = told.append
    guarded.edit(A, LOG)
    guarded.edit(B, "b.py")
    assert told == []

    assert guarded.edit(B, LOG).word == Word.DENY
    assert told == [0.1]
