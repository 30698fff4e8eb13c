"""What a replay of the ledger finds: claims, waits, agents, and tasks as spans."""

from __future__ import annotations

import pytest
from tests.core.history.ledgers import BEGIN, Told

from dibs.core.claims.agents import Agent
from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import Claim
from dibs.core.history.replay import LISTED, Replay, StateNow


@pytest.fixture
def told():
    return Told()


def replayed(told, now=None):
    replay = Replay()
    replay.feed(told.entries)
    return replay.spans(now)


def now_with(*claims, tickets=(), agents=()):
    return StateNow(
        [(claim, None) for claim in claims],
        frozenset(tickets),
        {name: (Agent(name, started=BEGIN), BEGIN + 99) for name in agents},
    )


def claim(agent, pattern, token, since=0.0):
    return Claim(f"c{token}", pattern, "exclusive", agent, token, 300.0, BEGIN + since, 1e12)


def grant(told, second, agent, *patterns, **more):
    details = {"patterns": list(patterns), "mode": "exclusive", "ttl": 300.0, **more}
    return told(second, agent, Kind.LOCK_ACQUIRED, **details)


def seconds(span):
    return span.begin - BEGIN, None if span.end is None else span.end - BEGIN


def test_a_claim_lasts_from_its_grant_to_its_release(told):
    token = grant(told, 1, "ada", "a", "b", reason="rename", task="t1")
    told(5, "ada", Kind.LOCK_RELEASED, patterns=["a"], tokens=[token])
    released, held = replayed(told).claims
    assert (released.pattern, *seconds(released), released.how) == ("a", 1, 5, "released")
    assert (released.reason, released.task, released.token) == ("rename", "t1", token)
    assert (held.pattern, *seconds(held), held.how) == ("b", 1, None, "")


def test_a_claim_ends_when_it_expired_even_if_that_was_noticed_later(told):
    token = grant(told, 1, "ada", "a")
    told(90, "ada", Kind.LOCK_EXPIRED, pattern="a", token=token, expired_at=BEGIN + 30)
    grant(told, 100, "bob", "a")
    told(105, "bob", Kind.LOCK_EXPIRED, pattern="a", expired_at=BEGIN + 105, died=True)
    first, second = replayed(told).claims
    assert (*seconds(first), first.how) == (1, 30, "expired")
    assert (*seconds(second), second.how) == (100, 105, "died")


def test_the_claims_of_an_agent_whose_process_died_end_with_it(told):
    early = grant(told, 1, "ada", "a")
    late = grant(told, 1, "ada", "b")
    other = grant(told, 1, "bob", "c")
    told(3, "ada", Kind.LOCK_RELEASED, patterns=["a"], tokens=[early])
    told(5, "bob", Kind.LOCK_RELEASED, patterns=["c"], tokens=[other])
    told(5, "ada", Kind.LOCK_RELEASED, patterns=["b"], tokens=[late])
    told(5, "ada", Kind.AGENT_CRASHED, pid=7)
    told(5, "ada", Kind.AGENT_EXITED, status="exited")
    ends = {claim.pattern: claim.how for claim in replayed(told).claims}
    assert ends == {"a": "released", "b": "died", "c": "released"}


def test_a_revoked_claim_says_by_whom_and_a_stopped_agents_claims_end_with_it(told):
    token = grant(told, 1, "ada", "a", "b")
    told(4, "kim", Kind.LOCK_REVOKED, role="human", pattern="a", holder="ada", token=token)
    told(6, "kim", Kind.AGENT_TERMINATED, role="human", toAgentId="ada")
    spans = replayed(told)
    assert [(c.how, c.by, c.end - BEGIN) for c in spans.claims] == [
        ("revoked", "kim", 4),
        ("stopped", "kim", 6),
    ]
    ada = next(life for life in spans.agents if life.agent == "ada")
    assert (ada.how, ada.by) == ("terminated", "kim")


def test_a_transfer_ends_one_claim_and_begins_another_under_its_own_token(told):
    grant(told, 1, "ada", "a", reason="rename")
    token = told(3, "ada", Kind.LOCK_TRANSFERRED, patterns=["a"], to="bob")
    given, got = replayed(told).claims
    assert (given.how, given.by, *seconds(given)) == ("transferred", "bob", 1, 3)
    assert (got.agent, got.token, got.reason, *seconds(got)) == ("bob", token, "rename", 3, None)


def test_claiming_again_in_another_mode_replaces_the_claim(told):
    grant(told, 1, "ada", "a", mode="shared")
    grant(told, 2, "ada", "a")
    assert [(c.mode, c.how) for c in replayed(told).claims] == [
        ("shared", "replaced"),
        ("exclusive", ""),
    ]


def test_a_new_store_ends_all_claims(told):
    grant(told, 1, "ada", "a")
    told(2, "dibs", Kind.LEDGER_RESTARTED, role="store")
    assert [c.how for c in replayed(told).claims] == ["void"]


def test_a_claim_from_before_the_first_entry_began_early(told):
    told(0, "bob", Kind.AGENT_JOINED)
    told(5, "ada", Kind.LOCK_RELEASED, patterns=["a"], tokens=[7])
    (found,) = replayed(told).claims
    assert (found.early, found.token, *seconds(found)) == (True, 7, 0, 5)


def test_the_state_now_completes_the_replay(told):
    grant(told, 1, "ada", "a")
    grant(told, 2, "ada", "b")
    told(9, "ada", Kind.STATUS_CHANGE, status="idle")
    old = claim("bob", "old", 77, since=-50)
    state = now_with(claim("ada", "a", 1), old, agents=("ada", "bob"))
    held, gone, earlier = replayed(told, state).claims
    assert (held.pattern, held.how) == ("a", "")
    assert (gone.pattern, gone.how, *seconds(gone)) == ("b", "unknown", 2, 9)
    assert (earlier.agent, earlier.token, *seconds(earlier)) == ("bob", 77, -50, None)


def test_a_release_that_lists_only_some_patterns_ends_the_others_too(told):
    names = [f"f{n}" for n in range(LISTED)]
    token = grant(told, 1, "ada", *names[: LISTED - 1], "kept")
    other = grant(told, 2, "ada", "unlisted")
    told(5, "ada", Kind.LOCK_RELEASED, patterns=names, tokens=[token, other])
    found = replayed(told, now_with(claim("ada", "kept", token))).claims
    ends = {one.pattern: (one.how, seconds(one)[1]) for one in found}
    assert ends["unlisted"] == ("released", 5)
    assert ends["kept"] == ("", None)


def test_a_wait_lasts_until_its_grant_and_says_who_was_in_the_way(told):
    ticket = told(
        2, "bob", Kind.LOCK_QUEUED, patterns=["a"], mode="exclusive", holders=["ada"], standing=True
    )
    told(4, "bob", Kind.LOCK_TURN, ticket=ticket, within=60)
    grant(told, 5, "bob", "other")
    grant(told, 6, "bob", "a", ticket=ticket)
    (wait,) = replayed(told).waits
    assert (wait.how, wait.blocked_by, *seconds(wait)) == ("granted", ("ada",), 2, 6)
    assert (wait.turn - BEGIN, wait.standing) == (4, True)


@pytest.mark.parametrize(
    ("why", "how"),
    [
        ("it gave up", "gave_up"),
        ("it would deadlock", "deadlock"),
        ("its agent ended", "ended"),
        ("it did not claim in its turn", "missed_turn"),
        ("its waiter sent no heartbeat", "silent"),
        ("kim refused it: not now", "refused"),
        ("a reason of a later version", "unknown"),
    ],
)
def test_a_wait_without_a_grant_says_how_it_ended(told, why, how):
    ticket = told(1, "bob", Kind.LOCK_QUEUED, patterns=["a"], mode="exclusive")
    told(3, "bob", Kind.LOCK_UNQUEUED, ticket=ticket, why=why)
    (wait,) = replayed(told).waits
    assert (wait.how, *seconds(wait)) == (how, 1, 3)


def test_agents_live_from_joining_to_leaving_and_may_come_back(told):
    told(1, "ada", Kind.AGENT_JOINED, role="lead")
    told(2, "sub", Kind.SUB_AGENT_SPAWNED, parent="ada")
    told(3, "ada", Kind.STATUS_CHANGE, status="idle")
    told(4, "sub", Kind.AGENT_CRASHED)
    told(4, "sub", Kind.AGENT_EXITED, status="exited")
    told(5, "ada", Kind.AGENT_EXITED, status="completed")
    told(8, "ada", Kind.AGENT_JOINED, role="lead")
    lives = [(a.agent, *seconds(a), a.how, a.parent) for a in replayed(told).agents]
    assert lives == [
        ("sub", 2, 4, "crashed", "ada"),
        ("ada", 1, 5, "completed", ""),
        ("ada", 8, None, "", ""),
    ]
    changes = [(c.at - BEGIN, c.status) for a in replayed(told).agents for c in a.changes]
    assert changes == [(3, "idle")]


def test_an_expiry_after_an_agent_left_does_not_bring_it_back(told):
    told(1, "ada", Kind.AGENT_JOINED)
    told(2, "ada", Kind.AGENT_EXITED, status="exited")
    told(9, "ada", Kind.LOCK_EXPIRED, pattern="a", token=1, expired_at=BEGIN + 3)
    assert [seconds(life) for life in replayed(told).agents] == [(1, 2)]


def test_tasks_pass_through_states(told):
    told(1, "kim", Kind.TASK_ADDED, task="t", status="inbox", agent="")
    told(
        2,
        "ada",
        Kind.TASK_STARTED,
        task="t",
        status="in_progress",
        was="inbox",
        agent="ada",
        attempt=1,
    )
    told(
        3,
        "ada",
        Kind.TASK_EDITED,
        task="t",
        status="in_progress",
        was="in_progress",
        agent="ada",
        attempt=1,
    )
    told(
        9,
        "ada",
        Kind.TASK_COMPLETED,
        task="t",
        status="done",
        was="in_progress",
        agent="ada",
        attempt=1,
    )
    told(9, "bob", Kind.TASK_BLOCKED, task="old", status="blocked", was="assigned", agent="")
    spans = [(t.task, t.state, *seconds(t)) for t in replayed(told).tasks]
    assert spans == [
        ("t", "inbox", 1, 2), ("t", "in_progress", 2, 9), ("old", "assigned", 1, 9),
        ("t", "done", 9, None), ("old", "blocked", 9, None),
    ]  # fmt: skip


def test_a_mark_names_whom_it_concerns_and_who_did_it(told):
    told(1, "kim", Kind.LOCK_REVOKED, "kim revoked it", pattern="a", holder="ada", token=1)
    told(2, "ada", Kind.COMMITTED, "fix", paths=["a", "b"])
    told(3, "ada", Kind.FILE_EDIT, paths=["a"], count=30)
    revoked, commit, edit = replayed(told).marks
    assert (revoked.agent, revoked.by, revoked.group) == ("ada", "kim", "kill")
    assert (commit.agent, commit.by, commit.paths) == ("ada", "", ("a", "b"))
    assert edit.times == 30


@pytest.mark.parametrize("junk", [None, 7, {}, [None, 3, {"a": 1}], {"patterns": 1}, True, "", "x"])
def test_details_of_any_type_are_survived(told, junk):
    keys = (
        "patterns", "pattern", "tokens", "token", "mode", "ticket", "why", "holders", "holder", "to", "task",
        "status", "was", "agent", "attempt", "expired_at", "parent", "count", "paths", "toAgentId", "agents",
    )  # fmt: skip
    for kind in Kind:
        told(1, "ada", kind, **dict.fromkeys(keys, junk))
        told(2, "ada", kind)
    replayed(told, now_with())
