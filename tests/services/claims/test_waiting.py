"""A waiter asks the owner to release, once, after two minutes."""

from threading import Semaphore, current_thread, main_thread

import pytest
from tests.services.claims.test_escalation import waiting_thread
from tests.services.court import Court
from tests.services.wired import settle

from dibs.core.claims.agents import Agent
from dibs.core.talk.mail import MailKind

DAY = 86_400


@pytest.fixture
def court():
    made = Court(waiter_ttl=3_600.0, ttl=DAY)
    made.claim("alice", "src/**", ttl=DAY)
    return made


def nudge(court, until):
    """Wake the waiter with an event, and wait until a condition is true."""
    seq = court.engine.wait(0, 0)
    court.claim("zed", "zed.txt")
    court.release("zed")
    for _ in range(100):
        if until():
            return
        seq = court.engine.wait(seq, 0.1)
    raise AssertionError("the waiter did not act")


def let_it_look(court):
    """Wake the waiter until it has looked and could have acted."""
    looked, view = Semaphore(0), court.engine.view

    def watched(step):
        answer = view(step)
        if current_thread() is not main_thread():
            looked.release()
        return answer

    court.engine.view = watched
    for _ in range(
        3
    ):  # the first look may have begun before, and what it led to is done by the third
        court.claim("zed", "zed.txt")
        court.release("zed")
        assert looked.acquire(timeout=10)
    court.engine.view = view


def end(court, thread):
    court.release("alice")
    thread.join(10)
    assert not thread.is_alive()


def requests(court):
    return court.mail("alice", MailKind.RELEASE_REQUEST)


def test_a_waiter_asks_the_owner_once_after_two_minutes(court):
    thread, _ = waiting_thread(court, "bob", "src/a.py", reason="a fix")
    court.clock.advance(119)
    let_it_look(court)
    assert court.asks() == []

    court.clock.advance(1)
    nudge(court, court.asks)
    (ask,) = court.asks()
    assert (ask.holder, ask.asker, ask.note) == ("alice", "bob", "a fix")

    court.clock.advance(1_000)
    let_it_look(court)
    end(court, thread)
    assert court.kinds().count("release_requested") == 1
    assert court.all_decisions() == []


def test_a_new_owner_is_asked_after_the_same_time(court):
    thread, _ = waiting_thread(court, "bob", "src/a.py")
    court.clock.advance(120)
    nudge(court, court.asks)
    court.agents.join(Agent("carol"))
    court.transfer("alice", "src/**", to="carol")
    let_it_look(court)
    assert court.asks() == []

    court.clock.advance(120)
    nudge(court, court.asks)

    assert [ask.holder for ask in court.asks()] == ["carol"]
    court.release("carol")
    thread.join(10)
    assert not thread.is_alive()


def test_an_agent_that_already_asked_does_not_ask_again(court):
    court.ask("bob", "src/a.py", note="mine")
    court.answer("alice", "no", "src/a.py")
    thread, _ = waiting_thread(court, "bob", "src/a.py")

    court.clock.advance(900)
    let_it_look(court)

    assert [(ask.note, ask.answer) for ask in court.asks()] == [("mine", "no")]
    end(court, thread)


def test_an_earlier_waiter_is_not_asked(court):
    court.claim("carol", "src/a.py", queue=True)
    thread, _ = waiting_thread(court, "bob", "src/a.py")
    court.clock.advance(120)
    nudge(court, court.asks)

    assert {ask.holder for ask in court.asks()} == {"alice"}
    end_of = court.claims.all("carol")[1][0].ticket
    assert end_of.agent == "carol"
    court.release("alice")
    court.claim("carol", "src/a.py")
    court.release("carol")
    thread.join(10)
    assert not thread.is_alive()


def test_an_agent_that_does_not_wait_asks_nobody(court):
    court.claim("bob", "src/a.py", queue=True)
    court.clock.advance(5_000)

    assert settle(court.store) == 0
    assert requests(court) == []


def test_no_one_is_asked_for_a_claim_that_dibs_itself_takes(court):
    court.claim("alice", "@merge/main", ttl=DAY)
    thread, _ = waiting_thread(court, "bob", "@merge/main")
    court.clock.advance(1_000)
    let_it_look(court)

    assert court.asks() == []
    end(court, thread)
