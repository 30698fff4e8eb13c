"""The rules of claims, each on its own."""

import pytest

from dibs.core.claims.agents import NEVER
from dibs.core.claims.rules import (
    EXCLUSIVE,
    MAX_CLAIMS_OF_AGENT,
    MAX_PATTERNS,
    SHARED,
    Claim,
    LeftWork,
    Request,
    Ticket,
    Wait,
    check_request,
    check_text,
    clash,
    compatible,
    deadline,
    find_cycle,
    fold_duplicates,
    live,
    obstacle,
    queued_before,
    ticket_deadline,
)
from dibs.core.patterns.pattern import parse
from dibs.errors import BadInput, NotAllowed


def a_claim(pattern="src/a.py", **changes):
    claim = Claim("c1", pattern, EXCLUSIVE, "alice", 1, ttl=300.0, since=1000.0)
    return claim._replace(**changes)


def a_request(*patterns, agent="bob", mode=EXCLUSIVE):
    return Request(agent, tuple(parse(p) for p in patterns or ("src/a.py",)), mode, ttl=300.0)


def a_ticket(**changes):
    ticket = Ticket(
        7, "carol", ("src/a.py",), EXCLUSIVE, ttl=300.0, since=1000.0, seen=1000.0, lasts=30.0,
        until=2000.0,
    )  # fmt: skip
    return ticket._replace(**changes)


def test_a_claim_lives_until_the_last_heartbeat_plus_its_ttl():
    assert deadline(a_claim(), seen=1100.0) == 1400.0


def test_a_heartbeat_before_the_grant_does_not_shorten_the_claim():
    assert deadline(a_claim(since=1000.0), seen=500.0) == 1300.0


def test_no_heartbeat_extends_a_claim_past_its_hard_deadline():
    assert deadline(a_claim(hard=1350.0), seen=1300.0) == 1350.0


@pytest.mark.parametrize(("now", "expected"), [(1299.999, True), (1300.0, False), (1301.0, False)])
def test_a_claim_has_expired_at_its_deadline(now, expected):
    assert live(a_claim(), seen=1000.0, now=now) is expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (SHARED, SHARED, True),
        (SHARED, EXCLUSIVE, False),
        (EXCLUSIVE, SHARED, False),
        (EXCLUSIVE, EXCLUSIVE, False),
    ],
)
def test_only_shared_claims_may_overlap(one, other, expected):
    assert compatible(one, other) is expected


def test_a_conflict_names_owner_pattern_mode_reason_times_and_witness():
    claim = a_claim("src/**", reason="rename", task="t1")
    asked = parse("src/*.py")

    witness = clash(a_request(), asked, parse("src/**"), claim)
    conflict = obstacle(asked, claim, witness, 270.0)

    assert conflict[:8] == (
        "src/*.py", "src/**", "alice", EXCLUSIVE, "rename", "t1", 1000.0, 270.0,
    )  # fmt: skip
    assert conflict.witness.startswith("src/")
    assert conflict.witness.endswith(".py")


def test_a_claim_on_another_path_does_not_conflict():
    other = parse("docs/a.md")
    claim = a_claim("docs/a.md")

    assert clash(a_request(), parse("src/a.py"), other, claim) is None


def test_an_earlier_ticket_blocks_a_request_without_one():
    asked = parse("src/a.py")

    conflict = queued_before(a_request(), asked, asked, a_ticket(), own=0, left=30.0)

    assert (conflict.holder, conflict.ticket) == ("carol", 7)


@pytest.mark.parametrize(("own", "stands"), [(6, False), (8, True)])
def test_a_ticket_blocks_only_later_ones(own, stands):
    asked = parse("src/a.py")

    conflict = queued_before(a_request(), asked, asked, a_ticket(number=7), own=own, left=30.0)

    assert (conflict is not None) is stands


def test_a_shared_ticket_does_not_block_a_shared_request():
    asked = parse("src/a.py")
    ticket = a_ticket(mode=SHARED)

    assert queued_before(a_request(mode=SHARED), asked, asked, ticket, 0, 30.0) is None


def test_an_exclusive_ticket_blocks_a_later_shared_request():
    asked = parse("src/a.py")

    assert queued_before(a_request(mode=SHARED), asked, asked, a_ticket(), 0, 30.0) is not None


def test_a_waiter_without_a_heartbeat_is_skipped():
    assert ticket_deadline(a_ticket(), agent_seen=1500.0) == 1030.0


def test_a_standing_ticket_lives_as_long_as_its_agent_sends_heartbeats():
    assert ticket_deadline(a_ticket(standing=True), agent_seen=1500.0) == 1530.0


def test_no_ticket_outlives_its_waiters_timeout():
    assert ticket_deadline(a_ticket(until=1010.0), agent_seen=1000.0) == 1010.0


def test_a_deadlock_is_named_edge_by_edge():
    waits = {"bob": [Wait("bob", "y", "carol")], "carol": [Wait("carol", "z", "alice")]}

    cycle = find_cycle("alice", [Wait("alice", "x", "bob")], lambda agent: waits.get(agent, []))

    assert cycle == (
        Wait("alice", "x", "bob"), Wait("bob", "y", "carol"), Wait("carol", "z", "alice"),
    )  # fmt: skip


def test_waiting_without_a_deadlock_is_allowed():
    waits = {"bob": [Wait("bob", "y", "carol")]}

    assert (
        find_cycle("alice", [Wait("alice", "x", "bob")], lambda agent: waits.get(agent, [])) == ()
    )


def test_a_cycle_among_other_agents_does_not_make_the_search_endless():
    waits = {"bob": [Wait("bob", "y", "carol")], "carol": [Wait("carol", "z", "bob")]}

    assert find_cycle("alice", [Wait("alice", "x", "bob")], lambda agent: waits[agent]) == ()


def check(request, *, held=0, human=False):
    check_request(request, held=held, human=human)


def test_a_request_needs_a_pattern():
    with pytest.raises(BadInput) as refused:
        check(Request("bob", (), EXCLUSIVE, 300.0))

    assert refused.value.code == "PATH_EMPTY"


def test_an_unknown_mode_is_refused_with_the_valid_modes():
    with pytest.raises(BadInput, match="exclusive or shared") as refused:
        check(a_request(mode="write"))

    assert refused.value.code == "MODE"


@pytest.mark.parametrize(("count", "held"), [(MAX_PATTERNS + 1, 0), (2, MAX_CLAIMS_OF_AGENT - 1)])
def test_an_error_names_the_limit(count, held):
    request = a_request(*(f"f{n}" for n in range(count)))

    with pytest.raises(BadInput) as refused:
        check(request, held=held)

    assert refused.value.code == "LIMIT"


def test_the_limits_themselves_are_allowed():
    check(a_request(*(f"f{n}" for n in range(MAX_PATTERNS))))
    check(a_request("x"), held=MAX_CLAIMS_OF_AGENT - 1)


@pytest.mark.parametrize("pattern", ["**", "*/**", "**/*/**"])
def test_an_agent_cannot_claim_the_whole_repository(pattern):
    with pytest.raises(NotAllowed) as refused:
        check(a_request(pattern))

    assert refused.value.code == "GLOB_TOO_BROAD"


def test_humans_and_readers_may_claim_the_whole_repository():
    check(a_request("**"), human=True)
    check(a_request("**", mode=SHARED))


def test_a_pattern_named_twice_counts_once():
    patterns = [parse("src/"), parse("README"), parse("src/**"), parse("readme")]

    assert [p.key for p in fold_duplicates(patterns)] == [patterns[0].key, patterns[1].key]


def test_a_reason_is_masked_and_limited():
    secret = "ghp_" + "a1B2" * 9

    assert secret not in check_text(f"use {secret} for this", "reason")
    with pytest.raises(BadInput):
        check_text("x" * 1001, "reason")


def test_a_reason_with_invalid_unicode_is_stored_escaped():
    assert check_text("caf\udce9", "reason") == "caf\\udce9"


def test_never_is_later_than_any_deadline():
    assert deadline(a_claim(hard=NEVER), seen=4e9) < NEVER


def test_the_command_that_shows_work_in_another_tree_names_that_tree():
    here = LeftWork("a.py", "alice", 1.0, 2, "refs/salvage/alice/x", "/one")

    assert here.view == "git show refs/salvage/alice/x -- :/a.py"
    there = here._replace(elsewhere=True)
    assert there.view == "git -C /one show refs/salvage/alice/x -- :/a.py"
    assert there._replace(salvage="alice/x").view == "dibs salvage show alice/x --repo /one"
