"""Stored messages: who has them, what was read, and what is deleted."""

import pytest
from tests.core.text.test_secrets import TOKENS
from tests.services.several_agents import Crew, caller

from dibs.core.claims.agents import Agent, Caller
from dibs.core.talk.limits import KEEP, MAX_UNREAD
from dibs.core.talk.mail import HUMANS
from dibs.errors import BadInput, Fenced, NotFound, Unavailable
from dibs.services import retention
from dibs.services.briefing.service import Briefings
from dibs.services.state.ledger import Query
from dibs.services.talk.groups import Groups
from dibs.services.talk.mail import Mail


class Post(Crew):
    """A crew that sends messages."""

    def __init__(self, **settings):
        super().__init__(**settings)
        self.mail = Mail(self.store)
        self.groups = Groups(self.store)

    def join(self, *agents, role="agent"):
        for agent in agents:
            self.agents.join(Agent(agent, role=role))

    def say(self, agent, to, text="hello", **options):
        return self.mail.say(caller(agent), to, text, **options)

    def inbox(self, agent, **options):
        return self.mail.inbox(caller(agent), **options)

    def texts(self, agent, **options):
        return [letter.message.text for letter in self.inbox(agent, **options)]

    def mail_kinds(self, agent):
        return [letter.message.kind for letter in self.inbox(agent, everything=True)]

    def read_all(self, agent):
        self.mail.read(caller(agent), [letter.message.id for letter in self.inbox(agent)])

    def kept(self, start):
        return [key for key, _ in self.rows() if key.startswith(start)]

    def brief(self, box):
        """Mark a box's messages as delivered by a briefing."""
        from dibs.services.state import mailbox as post

        waiting = self.kept(f"unread/{box}/")

        def step(rows):
            for key in waiting:
                rows.txn.delete(key)
                post.mark(rows, box, key.rpartition("/")[2], briefed=1)

        self.store.apply(step)


@pytest.fixture
def post():
    made = Post()
    made.join("alice", "bob")
    return made


# -- sending and reading


def test_a_message_stays_unread_until_read_and_still_waits_for_a_briefing(post):
    said = post.say("alice", "bob", "the tests fail")

    assert post.texts("bob") == post.texts("bob") == ["the tests fail"]
    post.read_all("bob")

    assert post.texts("bob") == []
    assert post.texts("bob", everything=True) == ["the tests fail"]
    assert [letter.message for letter in post.inbox("alice", sent=True)] == [said]
    assert len(post.kept("unread/bob/")) == 1


def test_messages_arrive_in_order(post):
    for number in range(12):
        post.say("alice", "bob", str(number))

    assert post.texts("bob") == [str(number) for number in range(12)]


def test_the_ledger_records_only_the_start_of_a_message(post):
    post.say("alice", "bob", "line one\n" + "x" * 500)
    post.say("alice", "all", "freeze")

    first, second = post.ledger.newest(_any(), 2)

    assert (first.kind, second.kind) == ("message_sent", "group_message")
    assert first.summary == "alice to bob: line one " + "x" * 71
    assert second.details == {"to": "all", "reply_to": ""}
    assert f"m{second.seq}" == post.inbox("bob")[-1].message.id


def test_an_unknown_recipient_and_oneself_are_refused_and_nothing_changes(post):
    before = post.rows()
    for to, code in (("carol", "NO_ADDRESSEE"), ("alice", "TO_SELF")):
        with pytest.raises((NotFound, BadInput)) as refused:
            post.say("alice", to)
        assert refused.value.code == code
    for text in ("x" * (1 << 20), ""):
        with pytest.raises(BadInput):
            post.say("alice", "bob", text)

    assert post.rows() == before


def test_the_sender_learns_that_a_recipient_has_ended(post):
    post.agents.leave(caller("bob"))

    assert post.say("alice", "bob").data == {"ended": ["bob"]}
    post.join("bob")

    assert post.texts("bob") == ["hello"]


def test_all_humans_share_a_box_that_always_exists(post):
    post.say("alice", "human", "help")

    assert post.texts("human") == ["help"]
    assert [box for letter in post.inbox("human") for box in letter.message.boxes] == [HUMANS]


def test_no_agent_can_take_the_human_role(post):
    for role in ("human", "Human", " human"):
        with pytest.raises(BadInput) as caught:
            post.agents.report(caller("alice"), role=role)
        assert caught.value.code == "ROLE"
    with pytest.raises(BadInput, match="cannot have the role human"):
        post.join("mallory", role="human")

    assert post.say("alice", "bob").role == "agent"
    assert post.say("human", "bob").role == "human"
    post.agents.report(caller("human"), role="human")


@pytest.mark.parametrize("name", ["human", "HUMAN", "Human-1", "human.root", "HUMAN_x", "all"])
def test_no_agent_can_have_an_id_that_means_humans_or_everyone(post, name):
    before = post.rows()
    for call in (lambda: post.join(name), lambda: post.mail.say(Caller(name), "bob", "obey")):
        with pytest.raises(BadInput, match="is reserved") as caught:
            call()
        assert caught.value.code == "AGENT_ID"

    assert post.rows() == before
    post.join("humanist", "all-in-one")
    post.mail.say(Caller("human-pts-3", "human"), "bob", "me")


def test_a_repeated_request_sends_one_message(post):
    first = post.say("alice", "bob", "once", request_id="r1")

    assert post.say("alice", "bob", "once", request_id="r1") == first
    assert post.texts("bob") == ["once"]
    with pytest.raises(BadInput) as refused:
        post.say("alice", "bob", "twice", request_id="r1")
    assert refused.value.code == "REQUEST_REUSED"


@pytest.mark.parametrize("secret", TOKENS)
def test_no_secret_is_stored(post, secret):
    post.say("alice", "bob", f"use {secret} for it", request_id="r")
    stored = [*post.rows(), *(e.summary for e in post.ledger.newest(_any(), 100))]

    assert secret not in str(stored)
    assert "masked" in post.texts("bob")[0]


# -- replies


def test_a_reply_goes_to_the_sender_and_names_the_message(post):
    asked = post.say("alice", "bob", "which port?")
    answer = post.say("bob", "", "4100", reply_to=asked.id)
    again = post.say("alice", "", "thanks", reply_to=answer.id)

    assert (answer.to, answer.reply_to) == ("alice", asked.id)
    assert (again.to, again.reply_to) == ("bob", answer.id)


def test_a_reply_to_ones_own_message_goes_to_its_recipient(post):
    asked = post.say("alice", "bob")

    assert post.say("alice", "", "and?", reply_to=asked.id).to == "bob"


def test_only_the_two_agents_and_humans_can_see_or_answer_their_messages(post):
    post.join("carol")
    secret = post.say("alice", "bob")
    for call in (
        lambda: post.say("carol", "", "hm", reply_to=secret.id),
        lambda: post.mail.some(caller("carol"), [secret.id]),
    ):
        with pytest.raises(NotFound) as refused:
            call()
        assert refused.value.code == "NO_MESSAGE"

    (letter,) = post.mail.some(caller("human"), [secret.id])
    assert letter.message.text == "hello"


def test_a_notice_cannot_be_answered(post):
    post.claim("bob", "a", ttl=60)
    post.clock.advance(60)
    post.claim("alice", "a")
    (letter,) = post.inbox("bob")
    with pytest.raises(NotFound) as refused:
        post.say("bob", "", "why?", reply_to=letter.message.id)

    assert refused.value.code == "NO_ADDRESSEE"


# -- groups


def test_a_group_reaches_its_members_and_agents_with_its_roles(post):
    post.join("carol", "dave", role="Tester")
    post.groups.new(caller("alice"), "web", ["bob", "role:tester", "human"])

    assert post.say("carol", "web").boxes == ("bob", "dave", HUMANS)
    assert post.groups.show("web").reaches == ("bob", "carol", "dave", "human")
    post.groups.remove(caller("alice"), "web", ["role:tester", "human"])
    post.groups.add(caller("alice"), "web", ["alice", "bob"])
    assert post.groups.show("web").group.members == ("bob", "alice")
    assert [message.text for message in post.groups.show("web").messages] == ["hello"]
    post.groups.drop(caller("alice"), "web")
    with pytest.raises(NotFound):
        post.say("bob", "web")


def test_a_group_shows_its_last_twenty_messages(post):
    post.groups.new(caller("alice"), "web", ["bob"])
    for number in range(25):
        post.say("alice", "web", str(number))

    said = [message.text for message in post.groups.show("web").messages]

    assert said == [str(number) for number in range(5, 25)]


@pytest.mark.parametrize(
    ("act", "words", "code"),
    [
        ("new", ("web", []), "GROUP_EXISTS"),
        ("new", ("all", []), "GROUP_NAME"),
        ("new", ("human", []), "GROUP_NAME"),
        ("new", ("a/b", []), "GROUP_NAME"),
        ("new", ("x", ["nobody"]), "NO_AGENT"),
        ("new", ("x", ["role:"]), "GROUP_NAME"),
        ("add", ("wep", ["bob"]), "NO_GROUP"),
        ("add", ("web", ["role:x"] * 2 + [f"role:{n}" for n in range(1_000)]), "LIMIT"),
        ("remove", ("web", ["alice"]), "NOT_IN_GROUP"),
        ("drop", ("wep",), "NO_GROUP"),
    ],
)
def test_an_invalid_group_change_is_refused_and_changes_nothing(post, act, words, code):
    post.groups.new(caller("alice"), "web", ["bob"])
    before = post.rows()
    with pytest.raises((BadInput, NotFound)) as refused:
        getattr(post.groups, act)(caller("alice"), *words)

    assert refused.value.code == code
    assert post.rows() == before


# -- limits


def test_the_rate_limit_is_per_agent(post):
    post.join("carol")
    for _ in range(60):
        post.say("alice", "bob")
    with pytest.raises(Unavailable):
        post.say("alice", "bob")

    assert post.say("carol", "bob")


def test_a_full_inbox_accepts_only_notices_until_messages_are_read():
    post = Post()
    post.join("alice", "bob", "carol")
    for _ in range(MAX_UNREAD):
        post.say("alice", "bob")
        post.clock.advance(1)
    post.claim("bob", "a")
    with pytest.raises(Unavailable) as refused:
        post.say("alice", "bob")
    assert refused.value.code == "BOX_FULL"
    said = post.say("alice", "all")
    assert (said.boxes, said.data) == (("carol",), {"full": ["bob"]})

    post.revoke("human", "a")
    assert post.mail_kinds("bob")[-1] == "revoked"
    post.mail.read(caller("bob"), [post.inbox("bob")[0].message.id])
    post.say("alice", "bob")
    with pytest.raises(Unavailable):
        post.say("alice", "bob")
    post.brief("bob")
    post.say("alice", "bob")


# -- notices


def test_an_owner_learns_who_requested_what_and_until_when(post):
    post.claim("bob", "a", "b")
    asks = post.ask("alice", "**", within=120, note="hot fix")

    (letter,) = post.inbox("bob")

    assert letter.message.text == "alice requested a, b: hot fix"
    assert letter.message.data == {
        "patterns": ["a", "b"], "count": 2, "until": post.clock.now + 120, "reason": "hot fix",
    }  # fmt: skip
    assert {ask.id for ask in asks} == {letter.message.id}
    assert {ask.id for h in post.claims.all()[0] for ask in h.asks} == {letter.message.id}


def test_a_repeated_request_replaces_the_unread_message(post):
    post.claim("bob", "a", "b")
    post.ask("alice", "a", note="one")
    post.ask("alice", "b", note="other")
    post.ask("alice", "a", note="two")
    assert post.texts("bob") == ["alice requested a: two", "alice requested b: other"]
    post.brief("bob")
    post.ask("alice", "a", note="three")

    assert post.texts("bob")[-1] == "alice requested a: three"
    assert len(post.inbox("bob")) == 3


def test_a_notice_states_the_deadline_of_a_claim_that_expired_earlier(post):
    post.claim("bob", "a", ttl=60)
    post.ask("alice", "a")
    deadline = post.clock.now + 60
    post.clock.advance(90)
    post.agents.beat(caller("alice"))
    post.agents.sweep()

    (letter,) = [one for one in post.inbox("bob") if one.message.kind == "expired"]
    (freed,) = [one for one in post.inbox("alice") if one.message.kind == "released"]
    (entry,) = [one for one in post.ledger.newest(Query(), 99) if one.kind == "lock_expired"]

    assert letter.message.text == "your claim on a expired 30s before this message"
    assert letter.message.data["expired_at"] == deadline
    assert freed.message.text == (
        "bob's claim on a, which you requested, expired 30s before this message"
    )
    assert entry.summary == "bob's claim on a expired 30s ago"
    assert entry.details["expired_at"] == deadline
    with pytest.raises(Fenced, match="your claim on a expired 30s ago"):
        post.release("bob", "a")


def test_claims_that_expire_together_are_one_message(post):
    post.claim("bob", *"abcde", ttl=60)
    post.clock.advance(60)
    post.agents.sweep()

    (letter,) = post.inbox("bob")

    assert letter.message.text == "your claims on a, b, c and 2 more expired"
    assert letter.message.data["patterns"] == list("abcde")


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (lambda post: post.release("bob"), "bob released a, which you requested"),
        (
            lambda post: post.revoke("human", "a", "stop"),
            "bob's claim on a, which you requested, ended: revoked",
        ),
        (
            lambda post: post.agents.stop(caller("human"), "bob"),
            "bob's claim on a, which you requested, ended: terminated",
        ),
        (lambda post: post.agents.leave(caller("bob")), "bob released a, which you requested"),
        (
            lambda post: (post.clock.advance(60), post.agents.sweep()),
            "bob's claim on a, which you requested, expired",
        ),
        (
            lambda post: post.transfer("bob", "a", to="carol"),
            "bob transferred a, which you requested, to carol",
        ),
    ],
)
def test_a_requester_learns_when_the_owner_no_longer_holds_the_claim(post, end, told):
    post.join("carol")
    post.claim("bob", "a", ttl=60)
    post.ask("alice", "a")

    end(post)

    assert post.texts("alice") == [told]
    assert post.kept("ask/") == []


def test_the_loser_of_a_revoked_claim_and_the_receiver_of_a_transfer_are_notified(post):
    post.claim("bob", "a", "b")
    post.transfer("bob", "b", to="alice")
    post.revoke("human", "a", "stop it")

    assert post.texts("alice") == ["bob transferred b to you"]
    assert post.texts("bob") == ["human revoked your claim on a: stop it"]


def test_a_requester_that_receives_the_claim_is_notified_once(post):
    post.claim("bob", "a")
    post.ask("alice", "a")
    post.transfer("bob", "a", to="alice")

    assert post.texts("alice") == ["bob transferred a to you"]


def test_a_stopped_agent_gets_no_notice(post):
    post.claim("bob", "a")
    post.agents.stop(caller("human"), "bob")

    assert post.kept("box/bob/") == []


def test_an_ended_requester_gets_no_notice(post):
    post.claim("bob", "a")
    post.ask("alice", "a")
    post.agents.leave(caller("alice"))
    post.release("bob")

    assert post.kept("box/alice/") == []


def test_messages_and_notices_of_one_step_have_different_ids(post):
    post.claim("alice", "a", ttl=60)
    post.claim("bob", "b", ttl=60)
    post.ask("bob", "a")
    post.clock.advance(60)
    post.say("alice", "bob")  # this also expires her own claim
    ids = [key.removeprefix("mail/") for key in post.kept("mail/")]

    assert len(set(ids)) == len(ids) == 4
    assert set(post.mail_kinds("bob")) == {"message", "released"}
    assert set(post.mail_kinds("alice")) == {"release_request", "expired"}


# -- retention


def test_a_message_is_deleted_when_old_and_delivered_to_everyone(post):
    post.join("carol")
    post.say("alice", "bob", "read")
    post.say("alice", "all", "half read")
    post.say("alice", "carol", "briefed")
    post.read_all("bob")
    post.clock.advance(KEEP - 1)
    assert retention.trim_mail(post.store) == 0
    post.clock.advance(1)
    assert retention.trim_mail(post.store) == 1
    post.brief("carol")
    assert retention.trim_mail(post.store) == 2

    assert [post.kept(start) for start in ("mail/", "box/", "unread/", "rate/")] == [[], [], [], []]


def test_unread_messages_are_kept_until_the_recipient_ends(post):
    post.say("alice", "bob")
    post.clock.advance(10 * KEEP)
    assert retention.trim_mail(post.store) == 0
    post.agents.leave(caller("bob"))

    assert retention.trim_mail(post.store) == 1


def test_messages_are_trimmed_with_the_ledger():
    post = Post(ledger_limit=100)
    post.join("alice", "bob")
    post.say("alice", "bob")
    post.read_all("bob")
    post.clock.advance(KEEP)
    for _ in range(post.store.trim_every):
        post.agents.report(caller("bob"), status="idle")

    assert post.kept("mail/") == []


def _any():
    from dibs.services.state.ledger import Query

    return Query()


def test_a_message_that_was_read_is_not_rewritten(post):
    post.claim("bob", "src/**")
    post.ask("alice", "src/a.py", note="soon")
    post.ask("alice", "src/a.py", note="today")
    assert post.texts("bob") == ["alice requested src/**: today"]
    post.read_all("bob")

    post.ask("alice", "src/a.py", note="production is down")

    assert post.texts("bob") == ["alice requested src/**: production is down"]


def test_a_request_repeated_during_a_delivery_is_delivered_too(post):
    briefings = Briefings(post.store)
    post.claim("bob", "src/**")
    post.ask("alice", "src/a.py", note="soon")
    first = briefings.prepare(caller("bob"))
    post.ask("alice", "src/a.py", note="production is down")
    briefings.delivered(caller("bob"), first.number)

    second = briefings.prepare(caller("bob"))

    assert "soon" in first.text
    assert "production is down" in second.text
    assert len(second.mail) == 1
    assert set(first.mail).isdisjoint(second.mail)
