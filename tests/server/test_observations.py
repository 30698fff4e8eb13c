"""What agents edit and read is collected by the server, and written many at once."""

from __future__ import annotations

import json
import signal
import subprocess

import pytest
from tests.guard.hooking import call, command

from dibs.core.claims.ledger import Kind
from dibs.server.observations import EVERY, KEPT, MOST, Observations
from dibs.services.guard.file_log import Observation
from dibs.services.state.ledger import Query

SEEN = frozenset({Kind.FILE_EDIT, Kind.FILE_READ})


class Desk:
    """A served project whose observations are written when the test's clock says so."""

    def __init__(self, resident):
        self.now = 100.0
        self.served = resident.projects.all()[0]
        self.observations = Observations(resident.projects, clock=lambda: self.now)
        self.state = self.project.place.repository.state

    @property
    def project(self):
        return self.served.project()

    def see(self, count=1, kind=Kind.FILE_EDIT, at=1.5):
        for number in range(count):
            seen = Observation(at, "bob", "agent", kind, "bob edited a.py", (f"{number}.py",), 1)
            self.observations.add(self.state, seen)

    def entries(self):
        return self.project.ledger.newest(Query(kinds=SEEN), 10_000)


@pytest.fixture
def desk(resident):
    return Desk(resident)


def test_observations_are_written_after_a_quarter_of_a_second_in_one_transaction(desk):
    desk.see(10)
    assert desk.observations.tick() == pytest.approx(EVERY)
    assert desk.entries() == []

    desk.now += EVERY
    desk.observations.tick()

    assert len(desk.entries()) == 10
    assert len({entry.at for entry in desk.entries()}) == 1


def test_sixty_four_observations_are_written_at_once(desk):
    desk.see(MOST - 1)
    desk.observations.tick()
    assert desk.entries() == []

    desk.see()
    desk.observations.tick()

    assert len(desk.entries()) == MOST


def test_an_entry_says_when_it_was_observed(desk):
    desk.see(at=1.5)
    desk.observations.flush()
    (entry,) = desk.entries()
    assert entry.details["at"] == 1.5
    assert entry.at > 1.5


def test_stopping_writes_everything_and_so_does_whatever_comes_later(desk):
    desk.observations.start()
    desk.see(3)
    desk.observations.stop()
    assert len(desk.entries()) == 3
    desk.see(1)
    assert len(desk.entries()) == 4


def test_observations_wait_while_the_store_does_not_answer_and_the_oldest_are_dropped(
    desk, monkeypatch
):
    from dibs.errors import Unavailable

    def unreachable(*_):
        raise Unavailable("down")

    with monkeypatch.context() as broken:
        broken.setattr(Observations, "_put", unreachable)
        desk.see(KEPT + 5)
        desk.observations.flush()
    desk.observations.flush()

    found = desk.entries()
    assert len(found) == KEPT
    assert found[0].details["paths"] == ["5.py"]


# -- with a real server


def hook(server, event, path, tool, session="s1"):
    told = json.loads(call(server.repo, path, session, tool)) | {"hook_event_name": event}
    done = subprocess.run(
        command(), input=json.dumps(told).encode(), cwd=server.repo, env=server.environ,
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done


def test_a_read_through_the_server_shows_what_hooks_observed_before(server):
    (server.repo / "a.py").write_text("x\n")
    hook(server, "PreToolUse", "a.py", "Read")
    hook(server, "PreToolUse", "a.py", "Write")
    hook(server, "PostToolUse", "a.py", "Write")
    entries = server.request("GET", "/api/v1/log?limit=50").json
    listed = entries if isinstance(entries, list) else entries["entries"]
    kinds = [entry["kind"] for entry in listed]
    assert {"file_read", "file_edit"} <= set(kinds)


def test_a_killed_server_loses_at_most_one_batch(start_server):
    server = start_server()
    for number in range(3):
        hook(server, "PreToolUse", f"{number}.py", "Read")
    listed = server.request("GET", "/api/v1/log?limit=50")
    assert listed.status == 200
    hook(server, "PreToolUse", "last.py", "Read")
    server.stop(signal.SIGKILL)
    found = json.loads(server.dibs("log", "--json", "-n", "50").stdout)
    reads = [entry["details"]["paths"][0] for entry in found if entry["kind"] == "file_read"]
    assert reads[:3] == ["0.py", "1.py", "2.py"]
