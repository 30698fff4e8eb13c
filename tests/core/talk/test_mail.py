"""Recipients of messages, limits, and the text of notices."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.core.claims.agents import Agent, AgentStatus, Caller
from dibs.core.talk.limits import KEEP, RATE, Bucket, check_message, draw, forgettable
from dibs.core.talk.mail import HUMANS, MAX_MESSAGE, MailKind, Message, id_in, wording
from dibs.core.talk.recipients import Crew, Group, resolve
from dibs.errors import BadInput, NotFound, Unavailable

ALICE = Caller("alice")
BOSS = Caller("user-pts-3", "human")
CREW = Crew(
    (
        Agent("alice", role="Lead"),
        Agent("bob", role="tester"),
        Agent("carol", role="Tester"),
        Agent("dave", role="tester", status=AgentStatus.EXITED),
        Agent("tester", role="odd"),
        Agent("user-pts-3", role="human"),
        Agent("user-pts-4", role="human"),
    ),
    {
        "web": Group("web", ("bob", "dave", "alice")),
        "bob": Group("bob", ("carol",)),
        "mixed": Group("mixed", ("human",), ("TESTER",)),
        "alone": Group("alone", ("alice",)),
    },
)


@pytest.mark.parametrize(
    ("to", "means", "boxes"),
    [
        ("all", "all", (HUMANS, "bob", "carol", "tester")),
        ("human", "human", (HUMANS,)),
        ("user-pts-3", "human", (HUMANS,)),
        ("bob", "bob", ("bob",)),
        ("agent:bob", "bob", ("bob",)),
        ("group:bob", "group:bob", ("carol",)),
        ("web", "group:web", ("bob",)),
        ("tester", "tester", ("tester",)),
        ("role:TESTER", "role:tester", ("bob", "carol")),
        ("odd", "role:odd", ("tester",)),
        ("mixed", "group:mixed", ("bob", "carol", HUMANS)),
    ],
)
def test_a_recipient_is_all_human_agent_group_or_role_in_this_order_unless_prefixed(
    to, means, boxes
):
    found = resolve(to, ALICE, CREW)

    assert (found.to, found.boxes, found.ended) == (means, boxes, ())


def test_a_humans_message_to_all_does_not_go_to_humans():
    assert resolve("all", BOSS, CREW).boxes == ("alice", "bob", "carol", "tester")


def test_an_ended_agent_gets_the_message_and_is_reported():
    assert resolve("dave", ALICE, CREW) == ("dave", ("dave",), ("dave",))


def test_humans_can_be_messaged_before_any_has_used_dibs():
    assert resolve("human", ALICE, Crew((), {})).boxes == (HUMANS,)


@pytest.mark.parametrize("to", ["bobb", "wep", "role:testr"])
def test_an_unknown_name_is_refused_with_the_commands_that_list_names(to):
    with pytest.raises(NotFound) as refused:
        resolve(to, ALICE, CREW)

    assert refused.value.code == "NO_ADDRESSEE"
    assert "dibs agent ls" in refused.value.hint


@pytest.mark.parametrize("to", ["", "agent:", "role:", ":", "@human", "group:alone", "agent:web"])
def test_a_recipient_without_a_reader_is_refused(to):
    with pytest.raises(NotFound) as refused:
        resolve(to, ALICE, CREW)

    assert refused.value.code == "NO_ADDRESSEE"


@pytest.mark.parametrize("to", ["alice", "agent:alice", "role:lead"])
def test_no_agent_can_message_itself(to):
    with pytest.raises(BadInput) as refused:
        resolve(to, ALICE, CREW)

    assert refused.value.code == "TO_SELF"


def test_a_message_to_all_needs_another_agent():
    with pytest.raises(NotFound):
        resolve("all", ALICE, Crew((Agent("alice"),), {}))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "TEXT_EMPTY"),
        (" \n", "TEXT_EMPTY"),
        ("x" * (MAX_MESSAGE + 1), "LIMIT"),
        ("x" * (1 << 20), "LIMIT"),
    ],
)
def test_an_empty_or_too_long_message_is_refused(text, code):
    with pytest.raises(BadInput) as refused:
        check_message(text)

    assert refused.value.code == code


def test_the_longest_message_is_sent_whole():
    assert check_message("a " * (MAX_MESSAGE // 2)) == "a " * (MAX_MESSAGE // 2)


def test_invalid_unicode_stays_readable():
    assert check_message("x\udc80y") == "x\\udc80y"


@given(st.lists(st.sampled_from([0.0, 0.1, 1.0, 30.0]), min_size=RATE, max_size=4 * RATE))
def test_no_minute_allows_more_than_twice_the_rate_and_a_refusal_says_when_to_retry(pauses):
    bucket, now, sent = None, 1_000.0, []
    for pause in pauses:
        now += pause
        try:
            bucket = draw(bucket, now)
        except Unavailable as refused:
            seconds = int(refused.message.split()[-1].removesuffix("s"))
            assert draw(bucket, now + seconds).left >= 0
        else:
            sent.append(now)
    for start in sent:
        assert sum(1 for at in sent if start <= at < start + 60) <= 2 * RATE


def test_a_burst_of_one_minutes_messages_is_allowed_and_the_next_is_refused():
    bucket = None
    for _ in range(RATE):
        bucket = draw(bucket, 1_000.0)
    with pytest.raises(Unavailable) as refused:
        draw(bucket, 1_000.0)

    assert refused.value.code == "RATE_LIMITED"
    assert refused.value.retryable
    assert "in 1s" in refused.value.message
    assert draw(bucket, 1_001.0) == Bucket(0.0, 1_001.0)


def test_a_stopped_clock_or_an_older_bucket_adds_nothing():
    assert draw(Bucket(5.0, 2_000.0), 1_000.0).left == 4.0


@pytest.mark.parametrize(
    ("kind", "sender", "patterns", "data", "text"),
    [
        (MailKind.RELEASE_REQUEST, "bob", ["a"], {"reason": "hot fix"}, "bob requested a: hot fix"),
        (MailKind.EXPIRED, "", ["a"], {}, "your claim on a expired"),
        (MailKind.EXPIRED, "", list("abcde"), {}, "your claims on a, b, c and 2 more expired"),
        (MailKind.REVOKED, "boss", ["a", "b"], {"reason": "no"}, "boss revoked your claims on a, b: no"),
        (MailKind.REVOKED, "", ["a"], {"reason": "lost"}, "your claim on a became void: lost"),
        (MailKind.HANDED_OVER, "bob", ["a"], {}, "bob transferred a to you"),
        (MailKind.RELEASED, "bob", ["a"], {}, "bob released a, which you requested"),
        (
            MailKind.RELEASED, "bob", ["a"], {"why": "transferred", "heir": "eve"},
            "bob transferred a, which you requested, to eve",
        ),
        (
            MailKind.RELEASED, "bob", ["a"], {"why": "expired"},
            "bob's claim on a, which you requested, expired",
        ),
        (
            MailKind.RELEASED, "bob", ["a"], {"why": "revoked"},
            "bob's claim on a, which you requested, ended: revoked",
        ),
        (
            MailKind.FORECAST, "", ["a"], {"other": "eve"},
            "your work and eve's work would conflict in a",
        ),
        (MailKind.EXPIRED, "", ["{sender}{0}"], {}, "your claim on {sender}{0} expired"),
    ],
)  # fmt: skip
def test_a_notice_says_what_happened_to_claims(kind, sender, patterns, data, text):
    assert wording(kind, sender, patterns, data) == text


@pytest.mark.parametrize(
    ("kind", "age", "told", "crowded", "goes"),
    [
        ("message", KEEP, True, False, True),
        ("message", KEEP - 1, True, False, False),
        ("message", KEEP, False, True, False),
        ("expired", KEEP, False, False, False),
        ("expired", KEEP, False, True, True),
    ],
)
def test_only_old_messages_are_deleted_and_unread_ones_from_agents_never(
    kind, age, told, crowded, goes
):
    message = Message("m1", 0.0, "a", "agent", kind, "x", "b", ("b",))

    assert forgettable(message, age, told=told, crowded=crowded) is goes


@pytest.mark.parametrize(
    ("text", "id_"),
    [("m41", "m41"), ("m041", "m41"), ("m41.2", "m41.2"), ("m41.0", "m41"), ("m0", "m0")],
)
def test_every_spelling_of_a_message_id_is_the_same_id(text, id_):
    assert id_in(text) == id_


@pytest.mark.parametrize(
    "text", ["", "m", "41", "mm41", "m41.", "m41.2.3", "m4x", "m-1", "m 1", "m²", "m" + 17 * "9"]
)
def test_an_invalid_message_id_is_rejected(text):
    assert id_in(text) == ""
