"""The turn of a standing ticket: its agent is notified, has limited time to claim, then loses its place."""

import pytest
from tests.services.claims.test_escalation import waiting_thread
from tests.services.court import Court
from tests.services.engines import common_store, on_every_engine
from tests.services.wired import settle

from dibs.core.claims.rules import Denied, Granted, Queued
from dibs.core.talk.mail import MailKind

HOUR = 3_600.0


@pytest.fixture
def court():
    court = Court(ttl=HOUR, waiter_ttl=30.0)
    court.claim("alice", "a", ttl=HOUR)
    return court


def told(court, agent):
    return [m.text for m in court.mail(agent, MailKind.TURN)]


def unread(court, agent):
    from dibs.services.state.mailbox import unread_rows

    return court.store.look(lambda rows: list(unread_rows(rows, agent)))


def test_an_uncollected_turn_lapses_and_the_next_request_is_granted(court):
    court.claim("bob", "a", queue=True)
    court.release("alice")
    court.clock.advance(29)
    denied = court.claim("carol", "a")
    assert isinstance(denied, Denied)
    assert denied.conflicts[0].expires_in == pytest.approx(1)
    court.renew("bob")  # a heartbeat is not enough

    court.clock.advance(1)

    assert isinstance(court.claim("carol", "a"), Granted)
    assert court.waiting() == []
    assert told(court, "bob") == [
        "it is your turn: claim a within 30s, or your place in the queue lapses",
        "your place in the queue for a lapsed, because you did not claim in your turn",
    ]
    assert len(unread(court, "bob")) == 1  # only the second is still of use


def test_a_turn_that_is_collected_in_time_is_granted_and_leaves_no_message(court):
    court.claim("bob", "a", queue=True)
    court.release("alice")
    court.clock.advance(29)

    assert isinstance(court.claim("bob", "a"), Granted)

    court.clock.advance(1)
    assert court.held() == {("bob", "a")}
    assert unread(court, "bob") == []


def test_a_ticket_behind_two_obstacles_gets_its_turn_after_the_second(court):
    court.claim("dave", "b", ttl=HOUR)
    court.claim("bob", "a", "b", queue=True)
    court.release("alice")
    court.clock.advance(60)
    assert isinstance(court.claim("carol", "a"), Denied)
    assert told(court, "bob") == []

    court.release("dave")

    assert len(told(court, "bob")) == 1
    court.clock.advance(29)
    assert isinstance(court.claim("carol", "a"), Denied)
    assert isinstance(court.claim("bob", "a", "b"), Granted)


def test_turns_pass_from_one_standing_ticket_to_the_next_in_order(court):
    for agent in ("bob", "carol"):
        court.claim(agent, "a", queue=True)
    court.release("alice")
    assert (len(told(court, "bob")), len(told(court, "carol"))) == (1, 0)

    court.clock.advance(30)
    settle(court.store)

    assert (len(told(court, "bob")), len(told(court, "carol"))) == (2, 1)
    assert isinstance(court.claim("bob", "a"), Denied)  # its place is lost
    assert isinstance(court.claim("dave", "a"), Denied)
    assert isinstance(court.claim("carol", "a"), Granted)


def test_a_late_agent_joins_the_queue_at_its_end(court):
    court.claim("bob", "a", queue=True)
    court.claim("carol", "a", queue=True)
    court.release("alice")
    court.clock.advance(30)

    late = court.claim("bob", "a", queue=True)

    assert isinstance(late, Queued)
    assert court.waiting() == ["carol", "bob"]
    assert isinstance(court.claim("carol", "a"), Granted)


def test_a_claim_that_expires_by_itself_gives_the_turn_to_the_next_that_is_noticed(court):
    court.claim("bob", "a", queue=True)
    court.clock.advance(HOUR - 60)
    court.renew("bob")
    court.clock.advance(60)

    assert isinstance(court.claim("carol", "a"), Denied)
    assert len(told(court, "bob")) == 1
    court.clock.advance(30)

    assert isinstance(court.claim("carol", "a"), Granted)


def test_a_waiting_process_passes_a_ticket_that_lapsed(court):
    court.claim("bob", "a", queue=True)
    thread, answers = waiting_thread(court, "carol", "a")
    court.release("alice")
    court.clock.advance(30)
    court.claim("zed", "zed.txt")
    thread.join(10)

    assert isinstance(answers[0], Granted)
    assert len(told(court, "bob")) == 2


def test_a_waiting_process_tells_an_agent_ahead_that_it_is_its_turn(court):
    court.claim("bob", "a", queue=True)
    court.clock.advance(HOUR - 1)
    court.renew("bob")
    thread, answers = waiting_thread(court, "carol", "a")
    court.clock.advance(1)  # no command frees the file
    seq = 0
    for _ in range(100):
        if told(court, "bob"):
            break
        seq = court.engine.wait(seq, 0.1)
    assert len(told(court, "bob")) == 1
    court.clock.advance(30)
    court.claim("zed", "zed.txt")
    thread.join(10)

    assert isinstance(answers[0], Granted)


def test_shared_tickets_get_their_turns_together(court):
    for agent in ("bob", "carol"):
        court.claim(agent, "a", mode="shared", queue=True)

    court.release("alice")

    assert (len(told(court, "bob")), len(told(court, "carol"))) == (1, 1)


@on_every_engine
def another(request):
    with common_store(request) as another:
        yield another


def test_a_turn_lapses_on_every_engine(another):
    owner, rival = Court(another(), waiter_ttl=60.0), Court(another(), waiter_ttl=60.0)
    owner.claim("alice", "a", ttl=600)
    rival.claim("bob", "a", queue=True)
    owner.release("alice")
    (ticket,) = rival.store.look(lambda rows: list(rows.tickets()))
    assert ticket.collect_by > 0
    assert isinstance(rival.claim("carol", "a"), Denied)
    assert len(told(rival, "bob")) == 1
    # As if that time were over.
    rival.store.apply(lambda rows: rows.put_ticket(ticket._replace(collect_by=ticket.since)))

    assert isinstance(owner.claim("carol", "a"), Granted)
    assert len(told(rival, "bob")) == 2
    assert rival.waiting() == []
