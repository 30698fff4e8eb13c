"""A git remote disappears, loses data, and is contended: confirmed results stay true."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest
from proof_diary import Diaries, held_twice
from proof_machines import (
    FENCED,
    SLACK,
    UNAVAILABLE,
    UNKNOWN,
    Job,
    crew_of,
    kill_commands,
    machines,
    one_line,
    progress,
    tell,
)
from tests.servers import FaultProxy, GitRemote
from tests.soak import effort

from dibs.config.load import Config
from dibs.core.claims.agents import Caller
from dibs.core.claims.rules import Granted
from dibs.core.patterns.pattern import parse
from dibs.engines.git.engine import GitEngine
from dibs.engines.shared.clock import Sources
from dibs.errors import Fenced
from dibs.services.claims.holdings import Holdings
from dibs.services.claims.service import Claims
from dibs.services.state.lifecycle import begin_life
from dibs.services.state.store import Store
from dibs.testing import ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[GitRemote]:
    with GitRemote(tmp_path / "remote") as remote:
        yield remote


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


@pytest.mark.parametrize("how", effort(["renamed", "hole"], ["renamed", "empty", "daemon", "hole"]))
def test_an_unreachable_git_remote_is_unavailable_in_time_and_works_when_it_is_back(
    remote: GitRemote, tmp_path: Path, how: str
):
    """Guarantee: a request that cannot reach the remote says so in time, and nothing happened.

    Checked: remote renamed, repository deleted, daemon stopped: exit 69, one line. Behind a black
    hole that swallows what was pushed, it may be 5, unknown. When the remote is back, the same
    request is granted, and earlier claims are still held.
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

        one_line(
            refused, UNKNOWN if how == "hole" and refused.returncode == UNKNOWN else UNAVAILABLE
        )
        assert took < 3.0 + SLACK
        assert here.claims() == {"docs/": "early"}
        assert here.dibs("claim", "src/x.py", agent="a").returncode == 0
        assert there.claims() == {"docs/": "early", "src/x.py": "a"}
    finally:
        away.close()


@pytest.mark.parametrize("how", effort(["path"], ["path", "daemon"]))
def test_commands_killed_at_random_lose_nothing_that_was_confirmed_and_block_no_one(
    remote: GitRemote, tmp_path: Path, how: str
):
    """Guarantee: a confirmed claim is on the remote; one killed on its way is there completely or not at all.

    Checked: 20 times, two commands on two machines race for a path, and each is killed, with its
    git processes, at a random moment. After that no confirmed claim is missing, no path has two
    owners, and both machines can claim at once: no lock file is in the way.
    """
    engine = f"git:{remote.path}" if how == "path" else remote.git_url()
    crew = machines(tmp_path, engine, DIBS_TIMEOUT="15s")
    kill_commands(crew, tmp_path, 20, within=15.0)


def deleted(remote: GitRemote, _: str) -> None:
    remote.git("update-ref", "-d", "refs/heads/dibs")


def forced_back(remote: GitRemote, old: str) -> None:
    remote.git("update-ref", "refs/heads/dibs", old)


@pytest.mark.parametrize("harm", effort([forced_back], [deleted, forced_back]))
def test_a_branch_that_is_deleted_or_force_pushed_under_load_starts_a_new_life(
    remote: GitRemote, tmp_path: Path, harm: Callable[[GitRemote, str], None]
):
    """Guarantee: a branch that lost commits starts a new life: no number repeats, no old token is valid.

    Checked: four agents on two machines, while the branch is deleted or force-pushed to a much
    older commit. An earlier token is fenced (exit 4); tokens increase; of the claims confirmed to
    the end, no two were held at once.
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


def test_sixteen_agents_on_one_remote_all_make_progress_and_none_starves(
    remote: GitRemote, tmp_path: Path
):
    """Guarantee: everyone who pushes to one branch gets a turn.

    Checked: sixteen agents on two machines claim and release unrelated paths for twelve seconds; no
    call fails, and the slowest does a fair share of what the fastest does.
    """
    crew = machines(tmp_path, f"git:{remote.path}")
    with Job("starve", [m.spec for m in crew], 16, 12.0) as job:
        found = job.end()["found"]

    assert all(isinstance(answer, list) for answer in found.values()), found
    rounds = [done for done, _ in found.values()]
    longest = max(longest for _, longest in found.values())
    tell(
        f"rounds {sorted(rounds)}, slowest/fastest {min(rounds) / max(rounds):.2f}, "
        f"longest round {longest:.2f} s"
    )
    assert min(rounds) > 0
    assert min(rounds) / max(rounds) >= 0.3


class Clocked:
    """An agent on a machine whose clock the test moves."""

    def __init__(self, remote: GitRemote, folder: Path, name: str) -> None:
        self.clock = ManualClock(1_000.0)
        self.caller = Caller(name)
        self.engine = GitEngine(
            remote.path,
            state=folder / name,
            sources=Sources(self.clock, lambda: 1.7e9, lambda: "boot"),
            renew=begin_life,
        )
        store = Store(self.engine, Config(ttl=60.0))
        self.claims, self.holdings = Claims(store), Holdings(store)

    def claim(self, *texts: str) -> int:
        """Return the token, or 0 if another agent holds it."""
        answer = self.claims.claim(self.caller, [parse(text) for text in texts or ("src/x.py",)])
        return answer.token if isinstance(answer, Granted) else 0

    def release(self, token: int) -> None:
        self.holdings.release(self.caller, [parse("src/x.py")], token=token)


def test_an_owner_that_sleeps_past_its_ttl_wakes_up_fenced_on_git(
    remote: GitRemote, tmp_path: Path
):
    """Guarantee: a claim never expires before its ttl, by the observer's clock; a late owner is fenced.

    Checked: a machine that sleeps (its clock stops), and a successor on another one, a second
    before and at the end of the ttl from its own first read; then the owner releases, and so does
    the successor.
    """
    holder, successor = (Clocked(remote, tmp_path, name) for name in ("holder", "successor"))
    token = holder.claim("src/x.py", "docs/left")
    assert token
    assert successor.claim() == 0
    successor.clock.now += 59.0
    assert successor.claim() == 0
    successor.clock.now += 2.0
    newer = successor.claim()
    holder.clock.now += 61.0

    assert newer > token
    with pytest.raises(Fenced):
        holder.release(token)
    for text in ("src/x.py", "docs/left"):
        with pytest.raises(Fenced):  # although no one took what is left
            holder.holdings.renew(holder.caller, [parse(text)])
    assert holder.claim() == 0
    successor.release(newer)
    for one in (holder, successor):
        one.engine.close()
