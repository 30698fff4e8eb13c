"""Heartbeats of a server for sessions whose process runs: they keep claims, but do not count as activity."""

import os
import sys

import pytest
from tests.services.engines import common_store, on_every_engine
from tests.services.guard.test_liveness_engines import LaterEngine
from tests.services.guards import Guarded

from dibs.core.claims.agents import NEVER, Agent
from dibs.core.claims.rules import Denied, Granted
from dibs.core.toolcalls.values import EventKind
from dibs.local.processes import realm, running
from dibs.services.guard.liveness import Liveness
from dibs.services.history.service import History
from dibs.services.state.facts import LONGEST_CALL

ONE = "claude-11111111"
A, B = "11111111-a", "22222222-b"
TTL = 300.0
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


def session(guarded, process, path="README.md"):
    """Let a session in ``process`` claim a file that it does not change."""
    guarded.processes[A] = running(process.pid)
    guarded.start(A)
    guarded.edit(A, path)
    guarded.hear(A, EventKind.AFTER, path, tool="Write")


def serve(guarded, seconds):
    """Let time pass while a server runs; return how often it wrote."""
    server, before = Liveness(guarded.store), guarded.clock.now
    writes = 0
    while guarded.clock.now < before + seconds:
        seen = beat_of(guarded, ONE)
        left = server.keep()
        writes += beat_of(guarded, ONE) != seen
        guarded.clock.now = min(guarded.clock.now + max(1.0, left), before + seconds)
    return writes


def beat_of(guarded, agent):
    return guarded.store.look(lambda rows: rows.beat(agent))


def test_an_idle_session_keeps_its_claims_while_its_process_runs(guarded, process):
    session(guarded, process)
    serve(guarded, 30 * 60.0)

    assert guarded.held() == {(ONE, "README.md")}
    assert isinstance(guarded.claim("bob", "README.md"), Denied)


def test_without_a_server_an_idle_session_keeps_what_it_changed(guarded, process):
    session(guarded, process, "a.py")
    guarded.write("a.py", "half")
    guarded.clock.advance(30 * 60.0)

    assert isinstance(guarded.claim("bob", "a.py"), Denied)


def test_a_heartbeat_of_the_server_does_not_count_as_activity(guarded, process):
    session(guarded, process)
    serve(guarded, 1_000.0)

    (shown,) = [seen for seen in guarded.agents.all() if seen.agent.id == ONE]
    assert (shown.silent_for, shown.agent.status, shown.activity(TTL)) == (1_000.0, "idle", "idle")
    assert shown.claims == 1
    (held,) = guarded.claims.all()[0]
    assert held.while_running
    guarded.hear(A, EventKind.PROMPTED)
    (shown,) = [seen for seen in guarded.agents.all() if seen.agent.id == ONE]
    assert (shown.silent_for, shown.agent.status) == (0.0, "running")
    assert not guarded.claims.all()[0][0].while_running


def test_a_read_of_a_kept_session_counts_as_activity(guarded, process):
    session(guarded, process)
    serve(guarded, 1_000.0)
    guarded.read(A, "README.md")

    assert guarded.agents.show(ONE)[0].silent_for == 0.0


def test_a_heartbeat_is_written_only_when_it_is_due(guarded, process):
    session(guarded, process)

    assert serve(guarded, 3_000.0) <= 3_000.0 / (TTL / 3) + 1
    session(guarded, process)
    guarded.clock.advance(10.0)
    before = beat_of(guarded, ONE)
    assert Liveness(guarded.store).keep() == pytest.approx(TTL / 3 - 10.0)
    assert beat_of(guarded, ONE) == before


def test_a_server_that_looks_often_does_not_write_more_often(guarded, process):
    session(guarded, process)
    server, seen = Liveness(guarded.store), set()
    for _ in range(60):
        guarded.clock.advance(10.0)
        server.keep()
        seen.add(beat_of(guarded, ONE).seen)

    assert len(seen) == 600.0 / (TTL / 3) + 1


def test_a_session_without_claims_needs_no_heartbeat(guarded, process):
    guarded.processes[A] = running(process.pid)
    guarded.start(A)
    guarded.clock.advance(TTL)

    assert Liveness(guarded.store).keep() == NEVER


def test_a_dead_process_gets_no_heartbeat(guarded, process):
    session(guarded, process)
    process.kill()
    process.wait()
    serve(guarded, TTL + 1)

    assert isinstance(guarded.claim("bob", "README.md"), Granted)


def test_a_claim_that_expired_while_no_server_ran_stays_expired(guarded, process):
    session(guarded, process)
    guarded.edit(A, "a.py")
    guarded.write("a.py", "half")
    guarded.stop(A)
    guarded.claim(ONE, "port:80")
    guarded.clock.advance(TTL + 1)
    serve(guarded, TTL / 2)

    assert guarded.held() == {(ONE, "a.py")}  # changed; the other one expired
    assert guarded.kinds().count("lock_expired") == 1


def test_an_ended_session_gets_no_heartbeat(guarded, process):
    session(guarded, process, "a.py")
    guarded.write("a.py", "half")
    guarded.end(A)
    guarded.clock.advance(TTL / 2)

    assert Liveness(guarded.store).keep() == NEVER


def test_a_subagent_that_is_silent_for_an_hour_is_not_kept(guarded, process):
    guarded.processes[A] = running(process.pid)
    guarded.edit(A, "README.md", subagent="9f8e7d6c")
    guarded.hear(A, EventKind.AFTER, "README.md", tool="Write", subagent="9f8e7d6c")
    child = f"{ONE}.9f8e7d6c"
    serve(guarded, 30 * 60.0)
    assert (child, "README.md") in guarded.held()
    serve(guarded, LONGEST_CALL)

    assert (child, "README.md") not in guarded.held()


def test_an_idle_agent_can_be_replaced_although_a_server_runs(tmp_path, own_git, process):
    guarded = Guarded(tmp_path / "repo", idle_takeover=1_200.0)
    session(guarded, process)
    serve(guarded, 1_199.0)
    assert isinstance(guarded.claim("bob", "README.md"), Denied)
    serve(guarded, 1.0)

    assert isinstance(guarded.claim("bob", "README.md"), Granted)


def test_an_agent_without_hooks_is_kept_while_the_process_that_it_named_runs(
    tmp_path, own_git, process
):
    guarded = Guarded(tmp_path / "repo", heartbeat=30.0)
    host = realm().partition("/")[0]
    for name, pid in (("named", process.pid), ("unnamed", 0)):
        guarded.agents.join(Agent(name, pid=pid, host=host))
        guarded.claim(name, f"{name}.py")
    guarded.clock.advance(40.0)
    Liveness(guarded.store).keep()
    guarded.clock.advance(TTL - 1.0)

    assert guarded.held() == {("named", "named.py")}


def test_a_process_that_started_after_its_agent_joined_is_another_one(guarded, process):
    host = realm().partition("/")[0]
    guarded.agents.join(Agent("named", pid=process.pid, host=host))
    guarded.claim("named", "a.py")
    guarded.store.apply(
        lambda rows: rows.put_agent(rows.agent("named")._replace(started=rows.now - 3_600.0))
    )
    guarded.clock.advance(TTL / 2)

    assert Liveness(guarded.store).keep() == NEVER


def test_the_processes_of_this_machines_sessions_are_watched(guarded, process):
    session(guarded, process)
    guarded.edit(B, "b.py")

    watched = {(one.agent, one.pid) for one in Liveness(guarded.store).processes()}
    assert watched == {(ONE, process.pid), ("claude-22222222", os.getpid())}


@on_every_engine
def store(request):
    with common_store(request) as another:
        yield another


def test_heartbeats_keep_claims_on_every_engine(store, tmp_path, own_git, process):
    engine = LaterEngine(store())
    guarded = Guarded(tmp_path / "repo", engine)
    session(guarded, process)
    for _ in range(3):
        engine.by += TTL - 60.0
        Liveness(guarded.store).keep()

    assert guarded.held() == {(ONE, "README.md")}
    shown = guarded.agents.show(ONE)[0]
    assert 700.0 < shown.silent_for < 800.0


def test_only_a_process_that_dies_in_a_session_has_crashed(guarded, process):
    session(guarded, process, "a.py")
    guarded.write("a.py", "half")
    guarded.edit(A, "b.py", subagent="9f8e7d6c")
    process.kill()
    process.wait()
    guarded.departures.gone()
    assert guarded.kinds().count("agent_crashed") == 1
    assert guarded.kinds().count("agent_exited") == 2
    claims = History(guarded.store).timeline("all").spans.claims
    assert {claim.how for claim in claims if claim.agent == ONE} == {"died"}


def test_a_session_that_had_ended_does_not_crash(guarded, process):
    session(guarded, process, "a.py")
    guarded.write("a.py", "half")
    guarded.end(A)
    process.kill()
    process.wait()
    guarded.departures.gone()
    assert "agent_crashed" not in guarded.kinds()
