"""Renew, release, transfer, and revoke claims, and fence stale owners."""

import pytest

from dibs.core.claims.agents import Agent
from dibs.core.claims.rules import Denied, Granted
from dibs.errors import BadInput, Fenced, NotAllowed, NotFound


def test_a_released_path_is_unclaimed(crew):
    crew.claim("alice", "a", "b")

    released = crew.release("alice", "a")

    assert [claim.pattern for claim in released] == ["a"]
    assert crew.held() == {("alice", "b")}
    assert isinstance(crew.claim("bob", "a"), Granted)


def test_releasing_a_glob_releases_the_paths_held_inside_it(crew):
    crew.claim("alice", "src/a.py", "src/b.py", "docs/x")

    crew.release("alice", "src/**")

    assert crew.held() == {("alice", "docs/x")}


def test_releasing_an_unheld_path_is_not_found(crew):
    with pytest.raises(NotFound) as refused:
        crew.release("alice", "a")

    assert refused.value.code == "NOT_HELD"


@pytest.mark.parametrize("act", ["renew", "release", "transfer"])
def test_an_agent_that_never_held_a_claim_is_fenced_and_learns_the_owner(crew, act):
    crew.claim("alice", "a")

    with pytest.raises(Fenced, match="you \\(bob\\) do not hold 'a'; alice holds a"):
        getattr(crew, act)("bob", "a", **({"to": "alice"} if act == "transfer" else {}))

    assert crew.held() == {("alice", "a")}


@pytest.mark.parametrize(
    ("act", "command"),
    [
        ("renew", "dibs renew 'src/**'"),
        ("release", "dibs release 'src/**'"),
        ("transfer", "dibs transfer 'src/**' --to bob"),
    ],
)
def test_a_path_inside_a_claim_names_the_claim_and_the_command_for_it(crew, act, command):
    crew.claim("alice", "src/**")

    with pytest.raises(NotFound) as refused:
        getattr(crew, act)("alice", "src/a.py", **({"to": "bob"} if act == "transfer" else {}))

    assert refused.value.message == "you hold src/**, which covers src/a.py"
    assert refused.value.hint == f"run: {command}"
    assert crew.held() == {("alice", "src/**")}


@pytest.mark.parametrize("act", ["renew", "release", "transfer"])
def test_a_stale_owner_is_fenced_and_changes_nothing(crew, act):
    crew.claim("alice", "a", ttl=60)
    crew.claim("bob", "b")
    crew.clock.advance(60)
    crew.claim("bob", "a")
    before = crew.rows()

    with pytest.raises(Fenced, match="expired; bob holds a"):
        getattr(crew, act)("alice", "a", **({"to": "bob"} if act == "transfer" else {}))

    assert crew.rows() == before


@pytest.mark.parametrize("act", ["renew", "release", "transfer"])
def test_a_wrong_token_is_fenced_and_changes_nothing(crew, act):
    token = crew.claim("alice", "a").token
    crew.claim("bob", "b")
    before = crew.rows()
    extra = {"to": "bob"} if act == "transfer" else {}

    with pytest.raises(Fenced):
        getattr(crew, act)("alice", "a", token=token + 1, **extra)

    assert crew.rows() == before


def test_a_release_repeated_by_its_request_id_is_answered_again(crew):
    crew.claim("alice", "a")
    first = crew.release("alice", "a", request_id="r1")

    assert crew.release("alice", "a", request_id="r1") == first


def test_a_shorter_ttl_counts_from_now_on(crew):
    crew.claim("alice", "a", ttl=600)
    crew.renew("alice", "a", ttl=60)
    crew.clock.advance(60)

    with pytest.raises(Fenced):
        crew.renew("alice", "a")


def test_the_ledger_says_that_a_claim_expired(crew):
    crew.claim("alice", "a", ttl=60)
    crew.clock.advance(60)
    crew.claim("bob", "a")

    assert crew.kinds().count("lock_expired") == 1


def test_asking_for_an_unclaimed_path_asks_no_one(crew):
    assert crew.ask("bob", "a") == []


def test_a_release_ends_its_requests_and_names_the_agents_that_asked(crew):
    crew.claim("alice", "a", "b")
    crew.ask("bob", "a")

    crew.release("alice", "a")

    assert crew.renew("alice").asks == ()
    entry = crew.ledger._store.engine.view(lambda txn: next(txn.events(newest_first=True)))
    assert entry.details["asked_by"] == ["bob"]


def test_a_human_revokes_with_a_reason_that_the_owner_gets(crew):
    crew.claim("alice", "src/**")

    revoked = crew.revoke("human", "src/a.py", reason="release day")

    assert [claim.pattern for claim in revoked] == ["src/**"]
    (lost,) = crew.renew("alice").lost
    assert (lost.why, lost.by, lost.reason) == ("revoked", "human", "release day")
    with pytest.raises(Fenced, match="was revoked by human: release day"):
        crew.release("alice", "src/**")


def test_an_agent_cannot_revoke(crew):
    crew.claim("alice", "a")

    with pytest.raises(NotAllowed):
        crew.revoke("bob", "a")

    assert crew.held() == {("alice", "a")}


def test_a_revocation_without_a_reason_is_refused(crew):
    crew.claim("alice", "a")

    with pytest.raises(BadInput):
        crew.revoke("human", "a", reason="  ")

    assert crew.held() == {("alice", "a")}


def test_a_transferred_claim_belongs_to_the_new_owner_under_a_new_token(crew):
    token = crew.claim("lead", "src/**").token
    crew.agents.join(Agent("sub", parent="lead"))

    (moved,) = crew.transfer("lead", "src/**", to="sub")

    assert moved.token > token
    assert crew.held() == {("sub", "src/**")}
    with pytest.raises(Fenced, match="was transferred to sub"):
        crew.release("lead", "src/**")
    crew.release("sub", "src/**", token=moved.token)


def test_a_claim_is_transferred_only_to_a_known_agent(crew):
    crew.claim("lead", "a")

    with pytest.raises(NotFound):
        crew.transfer("lead", "a", to="nobody")

    assert crew.held() == {("lead", "a")}


def test_a_claim_transferred_to_an_idle_agent_lives_for_its_ttl(crew):
    crew.agents.join(Agent("sub"))
    crew.clock.advance(1000)
    crew.claim("lead", "a", ttl=60)
    crew.transfer("lead", "a", to="sub")
    crew.clock.advance(59)

    assert isinstance(crew.claim("bob", "a"), Denied)

    crew.clock.advance(1)
    assert isinstance(crew.claim("bob", "a"), Granted)


def test_the_number_of_claims_stays_correct(crew):
    crew.agents.join(Agent("sub"))
    crew.claim("alice", "a", "b", "c", "d", ttl=60)
    crew.claim("alice", "e", ttl=600)
    crew.release("alice", "a")
    crew.transfer("alice", "b", to="sub")
    crew.revoke("human", "c")
    crew.clock.advance(60)
    crew.renew("alice")

    counts = {s.agent.id: s.claims for s in crew.agents.all()}

    assert counts["alice"] == 1


def test_a_token_selects_the_paths_inside_a_glob(crew):
    crew.claim("alice", "src/x")
    token = crew.claim("alice", "src/**").token

    crew.release("alice", "src/**", token=token)

    assert crew.held() == {("alice", "src/x")}


def test_a_transfer_that_would_deadlock_the_giver_is_refused(crew):
    crew.agents.join(Agent("heir"))
    crew.claim("other", "x")
    crew.claim("giver", "y")
    crew.claim("waiter", "y", queue=True)
    crew.claim("giver", "x", "y", queue=True)
    crew.claim("waiter", "x", queue=True)

    with pytest.raises(NotAllowed, match="would deadlock"):
        crew.transfer("giver", "y", to="heir")
