"""Messages, conflicts, decisions, and briefings in the Python API."""

import doctest
import subprocess

import pytest

from dibs import BadInput, Dibs, NotAllowed
from dibs.api import talk
from dibs.core.claims.agents import Caller
from dibs.engines.memory import MemoryEngine
from dibs.project.project import Project
from dibs.services.board.delegation import Delegated, Repeated
from dibs.services.briefing.service import LEASE
from dibs.testing import ManualClock


@pytest.fixture(autouse=True)
def repository(tmp_path, monkeypatch):
    subprocess.run(["git", "init", "-q", "-b", "main", tmp_path], check=True)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def alice(clock):
    with Dibs.open(agent="alice", engine="memory:") as opened:
        alice = Dibs(Project(opened.project.place, MemoryEngine(clock)), opened.caller)
        alice.beat()
        yield alice


@pytest.fixture
def bob(alice):
    bob = alice.as_agent("bob")
    bob.beat()
    return bob


@pytest.fixture
def human(alice):
    return Dibs(alice.project, Caller("ann", "human"))


def test_the_examples_in_the_documentation_hold():
    result = doctest.testmod(talk)

    assert result.attempted >= 8
    assert result.failed == 0


def test_a_message_is_read_once_in_the_inbox(alice, bob):
    said = alice.say("bob", "rebase first")

    assert [letter.message.id for letter in bob.inbox()] == [said.id]
    assert bob.inbox() == []


def test_a_briefing_whose_block_failed_is_returned_again_with_its_number(alice, bob, clock):
    alice.say("bob", "rebase first")
    with pytest.raises(RuntimeError), bob.brief() as lost:
        raise RuntimeError
    clock.advance(LEASE + 1)

    with bob.brief() as again:
        assert (again.number, again.text, again.mail) == (lost.number, lost.text, lost.mail)

    assert not bob.brief()


def test_a_briefing_counts_as_delivered_when_its_reader_confirms_it(alice, bob):
    alice.say("bob", "rebase first")
    briefing = bob.brief()

    briefing.delivered()
    briefing.delivered()

    assert not bob.brief()
    whole = bob.brief(full=True)
    assert whole
    assert "rebase first" not in whole.text


def test_an_owner_that_says_yes_releases_the_claim_and_the_requester_is_notified(alice, bob):
    alice.claim("src/**")
    (asked,) = bob.ask("src/a.py", note="one line")

    (answered,) = alice.answer("yes", message=asked.id)

    assert (answered.asker, answered.answer) == ("bob", "yes")
    assert alice.held() == []
    assert [letter.message.kind for letter in bob.inbox()] == ["answer"]


def test_a_humans_decision_about_a_conflict_is_carried_out(alice, bob, human):
    alice.claim("src/**")
    (open_one,) = bob.escalate("src/a.py", note="today")
    with pytest.raises(NotAllowed):
        bob.confirm(open_one.id)

    human.confirm(open_one.id, reason="release")

    assert alice.held() == []
    assert bob.claim("src/a.py").token


def test_similar_work_is_named_and_only_a_strict_delegation_is_not_sent(alice, bob):
    assert isinstance(alice.delegate("bob", "Cover the login"), Delegated)
    assert isinstance(alice.delegate("bob", "cover login", strict=True), Repeated)
    assert isinstance(alice.delegate("bob", "cover login", strict=True, anyway=True), Delegated)
    sent = alice.delegate("bob", "cover login")
    assert isinstance(sent, Delegated)
    assert [similar.agent for similar in sent.alike] == ["bob", "bob"]


@pytest.mark.parametrize(
    "call",
    [
        lambda d: d.say(1, "x"),
        lambda d: d.say("bob", None),
        lambda d: d.answer("yes", 4),
        lambda d: d.escalate(None),
        lambda d: d.decide([]),
        lambda d: d.confirm(7),
        lambda d: d.brief(tokens="many"),
        lambda d: d.brief(tokens=199),
        lambda d: d.brief(tokens=100_001),
        lambda d: d.delegate("bob", "x", artefacts="src"),
    ],
)
def test_a_value_of_the_wrong_type_or_size_is_bad_input(alice, bob, call):
    with pytest.raises(BadInput):
        call(alice)
