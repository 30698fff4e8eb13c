"""Automatic steps of a waiter: each is taken once, in order."""

from threading import Semaphore, current_thread, main_thread

import pytest
from tests.services.claims.test_escalation import waiting_thread
from tests.services.court import Court
from tests.services.several_agents import caller
from tests.services.wired import settle, wired

from dibs.config.load import Config
from dibs.core.claims.agents import Agent
from dibs.core.talk.decisions import CONFLICT, Outcome
from dibs.core.talk.mail import HUMANS, MailKind
from dibs.services.state.presence import withdraw

DAY = 86_400


def court_with(**settings):
    court = Court(waiter_ttl=3_600.0, ttl=DAY, **settings)
    court.claim("alice", "src/**", ttl=DAY)
    return court


@pytest.fixture
def court():
    return court_with()


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


# -- a process that waits


def test_a_waiter_asks_and_then_escalates_each_once(court):
    thread, _ = waiting_thread(court, "bob", "src/a.py", reason="a fix")
    assert court.asks() == []

    court.clock.advance(120)
    nudge(court, court.asks)
    (ask,) = court.asks()
    assert (ask.holder, ask.asker, ask.note) == ("alice", "bob", "a fix")
    assert court.all_decisions() == []

    court.clock.advance(780)
    nudge(court, court.all_decisions)
    (decision,) = court.all_decisions()
    assert (decision.category, decision.data["automatic"]) == (CONFLICT, True)

    court.clock.advance(1000)
    let_it_look(court)
    end(court, thread)
    assert court.kinds().count("release_requested") == 1
    assert court.kinds().count("conflict_escalated") == 1
    assert len(court.mail(HUMANS)) == 1


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
    nudge(court, court.all_decisions)

    assert [(ask.note, ask.answer) for ask in court.asks()] == [("mine", "no")]
    end(court, thread)


def test_an_agent_that_already_escalated_does_not_escalate_again(court):
    thread, _ = waiting_thread(court, "bob", "src/a.py")
    (decision,) = court.escalate("bob", "src/a.py")
    court.clock.advance(900)
    nudge(court, court.asks)

    assert [d.id for d in court.all_decisions()] == [decision.id]
    end(court, thread)


def test_a_withdrawn_escalation_is_not_repeated(court):
    thread, _ = waiting_thread(court, "bob", "src/a.py")
    court.clock.advance(900)
    nudge(court, court.all_decisions)
    (decision,) = court.all_decisions()
    court.decisions.withdraw(caller("bob"), decision.id)

    court.clock.advance(100)
    let_it_look(court)

    end(court, thread)
    assert len(court.all_decisions()) == 1


def test_never_means_never():
    court = court_with(ladder_ask=0.0, ladder_escalate=0.0)
    thread, _ = waiting_thread(court, "bob", "src/a.py")
    court.clock.advance(3_000)
    let_it_look(court)
    end(court, thread)

    assert "release_requested" not in court.kinds()
    assert court.all_decisions() == []


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


# -- a ticket at which no process waits


def test_a_standing_ticket_asks_and_escalates_with_any_agents_next_command(court):
    court.claim("bob", "src/a.py", queue=True, reason="a fix")
    assert settle(court.store) == 0

    court.clock.advance(119)
    assert settle(court.store) == 0
    court.clock.advance(1)
    settle(court.store)
    settle(court.store)
    assert len(requests(court)) == 1
    assert court.all_decisions() == []

    court.clock.advance(780)
    settle(court.store)
    settle(court.store)
    assert len(requests(court)) == 1
    assert len(court.all_decisions()) == 1


def test_overdue_steps_are_taken_together(court):
    court.claim("bob", "src/a.py", queue=True)
    court.clock.advance(5_000)

    settle(court.store)

    assert len(requests(court)) == 1
    assert [d.outcome for d in court.all_decisions()] == [Outcome.PENDING]


def test_a_standing_ticket_has_one_deadline_however_often_it_is_repeated(court):
    for _ in range(3):
        court.claim("bob", "src/a.py", queue=True)
        court.clock.advance(50)
    settle(court.store)
    court.claim("bob", "src/a.py", queue=True)

    assert len([key for key, _ in court.rows() if key.startswith("due/")]) == 1


def test_a_withdrawn_escalation_of_a_standing_ticket_is_not_repeated(court):
    court.claim("bob", "src/a.py", queue=True)
    court.clock.advance(900)
    settle(court.store)
    (decision,) = court.all_decisions()
    court.decisions.withdraw(caller("bob"), decision.id)

    court.clock.advance(900)
    assert settle(court.store) == 1

    assert [d.id for d in court.all_decisions()] == [decision.id]


def test_a_ticket_that_is_gone_takes_no_step(court):
    court.claim("bob", "src/a.py", queue=True)
    court.release("alice")
    court.claim("bob", "src/a.py")
    court.clock.advance(200)

    assert settle(court.store) == 1
    assert not [key for key, _ in court.rows() if key.startswith("due/")]
    assert court.asks() == []


def test_a_ticket_whose_agent_sends_no_heartbeat_takes_no_step():
    court = Court(ttl=60.0)
    court.claim("alice", "src/**", ttl=DAY)
    court.claim("bob", "src/a.py", queue=True)
    court.clock.advance(120)

    settle(court.store)

    assert court.asks() == []
    assert not [key for key, _ in court.rows() if key.startswith("due/")]


def test_no_deadline_is_set_if_steps_are_disabled():
    court = court_with(ladder_ask=0.0, ladder_escalate=0.0)
    court.claim("bob", "src/a.py", queue=True)

    assert not [key for key, _ in court.rows() if key.startswith("due/")]


def test_a_human_may_be_asked_even_if_the_owner_never_is():
    court = court_with(ladder_ask=0.0)
    court.claim("bob", "src/a.py", queue=True)
    court.clock.advance(900)

    settle(court.store)

    assert requests(court) == []
    assert len(court.all_decisions()) == 1


def test_an_owner_is_asked_no_later_than_the_escalation():
    court = court_with(ladder_ask=900.0, ladder_escalate=60.0)
    court.claim("bob", "src/a.py", queue=True)
    court.clock.advance(60)

    settle(court.store)

    assert len(requests(court)) == 1
    (decision,) = court.all_decisions()
    assert [ask["asker"] for ask in decision.data["asks"]] == ["bob"]


def test_an_automatic_escalation_is_over_when_its_ticket_is(court):
    court.claim("bob", "src/a.py", queue=True)
    court.clock.advance(900)
    settle(court.store)
    ticket = court.claims.all("bob")[1][0].ticket

    court.store.apply(lambda rows: withdraw(rows, ticket, "it gave up"))

    assert court.decisions.all(pending=True) == []


def test_an_automatic_escalation_is_over_when_its_waiter_sends_no_heartbeat():
    court = Court(ttl=1_000.0)
    court.claim("alice", "src/**", ttl=DAY)
    court.claim("bob", "src/a.py", queue=True)
    court.clock.advance(900)
    settle(court.store)
    assert len(court.decisions.all(pending=True)) == 1

    court.clock.advance(100)

    assert court.decisions.all(pending=True) == []


def test_no_one_is_asked_for_a_claim_that_dibs_itself_takes(court):
    court.claim("alice", "@merge/main", ttl=DAY)
    court.claim("bob", "@merge/main", queue=True)
    court.clock.advance(5_000)

    settle(court.store)

    assert court.asks() == []
    assert court.all_decisions() == []


def test_a_killed_waiters_ticket_takes_its_steps_once_it_is_standing(court, monkeypatch):
    with monkeypatch.context() as killed:
        killed.setattr(
            court.claims,
            "_claim_in_turn",
            lambda _, __, step, *___, **____: court.store.apply(step),
        )
        court.claim("bob", "src/a.py", wait=3_600)
    court.clock.advance(121)

    court.claim("bob", "src/a.py", queue=True)
    settle(court.store)

    assert [ask.asker for ask in court.asks()] == ["bob"]


def test_a_standing_ticket_follows_its_waiters_settings(court):
    court.claim("bob", "src/a.py", queue=True)
    never = wired(court.engine, Config(ladder_ask=0.0, ladder_escalate=0.0))
    soon = wired(court.engine, Config(ladder_ask=1.0, ladder_escalate=1.0))

    court.clock.advance(120)
    settle(never)
    settle(soon)
    assert [ask.asker for ask in court.asks()] == ["bob"]
    assert court.all_decisions() == []

    court.clock.advance(780)
    settle(never)
    assert len(court.all_decisions()) == 1


def test_a_repeat_with_other_settings_changes_the_steps_of_a_standing_ticket(court):
    court.claim("bob", "src/a.py", queue=True)
    never = Court(court.engine, ladder_ask=0.0, ladder_escalate=0.0, ttl=DAY)
    never.claim("bob", "src/a.py", queue=True)
    court.clock.advance(5_000)
    assert settle(court.store) == 0

    court.claim("bob", "src/a.py", queue=True)

    assert settle(court.store) == 1
    assert len(court.all_decisions()) == 1
    assert len([key for key, _ in court.rows() if key.startswith("due/")]) == 1
