"""Conflicts that a human decides: what a decision does, and when there is nothing to decide."""

from itertools import count
from threading import Thread

import pytest
from tests.services.court import Court
from tests.services.several_agents import caller

from dibs.core.claims.agents import Agent
from dibs.core.claims.rules import Denied, Granted
from dibs.core.patterns.filing import Range
from dibs.core.talk.decision_rules import MAX_OPEN_OF_AGENT
from dibs.core.talk.decisions import Outcome
from dibs.core.talk.mail import HUMANS, MailKind
from dibs.errors import BadInput, NotAllowed
from dibs.services.claims.escalation import refusal

DAY = 86_400


@pytest.fixture
def court():
    made = Court()
    made.claim("alice", "src/**", reason="big move", ttl=DAY)
    return made


def waiting_thread(court, agent, *patterns, **options):
    """Let an agent wait in a thread until it is in the queue; return the thread and its answers."""
    answers = []
    thread = Thread(
        target=lambda: answers.append(court.claim(agent, *patterns, wait=3_600, **options)),
        daemon=True,
    )
    thread.start()
    seq = 0
    while agent not in court.waiting():
        seq = court.engine.wait(seq, 1.0)
    return thread, answers


def test_a_human_is_asked_and_no_timeout_decides(court):
    (decision,) = court.escalate("bob", "src/a.py", note="prod is down")

    assert decision.conflict
    assert (decision.outcome, decision.decider) == (Outcome.PENDING, "human")
    assert decision.title == "bob wants src/a.py, which alice holds"
    assert decision.rationale == "prod is down"
    court.clock.advance(40 * DAY)
    assert not [d for d in court.decisions.all() if d.outcome == Outcome.CONFIRMED]


def test_the_human_and_the_owner_are_notified(court):
    (decision,) = court.escalate("bob", "src/a.py", note="prod is down")

    (to_human,) = court.mail(HUMANS, MailKind.DECISION)
    assert to_human.data["decision"] == decision.id
    assert to_human.text.endswith("(bob wants src/a.py, which alice holds): prod is down")
    (to_holder,) = court.mail("alice", MailKind.DECISION)
    assert to_holder.text.startswith("bob asked a human to decide who gets src/a.py (d")


def test_a_repeat_returns_the_pending_decision(court):
    first = court.escalate("bob", "src/a.py")
    again = court.escalate("bob", "src/a.py", note="still")

    assert [d.id for d in first] == [d.id for d in again]
    assert len(court.all_decisions()) == 1
    assert len(court.mail(HUMANS)) == 1
    assert court.all_decisions()[0].rationale == "still"


def test_there_is_one_decision_for_each_conflicting_owner(court):
    court.claim("carol", "docs/b.md", ttl=DAY)

    made = court.escalate("bob", "src/a.py", "docs/b.md", "free.txt")

    assert [d.data["holder"] for d in made] == ["alice", "carol"]


def test_two_agents_that_ask_get_a_decision_each(court):
    (one,) = court.escalate("bob", "src/a.py")
    (two,) = court.escalate("carol", "src/a.py")

    assert one.id != two.id


def test_an_unclaimed_path_creates_no_decision(court):
    court.claim("bob", "docs/b.md")

    assert court.escalate("bob", "docs/b.md", "free.txt") == []
    assert court.all_decisions() == []


def test_a_shared_claim_is_not_a_conflict_for_a_shared_request():
    court = Court()
    court.claim("alice", "a", mode="shared")
    court.claim("carol", "b")
    court.claim("bob", "a", "b", mode="shared", queue=True)

    (decision,) = court.escalate("bob", "a", "b")

    assert decision.data["holder"] == "carol"


def test_revoking_takes_the_claim_and_grants_it_to_the_waiter(court):
    thread, answers = waiting_thread(court, "bob", "src/a.py")
    (decision,) = court.escalate("bob", "src/a.py")

    done = court.take(decision, "prod first")

    thread.join(10)
    assert done.outcome == Outcome.CONFIRMED
    assert isinstance(answers[0], Granted)
    assert court.held() == {("bob", "src/a.py")}
    (lost,) = court.mail("alice", MailKind.REVOKED)
    assert lost.text == "human revoked your claim on src/**: prod first"
    (told,) = court.mail("bob")
    assert told.text.endswith(
        "was confirmed by human: prod first; the claim is revoked, so you can claim it now"
    )
    assert "lock_revoked" in court.kinds()


def test_no_agent_is_advised_to_claim_what_another_gets_first(court):
    court.claim("carol", "src/**", queue=True)
    court.claim("bob", "src/a.py", queue=True)
    (decision,) = court.escalate("bob", "src/a.py")

    court.take(decision, "prod first")

    (told,) = court.mail("bob")
    assert told.text.endswith(
        "prod first; the claim is revoked, but carol is first in the queue: wait for it"
    )
    assert isinstance(court.claim("carol", "src/**"), Granted)


def test_revoking_without_a_reason_names_the_agent_that_asked(court):
    (decision,) = court.escalate("bob", "src/a.py")

    court.take(decision, "")

    (lost,) = court.mail("alice", MailKind.REVOKED)
    assert lost.text.endswith(f": bob needs it (decision {decision.id})")


def test_revoking_takes_only_the_conflicting_claims(court):
    court.claim("alice", "docs/b.md", ttl=DAY)
    (decision,) = court.escalate("bob", "src/a.py")

    court.take(decision)

    assert court.held() == {("alice", "docs/b.md")}


def test_refusing_ends_a_wait_at_once_with_the_reason(court):
    thread, answers = waiting_thread(court, "bob", "src/a.py")
    (decision,) = court.escalate("bob", "src/a.py")

    court.refuse(decision, "the move comes first")

    thread.join(10)
    (answer,) = answers
    assert isinstance(answer, Denied)
    assert (answer.why, answer.by, answer.reason) == ("refused", "human", "the move comes first")
    assert answer.decision == decision.id
    assert court.held() == {("alice", "src/**")}
    assert court.waiting() == []


def test_both_sides_are_notified_of_a_refusal(court):
    court.ask("bob", "src/a.py")
    (decision,) = court.escalate("bob", "src/a.py")

    court.refuse(decision, "not now")

    assert court.mail("bob")[-1].text.endswith("was rejected by human: not now; do not wait for it")
    assert court.mail("alice")[-1].text.startswith("you keep your claim: human refused ")
    assert court.asks() == []


def test_refusing_leaves_other_tickets_alone(court):
    court.claim("dave", "docs/b.md", ttl=DAY)
    court.claim("bob", "docs/b.md", queue=True)
    court.claim("bob", "src/a.py", queue=True)
    court.claim("carol", "src/a.py", queue=True)
    (decision,) = court.escalate("bob", "src/a.py")

    court.refuse(decision)

    assert court.waiting() == ["bob", "carol"]
    assert court.claims.all("bob")[1][0].ticket.patterns == ("docs/b.md",)


def test_a_refused_agent_may_wait_again_with_a_new_ticket(court):
    thread, answers = waiting_thread(court, "bob", "src/a.py")
    (decision,) = court.escalate("bob", "src/a.py")
    court.refuse(decision)
    thread.join(10)

    thread, answers = waiting_thread(court, "bob", "src/a.py")
    court.release("alice")
    thread.join(10)

    assert isinstance(answers[0], Granted)


def test_an_old_refusal_is_deleted(court):
    court.claim("bob", "src/a.py", queue=True)
    court.refuse(court.escalate("bob", "src/a.py")[0])
    court.clock.advance(2 * DAY)
    court.claim("alice", "src/**", ttl=DAY)
    court.claim("carol", "src/a.py", queue=True)

    court.refuse(court.escalate("carol", "src/a.py")[0])

    assert len([key for key, _ in court.rows() if key.startswith("refused/")]) == 1


@pytest.mark.parametrize("outcome", [Outcome.CONFIRMED, Outcome.REJECTED])
def test_a_conflict_that_is_over_is_settled_whatever_the_human_decides(court, outcome):
    (decision,) = court.escalate("bob", "src/a.py")
    court.release("alice")
    court.claim("bob", "src/a.py", ttl=DAY)

    done = court.decide(decision, outcome)

    assert done.outcome == Outcome.SETTLED
    assert court.held() == {("bob", "src/a.py")}


def test_a_list_shows_no_conflict_that_is_over(court):
    court.escalate("bob", "src/a.py")
    court.release("alice")

    assert court.decisions.all(pending=True) == []
    (decision,) = court.all_decisions()
    assert decision.outcome == Outcome.SETTLED


def test_a_new_owners_claims_are_not_affected(court):
    (decision,) = court.escalate("bob", "src/a.py")
    court.agents.join(Agent("carol"))
    court.transfer("alice", "src/**", to="carol")

    done = court.take(decision)

    assert done.outcome == Outcome.SETTLED
    assert court.held() == {("carol", "src/**")}
    assert court.mail("carol", MailKind.REVOKED) == []


def test_a_claim_released_and_claimed_again_is_a_new_one(court):
    (decision,) = court.escalate("bob", "src/a.py")
    court.release("alice")
    court.claim("alice", "src/**", ttl=DAY)

    assert court.take(decision).outcome == Outcome.SETTLED
    assert court.held() == {("alice", "src/**")}
    (again,) = court.escalate("bob", "src/a.py")
    assert again.id != decision.id


def test_a_dead_owner_leaves_nothing_to_decide(court):
    (decision,) = court.escalate("bob", "src/a.py")
    court.clock.advance(DAY)

    assert court.decisions.all(pending=True) == []
    with pytest.raises(BadInput) as decided:
        court.take(decision)
    assert decided.value.code == "DECIDED"


def test_an_ended_agent_leaves_nothing_to_decide(court):
    (decision,) = court.escalate("bob", "src/a.py")
    court.agents.leave(caller("bob"))

    assert court.take(decision).outcome == Outcome.SETTLED
    assert court.held() == {("alice", "src/**")}


def test_an_agent_without_a_heartbeat_for_a_day_leaves_nothing_to_decide(court):
    court.escalate("bob", "src/a.py")
    for _ in range(3):
        court.clock.advance(DAY / 4)
        court.renew("alice", "src/**")
    court.clock.advance(DAY / 4 - 1)
    assert court.decisions.all(pending=True)

    court.clock.advance(1)

    assert court.decisions.all(pending=True) == []
    assert court.held() == {("alice", "src/**")}


def test_every_conflicting_pattern_counts(court):
    free = [f"docs/{number}.md" for number in range(40)]

    (decision,) = court.escalate("bob", *free, "src/a.py")

    assert decision.data["wanted"] == ["src/a.py"]
    assert court.take(decision).outcome == Outcome.CONFIRMED
    assert court.held() == set()


def test_new_claims_of_the_owner_on_the_same_paths_join_the_pending_decision(court):
    (first,) = court.escalate("bob", "src/a.py")
    court.claim("alice", "src/a.py", ttl=DAY)

    (again,) = court.escalate("bob", "src/a.py")

    assert again.id == first.id
    assert again.data["patterns"] == ["src/**", "src/a.py"]
    court.take(again)
    assert court.held() == set()


def test_a_decision_that_a_human_may_have_read_never_grows(court):
    court.claim("alice", "docs/b.md", ttl=DAY)
    (seen,) = court.escalate("bob", "src/a.py")

    first, rest = court.escalate("bob", "src/a.py", "docs/b.md")

    assert first.id == seen.id
    assert (first.data["wanted"], rest.data["wanted"]) == (["src/a.py"], ["docs/b.md"])
    court.take(seen)
    assert court.held() == {("alice", "docs/b.md")}
    assert court.decisions.all(pending=True) == [rest]


def test_a_repeat_for_a_part_keeps_the_whole_decision(court):
    court.claim("alice", "docs/b.md", ttl=DAY)
    court.escalate("bob", "src/a.py", "docs/b.md")

    (again,) = court.escalate("bob", "docs/b.md")

    assert again.data["patterns"] == ["src/**", "docs/b.md"]


def test_refusing_answers_every_request(court):
    many = [f"docs/{number}.md" for number in range(30)]
    court.claim("alice", *many, ttl=DAY)
    court.ask("bob", *many)
    (decision,) = court.escalate("bob", *many)

    court.refuse(decision)

    assert court.asks() == []


def test_a_refusal_reaches_every_process_that_waits_with_the_ticket(court):
    ticket = court.claim("bob", "src/a.py", queue=True).ticket
    (decision,) = court.escalate("bob", "src/a.py")
    court.refuse(decision, "not now")

    for _ in range(2):
        said = court.store.apply(lambda rows: refusal(rows, ticket.number, ()))
        assert (said.decision, said.reason) == (decision.id, "not now")


def test_a_title_stays_short(court):
    court.claim("alice", "x" * 250, ttl=DAY)

    (decision,) = court.escalate("bob", "x" * 250)

    assert len(decision.title) < 100


def test_a_refusal_between_a_look_and_an_action_counts(monkeypatch):
    court = Court()
    court.claim("alice", "src/**", ttl=DAY)
    ticks = count(step=100)  # so a heartbeat is due whenever the waiter looks
    monkeypatch.setattr("dibs.services.claims.service.time.monotonic", lambda: float(next(ticks)))
    look, rival = court.engine.view, Court(court.engine)
    monkeypatch.setattr(court.engine, "wait", lambda after, timeout: after)

    def look_then_refuse(step):
        answer = look(step)
        if court.waiting_now() and not court.all_now():
            monkeypatch.setattr(court.engine, "view", look)
            rival.refuse(rival.escalate("bob", "src/a.py")[0], "meanwhile")
        return answer

    court.waiting_now = lambda: look(lambda txn: bool(list(txn.scan(Range("wait/")))))
    court.all_now = lambda: look(lambda txn: bool(list(txn.scan(Range("decision/")))))
    monkeypatch.setattr(court.engine, "view", look_then_refuse)

    answer = court.claim("bob", "src/a.py", wait=3_600)

    assert (answer.why, answer.reason) == ("refused", "meanwhile")
    assert court.waiting() == []


def test_an_agent_does_not_decide(court):
    (decision,) = court.escalate("bob", "src/a.py")

    for agent in ("alice", "bob", "carol"):
        with pytest.raises(NotAllowed) as refused:
            court.take(decision, human=agent)
        assert refused.value.code == "MAY_NOT_DECIDE"
    assert court.held() == {("alice", "src/**")}


def test_both_sides_and_the_queue_are_shown(court):
    court.claim("carol", "src/b.py", queue=True)
    court.claim("bob", "src/**", queue=True, reason="a fix")
    court.ask("bob", "src/**", note="please")
    court.answer("alice", "no", "src/**")
    (decision,) = court.escalate("bob", "src/**")

    sides = court.sides(decision)

    assert (sides.holder.id, sides.asker.id, sides.open) == ("alice", "bob", True)
    assert [h.claim.reason for h in sides.held] == ["big move"]
    assert [(a.note, a.answer) for a in sides.asks] == [("please", "no")]
    assert [w.ticket.agent for w in sides.queue] == ["carol", "bob"]


def test_an_unrelated_request_is_not_part_of_a_conflict(court):
    court.claim("alice", "docs/b.md", ttl=DAY)
    court.ask("bob", "docs/b.md")
    court.ask("bob", "src/a.py")

    (decision,) = court.escalate("bob", "src/a.py")

    assert [ask.pattern for ask in court.sides(decision).asks] == ["src/**"]
    assert [ask["pattern"] for ask in decision.data["asks"]] == ["src/**"]
    done = court.refuse(decision)
    assert [ask["pattern"] for ask in done.data["asks"]] == ["src/**"]
    assert [ask.pattern for ask in court.asks()] == ["docs/b.md"]


def test_requests_and_replies_are_still_shown_after_the_decision(court):
    court.ask("bob", "src/a.py", note="please")
    court.answer("alice", "no", "src/a.py")
    (decision,) = court.escalate("bob", "src/a.py")

    sides = court.sides(court.take(decision))

    assert not sides.open
    assert [(a.note, a.answer) for a in sides.asks] == [("please", "no")]


def test_an_agent_cannot_flood_the_human(court):
    for number in range(MAX_OPEN_OF_AGENT):
        court.escalate("bob", f"src/{number}.py")

    with pytest.raises(BadInput) as full:
        court.escalate("bob", "src/more.py")

    assert full.value.code == "LIMIT"
    assert court.escalate("bob", "src/0.py")
    assert court.escalate("carol", "src/0.py")
