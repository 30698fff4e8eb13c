"""The supervisor can die at any time; crews stay within their limits; no other process is ever signaled."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.crew.conftest import HUMAN, PATIENCE, STUB, CrewWorld, lives
from tests.soak import effort

from dibs.core.claims.agents import Agent, Caller
from dibs.core.crew.members import MemberState
from dibs.core.tasks.rules import Status
from dibs.crew import control
from dibs.crew.processes import MARK
from dibs.crew.supervisor import CALLER
from dibs.errors import NotFound
from dibs.local.processes import environment_of, running
from dibs.services.state.serving import crew as crewrows

SUPERVISING = Path(__file__).with_name("supervising.py")


class Supervising:
    """A supervisor in another process."""

    def __init__(self, world: CrewWorld) -> None:
        self._words = [sys.executable, str(SUPERVISING), str(world.repo)]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(self._words)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@pytest.fixture
def supervising(world):
    found = Supervising(world)
    yield found
    found.kill()


def commands() -> list[str]:
    """Return the command lines of all processes."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if running(int(name)) is not None:
                found.append(b" ".join(words).decode("utf-8", "replace"))
    return found


def runners(world) -> list[str]:
    """Return the agents whose runners hold their lock and are past it: one for each agent at most."""
    pattern = re.compile(rf"-m dibs\.crew\.runner {re.escape(str(world.repo))} (\S+) ")
    return [found[1] for line in commands() if (found := pattern.search(line))]


def agents_at_work(world) -> list[str]:
    """Return the agents of all stub processes that run now; their own children are not counted."""
    mark = f"STUB_DIARY={world.diary_file}".encode()
    found = []
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        environ = environment_of(pid)
        if mark in environ and b"stub_agent" in cmdline(pid) and is_leader(pid):
            found.append(next(one for one in environ if one.startswith(b"DIBS_AGENT=")).decode())
    return found


def is_leader(pid: int) -> bool:
    try:
        return os.getsid(pid) == pid and running(pid) is not None
    except ProcessLookupError:
        return False


def cmdline(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def wait_for(holds, what: str = "", within: float = PATIENCE):
    give_up = time.monotonic() + within
    while not (found := holds()):
        assert time.monotonic() < give_up, what
        time.sleep(0.05)
    return found


def test_agents_go_on_without_a_supervisor_and_the_next_one_adopts_them(world, supervising):
    task = world.task("wait write a.txt done")
    world.up()
    supervising.start()
    started = wait_for(world.diary, "started")[0]

    supervising.kill()
    before = world.member()
    assert lives(started["pid"])
    (world.folder / "go").touch()
    wait_for(lambda: world.status(task) == Status.DONE, "done without a supervisor")
    wait_for((world.repo / "a.txt").exists, "merged without a supervisor")
    second = world.task("write b.txt done")
    supervising.start()

    wait_for(lambda: world.status(second) == Status.DONE, "done by the adopted agent")
    after = world.member()
    assert (after.pid, after.born, after.nonce) == (before.pid, before.born, before.nonce)
    assert [one.agent for one in world.crew.members()] == ["developer-1"]


@pytest.mark.slow
@pytest.mark.timeout(effort(400, 1_800))
def test_a_supervisor_killed_at_random_loses_no_task_and_starts_nothing_twice(world, supervising):
    kills, tasks = effort((12, 16), (100, 60))
    draw = random.Random(7)
    ids = [world.task(f"write f{number}.txt done") for number in range(tasks)]
    world.up(crew="max_agents = 8")

    for _ in range(kills):
        supervising.start()
        time.sleep(draw.uniform(0.1, 0.8))
        supervising.kill()
        assert max(Counter(agents_at_work(world)).values(), default=0) <= 1
        assert len([one for one in world.crew.members() if not one.is_over]) <= 8
    supervising.start()
    wait_for(lambda: all(world.status(id_) == Status.DONE for id_ in ids), world.state(), 300)
    wait_for(lambda: len(list(world.repo.glob("f*.txt"))) == tasks, "merged", 120)

    done = Counter(one.details.get("task") for one in world.kinds("task_completed"))
    assert done == Counter(ids)
    control.stop(world.project, HUMAN, [], "over")
    wait_for(lambda: all(one.is_over for one in world.crew.members()), world.state())
    wait_for(lambda: not runners(world), "runners exit")
    assert agents_at_work(world) == []


@pytest.mark.slow
@pytest.mark.timeout(effort(400, 3_600))
def test_agents_killed_again_and_again_finish_every_task_once(world, supervising):
    agents, tasks, every = effort((5, 15, 0.4), (20, 200, 5.0))
    ids: list[str] = []
    for number in range(tasks):
        needs = (ids[-agents],) if number >= agents else ()
        ids.append(world.task(f"write g{number}.txt done", needs=needs))
    world.up(crew=f"max_agents = {agents}")
    supervising.start()
    draw, memory = random.Random(3), []
    last = time.monotonic()

    def is_over() -> bool:
        nonlocal last
        if time.monotonic() > last + every and (victims := world.diary()):
            last = time.monotonic()
            victim = draw.choice(victims[-agents:])["pid"]
            if b"stub_agent" in cmdline(victim):
                os.kill(victim, signal.SIGKILL)
        if len(world.diary()) >= agents:  # everything is loaded
            memory.append(rss(supervising.process.pid))
        return all(world.status(id_) in {Status.DONE, Status.ERROR} for id_ in ids)

    wait_for(is_over, world.state(), effort(300, 3_000))

    assert {world.status(id_) for id_ in ids} == {Status.DONE}
    assert Counter(one.details.get("task") for one in world.kinds("task_completed")) == Counter(ids)
    assert max(memory) < 1.2 * memory[0]


def rss(pid: int) -> int:
    text = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmRSS"))


def test_a_killed_runner_is_replaced_and_its_agent_ended_first(world):
    task = world.task("wait write a.txt done")
    world.up()
    first = world.until(world.diary, "started")[0]
    runner = world.member().pid

    os.kill(runner, signal.SIGKILL)
    second = world.until(lambda: world.diary()[1:], "started again")[0]

    assert not lives(first["pid"])
    assert lives(second["pid"])
    assert "the runner died" in world.kinds("agent_crashed")[0].details["cause"]
    (world.folder / "go").touch()
    world.until(lambda: world.status(task) == Status.DONE)


def test_work_of_a_finished_task_is_merged_although_the_runner_died(world):
    task = world.task("write a.txt done hang")
    world.up()
    world.until(lambda: world.status(task) == Status.DONE)
    assert not (world.repo / "a.txt").exists()

    os.kill(world.member().pid, signal.SIGKILL)

    world.until((world.repo / "a.txt").exists, "merged by the next runner")
    world.until(lambda: world.member().current == "")
    assert len(world.diary()) == 1


def test_a_process_with_a_reused_number_is_never_signaled(world):
    world.up()
    control.spawn(world.project, HUMAN)
    member = world.member()
    with subprocess.Popen(["sleep", "60"]) as stranger:
        born = running(stranger.pid).born

        def reuse(rows):
            crewrows.put_member(
                rows, member._replace(pid=stranger.pid, born=born - 500, state=MemberState.WORKING)
            )

        world.project.store.apply(reuse)
        control.stop(world.project, HUMAN, [member.agent], "over")
        world.until(lambda: world.member().state == MemberState.STOPPED)

        assert stranger.poll() is None
        stranger.kill()


def test_members_of_an_earlier_boot_are_started_again(world):
    task = world.task("wait write a.txt done")
    world.up()
    world.until(world.diary, "started")
    member = world.member()
    os.kill(member.pid, signal.SIGKILL)
    for one in world.diary():
        os.kill(one["pid"], signal.SIGKILL)
    host, _, space = member.realm.split("/")
    with subprocess.Popen(["sleep", "60"]) as stranger:
        old = member._replace(realm=f"{host}/00000000/{space}", pid=stranger.pid, born=0)
        world.project.store.apply(lambda rows: crewrows.put_member(rows, old))
        (world.folder / "go").touch()

        world.until(lambda: world.status(task) == Status.DONE)

        assert stranger.poll() is None
        stranger.kill()


def test_no_more_agents_run_than_the_limit_and_waiting_tasks_say_why(world):
    for _ in range(4):
        world.task("wait done")
    world.up(crew="max_agents = 2")

    world.until(lambda: len(world.diary()) == 2, "two at work")
    for _ in range(10):
        world.supervisor.tick(world.project)

    assert len(world.crew.members()) == 2
    reasons = {why for _, why in control.overview(world.project).waiting}
    assert reasons == {"all 2 agents are busy"}
    control.scale(world.project, HUMAN, 3)
    world.until(lambda: len(world.diary()) == 3, "a third")
    assert any("2 tasks waiting" in one.summary for one in world.kinds("crew_changed"))
    (world.folder / "go").touch()


def test_a_paused_crew_assigns_nothing(world):
    world.up()
    control.pause(world.project, HUMAN, paused=True)
    task = world.task("done")

    for _ in range(20):
        world.supervisor.tick(world.project)
    assert world.crew.members() == []
    assert control.overview(world.project).waiting == ((task, "the crew is paused"),)

    control.pause(world.project, HUMAN, paused=False)
    world.until(lambda: world.status(task) == Status.DONE)


def test_a_task_for_a_role_goes_to_that_role(world):
    command = json.dumps([sys.executable, str(STUB)])
    world.up(TESTER.format(command, world.diary_file))
    task = world.task("done", agent="tester")

    world.until(lambda: world.status(task) == Status.DONE)

    assert [one.agent for one in world.crew.members()] == ["tester-1"]


def test_a_child_fails_with_its_parent(world):
    world.task("exit 3")
    world.up(crew="max_agents = 3")
    world.until(world.diary, "started")
    world.project.store.apply(lambda rows: None)
    child = control.spawn(world.project, Caller("developer-1", "developer"))

    world.until(lambda: world.member().state == MemberState.FAILED)
    world.until(lambda: world.member(child.agent).is_over)


def test_edits_to_crew_toml_count_only_after_another_crew_up(world):
    world.up()
    (world.repo / "crew.toml").write_text('[roles.developer]\ncommand = ["/bin/false"]\n')

    task = world.task("done")
    world.until(lambda: world.status(task) == Status.DONE)

    assert MARK.encode() not in b"".join(environment_of(os.getpid()))


def test_a_crew_that_was_stopped_gets_no_more_agents(world):
    world.up(crew="max_agents = 2")
    world.task("done")
    config = control.need_config(world.project)
    control.stop(world.project, HUMAN, [], "over")

    with pytest.raises(NotFound):
        world.crew.spawn(config, config.roles[0], CALLER)
    world.supervisor.tick(world.project)
    assert world.crew.members() == []


def test_an_agent_that_crashes_while_it_is_stopped_is_not_started_again(world):
    world.task("hang")
    world.up()
    world.until(world.diary, "started")
    control.stop(world.project, HUMAN, ["developer-1"], "enough")
    member = world.member()

    world.crew.crashed(member.agent, member.nonce, "exit status 1")

    world.until(lambda: world.member().state == MemberState.STOPPED)
    assert world.kinds("agent_crashed") == []


def test_stopping_an_agent_by_its_name_ends_its_process(world):
    world.task("ignore hang")
    world.up()
    started = world.until(world.diary, "started")[0]
    world.project.agents.join(Agent("developer-1.sub", parent="developer-1"))

    assert control.stop_agent(world.project, HUMAN, "developer-1", "enough") == ["developer-1"]

    world.until(lambda: world.member().state == MemberState.STOPPED)
    assert not lives(started["pid"])
    statuses = {one.agent.id: one.agent.status for one in world.project.agents.all()}
    assert statuses["developer-1"] == statuses["developer-1.sub"] == "terminated"


TESTER = """
[roles.tester]
command = {}
set = {{ STUB_DIARY = "{}" }}
"""


def test_an_idle_agent_ends_if_another_role_needs_its_place(world):
    command = json.dumps([sys.executable, str(STUB)])
    world.up(TESTER.format(command, world.diary_file), crew="max_agents = 1")
    first = world.task("write a.txt done")
    world.until(lambda: world.status(first) == Status.DONE)

    second = world.task("done", agent="tester")
    world.until(lambda: world.status(second) == Status.DONE)

    assert world.member("developer-1").state == MemberState.EXITED
    seen, _ = world.project.agents.show("developer-1")
    assert seen.agent.status == "exited"


def test_agents_above_a_lower_limit_end_when_they_are_idle(world):
    world.up(crew="max_agents = 3")
    for _ in range(3):
        control.spawn(world.project, HUMAN)
    world.until(lambda: all(one.state == MemberState.IDLE for one in world.crew.members()))

    control.scale(world.project, HUMAN, 1)

    world.until(lambda: sum(not one.is_over for one in world.crew.members()) == 1)


def test_a_task_for_an_agent_that_ended_goes_to_another_one_with_its_role(world):
    world.up()
    control.spawn(world.project, HUMAN)
    world.until(lambda: world.member().state == MemberState.IDLE)
    control.stop(world.project, HUMAN, ["developer-1"], "over")
    world.until(lambda: world.member().state == MemberState.STOPPED)

    task = world.task("write a.txt done", agent="developer-1")
    world.until(lambda: world.status(task) == Status.DONE)

    assert world.diary()[0]["agent"] == "developer-2"


def test_claims_end_when_the_work_is_merged(world):
    task = world.task("wait write a.txt done")
    world.up()
    world.until(world.diary, "started")
    owner = Caller("developer-1", "developer")
    world.project.claims.claim(owner, [world.project.pattern("src/unchanged.py")])
    (world.folder / "go").touch()
    world.until((world.repo / "a.txt").exists, "merged")

    world.until(lambda: not world.project.claims.all("developer-1")[0], "released", within=20)
    assert world.status(task) == Status.DONE


def test_a_retried_task_gets_as_many_starts_as_a_new_one(world):
    task = world.task("exit 3")
    world.up(crew="max_agents = 1")
    world.until(lambda: world.status(task) == Status.ERROR)
    starts = len(world.diary())

    world.project.tasks.retry(HUMAN, task)
    world.until(lambda: world.status(task) == Status.ERROR)

    assert len(world.diary()) == 2 * starts
