"""A server stops, breaks, and loses data: confirmed results stay true, or agents are corrected in time."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest
from proof_crew import eventually
from proof_diary import Diaries, held_twice
from proof_machines import (
    FENCED,
    SLACK,
    UNAVAILABLE,
    UNKNOWN,
    crew_of,
    kill_commands,
    machines,
    one_line,
    progress,
    tell,
)
from tests.servers import FaultProxy, PostgresServer, RedisServer
from tests.soak import effort

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

#: The shortest ttl that Redis and PostgreSQL allow.
TTL = 5.0

both = pytest.mark.parametrize("server", ["redis", "postgres"], indirect=True)
one = pytest.mark.parametrize("server", effort(["redis"], ["redis", "postgres"]), indirect=True)


@pytest.fixture
def server(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[RedisServer | PostgresServer]:
    """Return a server that a test may harm, by default a Redis; every write is on disk before it replies."""
    if getattr(request, "param", "redis") == "redis":
        server = RedisServer(tmp_path / "redis", aof="always")
    else:
        server = PostgresServer(tmp_path / "postgres")
    with server:
        yield server


@one
def test_an_owner_that_sleeps_past_its_ttl_wakes_up_fenced_on_a_server(
    server: RedisServer | PostgresServer, tmp_path: Path
):
    """Guarantee: a late owner's renewal and release are refused as fenced and change nothing.

    Checked: owner stopped (SIGSTOP) past its ttl, successor on another machine; then both calls of
    the owner, as a service and as a command (exit 4, one line that says so); the successor's token
    stays valid.
    """
    here, there = machines(tmp_path, server.url)
    with here.puppet("holder") as holder:
        assert holder.do("claim", "src/x.py", "docs/left")["token"]
        os.kill(holder.pid, signal.SIGSTOP)
        out, _ = there.start(
            "claim", "src/x.py", "--wait", "60s", "--json", agent="successor"
        ).communicate(timeout=60)
        token = json.loads(out)["token"]
        rows = there.rows()
        os.kill(holder.pid, signal.SIGCONT)

        for order, path in (("renew", "src/x.py"), ("release", "src/x.py"), ("renew", "docs/left")):
            assert holder.do(order, path)["error"] == "FENCED", (order, path)
        for word in ("renew", "release"):
            late = here.dibs(word, "src/x.py", agent="holder")
            one_line(late, FENCED)
            assert "expired" in late.stderr

        assert there.rows() == rows, "a fenced call changes nothing"
        kept = there.dibs("renew", "src/x.py", "--token", str(token), agent="successor")
        assert kept.returncode == 0, kept


class Listener(threading.Thread):
    """Reads a command's output, and records the store's time of each line."""

    def __init__(self, process: subprocess.Popen[str], moment: Callable[[], float]) -> None:
        super().__init__(daemon=True)
        self._process = process
        self._moment = moment
        self.said: list[tuple[float, str]] = []
        self.start()

    def run(self) -> None:
        """Read to the end."""
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.said.append((self._moment(), line))

    def end(self) -> int:
        """Wait for the command, and return its exit status."""
        status = self._process.wait(60)
        self.join(10)
        self._process.communicate()  # closes what is left
        return status

    def first(self, words: str) -> float:
        """Return the time of the first line that contains ``words``."""
        return next(at for at, line in self.said if words in line)


def test_a_run_that_is_cut_off_reports_lost_claims_before_anyone_can_have_them(
    server: RedisServer, tmp_path: Path
):
    """Guarantee: a run that cannot reach its engine says so before another agent can have its claims.

    Checked: three runs behind a black hole, each with a waiter on another machine. When a run says
    so, the store is asked for its time, which is therefore slightly later; the grant has a
    timestamp of the same clock.
    """
    near, there = machines(tmp_path, server.url)
    with FaultProxy(server) as proxy, there.project() as watch:
        here = near.at(server.url_of(0, proxy.port))
        runs, waiters = [], []
        for number in range(3):
            words = ("run", "--claim", f"src/{number}.py", "--ttl", "5s", "--", "sleep", "60")
            runs.append(here.start(*words, agent=f"cut-{number}"))
        eventually("all run", lambda: len(there.claims()) == 3)
        for number in range(3):
            words = ("claim", f"src/{number}.py", "--wait", "60s", "--json")
            waiters.append(there.start(*words, agent=f"next-{number}"))
        eventually("all wait", lambda: len(there.tickets()) == 3)
        listeners = [Listener(run, lambda: watch.engine.view(lambda txn: txn.now)) for run in runs]
        proxy.swallow()

        grants = [json.loads(waiter.communicate(timeout=60)[0]) for waiter in waiters]
        assert [listener.end() for listener in listeners] == [FENCED] * 3
        since = {claim["pattern"]: claim["since"] for g in grants for claim in g["claims"]}

    margins = [
        since[f"src/{number}.py"] - listener.first(f"src/{number}.py is no longer certain")
        for number, listener in enumerate(listeners)
    ]
    tell(f"seconds between the report and the grant: {[round(margin, 2) for margin in margins]}")
    assert min(margins) > 0


def test_while_the_server_is_frozen_no_one_is_granted_and_then_old_owners_are_fenced(
    server: RedisServer, tmp_path: Path
):
    """Guarantee: a frozen server revokes nothing: claims expire by its own clock.

    Checked: server stopped (SIGSTOP) past the ttl; a run says that its claim is lost within its
    ttl, another agent's claim request ends with 69 or 5 within its timeout; after that the path
    goes to the next agent, and the old token is fenced.
    """
    here, there = machines(tmp_path, server.url)
    token = here.token("src/y.py", "--ttl", "5s", agent="old")
    run = here.start("run", "--claim", "src/x.py", "--ttl", "5s", "--", "sleep", "60", agent="run")
    eventually("it runs", lambda: "src/x.py" in there.claims())
    listener = Listener(run, time.monotonic)
    stopped = time.monotonic()
    server.pause()
    try:
        refused = there.dibs("claim", "src/x.py", agent="next", DIBS_TIMEOUT="1s")
        took = time.monotonic() - stopped
        assert listener.end() == FENCED
        eventually("the ttl has passed", lambda: time.monotonic() > stopped + TTL)
    finally:
        server.resume()

    assert refused.returncode in (UNKNOWN, UNAVAILABLE), refused
    assert took < 1.0 + SLACK
    assert listener.first("no longer certain") - stopped < TTL
    for path in ("src/x.py", "src/y.py"):
        newer = there.token(path, "--wait", "10s", agent="next")
        assert newer > token
    one_line(here.dibs("release", "src/y.py", "--token", str(token), agent="old"), FENCED)
    assert there.claims() == {"src/x.py": "next", "src/y.py": "next"}


@both
def test_a_durable_server_that_is_killed_under_load_loses_nothing(
    server: RedisServer | PostgresServer, tmp_path: Path
):
    """Guarantee, on Redis with ``appendfsync always``: what was confirmed survives the server's death.

    Checked: six agents on two machines, server killed (SIGKILL) and restarted four times: every
    confirmed grant is in the ledger, an earlier claim can be released, tokens increase, and no two
    agents held the same path at once.
    """
    crew = machines(tmp_path, server.url)
    token = crew[0].token("kept.md", agent="early")
    diary = tmp_path / "diary"
    with crew_of(crew, 6, diary) as job:
        for _ in range(4):
            server.kill()
            server.start()
            progress(diary, 6)
        job.end()

    diaries, entries = Diaries(diary), crew[0].ledger()
    assert diaries.missing(entries) == []
    assert diaries.fenced == []
    assert diaries.errors <= {"Unavailable", "Unknown"}
    assert diaries.at_once() == []
    assert diaries.not_growing() == []
    assert held_twice(entries) == []
    assert [e.seq for e in entries if e.kind == "ledger_restarted"] == []
    kept = crew[1].dibs("release", "kept.md", "--token", str(token), agent="early")
    assert kept.returncode == 0, kept


def test_commands_killed_at_random_on_postgresql_lose_nothing_and_block_no_one(
    postgres_url: str, tmp_path: Path
):
    """Guarantee: a confirmed claim is in the store; one killed on its way is there completely or not at all.

    Checked: 20 times, two commands on two machines race for a path, and each is killed at a random
    moment. After that no confirmed claim is missing, no path has two owners, and both machines can
    claim at once.
    """
    kill_commands(machines(tmp_path, postgres_url), tmp_path, 20)


def forgets_by_restart(server: RedisServer) -> None:
    server.kill()
    server.start()


def forgets_by_flush(server: RedisServer) -> None:
    server.call("FLUSHALL")


def forgets_the_newest(server: RedisServer) -> None:
    """Come back with an older state, as from a snapshot."""
    server.call("SAVE")
    time.sleep(0.3)  # in which the crew writes what will be lost
    server.kill()
    server.start()


@pytest.mark.parametrize(
    "forget",
    effort([forgets_the_newest], [forgets_by_restart, forgets_by_flush, forgets_the_newest]),
)
def test_a_server_that_loses_data_under_load_starts_a_new_life_and_fences_old_tokens(
    tmp_path: Path, forget: Callable[[RedisServer], None]
):
    """Guarantee: a store that lost state starts a new life: no number repeats, no old token is valid.

    Checked: six agents on two machines; the server is killed without a file or with an older one,
    or emptied (FLUSHALL), three times. An earlier token is fenced (exit 4); tokens increase across
    lives; of the claims confirmed to the end, no two were held at once.
    """
    with RedisServer(tmp_path / "redis") as server:
        crew = machines(tmp_path, server.url)
        diary = tmp_path / "diary"
        tokens = []
        with crew_of(crew, 6, diary) as job:
            for _ in range(3):
                tokens.append(crew[0].token("kept.md", agent=f"early-{len(tokens)}"))
                forget(server)
                progress(diary, 6)
            job.end()
        entries = crew[0].ledger()
        for number, token in enumerate(tokens):
            late = crew[1].dibs(
                "release", "kept.md", "--token", str(token), agent=f"early-{number}"
            )
            one_line(late, FENCED)

    assert "ledger_restarted" in [entry.kind for entry in entries]
    assert tokens == sorted(set(tokens))
    diaries = Diaries(diary)
    assert diaries.errors <= {"Unavailable", "Unknown", "Fenced"}
    assert diaries.at_once() == []
    assert diaries.not_growing() == []
    assert held_twice(entries) == []
