"""When an agent is briefed, of what, and when that counts as told."""

import json
from contextlib import suppress

import pytest
from tests.services.briefs import EngineStore, human, memory
from tests.services.crew import Crew, caller
from tests.services.row_tasks import RowTasks

from dibs.core.claims.agents import Agent, Caller
from dibs.core.patterns.pattern import parse
from dibs.core.talk.mail import HUMANS
from dibs.core.tasks.rules import Status
from dibs.errors import NotAllowed, Unavailable
from dibs.services.briefing.service import DEBOUNCE, LEASE, Briefings
from dibs.services.briefing.snapshot import tally
from dibs.services.retention import trim_mail as trim
from dibs.services.talk.mail import Mail
from dibs.services.tasks.values import Draft

BOB, CAROL = Caller("bob"), Caller("carol")


class BriefCrew(Crew):
    """A crew with mail and briefings."""

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


def test_the_first_briefing_is_whole_and_a_reader_joins_by_it(crew):
    told = crew.brief(Caller("erin"))

    assert (told.number, told.mode, told.again) == (1, "full", False)
    assert "Agent carol (agent)" in told.text
    assert "src/auth.py" in told.text
    assert crew.row("agent/erin")["status"] == "running"


def test_an_unchanged_state_is_not_told_again_and_writes_nothing(crew):
    crew.brief(BOB)
    rows, kinds = crew.rows(), crew.kinds()

    crew.clock.advance(50)
    assert crew.brief(BOB) is None

    assert (crew.rows(), crew.kinds()) == (rows, kinds)


def test_a_look_that_tells_nothing_keeps_an_agent_alive_before_its_claims_run_out(crew):
    crew.claim("bob", "mine")
    crew.brief(BOB)
    for _ in range(20):
        crew.clock.advance(100)
        crew.holdings.renew(CAROL)
        assert crew.brief(BOB) is None

    assert ("bob", "mine") in crew.held()


def test_what_changed_is_told_as_a_change(crew):
    for number in range(12):
        crew.claim(f"agent-{number}", f"docs/{number}.md")
    crew.brief(BOB)
    crew.claim("dave", "src/new.py")

    told = crew.brief(BOB)

    assert (told.number, told.mode) == (2, "delta")
    assert "dave" in told.text
    assert "docs/3.md" not in told.text


def test_a_reader_that_forgot_gets_the_whole_state_but_no_mail_that_it_was_told(crew):
    crew.brief(BOB)
    crew.mail.say(CAROL, "bob", "the words")
    assert "the words" in crew.brief(BOB).text

    told = crew.brief(BOB, full=True)

    assert (told.number, told.mode, told.mail) == (3, "full", ())
    assert "src/auth.py" in told.text
    assert "the words" not in told.text


def test_an_open_request_is_in_each_whole_state(crew):
    crew.claim("bob", "mine")
    crew.brief(BOB)
    crew.ask("carol", "mine", note="for a fix")
    assert "RELEASE REQUEST" in crew.brief(BOB).text

    assert "carol asks for mine" in crew.brief(BOB, full=True).text


def test_a_session_that_began_anew_gets_the_whole_state(crew):
    crew.brief(BOB)
    crew.agents.leave(BOB)
    crew.clock.advance(1)
    crew.agents.join(Agent("bob"))

    told = crew.brief(BOB)

    assert (told.number, told.mode) == (2, "full")


def test_a_delivery_that_nobody_confirmed_comes_again_word_for_word_after_its_lease(crew):
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
    assert crew.briefings.prepare(BOB) is None, "whoever took it up is left alone with it"
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


def test_a_confirmation_of_an_earlier_delivery_ends_no_later_one(crew):
    first = crew.brief(BOB)
    crew.mail.say(CAROL, "bob", "one")
    second = crew.briefings.prepare(BOB)

    assert not crew.briefings.delivered(BOB, first.number)

    assert crew.briefings.delivered(BOB, second.number)


@pytest.fixture
def rivals():
    """Two processes of bob; the second acts when the first has looked and not yet written."""
    store = EngineStore(*memory(None))
    mine, other = store.open(), store.open()
    mine.claims.claim(CAROL, [parse("x")])
    assert other.briefings.delivered(BOB, other.briefings.prepare(BOB).number)
    mine.say("carol", ["bob"], "one")

    def act(*, tell, later=0.0):
        if later:
            other.briefings.prepare(BOB)
            store.later += later
        got = []

        def rival():
            got.append(other.briefings.prepare(BOB))
            if tell:
                other.briefings.delivered(BOB, got[0].number)

        mine.engine.rival = rival
        return mine.briefings.prepare(BOB), got

    return act


@pytest.mark.parametrize("later", [0.0, LEASE])
@pytest.mark.parametrize("tell", [True, False])
def test_who_comes_second_between_look_and_offer_tells_nothing(rivals, tell, later):
    mine, got = rivals(tell=tell, later=later)

    assert "one" in got[0].text
    assert mine is None


def test_mail_counts_as_told_when_it_was_confirmed_and_not_before(crew):
    message = crew.mail.say(CAROL, "bob", "one")
    delivery = crew.briefings.prepare(BOB)
    assert [key for key, _ in crew.rows() if key.startswith("unread/bob/")]

    crew.briefings.delivered(BOB, delivery.number)

    assert not [key for key, _ in crew.rows() if key.startswith("unread/bob/")]
    (letter,) = crew.mail.inbox(BOB, everything=True)
    assert (letter.message.id, letter.briefed) == (message.id, delivery.number)


def test_what_the_inbox_showed_is_in_the_briefing_all_the_same(crew):
    crew.brief(BOB)
    message = crew.mail.say(CAROL, "bob", "one")
    crew.mail.read(BOB, [message.id])

    assert crew.brief(BOB).mail == (message.id,)
    assert crew.brief(BOB) is None


def test_mail_that_finds_no_room_comes_with_the_next_briefings(crew):
    said = [crew.mail.say(CAROL, "bob", f"{n} " + "lorem ipsum " * 60).id for n in range(30)]
    told = []
    while (delivery := crew.brief(BOB, budget=600)) is not None:
        assert delivery.mail
        told.extend(delivery.mail)

    assert told == said


def test_after_a_lease_that_runs_a_reader_that_forgot_gets_a_page_without_that_mail(crew):
    crew.mail.say(CAROL, "bob", "the words")
    crew.briefings.prepare(BOB)

    page = crew.briefings.prepare(BOB, full=True)

    assert (page.number, page.mail) == (0, ())
    assert "src/auth.py" in page.text
    assert "the words" not in page.text


def test_humans_share_their_box_and_always_get_the_whole_page(crew):
    message = crew.mail.say(CAROL, "human", "help")
    first = crew.brief(human("hugo"))
    second = crew.brief(human("hilda"))

    assert (first.number, first.mail, first.mode) == (1, (message.id,), "full")
    assert (second.number, second.mail, second.mode) == (0, (), "full")
    assert "PROJECT HEALTH" in second.text
    assert crew.row(f"briefed/{HUMANS}")["number"] == 1
    assert crew.row("agent/hugo") is None, "who only looks does not join"


def test_what_one_human_took_up_and_lost_another_gets_word_for_word(crew):
    crew.mail.say(CAROL, "human", "help")
    lost = crew.briefings.prepare(human("hugo"))
    page = crew.briefings.prepare(human("hilda"))
    assert (page.number, page.mail) == (0, ())

    crew.clock.advance(LEASE)
    again = crew.brief(human("hilda"))

    assert (again.number, again.text) == (lost.number, lost.text)


def test_a_peek_shows_all_and_notes_nothing(crew):
    crew.mail.say(CAROL, "bob", "the words")
    rows = crew.rows()

    page = crew.briefings.peek(BOB)

    assert page.number == 0
    assert "the words" in page.text
    assert crew.rows() == rows


def test_a_request_is_told_once_as_news_and_then_as_state(crew):
    crew.claim("bob", "src/db.py")
    crew.brief(BOB)
    crew.holdings.ask(CAROL, [parse("src/db.py")], note="for the tests")

    news = crew.brief(BOB)

    assert (news.text.count("for the tests"), news.text.count("dibs answer")) == (1, 1)
    assert "RELEASE REQUEST" in news.text
    assert news.left == 0
    assert crew.brief(BOB) is None
    again = crew.brief(BOB, full=True).text
    assert "== WAITING FOR YOU ==\n- carol asks for src/db.py" in again
    assert again.count("for the tests") == 1


def test_what_an_ended_agent_was_told_is_forgotten_with_old_mail(crew):
    erin = Caller("erin")
    crew.agents.beat(erin)
    for who in (BOB, erin, human("hugo")):
        crew.mail.say(CAROL, "human" if who.human else who.id, "words")
        crew.brief(who)
    crew.mail.say(CAROL, "erin", "words that nobody confirms")
    crew.briefings.prepare(erin)
    crew.agents.leave(erin)

    def readers():
        return {key for key, _ in crew.rows() if key.startswith(("briefed/", "offer/"))}

    before = readers()
    assert {"briefed/bob", "briefed/erin", "offer/erin", "briefed/@human"} == before
    trim(crew.store)
    assert readers() == before

    crew.clock.advance(crew.store.config.mail_keep + LEASE)
    crew.agents.beat(BOB)
    trim(crew.store)
    assert readers() == {"briefed/bob", "briefed/@human"}


def test_a_peek_has_what_a_page_left_out(crew):
    for number in range(99):
        crew.agents.beat(Caller(f"agent-{number}"))

    told = crew.brief(BOB, budget=300)

    assert f"and {told.left} more: dibs brief --peek\n" in told.text
    page = crew.briefings.peek(BOB)
    assert page.left == 0
    assert "agent-98" in page.text
    assert crew.briefings.peek(BOB, budget=300).left


def test_an_agent_that_was_stopped_is_told_so(crew):
    crew.brief(BOB)
    crew.agents.stop(caller("human"), "bob", reason="enough")

    with pytest.raises(NotAllowed) as caught:
        crew.brief(BOB)

    assert caught.value.code == "AGENT_STOPPED"


def test_an_agent_that_comes_back_late_is_told_of_its_loss_at_once(crew):
    crew.claim("bob", "mine")
    crew.brief(BOB)
    crew.clock.advance(1_000)

    told = crew.brief(BOB)

    assert "your claim on mine ran out" in told.text or "EXPIRED" in told.text


def test_a_store_that_cannot_be_written_leaves_the_mail_where_it_is(crew, monkeypatch):
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
    """An engine's ``wait`` that lets something happen each time, until nothing is left."""

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


def test_a_follower_hears_of_changes_once_and_lets_them_gather(crew, monkeypatch):
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


def test_a_human_who_follows_sees_a_page_only_when_it_changed(crew, monkeypatch):
    told, _ = follow(
        crew, monkeypatch, human("hugo"), lambda: None, lambda: crew.claim("dave", "x")
    )

    assert len(told) == 2


def test_a_follower_does_not_keep_its_agent_alive(crew, monkeypatch):
    crew.claim("bob", "mine")
    acts = [lambda: crew.clock.advance(200)] * 4

    follow(crew, monkeypatch, BOB, *acts)

    assert crew.held() == set()


# -- how far the board is


def test_the_board_is_counted_by_how_its_tasks_stand(crew):
    tasks = RowTasks(crew.store)
    boss = caller("human")
    tasks.create(boss, [Draft({}, id=name) for name in ("a", "b", "c", "d", "e")])
    tasks.start(BOB, "a")
    tasks.done(BOB, "a")
    tasks.cancel(boss, "b", reason="no")
    tasks.block(boss, "c", reason="no")
    tasks.start(BOB, "d")
    tasks.fail(BOB, "d", message="no")

    counted = crew.store.look(tally)

    assert (counted.total, counted.done, counted.skipped) == (5, 1, 1)
    assert counted.blocked == ("c",)
    failed = ("d",) if tasks.show(None, "d").state == Status.ERROR else ()
    assert counted.failed == failed


def test_a_lead_reads_how_far_the_board_is(crew):
    RowTasks(crew.store).create(caller("human"), [Draft({}, id=name) for name in ("a", "b")])
    RowTasks(crew.store).cancel(caller("human"), "a", reason="no")
    crew.agents.join(Agent("boss", role="Project Lead"))

    assert "50% complete" in crew.brief(Caller("boss")).text
    assert "PROJECT HEALTH" not in crew.brief(BOB).text
