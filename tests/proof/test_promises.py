"""Single cases that histories found, or that they cannot reach: one guarantee each."""

from __future__ import annotations

import pytest
from proof_oracle import MAX_HOLD, TTL, overlap, rivals
from proof_world import Step, World

from dibs.config.load import Config
from dibs.core.claims.agents import Caller
from dibs.core.claims.rules import Denied, Granted, Queued
from dibs.core.patterns.pattern import parse
from dibs.engines.memory import MemoryEngine
from dibs.errors import DibsError, Fenced
from dibs.services.claims.service import Claims
from dibs.services.state.store import Store
from dibs.testing import ManualClock

A, B, C = Caller("a"), Caller("b"), Caller("c")


@pytest.fixture
def world() -> World:
    clock = ManualClock()
    return World(MemoryEngine(clock), clock)


def claim(world: World, agent: Caller, *texts: str, **options: object):
    return world.claims.claim(agent, [parse(text) for text in texts], **options)


def test_an_owner_can_refresh_its_claim_while_others_wait_for_it(world: World):
    first = claim(world, A, "src/a.py")
    assert isinstance(claim(world, B, "src/a.py", queue=True), Queued)
    world.clock.advance(TTL / 2)

    again = claim(world, A, "src/a.py")

    assert isinstance(again, Granted)
    assert again.token == first.token
    assert again.expires == (world.clock.now + TTL,)


def test_an_owner_sees_what_it_holds_as_available_to_itself(world: World):
    claim(world, A, "src/a.py")
    claim(world, B, "src/a.py", queue=True)

    assert world.claims.check(A, [parse("src/a.py")]) == ()


def test_an_expired_ticket_does_not_return_with_its_agent(world: World):
    claim(world, B, "src/a.py", ttl=100)
    claim(world, A, "src/a.py", queue=True)
    world.clock.advance(TTL)
    assert world.claims.all()[1] == []

    world.agents.beat(A)

    assert world.claims.all()[1] == []


def test_a_late_heartbeat_closes_no_cycle_of_waiters(world: World):
    claim(world, A, "docs/a.py", ttl=100)
    claim(world, B, "src/a.py", ttl=100)
    claim(world, A, "src/a.py", queue=True)
    world.clock.advance(TTL)
    assert isinstance(claim(world, B, "docs/a.py", queue=True), Queued)

    world.agents.beat(A)

    assert {waiter.ticket.agent for waiter in world.claims.all()[1]} == {"b"}


@pytest.mark.parametrize("do", ["renew", "release"])
def test_a_stale_token_without_a_pattern_is_fenced(world: World, do: str):
    claim(world, A, "src/a.py")
    before = world.rows()

    with pytest.raises(Fenced):
        getattr(world.holdings, do)(A, token=999)

    assert world.rows() == before


@pytest.mark.parametrize("do", ["renew", "release"])
def test_the_token_of_a_lost_claim_stays_fenced_after_the_claim_was_regained_and_released(
    world: World, do: str
):
    old = claim(world, A, "src/a.py").token
    world.clock.advance(TTL)
    claim(world, A, "src/a.py")
    world.holdings.release(A, [parse("src/a.py")])

    with pytest.raises(Fenced):
        getattr(world.holdings, do)(A, [parse("src/a.py")], token=old)


@pytest.mark.parametrize("do", ["renew", "release"])
def test_a_glob_over_lost_claims_is_fenced(world: World, do: str):
    claim(world, A, "src/a.py", "src/b.py")
    world.clock.advance(TTL)

    with pytest.raises(Fenced):
        getattr(world.holdings, do)(A, [parse("src/*.py")])


def test_a_new_owner_is_not_told_that_it_lost_what_it_received(world: World):
    claim(world, B, "src/a.py")
    world.clock.advance(TTL)
    claim(world, A, "src/a.py")
    world.holdings.transfer(A, [parse("src/a.py")], to="b")

    renewed = world.holdings.renew(B)

    assert [c.pattern for c in renewed.claims] == ["src/a.py"]
    assert renewed.lost == ()


def test_a_transfer_leaves_no_overlapping_claims(world: World):
    world.agents.beat(B)
    claim(world, A, "src/**", "src/a.py")

    answer = world.do(Step("transfer", "a", ("src/a.py",), to="b"))

    held = [h.claim for h in world.claims.all()[0]]
    clash = [
        (one.pattern, other.pattern)
        for one in held
        for other in held
        if one.agent < other.agent
        and overlap(one.pattern, other.pattern)
        and rivals(one.mode, other.mode)
    ]
    assert not clash, f"after {answer}"


def test_a_transfer_closes_no_cycle_of_waiters(world: World):
    world.agents.beat(C)
    claim(world, A, "src/a.py")
    claim(world, B, "docs/a.py")
    claim(world, B, "src/a.py", queue=True)
    claim(world, C, "docs/a.py", queue=True)

    world.do(Step("transfer", "a", ("src/a.py",), to="c"))

    holders = {h.claim.pattern: h.claim.agent for h in world.claims.all()[0]}
    waits = {w.ticket.agent: holders[w.ticket.patterns[0]] for w in world.claims.all()[1]}
    assert waits != {"b": "c", "c": "b"}


def test_a_transfer_of_everything_by_an_agent_without_claims_is_refused_with_an_explanation(
    world: World,
):
    world.agents.beat(A)
    world.agents.beat(B)

    with pytest.raises(DibsError):
        world.holdings.transfer(A, [], to="b")


def test_expired_claims_are_not_counted_for_their_agent(world: World):
    claim(world, A, "src/a.py")
    claim(world, A, "src/b.py", ttl=100)
    world.clock.advance(TTL)

    shown, _ = world.agents.show("a")

    assert shown.claims == 1
    assert [seen.claims for seen in world.agents.all()] == [1]


def test_an_agents_own_expired_claim_does_not_hide_earlier_waiters(world: World):
    claim(world, A, "src/a.py", ttl=5)
    claim(world, B, "src/a.py", queue=True)
    world.clock.advance(5)

    (conflict,) = world.claims.check(A, [parse("src/a.py")])

    assert conflict.holder == "b"


def test_a_cycle_is_found_through_a_waiter_with_an_expired_claim(world: World):
    claim(world, A, "src/a.py", ttl=5)
    claim(world, A, "docs/a.py", ttl=30)
    claim(world, C, "port:8000", ttl=30)
    claim(world, B, "src/a.py", queue=True)
    assert isinstance(claim(world, A, "src/a.py", "port:8000", queue=True), Queued)
    world.clock.advance(5)

    answer = claim(world, B, "docs/a.py", queue=True)

    assert isinstance(answer, Denied)
    assert [(wait.agent, wait.holder) for wait in answer.cycle] == [("b", "a"), ("a", "b")]


def test_no_heartbeat_extends_a_claim_past_its_hard_limit(world: World):
    claim(world, A, "src/a.py")
    while world.clock.now < 1_700_000_000.0 + MAX_HOLD - TTL / 2:
        world.clock.advance(TTL / 2)
        world.agents.beat(A)
    world.clock.now = 1_700_000_000.0 + MAX_HOLD

    assert world.claims.all() == ([], [])
    assert isinstance(claim(world, B, "src/a.py"), Granted)
    with pytest.raises(Fenced):
        world.holdings.renew(A, [parse("src/a.py")])


def test_a_repeat_after_the_release_gets_the_first_result_and_no_second_grant(world: World):
    first = claim(world, A, "src/a.py", request_id="r")
    world.holdings.release(A)
    rows, ledger = world.rows(), world.ledger()
    world.clock.advance(1)

    assert claim(world, A, "src/a.py", request_id="r") == first
    assert world.rows() == rows
    assert world.ledger() == ledger


def test_a_cycle_of_four_is_named_completely(world: World):
    paths = ["src/a.py", "src/b.py", "src/deep/c.py", "docs/a.py"]
    crew = [Caller(name) for name in "abcd"]
    for agent, path in zip(crew, paths, strict=True):
        claim(world, agent, path)
    for agent, path in zip(crew[:3], paths[1:], strict=True):
        assert isinstance(claim(world, agent, path, queue=True), Queued)

    answer = claim(world, crew[3], paths[0], queue=True)

    assert isinstance(answer, Denied)
    assert answer.why == "deadlock"
    assert [(wait.agent, wait.holder) for wait in answer.cycle] == [
        ("d", "a"),
        ("a", "b"),
        ("b", "c"),
        ("c", "d"),
    ]


def test_a_confirmed_claim_is_not_reported_as_failed_because_the_ledger_cannot_be_archived(
    tmp_path,
):
    in_the_way = tmp_path / "ledger"
    in_the_way.write_text("a file where the folder for monthly files should be")
    store = Store(MemoryEngine(), Config(ledger_limit=100), str(in_the_way))
    claims = Claims(store)

    for number in range(150):
        answer = claims.claim(A, [parse(f"file-{number}")])

        assert isinstance(answer, Granted)


def test_a_release_request_stays_with_a_claim_that_is_upgraded_under_another_spelling(
    world: World,
):
    claim(world, A, "src/a.py", mode="shared")
    world.holdings.ask(B, [parse("src/a.py")])

    claim(world, A, "SRC/A.py")

    ((held,), _) = world.claims.all()
    assert [ask.asker for ask in held.asks] == ["b"]
