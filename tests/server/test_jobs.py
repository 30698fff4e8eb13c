"""What the server does by itself: expiry at the deadline, ended sessions, each thing once."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.conftest import until
from tests.services.guards import GIT, Guarded

from dibs.core.claims.agents import Caller
from dibs.core.claims.rules import Denied, Granted, Request
from dibs.core.patterns.pattern import parse
from dibs.errors import Unavailable
from dibs.local.processes import running
from dibs.project.location import locate
from dibs.project.project import open_at
from dibs.server.jobs.project import CLEANUP, HEARTBEATS, SESSIONS
from dibs.server.jobs.upkeep import BOARD, COPIES, FORECAST, PRUNING
from dibs.server.jobs.watch import PAUSE, READ_EVERY, SessionWatch
from dibs.server.resident import Resident
from dibs.services.claims.acquire import attempt
from dibs.services.claims.service import WaitOptions
from dibs.services.schedule.leases import Leases
from dibs.services.state.ledger import Query
from dibs.services.state.presence import arrive
from dibs.testing import ManualClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dibs.core.claims.ledger import Entry
    from dibs.project.project import Project

SOON = 20.0
#: Shorter than commands allow, so that tests need not wait.
TTL = 0.4
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


def clone(root: Path, settings: str = "") -> Path:
    root.mkdir()
    (root / "README.md").write_text("read me")
    (root / "dibs.toml").write_text(settings)
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run([*GIT, *words], cwd=root, check=True)
    project = open_at(locate(str(root)))
    project.agents.beat(Caller("first"))
    project.close()
    return root


@pytest.fixture(autouse=True)
def own_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith(("GIT_", "DIBS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return clone(tmp_path / "repo")


@pytest.fixture
def server(tmp_path: Path, root: Path) -> Iterator[Resident]:
    yield from served(tmp_path / "server", root)


def served(folder: Path, *roots: Path) -> Iterator[Resident]:
    resident = Resident(str(folder))
    resident.start()
    for root in roots:
        resident.projects.add(str(root))
    yield resident
    resident.stop()


def claim(
    project: Project, agent: str, path: str, ttl: float = TTL, *, queue: bool = False
) -> object:
    def step(rows):  # type: ignore[no-untyped-def]
        beat = arrive(rows, Caller(agent))
        request = Request(agent, (parse(path),), "exclusive", ttl)
        waiting = WaitOptions(rows.now + 600.0, 300.0, standing=True) if queue else None
        return attempt(rows, request, beat, max_hold=3_600.0, waiting=waiting)

    return project.store.apply(step)


def entries(project: Project, kind: str) -> list[Entry]:
    return project.ledger.newest(Query(kinds=frozenset({kind})), 1_000)


def project_of(server: Resident) -> Project:
    return server.projects.get().project()


def wait_for_first_runs(server: Resident) -> None:
    until(lambda: all(one.runs for one in server.scheduler.registered()))


def test_a_claim_expires_at_its_deadline_and_its_owner_gets_one_message(server: Resident) -> None:
    wait_for_first_runs(server)  # the next cleanup is a minute away, but for the claim
    project = project_of(server)
    claim(project, "ann", "README.md")
    until(lambda: entries(project, "lock_expired"))
    (entry,) = entries(project, "lock_expired")
    assert 0 <= entry.at - entry.details["expired_at"] < 1.0
    for _ in range(3):
        server.scheduler.soon(f"{server.projects.get().id}/{CLEANUP}")
    told = [letter.message.text for letter in project.mail.inbox(Caller("ann"))]
    assert [text for text in told if "README.md" in text] == ["your claim on README.md expired"]


def test_the_next_in_the_queue_gets_its_turn_when_a_claim_expires(server: Resident) -> None:
    project = project_of(server)
    claim(project, "ann", "README.md")
    claim(project, "bob", "README.md", 60.0, queue=True)
    until(lambda: entries(project, "lock_turn"))
    (turn,) = entries(project, "lock_turn")
    (expired,) = entries(project, "lock_expired")
    assert turn.agent == "bob"
    assert turn.at - expired.details["expired_at"] < 1.0


def test_a_killed_session_loses_its_claims_within_five_seconds(
    server: Resident, root: Path
) -> None:
    project = project_of(server)
    guarded = Guarded(root, project.engine, project.place.repository)
    process = subprocess.Popen(["sleep", "600"])
    guarded.processes["11111111-a"] = running(process.pid)
    guarded.edit("11111111-a", "a.py")
    guarded.write("a.py", "half")
    assert isinstance(guarded.claim("bob", "a.py"), Denied)
    killed = project.store.now()
    process.kill()
    process.wait()
    until(lambda: entries(project, "agent_exited"))
    (entry,) = entries(project, "agent_exited")
    assert (entry.agent, entry.at - killed < 5.0) == ("claude-11111111", True)
    assert entries(project, "work_salvaged")
    assert isinstance(guarded.claim("bob", "a.py"), Granted)


def test_a_project_has_its_own_jobs(server: Resident) -> None:
    id_ = server.projects.get().id
    names = {one.id for one in server.scheduler.registered()}
    assert {
        f"{id_}/{name}"
        for name in (CLEANUP, SESSIONS, HEARTBEATS, PRUNING, BOARD, FORECAST, COPIES)
    } <= names


def test_two_servers_on_one_redis_do_everything_once(tmp_path: Path, redis_url: str) -> None:
    settings = f'engine = "{redis_url}"\nproject = "common"\n'
    roots = [clone(tmp_path / name, settings) for name in ("one", "two")]
    first = served(tmp_path / "server-1", roots[0])
    second = served(tmp_path / "server-2", roots[1])
    servers = [next(first), next(second)]
    project = project_of(servers[0])
    for number in range(10):
        claim(project, f"agent-{number}", f"file-{number}")
    until(lambda: len(entries(project, "lock_expired")) >= 10)
    for server in servers:
        wait_for_first_runs(server)
    assert len(entries(project, "lock_expired")) == 10
    assert not Leases(project.store, "a third server").take(PRUNING, 3_600.0, 60.0)
    for running_one in (first, second):
        next(running_one, None)


# -- the watch over processes


class Watched:
    """An engine that counts reads, and fails on demand."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.reads = 0
        self.away = False

    def view(self, step: Any) -> Any:
        self.reads += 1
        if self.away:
            raise Unavailable("the store is away")
        return self._engine.view(step)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


@pytest.fixture
def watched(root: Path) -> Iterator[tuple[Project, Watched]]:
    project = open_at(locate(str(root)))
    engine = Watched(project.engine)
    project.store.engine = engine
    yield project, engine
    project.close()


def test_an_idle_watch_does_not_read_the_store(watched: tuple[Project, Watched]) -> None:
    project, engine = watched
    clock = ManualClock(1_000.0)
    watch = SessionWatch(clock)
    for _ in range(30):
        watch.look(project)
        clock.now += 1.0
    assert engine.reads == 1
    watch.changed()
    watch.look(project)
    clock.now += READ_EVERY
    watch.look(project)
    assert engine.reads == 3


def test_a_watch_that_cannot_read_the_store_waits_before_it_tries_again(
    watched: tuple[Project, Watched],
) -> None:
    project, engine = watched
    clock = ManualClock(1_000.0)
    watch = SessionWatch(clock)
    engine.away = True
    with pytest.raises(Unavailable):
        watch.look(project)
    for _ in range(4):
        clock.now += 1.0
        assert watch.look(project) == []
    clock.now += PAUSE
    with pytest.raises(Unavailable):
        watch.look(project)
    assert engine.reads == 2
