"""Claims: grants, denials, the queue, and repeats."""

from threading import Thread

import pytest
from tests.services.several_agents import Crew

from dibs.core.claims.rules import Denied, Granted, Queued
from dibs.errors import BadInput, NotAllowed


def test_an_unclaimed_path_is_granted(crew):
    answer = crew.claim("alice", "src/a.py", reason="fix", task="t1")

    assert isinstance(answer, Granted)
    claim = answer.claims[0]
    assert (claim.pattern, claim.mode, claim.reason, claim.task) == (
        "src/a.py", "exclusive", "fix", "t1",
    )  # fmt: skip
    assert answer.expires == (crew.clock() + 300.0,)


def test_a_request_that_overlaps_another_agents_claim_is_denied(crew):
    crew.claim("alice", "src/**", reason="rename")

    answer = crew.claim("bob", "src/a.py")

    assert isinstance(answer, Denied)
    assert (answer.conflicts[0].holder, answer.conflicts[0].witness) == ("alice", "src/a.py")
    assert crew.held() == {("alice", "src/**")}


def test_several_patterns_are_granted_together_or_not_at_all(crew):
    crew.claim("alice", "b")

    answer = crew.claim("bob", "a", "b", "c")

    assert isinstance(answer, Denied)
    assert crew.held() == {("alice", "b")}


def test_the_patterns_of_one_grant_share_its_token(crew):
    answer = crew.claim("alice", "a", "b")

    assert {claim.token for claim in answer.claims} == {answer.token}
    assert len({claim.id for claim in answer.claims}) == 2


def test_the_token_is_the_number_of_the_ledger_entry_that_grants(crew):
    answer = crew.claim("alice", "a")

    entry = crew.ledger._store.engine.view(lambda txn: list(txn.events()))[-1]
    assert (entry.seq, entry.kind) == (answer.token, "lock_acquired")


def test_tokens_only_increase(crew):
    tokens = []
    for agent in ("alice", "bob", "alice"):
        tokens.append(crew.claim(agent, "a").token)
        crew.release(agent, "a")

    assert tokens == sorted(set(tokens))


def test_shared_claims_overlap_and_block_an_exclusive_one(crew):
    assert isinstance(crew.claim("alice", "a", mode="shared"), Granted)
    assert isinstance(crew.claim("bob", "a", mode="shared"), Granted)

    answer = crew.claim("carol", "a")

    assert {c.holder for c in answer.conflicts} == {"alice", "bob"}


def test_claiming_again_renews_the_claim_and_keeps_its_token(crew):
    first = crew.claim("alice", "a", reason="old")
    crew.clock.advance(100)

    again = crew.claim("alice", "a", ttl=60, reason="new")

    assert again.token == first.token
    assert again.expires == (crew.clock() + 60.0,)
    assert again.claims[0].reason == "new"
    assert len(crew.claims.all()[0]) == 1


def test_an_upgrade_needs_to_be_the_only_reader(crew):
    crew.claim("alice", "a", mode="shared")
    crew.claim("bob", "a", mode="shared")

    assert isinstance(crew.claim("alice", "a"), Denied)
    assert ("alice", "a") in crew.held()

    crew.release("bob", "a")
    answer = crew.claim("alice", "a")

    assert answer.claims[0].mode == "exclusive"
    assert [h.claim.mode for h in crew.claims.all()[0]] == ["exclusive"]


def test_a_weaker_request_keeps_the_stronger_claim(crew):
    crew.claim("alice", "a")

    assert crew.claim("alice", "a", mode="shared").claims[0].mode == "exclusive"


def test_a_path_inside_the_agents_own_glob_is_granted(crew):
    crew.claim("alice", "src/**")

    assert isinstance(crew.claim("alice", "src/a.py"), Granted)


def test_every_call_of_an_agent_renews_all_its_claims(crew):
    crew.claim("alice", "a")
    crew.clock.advance(200)
    crew.claim("alice", "b")
    crew.clock.advance(299)

    assert crew.held() == {("alice", "a"), ("alice", "b")}
    crew.clock.advance(1)
    assert crew.held() == set()


def test_a_claim_never_expires_early(crew):
    crew.claim("alice", "a", ttl=60)
    crew.clock.advance(59.999)
    assert isinstance(crew.claim("bob", "a"), Denied)

    crew.clock.advance(0.001)

    assert isinstance(crew.claim("bob", "a"), Granted)


def test_a_stale_caller_does_not_revive_its_claim(crew):
    crew.claim("alice", "a", ttl=60)
    crew.clock.advance(60)

    crew.renew("alice")

    assert crew.held() == set()
    assert isinstance(crew.claim("bob", "a"), Granted)


def test_each_claim_expires_by_its_own_ttl(crew):
    crew.claim("alice", "short", ttl=60)
    crew.claim("alice", "long", ttl=600)
    crew.clock.advance(60)

    crew.renew("alice")

    assert crew.held() == {("alice", "long")}
    crew.clock.advance(599)
    crew.renew("alice")
    assert crew.held() == {("alice", "long")}


def test_max_hold_ends_a_claim_that_is_not_renewed_by_name():
    crew = Crew(max_hold=1000.0)
    crew.claim("alice", "a")
    for _ in range(9):
        crew.clock.advance(100)
        crew.renew("alice")
    assert crew.held() == {("alice", "a")}

    crew.clock.advance(100)

    assert crew.held() == set()


def test_renewing_by_name_restarts_max_hold():
    crew = Crew(max_hold=1000.0)
    crew.claim("alice", "a")
    for _ in range(15):
        crew.clock.advance(100)
        crew.renew("alice", "a")

    assert crew.held() == {("alice", "a")}


def test_a_place_in_the_queue_is_kept_and_collected(crew):
    crew.claim("alice", "a")
    queued = crew.claim("bob", "a", queue=True)
    assert isinstance(queued, Queued)
    assert isinstance(crew.claim("carol", "a"), Denied)

    crew.release("alice", "a")

    assert isinstance(crew.claim("carol", "a"), Denied)
    assert isinstance(crew.claim("bob", "a"), Granted)
    assert crew.waiting() == []


def test_asking_again_keeps_the_position(crew):
    crew.claim("alice", "a")
    first = crew.claim("bob", "a", queue=True)
    crew.claim("carol", "a", queue=True)

    again = crew.claim("bob", "a", queue=True)

    assert again.ticket.number == first.ticket.number
    assert crew.waiting() == ["bob", "carol"]


def test_a_waiter_for_several_patterns_blocks_later_requests_for_each(crew):
    crew.claim("alice", "a")
    crew.claim("bob", "a", "b", queue=True)

    answer = crew.claim("carol", "b")

    assert isinstance(answer, Denied)
    assert answer.conflicts[0].ticket


def test_a_later_shared_request_does_not_pass_a_waiting_exclusive_one(crew):
    crew.claim("alice", "a", mode="shared")
    crew.claim("bob", "a", queue=True)

    assert isinstance(crew.claim("carol", "a", mode="shared"), Denied)


def test_a_skipped_waiter_goes_to_the_end_of_the_queue(crew):
    crew.claim("alice", "a", ttl=3600)
    crew.claim("bob", "a", queue=True)
    crew.clock.advance(300)
    crew.claim("carol", "a", queue=True)

    crew.claim("bob", "a", queue=True)

    assert crew.waiting() == ["carol", "bob"]


def test_a_wait_that_would_deadlock_is_denied_with_the_cycle(crew):
    crew.claim("alice", "a")
    crew.claim("bob", "b")
    crew.claim("bob", "a", queue=True)

    answer = crew.claim("alice", "b", queue=True)

    assert isinstance(answer, Denied)
    assert answer.why == "deadlock"
    assert [(w.agent, w.pattern, w.holder) for w in answer.cycle] == [
        ("alice", "b", "bob"), ("bob", "a", "alice"),
    ]  # fmt: skip
    assert crew.waiting() == ["bob"]


def test_two_readers_who_both_want_to_write_do_not_wait_for_each_other(crew):
    crew.claim("alice", "a", mode="shared")
    crew.claim("bob", "a", mode="shared")
    crew.claim("alice", "a", queue=True)

    assert crew.claim("bob", "a", queue=True).why == "deadlock"


def test_a_wait_ends_as_timeout_and_leaves_no_ticket(crew):
    crew.claim("alice", "a")

    answer = crew.claim("bob", "a", wait=0.05)

    assert answer.why == "timeout"
    assert crew.waiting() == []


@pytest.mark.parametrize(("name", "calls"), [("transact", 1), ("view", 1), ("view", 2)])
def test_a_wait_interrupted_at_any_call_leaves_no_ticket(crew, name, calls, monkeypatch):
    crew.claim("alice", "a")
    monkeypatch.setattr(crew.engine, name, broken_off(getattr(crew.engine, name), calls))

    with pytest.raises(KeyboardInterrupt):
        crew.claim("bob", "a", wait=60)

    monkeypatch.undo()
    assert crew.waiting() == []


def broken_off(call, calls):
    """Interrupt after the call has taken effect, before the caller learns of it."""
    left = [calls]

    def wrapped(step):
        answer = call(step)
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return answer

    return wrapped


def test_a_waiter_is_granted_when_the_owner_releases(crew):
    crew.claim("alice", "a")
    answers = []
    waiter = Thread(target=lambda: answers.append(crew.claim("bob", "a", wait=30)))
    waiter.start()
    seq = 0
    while not crew.waiting():
        seq = crew.engine.wait(seq, 1.0)

    crew.release("alice", "a")
    waiter.join(10)

    assert isinstance(answers[0], Granted)
    assert crew.waiting() == []


@pytest.mark.parametrize("ttl", [0, -1, 4, 86401, float("nan"), float("inf"), True, "abc", "", []])
def test_a_ttl_out_of_range_changes_nothing(crew, ttl):
    with pytest.raises(BadInput) as refused:
        crew.claim("alice", "a", ttl=ttl)

    assert refused.value.code == "TTL_RANGE"
    assert crew.rows() == []


@pytest.mark.parametrize("wait", [-1, 3601, float("nan"), "later"])
def test_a_wait_out_of_range_changes_nothing(crew, wait):
    with pytest.raises(BadInput) as refused:
        crew.claim("alice", "a", wait=wait)

    assert refused.value.code == "WAIT_RANGE"
    assert crew.rows() == []


def test_only_humans_may_claim_the_whole_repository(crew):
    with pytest.raises(NotAllowed):
        crew.claim("alice", "**")

    assert isinstance(crew.claim("human", "**"), Granted)


def test_a_repeat_with_the_same_request_id_gets_the_same_answer(crew):
    first = crew.claim("alice", "a", request_id="r1")
    crew.release("alice", "a")
    entries = len(crew.kinds())

    again = crew.claim("alice", "a", request_id="r1")

    assert again == first
    assert crew.held() == set()
    assert len(crew.kinds()) == entries


def test_a_denial_is_repeated_too(crew):
    crew.claim("alice", "a")
    first = crew.claim("bob", "a", request_id="r1")
    crew.release("alice", "a")

    assert crew.claim("bob", "a", request_id="r1") == first


def test_a_request_id_used_for_another_request_is_refused(crew):
    crew.claim("alice", "a", request_id="r1")

    with pytest.raises(BadInput) as refused:
        crew.claim("alice", "b", request_id="r1")

    assert refused.value.code == "REQUEST_REUSED"


def test_a_request_id_can_be_reused_after_a_day(crew):
    crew.claim("alice", "a", request_id="r1")
    crew.release("alice", "a")
    crew.clock.advance(86_400)
    crew.claim("alice", "x", request_id="r2")

    assert isinstance(crew.claim("alice", "b", request_id="r1"), Granted)


def test_a_waiter_that_a_loss_deadlocks_is_denied_soon(crew):
    crew.claim("other", "x")
    crew.claim("alice", "y", "z")
    crew.claim("bob", "y", queue=True)
    answers = []
    waiter = Thread(target=lambda: answers.append(crew.claim("alice", "x", "y", wait=30)))
    waiter.start()
    seq = 0
    while crew.waiting() != ["bob", "alice"]:
        seq = crew.engine.wait(seq, 1.0)
    crew.claim("bob", "x", queue=True)

    crew.release("alice", "y")
    waiter.join(8)

    assert answers[0].why == "deadlock"


def test_a_ticket_for_a_claim_already_held_is_withdrawn_and_recorded(crew):
    crew.claim("alice", "a")
    crew.claim("bob", "a", queue=True)
    crew.release("alice", "a")
    crew.claim("bob", "a", "b")

    crew.claim("bob", "a")

    assert crew.waiting() == []
    assert crew.kinds()[-1] == "lock_unqueued"


def test_a_waiters_ticket_that_becomes_standing_expires_like_any_other(crew):
    crew.claim("alice", "a", ttl=3600)
    crew.claim("bob", "a", queue=True)
    bob = crew.claims.all()[1][0].ticket._replace(standing=False, lasts=30.0)
    crew.store.apply(lambda rows: rows.put_ticket(bob))
    crew.store.apply(lambda rows: rows.put_beat("bob", rows.beat("bob")._replace(ttl=1e12)))
    crew.claim("bob", "a", queue=True)
    crew.clock.advance(300)

    crew.claim("bob", "b")

    assert crew.waiting() == []
