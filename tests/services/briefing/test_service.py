"""When an agent is briefed, about what, and when that counts as delivered."""

import json
from contextlib import suppress

import pytest
from tests.services.briefs import human
from tests.services.row_tasks import RowTasks
from tests.services.several_agents import Crew, caller

from dibs.core.claims.agents import Agent, Caller
from dibs.core.patterns.pattern import parse
from dibs.core.talk.limits import KEEP
from dibs.core.talk.mail import HUMANS
from dibs.errors import NotAllowed, Unavailable
from dibs.services.briefing.service import DEBOUNCE, LEASE, Briefings
from dibs.services.retention import trim_mail as trim
from dibs.services.talk.mail import Mail
from dibs.services.tasks.values import Draft

BOB, CAROL = Caller("bob"), Caller("carol")


class BriefCrew(Crew):
    """A crew with messages and briefings."""

    def __init__(self, **settings):
        super().__init__(**settings)
        self.mail = Mail(self.store)
        self.briefings = Briefings(self.store)

    def brief(self, who, **options):
        """Do all the steps of a delivery."""
        delivery = self.briefings.prepare(who, **options)
        if delivery is not None:
            self.briefings.delivered(who, delivery.number)
        return delivery

    def row(self, key):
        value = dict(self.rows()).get(key)
        return None if value is None else json.loads(value)


@pytest.fixture
def crew():
    made = BriefCrew()
    made.claim("carol", "src/auth.py")
    made.agents.beat(BOB)
    return made


def test_the_first_briefing_is_complete_and_adds_the_reader_to_the_roster(crew):
    told = crew.brief(Caller("erin"))

    assert (told.number, told.mode, told.again) == (1, "full", False)
    assert "Agent carol (agent)" in told.text
    assert "src/auth.py" in told.text
    assert crew.row("agent/erin")["status"] == "running"


def test_an_unchanged_state_is_not_repeated_and_writes_nothing(crew):
    crew.brief(BOB)
    rows, kinds = crew.rows(), crew.kinds()

    crew.clock.advance(50)
    assert crew.brief(BOB) is None

    assert (crew.rows(), crew.kinds()) == (rows, kinds)


def test_an_empty_briefing_still_renews_the_readers_claims(crew):
    crew.claim("bob", "mine")
    crew.brief(BOB)
    for _ in range(20):
        crew.clock.advance(100)
        crew.holdings.renew(CAROL)
        assert crew.brief(BOB) is None

    assert ("bob", "mine") in crew.held()


def test_a_change_is_delivered_as_a_delta(crew):
    for number in range(12):
        crew.claim(f"agent-{number}", f"docs/{number}.md")
    crew.brief(BOB)
    crew.claim("dave", "src/new.py")

    told = crew.brief(BOB)

    assert (told.number, told.mode) == (2, "delta")
    assert "dave" in told.text
    assert "docs/3.md" not in told.text


def test_a_full_briefing_repeats_the_state_but_no_delivered_messages(crew):
    crew.brief(BOB)
    crew.mail.say(CAROL, "bob", "the words")
    assert "the words" in crew.brief(BOB).text

    told = crew.brief(BOB, full=True)

    assert (told.number, told.mode, told.mail) == (3, "full", ())
    assert "src/auth.py" in told.text
    assert "the words" not in told.text


def test_an_open_request_is_in_every_full_briefing(crew):
    crew.claim("bob", "mine")
    crew.brief(BOB)
    crew.ask("carol", "mine", note="for a fix")
    assert "RELEASE REQUEST" in crew.brief(BOB).text

    assert "carol requested mine" in crew.brief(BOB, full=True).text


def test_the_task_that_an_agent_holds_is_its_task(crew):
    crew.claim("carol", "task:login")

    told = crew.brief(BOB).text

    assert "Task: login" in told
    assert "task:login" not in told


def test_a_restarted_session_gets_the_full_state(crew):
    crew.brief(BOB)
    crew.agents.leave(BOB)
    crew.clock.advance(1)
    crew.agents.join(Agent("bob"))

    told = crew.brief(BOB)

    assert (told.number, told.mode) == (2, "full")


def test_an_unconfirmed_delivery_is_repeated_unchanged_after_its_lease(crew):
    crew.mail.say(CAROL, "bob", "one")
    first = crew.briefings.prepare(BOB)
    crew.mail.say(CAROL, "bob", "two")

    assert crew.briefings.prepare(BOB) is None
    crew.clock.advance(LEASE - 0.001)
    assert crew.briefings.prepare(BOB) is None
    crew.clock.advance(0.001)
    again = crew.briefings.prepare(BOB)

    assert again.again
    assert again._replace(again=False, state=None) == first._replace(state=None)
    assert crew.briefings.prepare(BOB) is None, "only one process repeats it"
    assert crew.briefings.delivered(BOB, again.number)
    assert "two" in crew.brief(BOB).text


def test_a_confirmation_counts_once_and_a_late_one_counts_too(crew):
    crew.mail.say(CAROL, "bob", "one")
    first = crew.briefings.prepare(BOB)
    crew.clock.advance(LEASE)
    again = crew.briefings.prepare(BOB)

    assert crew.briefings.delivered(BOB, first.number)
    assert not crew.briefings.delivered(BOB, again.number)
    assert not crew.briefings.delivered(BOB, again.number + 1)
    assert not crew.briefings.delivered(BOB, 0)
    assert crew.brief(BOB) is None


def test_confirming_an_earlier_delivery_does_not_confirm_a_later_one(crew):
    first = crew.brief(BOB)
    crew.mail.say(CAROL, "bob", "one")
    second = crew.briefings.prepare(BOB)

    assert not crew.briefings.delivered(BOB, first.number)

    assert crew.briefings.delivered(BOB, second.number)


def test_a_message_counts_as_delivered_only_after_confirmation(crew):
    message = crew.mail.say(CAROL, "bob", "one")
    delivery = crew.briefings.prepare(BOB)
    assert [key for key, _ in crew.rows() if key.startswith("unread/bob/")]

    crew.briefings.delivered(BOB, delivery.number)

    assert not [key for key, _ in crew.rows() if key.startswith("unread/bob/")]
    (letter,) = crew.mail.inbox(BOB, everything=True)
    assert (letter.message.id, letter.briefed) == (message.id, delivery.number)


def test_messages_that_do_not_fit_come_with_the_next_briefings(crew):
    said = [crew.mail.say(CAROL, "bob", f"{n} " + "lorem ipsum " * 60).id for n in range(30)]
    told = []
    while (delivery := crew.brief(BOB, budget=600)) is not None:
        assert delivery.mail
        told.extend(delivery.mail)

    assert told == said


def test_during_a_lease_a_full_briefing_omits_the_offered_messages(crew):
    crew.mail.say(CAROL, "bob", "the words")
    crew.briefings.prepare(BOB)

    page = crew.briefings.prepare(BOB, full=True)

    assert (page.number, page.mail) == (0, ())
    assert "src/auth.py" in page.text
    assert "the words" not in page.text


def test_humans_share_one_inbox_and_always_get_the_full_page(crew):
    message = crew.mail.say(CAROL, "human", "help")
    first = crew.brief(human("hugo"))
    second = crew.brief(human("hilda"))

    assert (first.number, first.mail, first.mode) == (1, (message.id,), "full")
    assert (second.number, second.mail, second.mode) == (0, (), "full")
    assert "PROJECT HEALTH" in second.text
    assert crew.row(f"briefed/{HUMANS}")["number"] == 1
    assert crew.row("agent/hugo") is None, "reading does not join the roster"


def test_a_delivery_that_one_human_lost_reaches_another_unchanged(crew):
    crew.mail.say(CAROL, "human", "help")
    lost = crew.briefings.prepare(human("hugo"))
    page = crew.briefings.prepare(human("hilda"))
    assert (page.number, page.mail) == (0, ())

    crew.clock.advance(LEASE)
    again = crew.brief(human("hilda"))

    assert (again.number, again.text) == (lost.number, lost.text)


def test_a_peek_shows_everything_and_records_nothing(crew):
    crew.mail.say(CAROL, "bob", "the words")
    rows = crew.rows()

    page = crew.briefings.peek(BOB)

    assert page.number == 0
    assert "the words" in page.text
    assert crew.rows() == rows


def test_a_request_is_shown_once_as_news_and_then_as_state(crew):
    crew.claim("bob", "src/db.py")
    crew.brief(BOB)
    crew.holdings.ask(CAROL, [parse("src/db.py")], note="for the tests")

    news = crew.brief(BOB)

    assert (news.text.count("for the tests"), news.text.count("dibs answer")) == (1, 1)
    assert "RELEASE REQUEST" in news.text
    assert news.left == 0
    assert crew.brief(BOB) is None
    again = crew.brief(BOB, full=True).text
    assert "== WAITING FOR YOU ==\n- carol requested src/db.py" in again
    assert again.count("for the tests") == 1


def test_the_delivery_record_of_an_ended_agent_is_deleted_with_old_messages(crew):
    erin = Caller("erin")
    crew.agents.beat(erin)
    for who in (BOB, erin, human("hugo")):
        crew.mail.say(CAROL, "human" if who.human else who.id, "words")
        crew.brief(who)
    crew.mail.say(CAROL, "erin", "an unconfirmed message")
    crew.briefings.prepare(erin)
    crew.agents.leave(erin)

    def readers():
        return {key for key, _ in crew.rows() if key.startswith(("briefed/", "offer/"))}

    before = readers()
    assert {"briefed/bob", "briefed/erin", "offer/erin", "briefed/@human"} == before
    trim(crew.store)
    assert readers() == before

    crew.clock.advance(KEEP + LEASE)
    crew.agents.beat(BOB)
    trim(crew.store)
    assert readers() == {"briefed/bob", "briefed/@human"}


def test_a_peek_shows_what_a_page_omitted(crew):
    for number in range(99):
        crew.agents.beat(Caller(f"agent-{number}"))

    told = crew.brief(BOB, budget=300)

    assert f"and {told.left} more: `dibs brief --peek`\n" in told.text
    page = crew.briefings.peek(BOB)
    assert page.left == 0
    assert "agent-98" in page.text
    assert crew.briefings.peek(BOB, budget=300).left


def test_a_stopped_agent_gets_an_error(crew):
    crew.brief(BOB)
    crew.agents.stop(caller("human"), "bob", reason="enough")

    with pytest.raises(NotAllowed) as caught:
        crew.brief(BOB)

    assert caught.value.code == "AGENT_STOPPED"


def test_an_agent_that_returns_late_sees_its_expired_claims_at_once(crew):
    crew.claim("bob", "mine")
    crew.brief(BOB)
    crew.clock.advance(1_000)

    told = crew.brief(BOB)

    assert "EXPIRED: your claim on mine expired (11m40s ago)" in told.text


def test_messages_stay_unread_if_the_store_cannot_be_written(crew, monkeypatch):
    crew.mail.say(CAROL, "bob", "one")
    with monkeypatch.context() as patch:
        patch.setattr(crew.engine, "transact", _unavailable)
        with pytest.raises(Unavailable):
            crew.briefings.prepare(BOB)

    assert "one" in crew.brief(BOB).text


def _unavailable(step):
    raise Unavailable("no", code="STORE_BUSY")


# -- following


class Changes:
    """An engine's ``wait`` that performs the next action each time, until none is left."""

    def __init__(self, crew, acts):
        self.crew = crew
        self.acts = list(acts)
        self.wait = crew.engine.wait
        self.pauses = []

    def __call__(self, after, timeout):
        if timeout == 0:
            return self.wait(after, 0)
        if not self.acts:
            raise KeyboardInterrupt
        self.acts.pop(0)()
        return self.wait(0, 0)


def follow(crew, monkeypatch, who, *acts):
    changes = Changes(crew, acts)
    monkeypatch.setattr(crew.engine, "wait", changes)
    told = []
    with suppress(KeyboardInterrupt):
        for delivery in crew.briefings.follow(who, pause=changes.pauses.append):
            crew.briefings.delivered(who, delivery.number)
            told.append(delivery)
    assert changes.acts == []
    return told, changes.pauses


def test_a_follower_batches_changes_and_shows_each_once(crew, monkeypatch):
    told, pauses = follow(
        crew, monkeypatch, BOB,
        lambda: crew.mail.say(CAROL, "bob", "one"),
        lambda: None,
        lambda: crew.claim("dave", "x"),
    )  # fmt: skip

    assert [one.number for one in told] == [1, 2, 3]
    assert "one" in told[1].text
    assert "dave" in told[2].text
    assert pauses == [DEBOUNCE] * 2


def test_a_human_who_follows_sees_a_page_only_after_a_change(crew, monkeypatch):
    told, _ = follow(
        crew, monkeypatch, human("hugo"), lambda: None, lambda: crew.claim("dave", "x")
    )

    assert len(told) == 2


def test_a_follower_does_not_keep_its_agent_alive(crew, monkeypatch):
    crew.claim("bob", "mine")
    acts = [lambda: crew.clock.advance(200)] * 4

    follow(crew, monkeypatch, BOB, *acts)

    assert crew.held() == set()


# -- progress of the board


def test_only_a_lead_sees_the_progress_of_the_board(crew):
    RowTasks(crew.store).create(caller("human"), [Draft({}, id=name) for name in ("a", "b")])
    RowTasks(crew.store).cancel(caller("human"), "a", reason="no")
    crew.agents.join(Agent("boss", role="Project Lead"))

    assert "50% complete" in crew.brief(Caller("boss")).text
    assert "PROJECT HEALTH" not in crew.brief(BOB).text


def test_a_briefing_does_not_list_a_silent_agent_as_running(crew):
    crew.clock.advance(crew.store.config.ttl)

    told = crew.brief(BOB, full=True)

    assert "Agent carol (agent) — idle" in told.text
