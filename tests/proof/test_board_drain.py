"""A crew drains a board while orchestrators run and agents die: every task is done once, in order."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from proof_board import order_broken, random_board, read
from proof_crew import environment, eventually
from proof_machines import Machine, machines, tell
from tests.servers import GitRemote
from tests.soak import effort

from dibs.core.claims.agents import Caller
from dibs.services.tasks.values import Draft

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.slow, pytest.mark.timeout(effort(900, 1_800))]

WORKER = str(Path(__file__).with_name("proof_board.py"))
AGENTS, VICTIMS = 8, 3
#: The number of tasks by engine; on git every move is a push.
TASKS = effort({"sqlite": 36}, {"sqlite": 500, "redis": 500, "postgres": 500, "git": 500})


@pytest.fixture
def crew(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[Machine]]:
    """Return machines that share one store; SQLite is for one machine."""
    kind: str = request.param
    settings = {"DIBS_TTL": "5s", "DIBS_LEDGER_LIMIT": "100000"}
    if kind == "sqlite":
        yield machines(tmp_path, "", 1, **settings)
    elif kind in ("redis", "postgres"):
        yield machines(tmp_path, request.getfixturevalue(f"{kind}_url"), 2, **settings)
    else:
        with GitRemote(tmp_path / "remote") as remote:
            settings |= {"DIBS_TTL": "60s", "DIBS_GIT_POLL": "1s"}
            yield machines(tmp_path, f"git:{remote.path}", 2, **settings)


class Crew:
    """The processes of one run; none is left behind."""

    def __init__(self, crew: list[Machine], diary: Path) -> None:
        self.machines, self.diary = crew, diary
        self.agents = [self._agent(n) for n in range(AGENTS)]
        self.orchestrators = [
            machine.start("orchestrate", "--watch", "--every", "1s", agent=f"orchestrator-{n}")
            for n, machine in enumerate((crew[0], crew[-1]))
        ]

    def _agent(self, number: int) -> subprocess.Popen[bytes]:
        machine = self.machines[number % len(self.machines)]
        words = [
            str(machine.path),
            json.dumps(machine.variables),
            f"agent-{number}",
            str(self.diary),
        ]
        return subprocess.Popen(
            [sys.executable, WORKER, *words], env=environment(), start_new_session=True
        )

    def finished(self) -> int:
        """Return how many tasks the agents reported as done."""
        return sum(line["did"] == "done" for line in read(self.diary))

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self.agents, *self.orchestrators):
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()
            for stream in (process.stdout, process.stderr):
                if stream:
                    stream.close()


def places(machine: Machine) -> dict[str, list[str]]:
    """Return the folders that contain each task's file."""
    found: dict[str, list[str]] = {}
    for path in (machine.path / "work").rglob("*.yaml"):
        found.setdefault(path.stem, []).append(
            path.parent.relative_to(machine.path / "work").as_posix()
        )
    return found


@pytest.mark.parametrize(
    ("crew", "tasks"),
    list(TASKS.items()),
    indirect=["crew"],
    ids=list(TASKS),
)
def test_eight_agents_drain_a_board_while_three_of_them_are_killed(
    crew: list[Machine], tasks: int, tmp_path: Path
):
    """Guarantee: each task is done once, in order, and none is lost, whichever agent dies.

    Checked: in the files of every machine, in the agents' own records, and in the ledger.
    """
    chance = random.Random(4)
    board = random_board(tasks, seed=4)
    with crew[0].project() as project:
        drafts = [Draft({k: v for k, v in one.items() if k != "id"}, one["id"]) for one in board]
        project.tasks.create(Caller("planner"), drafts)
    began = time.monotonic()
    with Crew(crew, tmp_path / "diary") as run:
        for number in range(VICTIMS):
            goal = (number + 1) * tasks // 6
            eventually(f"{goal} tasks are done", lambda goal=goal: run.finished() >= goal, 300)
            time.sleep(chance.random() * 0.05)
            os.killpg(run.agents[number].pid, signal.SIGKILL)
        for process in run.agents[VICTIMS:]:
            assert process.wait(timeout=1_200) == 0
        tell(f"{tasks} tasks in {time.monotonic() - began:.1f} s")

    for machine in crew:
        done = machine.dibs("orchestrate", "--once", agent="orchestrator-0")
        assert done.returncode == 0, done
        assert places(machine) == {fields["id"]: ["done"] for fields in board}
    diary = read(tmp_path / "diary")
    finished = [line["task"] for line in diary if line["did"] == "done"]
    assert len(finished) == len(set(finished)), "a task was done twice"
    # A killed agent may have finished a task without recording it.
    assert tasks - len(finished) <= VICTIMS
    with crew[0].project() as project:
        entries = project.engine.view(lambda txn: list(txn.events()))
    completed = [entry.details["task"] for entry in entries if entry.kind == "task_completed"]
    assert sorted(completed) == sorted(fields["id"] for fields in board)
    assert order_broken(entries, board) == []
