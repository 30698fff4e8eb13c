"""Measure the crew: how fast an agent gets its first prompt and its next task, and what quiet agents cost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.server.conftest import make_project, own_environment, run_dibs

from bench.measure import Row, Section, at_most, median
from dibs.core.claims.agents import Caller
from dibs.crew import control
from dibs.local.server_files import running_server
from dibs.project.project import open_project
from dibs.services.tasks.values import new_draft

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.project.project import Project

ROUNDS, QUIET, WATCHED = 8, 20, 20.0
HUMAN = Caller("bench-terminal", "human")
#: The agent: it writes when it was started, and finishes its task when a file says so.
AGENT = """\
import os, pathlib, re, subprocess, sys, time
started = time.monotonic()
prompt = sys.stdin.read()
task = re.search(r"(?m)\\((\\S+)\\)$", prompt)[1]
folder = pathlib.Path(os.environ["BENCH_FOLDER"])
(folder / f"new-{task}").write_text(str(started))
os.replace(folder / f"new-{task}", folder / task)
subprocess.run([sys.executable, "-m", "dibs", "task", "done", task], check=True)
"""


@contextmanager
def _crew(limit: int) -> Iterator[tuple[Project, Path, int]]:
    """Run a server with a crew of Python agents; yield the project, its folder, and the server's process."""
    base = Path(tempfile.mkdtemp(prefix="dibs-", dir="/tmp"))
    environ = own_environment(base)
    repo = make_project(base / "repo", environ)
    (base / "agent.py").write_text(AGENT)
    command = json.dumps([sys.executable, str(base / "agent.py")])
    (repo / "crew.toml").write_text(
        f"max_agents = {limit}\nmerge = false\n"
        f'[roles.developer]\ncommand = {command}\nset = {{ BENCH_FOLDER = "{base}" }}\n'
    )
    done = run_dibs(repo, environ, "crew", "up")
    assert done.returncode == 0, done.stderr
    info = running_server(str(base / "state" / "dibs" / "server"))
    assert info is not None
    project = open_project(str(repo))
    try:
        yield project, base, info.pid
    finally:
        run_dibs(repo, environ, "crew", "stop")
        run_dibs(repo, environ, "serve", "stop")
        project.close()
        shutil.rmtree(base, ignore_errors=True)


def _wait(holds: Callable[[], object]) -> None:
    give_up = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.001)


def _prompted(project: Project, base: Path) -> float:
    """Create a task; return the seconds until an agent was started with it."""
    began = time.monotonic()
    task = project.tasks.create(HUMAN, [new_draft(f"task {began}")]).tasks[0].id
    _wait((base / task).exists)
    _wait(lambda: project.tasks.show(None, task).stored.task.status == "done")
    return float((base / task).read_text()) - began


def _assigned(project: Project) -> float:
    """Create a task for an idle agent; return the seconds until the ledger says that it was started."""
    task = project.tasks.create(HUMAN, [new_draft(f"task {time.monotonic()}")]).tasks[0].id
    _wait(lambda: project.tasks.show(None, task).stored.task.status == "done")
    entries = project.ledger.page(0, 100_000).entries
    at = {one.kind: one.at for one in entries if one.details.get("task") == task}
    added = next(one.at for one in entries if task in str(one.details) and one.kind == "task_added")
    return at["task_started"] - added


def _bare() -> float:
    """Return the seconds that a bare Python process takes."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.monotonic() - began


def prompts() -> Section:
    """Time from a ready task to the start of its agent, and to its assignment."""
    bare, first, assigned, next_ = [], [], [], []
    with _crew(1) as (project, base, _):
        for _ in range(ROUNDS):
            bare.append(_bare())
            first.append(_prompted(project, base))
            assigned.append(_assigned(project))
            next_.append(_prompted(project, base))
            control.stop(project, HUMAN, [f"developer-{len(first)}"], "next round")
            _wait(lambda: not [one for one in control.overview(project).members if not one.is_over])
    floor = median(bare)
    rows = [
        Row("a bare Python process", f"{1_000 * floor:.0f} ms"),
        at_most("ready task to a new agent with its prompt", median(first) / floor, 20),
        at_most("ready task to an idle agent with its prompt", median(next_) / floor, 8),
        at_most("ready task to its assignment", median(assigned) / floor, 3),
    ]
    note = "Agents are Python scripts. A new agent has a runner, a worktree, and its own process."
    return Section("Crew: from a task to a prompt", note, rows)


def quiet() -> Section:
    """Processor time of the server while its agents wait for tasks."""
    with _crew(QUIET) as (project, _, pid):
        for _ in range(QUIET):
            control.spawn(project, HUMAN)
        _wait(
            lambda: sum(one.state == "idle" for one in control.overview(project).members) == QUIET
        )
        time.sleep(3)
        pids = [one.pid for one in control.overview(project).members]
        before, runners = _processor(pid), sum(map(_processor, pids))
        time.sleep(WATCHED)
        used = (_processor(pid) - before) / WATCHED
        spent = (sum(map(_processor, pids)) - runners) / WATCHED
    rows = [
        at_most(f"the server, with {QUIET} quiet agents", 100 * used, 1, "%"),
        Row(f"their {QUIET} runners together", f"{100 * spent:.2f}%"),
    ]
    return Section(
        "Crew: quiet agents", f"Processor time over {WATCHED:g} s, of one processor.", rows
    )


def _processor(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
