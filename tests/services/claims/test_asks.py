"""An owner that replied later is reminded once, and the agent that asked is notified."""

import pytest
from tests.services.court import Court
from tests.services.several_agents import caller
from tests.services.wired import settle

from dibs.core.talk.mail import MailKind
from dibs.services.briefing.snapshot import unread
from dibs.services.state import mailbox
from dibs.services.talk.mail import letters

DAY = 86_400


@pytest.fixture
def court():
    made = Court(ttl=DAY)
    made.claim("alice", "src/**", "docs/b.md", ttl=DAY)
    made.ask("bob", "src/a.py", "docs/b.md", note="a fix")
    return made


def later(court, within, pattern="**", **options):
    return court.answer("alice", "later", pattern, within=within, **options)


def reminders(court):
    """Return the messages after the request and its replies: to the owner, and to the agent that asked."""
    to_holder = [m for m in court.mail("alice", MailKind.RELEASE_REQUEST) if "promised" in m.data]
    to_asker = [m for m in court.mail("bob", MailKind.ANSWER) if m.data["answer"] == "broken"]
    return to_holder, to_asker


def test_both_sides_are_notified_once_of_a_broken_promise(court):
    later(court, 600)
    court.clock.advance(599)
    settle(court.store)
    assert reminders(court) == ([], [])

    court.clock.advance(1)
    for _ in range(3):
        settle(court.store)
        court.clock.advance(300)

    (to_holder,), (to_asker,) = reminders(court)
    assert to_holder.text == (
        "bob is still waiting for docs/b.md, src/**, which you promised by now: a fix"
    )
    assert to_asker.text.startswith("alice promised docs/b.md, src/** by now and still holds it")
    assert not [key for key, _ in court.rows() if key.startswith("due/")]


def test_a_broken_promise_stays_stored_and_can_be_answered_from_the_reminder(court):
    later(court, 600)
    court.clock.advance(600)
    settle(court.store)
    assert {(ask.answer, ask.promised) for ask in court.asks()} == {("later", 1_000_600.0)}

    court.answer("alice", "yes", message=reminders(court)[0][0].id)

    assert court.held() == set()


def test_only_unreleased_claims_break_a_promise(court):
    later(court, 600)
    court.release("alice", "docs/b.md")
    court.clock.advance(600)

    settle(court.store)

    (to_holder,), _ = reminders(court)
    assert to_holder.data["patterns"] == ["src/**"]


@pytest.mark.parametrize("second", [300, 900])
def test_the_last_of_two_promises_counts(court, second):
    later(court, 600)
    later(court, second)
    court.clock.advance(second)
    settle(court.store)
    court.clock.advance(900)
    settle(court.store)

    to_holder, to_asker = reminders(court)
    assert (len(to_holder), len(to_asker)) == (1, 1)
    assert to_holder[0].at == 1_000_000.0 + second


@pytest.mark.parametrize("change", ["no", "ask"])
def test_a_replaced_promise_sends_no_reminder(court, change):
    later(court, 600)
    if change == "no":
        court.answer("alice", "no", "**")
    else:
        court.ask("bob", "src/a.py", "docs/b.md")
    court.clock.advance(600)

    settle(court.store)

    assert reminders(court) == ([], [])


def test_an_expired_claim_sends_no_reminder():
    court = Court(ttl=300.0)
    court.claim("alice", "src/**")
    court.ask("bob", "src/a.py")
    later(court, 600)
    court.clock.advance(600)

    settle(court.store)

    assert reminders(court) == ([], [])


def release(court):
    court.release("alice", "src/**")


def revoke(court):
    court.revoke("human", "src/**")


def transfer(court):
    court.claim("carol", "x")
    court.transfer("alice", "src/**", to="carol")


def expire(court):
    court.clock.advance(10_000)
    court.claim("dave", "src/**", "docs/**")


def say_yes(court):
    court.answer("alice", "yes", "src/**")


@pytest.mark.parametrize("end", [release, revoke, transfer, expire, say_yes])
def test_a_request_for_a_claim_that_ended_is_no_longer_unread(end):
    court = Court()
    court.claim("alice", "src/**")
    court.claim("alice", "docs/**")
    court.ask("bob", "src/a.py")
    court.ask("bob", "docs/a.md")
    end(court)

    def left(rows):
        open_ = {letter.message.id for letter in letters(rows, caller("alice")) if not letter.read}
        briefed = {message.id for message in unread(rows, ("alice",)).messages}
        found = [m for m in mailbox.messages(rows) if m.kind == MailKind.RELEASE_REQUEST]
        return [m.data["patterns"] for m in found if m.id in open_ | briefed]

    expected = [] if end is expire else [["docs/**"]]
    assert court.store.look(left) == expected


def test_a_request_for_two_claims_stays_unread_until_both_ended():
    court = Court()
    court.claim("alice", "a", "b")
    court.ask("bob", "a", "b")

    def count(rows):
        return len(unread(rows, ("alice",)).messages)

    court.release("alice", "a")
    assert court.store.look(count) == 1
    court.release("alice", "b")
    assert court.store.look(count) == 0
