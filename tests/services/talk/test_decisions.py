"""Decisions: who is notified, who may decide, and that nothing happens twice."""

import pytest
from tests.services.deciding import Court
from tests.services.several_agents import caller

from dibs.core.talk.decisions import Outcome
from dibs.core.talk.mail import HUMANS
from dibs.errors import BadInput, NotAllowed, NotFound
from dibs.services.briefing.service import Briefings
from dibs.services.talk import decisions

HUMAN = caller("human")


@pytest.fixture
def court():
    return Court()


def outcome(court, decision):
    return court.decisions.show(decision.id).outcome


def _brief(court, agent):
    """Deliver everything unread to an agent."""
    briefings = Briefings(court.store)
    briefings.delivered(caller(agent), briefings.prepare(caller(agent)).number)


class TestRecording:
    def test_a_decision_without_confirmation_is_recorded_at_once(self, court):
        made = court.decisions.new(caller("alice"), "tabs", rationale="fewer bytes")

        assert (made.outcome, made.asker) == ("recorded", "alice")
        assert court.decisions.show(made.id) == made
        assert court.made() == ["recorded"]
        assert court.decisions.all(pending=True) == []

    def test_secrets_are_masked_everywhere(self, court):
        token = "ghp_" + "a1B2c3D4e5" * 4
        asked = court.ask("alice", f"title {token}", rationale=f"why {token}")
        court.decisions.comment(HUMAN, asked.id, f"said {token}")
        court.decisions.reject(HUMAN, asked.id, f"no {token}")

        assert token not in str(court.rows())
        assert token not in str(court.engine.view(lambda txn: list(txn.events())))

    def test_a_repeated_request_makes_one_decision(self, court):
        first = court.ask("alice", request_id="r1")

        assert court.ask("alice", request_id="r1") == first
        assert court.decisions.all() == [first]
        assert len(court.told(HUMANS)) == 1

    def test_a_request_id_of_another_decision_is_refused(self, court):
        court.ask("alice", request_id="r1")

        with pytest.raises(BadInput) as refused:
            court.ask("alice", "something else", request_id="r1")

        assert refused.value.code == "REQUEST_REUSED"

    @pytest.mark.parametrize(
        ("options", "code"),
        [
            ({"title": " "}, "TITLE"),
            ({"title": "x" * 201}, "LIMIT"),
            ({"rationale": "x" * 4_001}, "LIMIT"),
            ({"decider": "agent:alice"}, "DECIDER"),
            ({"decider": "agent:nobody"}, "NO_AGENT"),
        ],
    )
    def test_bad_input_is_one_line_and_changes_nothing(self, court, options, code):
        court.join("alice")
        before = court.rows()

        with pytest.raises((BadInput, NotFound)) as refused:
            court.ask("alice", **options)

        assert refused.value.code == code
        assert "\n" not in refused.value.message
        assert court.rows() == before

    def test_an_agent_cannot_flood_the_list_of_pending_decisions(self, court, monkeypatch):
        monkeypatch.setattr(decisions.decision_rules, "MAX_OPEN_OF_AGENT", 2)
        court.ask("alice", "one")
        court.ask("alice", "two")

        with pytest.raises(BadInput) as refused:
            court.ask("alice", "three")

        assert refused.value.code == "LIMIT"
        assert court.ask("bob", "four").outcome == "pending"


class TestDeciding:
    @pytest.mark.parametrize(("act", "word"), [("confirm", "confirmed"), ("reject", "rejected")])
    def test_the_asker_learns_the_outcome_who_decided_and_why(self, court, act, word):
        asked = court.ask("alice")

        decided = getattr(court.decisions, act)(HUMAN, asked.id, "because")

        assert (decided.outcome, decided.decided_by, decided.reason) == (word, "human", "because")
        assert court.told("alice") == [f"{asked.id} (use httpx) was {word} by human: because"]
        assert court.made() == [word]
        assert court.decisions.all(pending=True) == []

    def test_a_rejection_needs_a_reason(self, court):
        asked = court.ask("alice")

        with pytest.raises(BadInput) as refused:
            court.decisions.reject(HUMAN, asked.id, " ")

        assert refused.value.code == "REASON"
        assert outcome(court, asked) == "pending"

    def test_nothing_is_decided_twice_and_the_refusal_names_the_decider(self, court):
        asked = court.ask("alice")
        court.decisions.confirm(HUMAN, asked.id)
        before = court.rows()

        with pytest.raises(BadInput, match=f"{asked.id} was already confirmed by human") as refused:
            court.decisions.reject(HUMAN, asked.id, "no")

        assert refused.value.code == "DECIDED"
        assert court.rows() == before

    def test_the_same_vote_again_changes_nothing(self, court):
        asked = court.ask("alice")
        first = court.decisions.confirm(HUMAN, asked.id)

        assert court.decisions.confirm(HUMAN, asked.id) == first
        assert court.made() == ["confirmed"]

    def test_a_recorded_decision_cannot_be_confirmed(self, court):
        made = court.decisions.new(caller("alice"), "tabs")

        with pytest.raises(BadInput, match="was already recorded by alice") as refused:
            court.decisions.confirm(HUMAN, made.id)

        assert refused.value.code == "DECIDED"

    def test_several_decisions_are_made_all_or_none(self, court):
        one, two = court.ask("alice", "one"), court.ask("alice", "two")

        with pytest.raises(NotFound):
            court.decisions.decide(HUMAN, [one.id, "d999"], Outcome.CONFIRMED)
        assert outcome(court, one) == "pending"

        court.decisions.decide(HUMAN, [one.id, two.id, one.id], Outcome.CONFIRMED)
        assert {outcome(court, one), outcome(court, two)} == {"confirmed"}

    def test_an_unknown_decision_is_not_found(self, court):
        for act in (
            lambda: court.decisions.show("d99"),
            lambda: court.decisions.confirm(HUMAN, "d99"),
            lambda: court.decisions.withdraw(HUMAN, "d99"),
            lambda: court.decisions.comment(HUMAN, "d99", "hm"),
        ):
            with pytest.raises(NotFound) as refused:
                act()
            assert refused.value.code == "NO_DECISION"


class TestWhoMay:
    """The asker is worker-1 below lead-1 below boss; helper-1 is below worker-1; qa-1 reviews."""

    @pytest.fixture
    def court(self):
        made = Court()
        made.join("boss", "lead")
        made.join("lead-1", "lead", parent="boss")
        made.join("worker-1", "backend", parent="lead-1")
        made.join("helper-1", "backend", parent="worker-1")
        made.join("qa-1", "Reviewer")
        return made

    EVERYONE = ("boss", "lead-1", "worker-1", "helper-1", "qa-1", "human")

    @pytest.mark.parametrize(
        ("decider", "may", "told"),
        [
            ("human", {"human"}, {HUMANS}),
            ("lead", {"human", "boss", "lead-1"}, {"boss", "lead-1"}),
            ("agent:qa-1", {"human", "qa-1"}, {"qa-1"}),
            ("helper-1", {"human", "helper-1"}, {"helper-1"}),
            ("role:reviewer", {"human", "qa-1"}, {"qa-1"}),
            ("role:backend", {"human", "helper-1"}, {"helper-1"}),
            ("role:human", {"human"}, {HUMANS}),
            ("role:security", {"human"}, {HUMANS}),
        ],
    )
    def test_only_those_entitled_decide_and_they_are_notified(self, court, decider, may, told):
        for name in self.EVERYONE:
            asked = court.ask("worker-1", f"for {name}", decider=decider)
            if name in may:
                assert court.decisions.confirm(caller(name), asked.id).decided_by == name
                continue
            with pytest.raises(NotAllowed) as refused:
                court.decisions.confirm(caller(name), asked.id)
            assert refused.value.code == "MAY_NOT_DECIDE"
            with pytest.raises(NotAllowed):
                court.decisions.reject(caller(name), asked.id, "no")
            assert outcome(court, asked) == "pending"
        boxes = {HUMANS, *self.EVERYONE} - {"worker-1"}
        assert {box for box in boxes if court.told(box)} == told

    def test_an_undelivered_request_is_replaced_by_the_outcome(self, court):
        asked = court.ask("worker-1", "drop it", decider="lead")
        other = court.ask("worker-1", "keep it", decider="lead")
        _brief(court, "boss")

        court.decisions.reject(caller("lead-1"), asked.id, "too early")

        assert court.told("boss")[0].startswith(f"worker-1 asks you to decide {asked.id}")
        assert court.told("lead-1")[0] == (
            f"you no longer need to decide {asked.id} (drop it): it was rejected by lead-1"
        )
        for box in ("boss", "lead-1"):
            assert court.told(box)[1].startswith(f"worker-1 asks you to decide {other.id}")

    def test_a_withdrawn_request_no_longer_asks_anyone(self, court):
        asked = court.ask("worker-1", "drop it")

        court.decisions.withdraw(caller("worker-1"), asked.id)

        (told,) = court.told(HUMANS)
        assert told.endswith(": it was settled by worker-1")

    def test_if_the_decider_has_ended_the_humans_are_notified(self, court):
        court.agents.leave(caller("qa-1"))

        court.ask("worker-1", decider="agent:qa-1")

        assert court.told("qa-1") == []
        assert len(court.told(HUMANS)) == 1

    def test_only_the_asker_or_a_human_may_withdraw_a_request(self, court):
        asked, other = court.ask("worker-1"), court.ask("worker-1", "other")

        with pytest.raises(NotAllowed):
            court.decisions.withdraw(caller("boss"), asked.id)

        assert court.decisions.withdraw(caller("worker-1"), asked.id).outcome == "settled"
        assert court.told("worker-1") == []
        assert court.decisions.withdraw(HUMAN, other.id, "moot").outcome == "settled"
        assert court.told("worker-1") == [f"{other.id} (other) was settled by human: moot"]

    def test_a_comment_reaches_the_asker_and_the_askers_comment_the_deciders(self, court):
        asked = court.ask("worker-1", decider="agent:qa-1")

        court.decisions.comment(caller("helper-1"), asked.id, "why not?")
        shown = court.decisions.comment(caller("worker-1"), asked.id, "it is small")

        assert [(c.by, c.text) for c in shown.comments] == [
            ("helper-1", "why not?"),
            ("worker-1", "it is small"),
        ]
        assert court.told("worker-1") == [f"helper-1 commented on {asked.id} (use httpx): why not?"]
        assert court.told("qa-1")[1:] == [
            f"worker-1 commented on {asked.id} (use httpx): it is small"
        ]

    def test_an_empty_comment_and_too_many_comments_are_refused(self, court, monkeypatch):
        asked = court.ask("worker-1")
        monkeypatch.setattr(decisions.decision_rules, "MAX_COMMENTS", 1)
        court.decisions.comment(HUMAN, asked.id, "one")

        for text, code in ((" ", "COMMENT"), ("two", "LIMIT")):
            with pytest.raises(BadInput) as refused:
                court.decisions.comment(HUMAN, asked.id, text)
            assert refused.value.code == code


def test_a_decision_stays_pending_until_someone_decides(court):
    asked = court.ask("alice")
    court.clock.advance(10 * 365 * 86_400)

    assert court.settle() == 0
    assert outcome(court, asked) == "pending"
