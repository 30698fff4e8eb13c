"""Jobs with many agents on several machines; run as a program, with its arguments as JSON.

Like ``proof_nursery``: agents are forked from one process that has loaded everything, and each
opens the project after the fork. Prints results, one line of JSON each. A machine is given as
``[path, variables]``.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

from proof_nursery import Racers, fork, say

import dibs.engines.git.engine
import dibs.engines.postgres.engine
import dibs.engines.redis.engine
import dibs.engines.sqlite.engine  # noqa: F401 - the same
from dibs.cli import main
from dibs.cli.commands import claim  # noqa: F401 - loaded before the forks
from dibs.core.claims.agents import Caller
from dibs.core.claims.rules import Granted
from dibs.core.patterns.pattern import parse
from dibs.core.talk import limits
from dibs.errors import DibsError
from dibs.project.project import Project, open_project
from dibs.services.claims import (
    agents,  # noqa: F401 - the same
    holdings,  # noqa: F401 - the same
    service,  # noqa: F401 - the same
)
from dibs.services.state import ledger  # noqa: F401 - the same
from dibs.services.tasks.values import TakenTask

if TYPE_CHECKING:
    from collections.abc import Callable

Spec = tuple[str, dict[str, str]]
limits.RATE = 100_000  # these agents work without a pause


def enter(machine: Spec) -> Project:
    """Work on ``machine`` from now on."""
    path, variables = machine
    os.environ.update(variables)
    return open_project(path, variables)


def race(specs: list[Spec], rounds: int, texts: list[str]) -> dict[str, Any]:
    """Let one process per text claim its text, all at once, again and again."""
    projects: dict[int, Project] = {}
    tokens: dict[int, int] = {}

    def act(number: int, order: str) -> Any:
        if order == "o":
            projects[number] = enter(specs[number % len(specs)])
            return None
        project, caller = projects[number], Caller(f"racer-{number}")
        if order == "c":
            answer = project.claims.claim(caller, [parse(texts[number])])
            if isinstance(answer, Granted):
                tokens[number] = answer.token
                return {"token": answer.token}
            return {"token": 0, "holders": sorted({c.holder for c in answer.conflicts})}
        token = tokens.pop(number, 0)
        return {"released": len(project.holdings.release(caller, token=token)) if token else 0}

    racers = Racers(len(texts), act)
    opened = racers.all_do("o")
    assert set(opened.values()) == {None}, opened
    found = []
    for _ in range(rounds):
        claimed = racers.all_do("c")
        found.append({"claimed": claimed, "released": racers.all_do("r")})
    racers.end()
    return {"rounds": found}


def puppet(machine: Spec, agent: str) -> None:
    """Execute orders from standard input, one per line."""
    project, caller = enter(machine), Caller(agent)
    for line in sys.stdin:
        order, *words = line.split()
        answer: dict[str, Any] = {"before": time.monotonic()}
        try:
            if order == "claim":
                got = project.claims.claim(caller, [parse(w) for w in words], ttl=5)
                answer["token"] = got.token if isinstance(got, Granted) else 0
            elif order == "wait":
                got = project.claims.claim(caller, [parse(w) for w in words], wait=60)
                answer["token"] = got.token if isinstance(got, Granted) else 0
            else:
                getattr(project.holdings, order)(caller, [parse(w) for w in words])
        except DibsError as error:
            answer |= {"error": error.code, "message": error.message}
        answer["after"] = time.monotonic()
        say(answer)


class Diary:
    """What one agent did and the results, written as it happens."""

    def __init__(self, path: str, agent: str) -> None:
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._agent = agent

    def note(self, did: str, before: float, **told: Any) -> None:
        line = {"agent": self._agent, "did": did, "before": before, "after": time.monotonic()}
        os.write(self._handle, json.dumps(line | told).encode() + b"\n")


def crew(
    specs: list[Spec], size: int, diary: str, paths: list[str], wait: float, rest: float
) -> dict[str, Any]:
    """Let agents claim, hold, and release until standard input ends; each records what it sees."""

    def play(project: Project, caller: Caller, notes: Diary, draw: random.Random) -> int:
        return _claim_and_release(project, caller, draw.choice(paths), notes, wait, rest)

    return _until_told(specs, size, diary, play)


def busy(specs: list[Spec], size: int, diary: str, paths: list[str]) -> dict[str, Any]:
    """Let agents work on tasks, claim paths, and send messages until standard input ends.

    None repeats a call: an agent that gets an error stops.
    """

    def play(project: Project, caller: Caller, notes: Diary, draw: random.Random) -> int:
        others = [name for name in map("agent-{}".format, range(size)) if name != caller.id]
        return _work(project, caller, draw.choice(others), draw.choice(paths), notes)

    return _until_told(specs, size, diary, play)


def _until_told(
    specs: list[Spec],
    size: int,
    diary: str,
    play: Callable[[Project, Caller, Diary, random.Random], int],
) -> dict[str, Any]:
    """Let agents play rounds until standard input ends; return how many each of them completed."""

    def act(number: int, order: str) -> Any:
        project, caller = enter(specs[number % len(specs)]), Caller(f"agent-{number}")
        notes, draw = Diary(diary, caller.id), random.Random(number)
        rounds = 0
        parent = os.getppid()
        while not os.path.exists(diary + ".stop") and os.getppid() == parent:
            rounds += play(project, caller, notes, draw)
        return rounds

    racers = Racers(size, act)
    for pipe in racers.orders:
        os.write(pipe, b"g")
    say({"started": True})
    sys.stdin.read()
    with open(diary + ".stop", "w", encoding="ascii"):
        pass
    rounds = dict(json.loads(racers.lines.readline()) for _ in range(size))
    racers.end()
    return {"rounds": rounds}


def _claim_and_release(
    project: Project, caller: Caller, text: str, notes: Diary, wait: float, rest: float
) -> int:
    """Run one round; return 1 if it completed."""
    before = time.monotonic()
    try:
        answer = project.claims.claim(caller, [parse(text)], wait=wait)
    except DibsError as error:
        notes.note("claim", before, path=text, error=error.code, kind=type(error).__name__)
        time.sleep(0.02)
        return 0
    if not isinstance(answer, Granted):
        return 0
    notes.note("claim", before, path=text, token=answer.token)
    time.sleep(rest)
    return _release(project, caller, text, answer.token, notes)


def _release(project: Project, caller: Caller, text: str, token: int, notes: Diary) -> int:
    """Release until the outcome is known."""
    while True:
        before = time.monotonic()
        try:
            project.holdings.release(
                caller, [parse(text)], token=token, request_id=f"{caller.id}-{token}"
            )
        except DibsError as error:
            notes.note(
                "release", before, path=text, token=token,
                error=error.code, kind=type(error).__name__,
            )  # fmt: skip
            if not error.retryable:
                return 0
            time.sleep(0.02)
        else:
            notes.note("release", before, path=text, token=token)
            return 1


def _work(project: Project, caller: Caller, to: str, text: str, notes: Diary) -> int:
    """Take a task, claim a path, send a message, and finish both; return 1 if the path was free in time."""
    said, path = f"{caller.id}-{time.monotonic_ns()}", [parse(text)]

    def call(did: str, act: Callable[[], Any]) -> tuple[float, Any]:
        before = time.monotonic()
        try:
            return before, act()
        except DibsError as error:
            notes.note(did, before, kind=type(error).__name__, message=error.message)
            raise

    before, taken = call("take", lambda: project.tasks.take(caller))
    assert isinstance(taken, TakenTask), "there are too few tasks"
    task, token = taken.stored.task.id, taken.stored.token
    notes.note("take", before, task=task, token=token)
    before, got = call("claim", lambda: project.claims.claim(caller, path, wait=5.0))
    if isinstance(got, Granted):
        notes.note("claim", before, path=text, token=got.token)
    before, _ = call("say", lambda: project.mail.say(caller, to, said))
    notes.note("say", before, to=to, text=said)
    if isinstance(got, Granted):
        before, _ = call("release", lambda: project.holdings.release(caller, path, token=got.token))
        notes.note("release", before, path=text, token=got.token)
    before, _ = call("done", lambda: project.tasks.done(caller, task, token=token, summary=said))
    notes.note("done", before, task=task)
    return int(isinstance(got, Granted))


def killed(specs: list[Spec], folder: str, pairs: int) -> dict[str, Any]:
    """Let two commands on two machines race for a path, and kill both with their children."""
    draw = random.Random(3)
    started = time.monotonic()
    _, status = os.waitpid(_command(specs[0], f"{folder}/first", "first", "first.py"), 0)
    assert status == 0
    # Adapts to how long a command takes now, so that about half of them are hit.
    span = 2 * (time.monotonic() - started)
    struck = 0
    for number in range(pairs):
        pids = [
            _command(spec, f"{folder}/{number}-{side}", f"k{number}-{side}", f"pair-{number}.py")
            for side, spec in enumerate(specs)
        ]
        ends = sorted((time.monotonic() + draw.uniform(0.0, span), pid) for pid in pids)
        for moment, pid in ends:
            time.sleep(max(0.0, moment - time.monotonic()))
            os.killpg(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
            hit = os.WIFSIGNALED(status)
            struck += hit
            span *= 1.15 if hit else 1 / 1.15
    return {"struck": struck}


def _command(machine: Spec, out: str, agent: str, text: str) -> int:
    """Run ``dibs claim`` in its own process group; return its id."""
    heard, told = os.pipe()

    def child() -> None:
        os.setsid()
        path, variables = machine
        os.chdir(path)
        os.environ.update(variables, DIBS_AGENT=agent)
        sys.stdout = open(out, "w", encoding="utf-8")  # noqa: SIM115 - for the life of the process
        os.write(told, b"x")
        status = main(["claim", text, "--json"])
        sys.stdout.flush()
        os._exit(status)

    pid = fork(child)
    os.read(heard, 1)  # from here on it has its own group
    os.close(heard)
    os.close(told)
    return pid


def starve(specs: list[Spec], size: int, seconds: float) -> dict[str, Any]:
    """Let agents with unrelated claims work in parallel for some time."""
    projects: dict[int, Project] = {}

    def act(number: int, order: str) -> Any:
        caller, text = Caller(f"agent-{number}"), [parse(f"src/own-{number}.py")]
        if order == "o":
            projects[number] = enter(specs[number % len(specs)])
            projects[number].agents.beat(caller)
            return None
        project, rounds, longest = projects[number], 0, 0.0
        end = time.monotonic() + seconds
        while (before := time.monotonic()) < end:
            answer = project.claims.claim(caller, text)
            assert isinstance(answer, Granted)
            project.holdings.release(caller, text, token=answer.token)
            rounds += 1
            longest = max(longest, time.monotonic() - before)
        return [rounds, longest]

    racers = Racers(size, act)
    opened = racers.all_do("o")
    assert set(opened.values()) == {None}, opened
    found = racers.all_do("g")
    racers.end()
    return {"found": found}


if __name__ == "__main__":
    JOBS = {
        "race": race, "puppet": puppet, "crew": crew, "busy": busy, "killed": killed,
        "starve": starve,
    }  # fmt: skip
    found = JOBS[sys.argv[1]](*map(json.loads, sys.argv[2:]))
    if found is not None:
        say(found)
