"""Stores on other machines break, vanish and forget: what an agent was told stays true, or it is told otherwise."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from proof_crew import eventually
from proof_diary import Diaries, held_twice
from proof_machines import Job, Machine, machines
from proof_nursery import clashes
from tests.servers import FaultProxy, GitRemote, RedisServer

from dibs.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

FENCED, UNKNOWN, UNAVAILABLE = 4, 5, 69
#: The shortest ttl that Redis allows.
TTL = 5.0
#: How much longer than promised a loaded machine may take to start a command.
SLACK = 8.0
PATHS = ["src/x.py", "src/*.py", "src/[xy].py", "docs/"]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    """Return a redis-server that a test may harm; every write is on its disk before it answers."""
    with RedisServer(tmp_path / "redis", aof="always") as server:
        yield server


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[GitRemote]:
    with GitRemote(tmp_path / "remote") as remote:
        yield remote


def one_line(answer: subprocess.CompletedProcess[str], status: int) -> None:
    """Check that a command failed as it should: known status, one line, no traceback."""
    assert answer.returncode == status, answer
    assert answer.stderr.startswith("dibs: ")
    assert answer.stderr.count("\n") == 1, answer.stderr


def crew_of(job_machines: list[Machine], size: int, diary: Path, rest: float = 0.002) -> Job:
    """Start a crew that claims and releases, and return once all work."""
    specs = [machine.spec for machine in job_machines]
    job = Job("crew", specs, size, str(diary), PATHS, 5.0, rest)
    job.hear()
    progress(diary, size)
    return job


def progress(diary: Path, rounds: int) -> None:
    """Wait until so many more claims were given back."""

    def done() -> int:
        text = diary.read_text() if diary.exists() else ""
        return sum('"release"' in line and '"kind"' not in line for line in text.splitlines())

    goal = done() + rounds
    eventually("the crew gets on", lambda: done() >= goal, 40)


# -- Redis


def test_a_holder_that_sleeps_past_its_ttl_wakes_up_fenced_on_redis(
    server: RedisServer, tmp_path: Path
):
    """Promised: a late holder's renewal and release are refused as fenced, and change nothing.

    Checked: holder stopped (SIGSTOP) past its ttl, successor on another machine; then both calls of the holder,
    as a service and as a command (exit 4, one line that says so); the successor's token still counts.
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
    """Reads what a command says, and asks for the moment at which each line came."""

    def __init__(self, process: subprocess.Popen[str], moment: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._process = process
        self._moment = moment
        self.said: list[tuple[Any, str]] = []
        self.start()

    def run(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.said.append((self._moment(), line))


def test_a_run_that_is_cut_off_says_that_its_claims_are_lost_before_anyone_can_have_them(
    server: RedisServer, tmp_path: Path
):
    """Promised: who cannot reach its engine past its ttl says so before anybody else can be granted its claims.

    Checked: three runs behind a black hole, with a waiter each on another machine. When a run says it, the store
    is asked for its time, which is therefore a little later; the grant is stamped with the same clock.
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
        assert [run.wait(60) for run in runs] == [FENCED] * 3
        for listener in listeners:
            listener.join(10)
        since = {claim["pattern"]: claim["since"] for g in grants for claim in g["claims"]}

    margins = []
    for number, listener in enumerate(listeners):
        lost = [at for at, line in listener.said if f"src/{number}.py is no longer certain" in line]
        assert lost, listener.said
        margins.append(since[f"src/{number}.py"] - lost[0])
    print("said before the grant, seconds:", [f"{margin:.2f}" for margin in margins])
    assert min(margins) > 0


def test_while_the_server_stands_still_past_the_ttl_nobody_is_granted_and_then_the_old_are_fenced(
    server: RedisServer, tmp_path: Path
):
    """Promised: a server that stops takes nobody's word back: claims run out by its own clock.

    Checked: server stopped (SIGSTOP) past the ttl; a run says that its claim is lost within its ttl, a claim of
    another agent ends with 69 or 5 in its timeout; after that the path goes to the next, and the old token is fenced.
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
        assert run.wait(60) == FENCED
        listener.join(10)
        eventually("the ttl is over", lambda: time.monotonic() > stopped + TTL)
    finally:
        server.resume()

    assert refused.returncode in (UNKNOWN, UNAVAILABLE), refused
    assert took < 1.0 + SLACK
    (said, _) = next(x for x in listener.said if "no longer certain" in x[1])
    assert said - stopped < TTL
    for path in ("src/x.py", "src/y.py"):
        newer = there.token(path, "--wait", "10s", agent="next")
        assert newer > token
    one_line(here.dibs("release", "src/y.py", "--token", str(token), agent="old"), FENCED)
    assert there.claims() == {"src/x.py": "next", "src/y.py": "next"}


def test_a_server_that_writes_before_it_answers_is_killed_under_a_crew_and_loses_nothing(
    server: RedisServer, tmp_path: Path
):
    """Promised, with ``appendfsync always``: what was acknowledged survives the server's death.

    Checked: six agents on two machines, server killed (SIGKILL) and restarted four times: every acknowledged
    grant is in the ledger, a claim from before can be given back, tokens grow, nobody held with another at once.
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


def forgets_by_restart(server: RedisServer) -> None:
    server.kill()
    server.start()


def forgets_by_flush(server: RedisServer) -> None:
    server.call("FLUSHALL")


@pytest.mark.parametrize("forget", [forgets_by_restart, forgets_by_flush])
def test_a_server_that_forgets_under_a_crew_begins_a_new_life_and_old_tokens_are_fenced(
    tmp_path: Path, forget: Callable[[RedisServer], None]
):
    """Promised: a store that lost state begins a new life: no number comes twice, no old token counts.

    Checked: six agents on two machines; the server is killed without a file, or emptied (FLUSHALL), three
    times. A token from before is fenced (exit 4); tokens grow over the lives; no two of those who were told to
    the end that they held did so at once.
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
            late = crew[1].dibs("release", "kept.md", "--token", str(token), agent=f"early-{number}")
            one_line(late, FENCED)

    assert entries[0].kind == "ledger_restarted"
    assert tokens == sorted(set(tokens))
    diaries = Diaries(diary)
    assert diaries.errors <= {"Unavailable", "Unknown", "Fenced"}
    assert diaries.at_once() == []
    assert diaries.not_growing() == []
    assert held_twice(entries) == []


# -- git


class Away:
    """Ways in which a remote goes away and comes back."""

    def __init__(self, remote: GitRemote) -> None:
        self.remote = remote
        self.proxy: FaultProxy | None = None

    def engine(self, how: str) -> str:
        if how == "daemon":
            return self.remote.git_url()
        if how == "hole":
            self.remote.git_url()
            self.proxy = FaultProxy(self.remote.daemon)
            return self.remote.git_url(self.proxy.port)
        return f"git:{self.remote.path}"

    def go(self, how: str) -> None:
        if how == "daemon":
            self.remote.daemon.stop()
        elif self.proxy is not None:
            self.proxy.swallow()
        else:
            os.rename(self.remote.path, self.remote.path + ".away")
            if how == "empty":
                os.mkdir(self.remote.path)

    def come_back(self, how: str) -> None:
        if how == "daemon":
            self.remote.daemon.start()
        elif self.proxy is not None:
            self.proxy.heal()
        else:
            if how == "empty":
                os.rmdir(self.remote.path)
            os.rename(self.remote.path + ".away", self.remote.path)

    def close(self) -> None:
        if self.proxy is not None:
            self.proxy.close()


@pytest.mark.parametrize("how", ["renamed", "empty", "daemon", "hole"])
def test_a_git_remote_that_cannot_be_reached_is_unavailable_in_time_and_works_when_it_is_back(
    remote: GitRemote, tmp_path: Path, how: str
):
    """Promised: a claim that cannot reach the remote says so within its timeout, and nothing has happened.

    Checked: remote renamed away, no repository any more, daemon stopped, or behind a black hole: exit 69, one
    line; when it is back, the same claim is granted, and what was held before is still held.
    """
    away = Away(remote)
    try:
        here, there = machines(tmp_path, away.engine(how), DIBS_TIMEOUT="3s")
        assert there.dibs("claim", "docs/", agent="early").returncode == 0
        assert here.dibs("status").returncode == 0
        away.go(how)
        started = time.monotonic()
        refused = here.dibs("claim", "src/x.py", agent="a")
        took = time.monotonic() - started
        away.come_back(how)

        one_line(refused, UNAVAILABLE)
        assert took < 3.0 + SLACK
        assert here.claims() == {"docs/": "early"}
        assert here.dibs("claim", "src/x.py", agent="a").returncode == 0
        assert there.claims() == {"docs/": "early", "src/x.py": "a"}
    finally:
        away.close()


@pytest.mark.parametrize("how", ["path", "daemon"])
def test_commands_killed_at_random_lose_nothing_that_was_acknowledged_and_block_nobody(
    remote: GitRemote, tmp_path: Path, how: str
):
    """Promised: a claim that was acknowledged is on the remote; one killed on its way is there whole or not.

    Checked: 20 times two commands on two machines race for a path, and each is killed, with the git processes
    that it started, at a random moment. After that no acknowledged claim is missing, no path has two holders,
    and both machines claim at once: no lock file is in the way.
    """
    engine = f"git:{remote.path}" if how == "path" else remote.git_url()
    crew = machines(tmp_path, engine, DIBS_TIMEOUT="15s")
    answers = tmp_path / "answers"
    answers.mkdir()
    with Job("killed", [m.spec for m in crew], str(answers), 20) as job:
        report = job.end()

    acknowledged = {}
    for file in answers.iterdir():
        text = file.read_text()
        if text.endswith("}\n") and (shape := json.loads(text))["outcome"] == "granted":
            (claim,) = shape["claims"]
            assert claim["pattern"] not in acknowledged, "two were told that they hold it"
            acknowledged[claim["pattern"]] = (claim["agent"], claim["token"])
    print(f"{len(acknowledged)} acknowledged, {report}")
    assert 2 <= len(acknowledged) < 21, report
    started = time.monotonic()
    for number, machine in enumerate(crew):
        done = machine.dibs("claim", f"after-{number}.py", agent="after")
        assert done.returncode == 0, done
    assert time.monotonic() - started < 15.0 + SLACK
    for machine in crew:
        with machine.project() as project:
            held = {h.claim.pattern: (h.claim.agent, h.claim.token) for h in project.claims.all()[0]}
            assert acknowledged.items() <= held.items()
            assert clashes(project) == []
    assert held_twice(crew[0].ledger()) == []


def deleted(remote: GitRemote, _: str) -> None:
    remote.git("update-ref", "-d", "refs/heads/dibs")


def forced_back(remote: GitRemote, old: str) -> None:
    remote.git("update-ref", "refs/heads/dibs", old)


@pytest.mark.parametrize("harm", [deleted, forced_back])
def test_a_branch_that_is_deleted_or_forced_back_under_a_crew_begins_a_new_life(
    remote: GitRemote, tmp_path: Path, harm: Callable[[GitRemote, str], None]
):
    """Promised: a branch that lost commits begins a new life: no number comes twice, no old token counts.

    Checked: four agents on two machines, while the branch is deleted, or forced back by many commits. A token
    from before is fenced (exit 4); tokens grow; no two of those who were told to the end that they held did so
    at once.
    """
    crew = machines(tmp_path, f"git:{remote.path}", DIBS_GIT_POLL="1s")
    first = crew[0].token("first.md", agent="first")
    old = remote.refs()["refs/heads/dibs"]
    diary = tmp_path / "diary"
    with crew_of(crew, 4, diary) as job:
        token = crew[1].token("kept.md", agent="early")
        progress(diary, 4)
        harm(remote, old)
        progress(diary, 6)
        job.end()

    for agent, path, number in (("early", "kept.md", token), ("first", "first.md", first)):
        one_line(crew[1].dibs("release", path, "--token", str(number), agent=agent), FENCED)
    entries = crew[0].ledger()
    assert [e.kind for e in entries].count("ledger_restarted") == 1
    diaries = Diaries(diary)
    assert diaries.errors <= {"Fenced"}
    assert diaries.at_once() == []
    assert diaries.not_growing() == []
    assert held_twice(entries) == []


def test_sixteen_agents_on_one_remote_all_get_on_and_none_starves(
    remote: GitRemote, tmp_path: Path
):
    """Promised: all who push to one branch get their turn.

    Checked: sixteen agents on two machines claim and release what nobody else wants, for eight seconds; no call
    fails, and the slowest has done a fair share of what the fastest has.
    """
    crew = machines(tmp_path, f"git:{remote.path}")
    with Job("starve", [m.spec for m in crew], 16, 8.0) as job:
        found = job.end()["found"]

    assert all(isinstance(answer, list) for answer in found.values()), found
    rounds = [done for done, _ in found.values()]
    longest = max(longest for _, longest in found.values())
    print(
        f"rounds {sorted(rounds)}, slowest/fastest {min(rounds) / max(rounds):.2f}, "
        f"longest round {longest:.2f} s"
    )
    assert min(rounds) > 0
    assert min(rounds) / max(rounds) > 0.1
