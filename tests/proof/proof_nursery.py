"""Jobs with many processes, forked from one that has loaded everything, so that they start fast.

Run as a program, with the name of a job; prints results as JSON. Every child opens the project
after the fork.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

from dibs.core.claims.agents import Caller
from dibs.core.claims.rules import Granted
from dibs.core.patterns.pattern import overlap, parse
from dibs.errors import DibsError
from dibs.guard.agents.program import answer
from dibs.project.project import create, open_project
from dibs.services.claims import (
    agents,  # noqa: F401 - loaded before the forks
    holdings,  # noqa: F401 - loaded before the forks
    service,  # noqa: F401 - loaded before the forks
)
from dibs.services.state import ledger  # noqa: F401 - loaded before the forks

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.project.project import Project


def fork(child: Callable[[], None]) -> int:
    """Run ``child`` in a new process and return its id."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        child()
        status = 0
    finally:
        os._exit(status)


class Racers:
    """Processes that wait for one signal and then all act at once."""

    def __init__(self, count: int, act: Callable[[int, str], Any]) -> None:
        self.count = count
        self.results, results = os.pipe()
        self.orders, self.pids = [], []
        for number in range(count):
            mine, order = os.pipe()
            self.orders.append(order)
            self.pids.append(fork(lambda: self._race(number, mine, results, act)))  # noqa: B023
        self.lines = os.fdopen(self.results)

    def _race(self, number: int, mine: int, results: int, act: Callable[[int, str], Any]) -> None:
        for pipe in self.orders:
            os.close(pipe)  # otherwise no child would notice when the controlling process ends
        while order := os.read(mine, 1):
            try:
                found = act(number, order.decode())
            except DibsError as error:
                found = f"{error.code}: {error}"
            os.write(results, json.dumps([number, found]).encode() + b"\n")

    def all_do(self, order: str) -> dict[int, Any]:
        """Let all act; return their results."""
        for pipe in self.orders:
            os.write(pipe, order.encode())
        return dict(json.loads(self.lines.readline()) for _ in range(self.count))

    def end(self) -> None:
        """End the processes."""
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def first_use(*repos: str) -> dict[str, Any]:
    """Let twelve processes be the first users of each of these repositories at once."""

    def act(number: int, order: str) -> Any:
        nonlocal used
        repo, used = repos[used], used + 1
        project = open_project(repo, {})
        answer = project.claims.claim(Caller(f"first-{number}"), [parse("src/x.py")])
        project.close()
        return isinstance(answer, Granted)

    used = 0
    racers = Racers(12, act)
    rounds = [list(racers.all_do("c").values()) for _ in repos]
    racers.end()
    return {"rounds": rounds}


#: Ways to write a file, as an agent's hook receives them.
WRITES: tuple[Callable[[str], tuple[str, dict[str, str]]], ...] = (
    lambda path: ("Write", {"file_path": path, "content": "x"}),
    lambda path: ("Bash", {"command": f"echo x > {path}"}),
    lambda path: ("mcp__filesystem__write_file", {"path": path, "content": "x"}),
    lambda path: ("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}),
)


def hook_race(repo: str, rounds: str) -> dict[str, Any]:
    """Let two agents' hooks judge a write to the same free file at once, each round another file."""
    create(repo)[0].close()
    played = [0, 0]

    def act(number: int, _: str) -> Any:
        turn, played[number] = played[number], played[number] + 1
        # In every second round, both use the same tool.
        tool, given = WRITES[(turn + (number if turn % 2 else 0)) % len(WRITES)](f"src/{turn}.py")
        sent = {
            "session_id": f"racer{number}", "cwd": repo, "hook_event_name": "PreToolUse",
            "tool_name": tool, "tool_input": given, "tool_use_id": f"call-{turn}",
        }  # fmt: skip
        begun = time.monotonic()
        said, _ = answer(("claude",), json.dumps(sent).encode(), {}, repo, os.getpid())
        return [said.stdout + said.stderr, begun, time.monotonic()]

    racers = Racers(2, act)
    found = [racers.all_do("w") for _ in range(int(rounds))]
    racers.end()
    return {"rounds": [[answers[0], answers[1]] for answers in found]}


PATHS = ("src/x.py", "src/y.py", "src/*.py", "docs/", "docs/a.md", "{lib,src}/z.py", "port:1")


def kills(repo: str, log: str, count: str) -> dict[str, Any]:
    """Kill workers at random while they claim and release; return what was seen meanwhile."""
    draw = random.Random(7)
    watch = open_project(repo, {})
    workers = {slot: _worker(repo, log, slot, draw.random()) for slot in range(6)}
    overlaps: list[str] = []
    gave_up = 0
    for number in range(int(count)):
        time.sleep(draw.uniform(0.0, 0.02))
        slot = draw.choice(list(workers))
        os.kill(workers[slot], signal.SIGKILL)
        _, status = os.waitpid(workers[slot], 0)
        gave_up += not os.WIFSIGNALED(status)
        workers[slot] = _worker(repo, log, slot, draw.random())
        if number % 50 == 0:
            overlaps += clashes(watch)
    for pid in workers.values():
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    overlaps += clashes(watch)
    watch.close()
    return {"overlaps": overlaps, "gave_up": gave_up}


def clashes(project: Project) -> list[str]:
    """Return the live, conflicting claims of different agents."""
    held = [h.claim for h in project.claims.all()[0]]
    return [
        f"{one} {other}"
        for one in held
        for other in held
        if one.agent < other.agent
        and "exclusive" in (one.mode, other.mode)
        and overlap(parse(one.pattern), parse(other.pattern))
    ]


def _worker(repo: str, log: str, slot: int, seed: float) -> int:
    return fork(lambda: _work(repo, log, slot, random.Random(seed)))


def _work(repo: str, log: str, slot: int, draw: random.Random) -> None:
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    project = open_project(repo, {"DIBS_LEDGER_LIMIT": "1000000"})
    caller, parent = Caller(f"worker-{slot}"), os.getppid()
    while os.getppid() == parent:
        texts = draw.sample(PATHS, draw.choice((1, 1, 2)))
        answer = project.claims.claim(
            caller, [parse(t) for t in texts], mode=draw.choice(("exclusive", "shared"))
        )
        if isinstance(answer, Granted):
            line = [caller.id, [[claim.token, claim.pattern] for claim in answer.claims]]
            os.write(handle, json.dumps(line).encode() + b"\n")
            project.holdings.release(caller)


def puppet(repo: str, agent: str) -> None:
    """Execute orders from standard input, one per line."""
    project, caller = open_project(repo, {}), Caller(agent)
    for line in sys.stdin:
        order, *words = line.split()
        patterns = [parse(word) for word in words]
        answer: dict[str, Any] = {"before": time.monotonic()}
        try:
            if order == "claim":
                answer["granted"] = isinstance(
                    project.claims.claim(caller, patterns, ttl=5), Granted
                )
            elif order == "hang":
                project.engine.transact(lambda _: _hang())
            else:
                getattr(project.holdings, order)(caller, patterns)
        except DibsError as error:
            answer["error"] = error.code
        say(answer)


def _hang() -> None:
    say({"inside": True})
    time.sleep(600)


def say(found: dict[str, Any]) -> None:
    """Send a line to the parent process."""
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    JOBS = {
        "hook-race": hook_race,
        "first-use": first_use,
        "kills": kills,
        "puppet": puppet,
    }
    found = JOBS[sys.argv[1]](*sys.argv[2:])
    if found is not None:
        say(found)
