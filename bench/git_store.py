"""Compare the git engine with a push, and with a script that pushes lock files."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.servers.processes import clean_environment

from bench.measure import Row, Section, at_least, at_most, blocks, median
from dibs.config.load import Config
from dibs.core.claims.agents import Caller
from dibs.core.patterns.pattern import parse
from dibs.engines.git.engine import GitEngine
from dibs.services.claims.holdings import Holdings
from dibs.services.claims.service import Claims
from dibs.services.state.store import Store

AGENTS = 16
SECONDS = 12.0
SCRIPT = Path(__file__).parent.parent / "tests" / "data" / "claim-task.sh"


def git(folder: str, *words: str) -> str:
    """Run git; raise if it fails."""
    done = subprocess.run(
        ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.org", *words],
        cwd=folder, env=clean_environment(), check=True, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout


def claim() -> Section:
    """Compare one agent's claim with a push that has nothing to send."""
    with tempfile.TemporaryDirectory() as folder:
        hub, clone = f"{folder}/hub.git", f"{folder}/clone"
        git(folder, "init", "-q", "--bare", hub)
        git(folder, "clone", "-q", hub, clone)
        git(clone, "commit", "-q", "--allow-empty", "-m", "first")
        git(clone, "push", "-q", "origin", "HEAD:main")
        store = Store(GitEngine(hub, state=f"{folder}/state"), Config())
        claims, holdings, me = Claims(store), Holdings(store), Caller("agent-01")
        paths = [parse(f"src/m{n}.py") for n in range(500)]
        samples = blocks(
            {
                "push": lambda _: git(clone, "push", "-q", "origin", "HEAD:main"),
                "claim": lambda n: claims.claim(me, [paths[n]]),
                "release": lambda n: holdings.release(me, [paths[n]]),
            },
            rounds=8,
            each=5,
        )
        store.engine.close()
    floor, mine = median(samples["push"]), median(samples["claim"])
    rows = [
        Row("empty git push, p50", f"{floor * 1e3:.1f} ms"),
        Row("claim, p50", f"{mine * 1e3:.1f} ms"),
        at_most("claim / empty push", mine / floor, 5),
    ]
    return Section("Git, one agent", "The remote is a bare repository on the same disk.", rows)


def crowd() -> Section:
    """Compare the throughput of sixteen agents with that of the claim script."""
    with tempfile.TemporaryDirectory() as folder:
        seed = _seed_rate(folder)
        rows = [Row(f"task-lock script, {AGENTS} agents", f"{seed:.1f} claims/s")]
        for machines in (1, 4):
            counts, failures = _our_counts(folder, machines)
            rate = sum(counts) / SECONDS
            where = "one machine" if machines == 1 else f"{machines} machines"
            label = f"dibs, {AGENTS} agents on {where}"
            rows += [
                Row(label, f"{rate:.1f} claims and releases/s"),
                at_least(f"{label} / task-lock script", rate / max(seed, 0.01), 10),
                at_least(f"{label}: slowest / fastest", min(counts) / max(counts), 0.3),
                Row(f"{label}: failures", str(failures), "0", failures == 0),
            ]
    note = (
        f"{SECONDS:g} seconds each, all at once, with a bare repository on the same disk. The script locks"
        " tasks by pushing a file."
    )
    return Section("Git, sixteen agents", note, rows)


def _seed_rate(folder: str) -> float:
    """Let agents run the script, each in its own clone, and count the locks on the branch."""
    hub, first = f"{folder}/seed.git", f"{folder}/seed-0"
    git(folder, "init", "-q", "--bare", "-b", "main", hub)
    git(folder, "clone", "-q", hub, first)
    os.makedirs(f"{first}/tasks/pending")
    os.makedirs(f"{first}/current_tasks")
    Path(f"{first}/current_tasks/.keep").touch()
    for number in range(2000):
        Path(f"{first}/tasks/pending/t{number:04}.yml").write_text("title: x\n")
    git(first, "add", ".")
    git(first, "commit", "-q", "-m", "tasks")
    git(first, "push", "-q", "origin", "HEAD:main")
    loops = []
    for number in range(AGENTS):
        clone = f"{folder}/seed-agent-{number}"
        git(folder, "clone", "-q", "-b", "main", hub, clone)
        for key, value in (("user.name", "a"), ("user.email", "a@example.org")):
            git(clone, "config", key, value)
        variables = {**clean_environment(), "REPO": clone, "AGENT_ID": f"agent-{number:02}"}
        endless = 'while true; do bash "$0" >/dev/null 2>&1 || git -C "$REPO" rebase --abort; done'
        loops.append(subprocess.Popen(
            ["bash", "-c", endless, str(SCRIPT)], env=variables, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ))  # fmt: skip
    time.sleep(SECONDS)
    names = git(hub, "ls-tree", "--name-only", "main", "current_tasks/").splitlines()
    for loop in loops:
        os.killpg(loop.pid, 9)
        loop.wait()
    return (len(names) - 1) / SECONDS


def work(hub: str, state: str, name: str) -> None:
    """Claim and release repeatedly, in a separate process; print how often."""
    store = Store(GitEngine(hub, state=state), Config())
    claims, holdings, me = Claims(store), Holdings(store), Caller(name)
    claims.claim(me, [parse(f"src/{name}-warm.py")])
    print("ready", flush=True)
    sys.stdin.readline()
    ends, count = time.monotonic() + SECONDS, 0
    while time.monotonic() < ends:
        claims.claim(me, [parse(f"src/{name}.py")])
        holdings.release(me, [parse(f"src/{name}.py")])
        count += 2
    print(count, flush=True)


def _our_counts(folder: str, machines: int) -> tuple[list[int], int]:
    hub = f"{folder}/hub-{machines}.git"
    git(folder, "init", "-q", "--bare", hub)
    crew = []
    for number in range(AGENTS):
        state = f"{folder}/state-{machines}-{number % machines}"
        words = f"work({hub!r}, {state!r}, 'agent-{number:02}')"
        crew.append(subprocess.Popen(
            [sys.executable, "-c", f"from bench.git_store import work; {words}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        ))  # fmt: skip
    for agent in crew:
        assert agent.stdout is not None
        agent.stdout.readline()
    for agent in crew:
        assert agent.stdin is not None
        agent.stdin.write("go\n")
        agent.stdin.flush()
    counts, failures = [], 0
    for agent in crew:
        out, _ = agent.communicate()
        failures += agent.returncode != 0
        counts.append(int(out) if out.strip() else 0)
    return counts, failures
