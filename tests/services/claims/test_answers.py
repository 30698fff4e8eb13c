"""Replies to release requests."""

import pytest
from tests.services.court import Court

from dibs.core.talk.mail import MailKind
from dibs.errors import BadInput, NotFound


@pytest.fixture
def court():
    made = Court()
    made.claim("alice", "src/**")
    made.ask("bob", "src/a.py", note="a fix")
    return made


def test_a_yes_releases_the_claim_and_ends_the_request(court):
    (ask,) = court.answer("alice", "yes", "src/a.py")

    assert (ask.asker, ask.pattern, ask.answer) == ("bob", "src/**", "yes")
    assert court.held() == set()
    assert court.asks() == []


def test_a_yes_is_delivered_once(court):
    court.answer("alice", "yes", "src/a.py", note="take it")

    (message,) = court.mail("bob")
    assert message.kind == MailKind.ANSWER
    assert message.text == "alice replied yes and released src/**: take it"


def test_a_yes_grants_the_claim_to_the_waiter_at_its_next_call(court):
    court.claim("bob", "src/a.py", queue=True)

    court.answer("alice", "yes", "src/a.py")

    court.claim("bob", "src/a.py")
    assert court.held() == {("bob", "src/a.py")}


def test_a_yes_to_one_agent_notifies_the_others_that_asked(court):
    court.ask("carol", "src/b.py")

    court.answer("alice", "yes", "src/**", to="bob")

    assert [m.kind for m in court.mail("bob")] == [MailKind.ANSWER]
    assert [m.kind for m in court.mail("carol")] == [MailKind.RELEASED]


def test_a_yes_releases_only_the_requested_claims(court):
    court.claim("alice", "src/a.py", "docs/b.md")

    court.answer("alice", "yes", message=court.asks()[0].id)

    # Both src/** and src/a.py were alice's, and bob asked when there was only the first.
    assert court.held() == {("alice", "src/a.py"), ("alice", "docs/b.md")}


def test_a_later_promises_a_time_and_keeps_the_claim(court):
    (ask,) = court.answer("alice", "later", "src/a.py", within="10m", note="tests run")

    assert (ask.answer, ask.promised) == ("later", court.clock.now + 600)
    assert court.held() == {("alice", "src/**")}
    assert court.asks() == [ask]
    (message,) = court.mail("bob", MailKind.ANSWER)
    assert message.data["promised"] == ask.promised
    assert (
        message.text == "alice replied later: src/** in 10m, counted from this message: tests run"
    )


def test_a_no_keeps_the_claim_and_says_why(court):
    court.answer("alice", "no", "src/a.py", note="half of it is moved")

    assert court.held() == {("alice", "src/**")}
    assert [ask.answer for ask in court.asks()] == ["no"]
    assert court.mail("bob")[0].text == "alice replied no: it keeps src/**: half of it is moved"


def test_a_reply_can_be_changed(court):
    court.answer("alice", "no", "src/a.py")
    court.answer("alice", "yes", "src/a.py")

    assert court.held() == set()


def test_a_repeated_request_waits_for_a_new_reply(court):
    court.answer("alice", "no", "src/a.py")
    court.ask("bob", "src/a.py")

    assert [ask.answer for ask in court.asks()] == [""]


def test_a_reply_can_name_the_message(court):
    (request,) = court.mail("alice", MailKind.RELEASE_REQUEST)

    (ask,) = court.answer("alice", "no", message=request.id)

    assert ask.asker == "bob"


def test_only_the_named_agent_gets_a_reply(court):
    court.ask("carol", "src/a.py")

    court.answer("alice", "no", "src/a.py", to="carol")

    assert {ask.asker: ask.answer for ask in court.asks()} == {"bob": "", "carol": "no"}
    assert court.mail("bob") == []


def test_the_ledger_has_the_reply(court):
    court.answer("alice", "later", "src/a.py", within=60)

    entry = court.store.look(lambda rows: next(rows.txn.events(newest_first=True)))
    assert entry.kind == "release_answered"
    assert entry.summary == "alice replied later in 1m to bob on src/**"
    assert entry.details["answer"] == "later"


def test_an_agent_without_a_request_cannot_reply(court):
    for agent, options in (
        ("bob", {"pattern": "src/a.py"}),
        ("alice", {"pattern": "docs/x.md"}),
        ("alice", {"pattern": "src/a.py", "to": "carol"}),
        ("alice", {"message": "m999"}),
    ):
        with pytest.raises(NotFound) as refused:
            court.answer(agent, "yes", **options)
        assert refused.value.code == "NOT_ASKED"
    assert court.held() == {("alice", "src/**")}


@pytest.mark.parametrize(
    ("said", "within"),
    [("maybe", None), ("", None), ("later", None), ("yes", "5m"), ("no", "5m"), ("later", "-1")],
)
def test_an_invalid_reply_changes_nothing(court, said, within):
    before = court.rows()

    with pytest.raises(BadInput):
        court.answer("alice", said, "src/a.py", within=within)

    assert court.rows() == before


def test_an_owner_whose_claim_expired_cannot_reply(court):
    court.clock.advance(301)

    with pytest.raises(NotFound):
        court.answer("alice", "yes", "src/a.py")


def test_a_secret_in_a_note_is_not_stored(court):
    court.answer("alice", "no", "src/a.py", note="AKIAIOSFODNN7EXAMPLE is the key")

    assert not [value for _, value in court.rows() if "AKIAIOSFODNN7EXAMPLE" in value]
