"""The history of a project, from its ledger, its monthly files, and its state now."""

from __future__ import annotations

import pytest
from tests.services.engines import common_store, on_every_engine
from tests.services.several_agents import Crew, caller
from tests.services.wired import wired

from dibs.config.load import Config
from dibs.core.patterns.pattern import parse
from dibs.errors import BadInput
from dibs.services.claims.holdings import Holdings
from dibs.services.claims.service import Claims
from dibs.services.history import kept
from dibs.services.history.service import History


def whole(crew, **more):
    return History(crew.store).timeline("all", **more)


def ends(found):
    return [(c.agent, c.pattern, c.how) for c in found.spans.claims]


def test_every_claim_and_wait_of_a_crew_has_its_end(crew):
    crew.claim("ada", "a", "b", "c", "d")
    crew.clock.advance(10)
    crew.claim("bob", "a", queue=True)
    crew.clock.advance(10)
    crew.release("ada", "a")
    crew.claim("bob", "a")
    crew.revoke("human", "b")
    crew.agents.beat(caller("cat"))
    crew.transfer("ada", "c", to="cat")
    crew.agents.stop(caller("human"), "cat", reason="stuck")
    crew.clock.advance(100_000)
    found = whole(crew)
    assert sorted(ends(found)) == [
        ("ada", "a", "released"), ("ada", "b", "revoked"), ("ada", "c", "transferred"),
        ("ada", "d", "expired"), ("bob", "a", "expired"), ("cat", "c", "stopped"),
    ]  # fmt: skip
    (wait,) = found.spans.waits
    assert (wait.how, wait.blocked_by, wait.end - wait.begin) == ("granted", ("ada",), 10)


def test_a_claim_ends_at_its_deadline_even_before_anyone_notices(crew):
    crew.claim("ada", "a", ttl=30)
    crew.clock.advance(500)
    (claim,) = whole(crew).spans.claims
    assert (claim.how, claim.end - claim.begin) == ("expired", 30)
    crew.claim("bob", "a")
    assert whole(crew).spans.claims[0] == claim


def test_the_next_request_reads_only_new_entries_and_finds_the_same(crew):
    crew.claim("ada", "a")
    assert len(whole(crew).spans.claims) == 1
    for number in range(5):
        crew.claim("ada", f"f{number}")
        crew.release("ada", f"f{number}")
    again = whole(crew)
    twin = Crew.__new__(Crew)
    twin.store = wired(crew.engine.connect(), Config())
    assert again.spans == whole(twin).spans
    assert again.spans.entries == len(crew.kinds())


def test_entries_that_left_the_store_are_read_from_the_monthly_files(tmp_path):
    crew = Crew(archive=str(tmp_path / "ledger"), ledger_limit=100)
    for number in range(400):
        crew.clock.advance(60)
        crew.claim("ada", f"f{number}")
        crew.release("ada", f"f{number}")
    while crew.ledger.trim():
        pass
    assert len(crew.kinds()) < 200
    assert len(whole(crew).spans.claims) == 400
    hour = History(crew.store).timeline("1h")
    assert {claim.pattern for claim in hour.spans.claims} == {f"f{n}" for n in range(339, 400)}
    assert hour.until - hour.since == 3600


def test_a_short_window_of_a_long_ledger_reads_only_its_end(monkeypatch):
    monkeypatch.setattr(kept, "FEW", 10)
    crew = Crew()
    for number in range(100):
        crew.clock.advance(3600)
        crew.claim("ada", f"f{number}")
        crew.release("ada", f"f{number}")
    found = History(crew.store).timeline("2h")
    assert [claim.pattern for claim in found.spans.claims] == ["f97", "f98", "f99"]
    assert found.spans.entries < 100
    assert found.known_since < found.since - 90 * 3600
    assert whole(crew).spans.entries == len(crew.kinds())


def test_the_lists_are_bounded_and_the_figures_are_not(crew):
    for number in range(30):
        crew.clock.advance(1)
        crew.claim("ada", f"f{number}")
        crew.release("ada", f"f{number}")
    found = whole(crew, most=10)
    assert [claim.pattern for claim in found.spans.claims] == [f"f{n}" for n in range(20, 30)]
    assert (found.truncated, found.totals.claims) == (True, 30)
    assert found.complete_since == found.spans.claims[0].begin - 1
    assert not whole(crew).truncated


def test_entries_of_the_doctors_test_agents_are_left_out(crew):
    crew.claim("prove-0123abcd", ".dibs-prove-x")
    crew.claim("ada", "a")
    found = whole(crew)
    assert ends(found) == [("ada", "a", "")]
    assert [one.agent for one in found.work] == ["ada"]


def test_an_empty_ledger_has_an_empty_history(crew):
    found = History(crew.store).timeline("1d")
    assert (found.spans.claims, found.spans.entries, found.known_since) == ([], 0, None)
    assert found.until - found.since == 86_400


def test_an_agent_counts_as_present_until_its_claims_would_expire(crew):
    crew.claim("ada", "a", ttl=30)
    crew.clock.advance(100)
    (ada,) = whole(crew).work
    assert ada.present == 100
    crew.clock.advance(10_000)
    (ada,) = whole(crew).work
    assert ada.present == crew.store.config.ttl


def test_a_window_that_ends_before_it_begins_is_refused(crew):
    with pytest.raises(BadInput, match="beginning is after the end"):
        History(crew.store).timeline("1h", "2h")


@on_every_engine
def store(request):
    with common_store(request) as another:
        yield wired(another(), Config())


def test_every_engine_tells_the_same_history(store):
    claims, holdings, history = Claims(store), Holdings(store), History(store)
    claims.claim(caller("ada"), [parse("a")])
    claims.claim(caller("bob"), [parse("a")], queue=True)
    assert [wait.how for wait in history.timeline("1h").spans.waits] == [""]
    holdings.release(caller("ada"), [parse("a")])
    claims.claim(caller("bob"), [parse("a")])
    found = history.timeline("1h")
    assert ends(found) == [("ada", "a", "released"), ("bob", "a", "")]
    assert [wait.how for wait in found.spans.waits] == ["granted"]
