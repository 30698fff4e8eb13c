"""Measure the board: cycles against reading files, tasks against claims, and the cost of an archive."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bench.measure import Row, Section, at_most, blocks, median
from dibs.core.claims.agents import Caller
from dibs.core.patterns.pattern import parse
from dibs.core.tasks.rules import Status, Task
from dibs.project.project import create
from dibs.services.board.orchestrator import Orchestrator
from dibs.services.board.tasks import Tasks
from dibs.services.state import tasks as taskrows
from dibs.services.state.tasks import Past, Stored
from dibs.services.tasks.values import Draft

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.project.project import Project
    from dibs.services.state.rows import Rows

ME = Caller("bench", role="coordinator")
TASKS, ARCHIVED, CREW, EDITS = 10_000, 100_000, 20, 10
OPENED = "2025-11-20T10:00:00Z"
#: Rounds of commands; each is a process.
ROUNDS = 9


def cycles() -> Section:
    """Compare orchestrator cycles over many tasks with reading their files once."""
    with _repository() as folder:
        board = os.path.join(folder, "work")
        _drop(board, TASKS)
        floor = [_timed(lambda: _read(board)) for _ in range(5)]
        first = _timed(lambda: _cycle(folder))
        fresh = [_timed(lambda: _cycle(folder)) for _ in range(5)]
        project, _ = create(folder)
        orchestrator = _orchestrator(project)
        orchestrator.cycle(ME)
        idle = [_timed(lambda: orchestrator.cycle(ME)) for _ in range(20)]
        edited = []
        for _ in range(5):
            _edit(board)
            start = time.perf_counter()
            accepted = orchestrator.cycle(ME).accepted
            edited.append(time.perf_counter() - start)
            assert len(accepted) == EDITS
        named = [Draft(fields={"title": f"Paint wall {n}"}) for n in range(5)]
        made = [_timed(lambda one=one: _make(project, one)) for one in named]
        taken = [_timed(lambda n=n: _take(project, f"painter-{n}")) for n in range(5)]
        listed = [_timed(lambda: project.tasks.all(None)) for _ in range(5)]
        project.close()
        os.remove(os.path.join(folder, ".git", "dibs", "board-index.jsonl"))
        lost = _timed(lambda: _cycle(folder))
        floor += [_timed(lambda: _read(board)) for _ in range(5)]
    base = median(floor)
    rows = [
        Row(f"list and read {TASKS:,} files", f"{base * 1e3:.0f} ms"),
        at_most("first cycle, no file known / reading all files", first / base, 5),
        at_most("cycle in a new process, all files known", median(fresh) / base, 5),
        at_most("cycle with nothing changed", median(idle) / base, 0.1),
        Row("cycle after ten manual edits", f"{median(edited) / base:.2f}x"),
        at_most("cycle after losing the index", lost / base, 5),
        Row("create a task, in process", f"{median(made) * 1e3:.0f} ms"),
        Row("take a task, in process", f"{median(taken) * 1e3:.0f} ms"),
        Row("list all tasks, in process", f"{median(listed) * 1e3:.0f} ms"),
    ]
    note = f"{TASKS:,} tasks, 60 % assigned to {CREW} agents, the rest done. SQLite."
    return Section("Board: orchestrator cycles", note, rows)


def tasks() -> Section:
    """Compare taking, creating, and listing tasks with a claim, in process and as commands."""
    with _repository() as folder:
        project, _ = create(folder)
        made = [
            Draft(fields={"title": f"Fix page {n} of the book", "agent": ""}) for n in range(400)
        ]
        project.tasks.create(ME, made)
        paths = [parse(f"src/pkg{n % 50}/module_{n}.py") for n in range(400)]
        samples = blocks(
            {
                "claim": lambda n: project.claims.claim(Caller(f"owner-{n}"), [paths[n]]),
                "rows": lambda n: Tasks(project.store).take(Caller(f"clerk-{n}")),
                "take": lambda n: _take(project, f"worker-{n}"),
            },
            rounds=8,
            each=20,
        )
        project.close()
        shell, _ = _commands(
            folder,
            {
                "claim": lambda n: ["claim", f"lib/module_{n}.py", "--new"],
                "take": lambda n: ["task", "take", "--agent", f"hand-{n}"],
                "ls": lambda _: ["task", "ls"],
            },
        )
    take, claim = median(samples["take"]), median(samples["claim"])
    rows = [
        Row("claim in process, p50", f"{claim * 1e3:.2f} ms"),
        Row("take a task in process, p50", f"{take * 1e3:.2f} ms"),
        at_most("same / claim", take / claim, 3),
        at_most("its transaction only, no file / claim", median(samples["rows"]) / claim, 3),
        Row("`dibs claim`, p50", f"{shell['claim'] * 1e3:.0f} ms"),
        at_most("`dibs task take` / `dibs claim`", shell["take"] / shell["claim"], 3),
        Row("`dibs task ls` / `dibs claim`", f"{shell['ls'] / shell['claim']:.1f}x"),
    ]
    note = (
        "Each in-process call is its agent's first. Taking a task moves its file and waits for the disk;"
        " a claim does not wait for the disk."
    )
    return Section("Board: taking a task", note, rows)


def past() -> Section:
    """Compare everyday commands with and without a large archive."""
    with _repository() as young, _repository() as old:
        for folder in (young, old):
            project, _ = create(folder)
            drafts = [Draft(fields={"title": f"Fix page {n}"}) for n in range(200)]
            project.tasks.create(ME, drafts)
            if folder == old:
                _archive(project)
            project.close()
        daily: dict[str, Callable[[int], list[str]]] = {
            "take": lambda n: ["task", "take", "--agent", f"hand-{n}"],
            "new": lambda n: ["task", "new", f"Paint wall {n}"],
            "ls": lambda _: ["task", "ls"],
            "orchestrate": lambda _: ["orchestrate"],
        }
        light, heavy = _commands(young, daily, other=old)
    rows = [
        at_most(
            f"`dibs {' '.join(daily[name](0)[:2])}`, with / without archive",
            heavy[name] / light[name],
            1.1,
        )
        for name in daily
    ]
    note = f"{ARCHIVED:,} archived tasks (rows and files) and 200 open tasks."
    return Section("Board: large archive", note, rows)


# -- the board to measure


@contextmanager
def _repository() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q", folder], check=True)
        create(folder)[0].close()
        yield os.path.realpath(folder)


def _drop(board: str, count: int) -> None:
    """Write complete task files in their final folders, as file-only agents do."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 60))
    for number in range(count):
        done = number % 10 >= 6
        agent = f"agent-{number % CREW}"
        place = os.path.join(board, "done" if done else f"assigned/{agent}")
        os.makedirs(place, exist_ok=True)
        id_ = f"2025-11-23T1430-{agent}-page-{number}"
        text = (
            f"id: {id_}\nagent: {agent}\nstatus: {'done' if done else 'assigned'}\n"
            f"title: Fix page {number} of the book\npriority: normal\n"
            f"artefacts:\n  - docs/book/page_{number}.md\n  - docs/index/{number % 97}.md\n"
            f"context:\n  repo: book\n  notes:\n    - Links first, # then text\n"
            f'created_at: "{now}"\ncreated_by: hugo\nassigned_at: "{now}"\n'
        )
        if done:
            text += f'started_at: "{now}"\nresult:\n  summary: Fixed\n  completed_at: "{now}"\n'
        with open(os.path.join(place, f"{id_}.yaml"), "w", encoding="ascii") as file:
            file.write(text)


def _read(board: str) -> None:
    """List the folders and read each file: the least that any reader does."""
    places = [entry.path for entry in os.scandir(os.path.join(board, "assigned"))]
    for place in (*places, os.path.join(board, "done")):
        with os.scandir(place) as entries:
            for entry in entries:
                with open(entry.path, "rb") as file:
                    file.read()


def _edit(board: str) -> None:
    """Edit some files the way most editors do: write a new file and rename it over the old one."""
    place = os.path.join(board, "assigned", "agent-0")
    for name in sorted(os.listdir(place))[:EDITS]:
        path = os.path.join(place, name)
        with open(path, encoding="ascii") as file:
            text = file.read()
        with open(f"{path}~", "w", encoding="ascii") as file:
            file.write(f"{text}# looked at {time.time()}\n")
        os.replace(f"{path}~", path)


def _orchestrator(project: Project) -> Orchestrator:
    state = project.place.repository.state
    return Orchestrator(project.store, project.board, state)


def _cycle(folder: str) -> None:
    """Run one cycle as a newly started process does."""
    project, _ = create(folder)
    _orchestrator(project).cycle(ME)
    project.close()


def _take(project: Project, agent: str) -> None:
    project.tasks.take(Caller(agent))


def _make(project: Project, draft: Draft) -> None:
    project.tasks.create(ME, [draft])


def _archive(project: Project) -> None:
    """Fill the archive with tasks from the last ten months."""
    for start in range(0, ARCHIVED, 10_000):
        month = f"archive/2025-{start // 10_000 + 1:02}"
        os.makedirs(os.path.join(project.board.path, month))
        project.store.apply(lambda rows, at=start, place=month: _retire(rows, at, place))
        for number in range(start, start + 10_000):
            path = os.path.join(project.board.path, month, f"old-{number}.yaml")
            with open(path, "w", encoding="ascii") as file:
                file.write(f"id: old-{number}\nstatus: archive\nresult:\n  summary: Fixed\n")


def _retire(rows: Rows, start: int, place: str) -> None:
    head, _ = taskrows.standing(rows)
    for number in range(start, start + 10_000):
        id_ = f"old-{number}"
        task = Task(id_, Status.DONE, title=f"Fix page {number}")
        ended = Past(id_, f"{id_}.yaml", Status.DONE, place, task.title, version=head)
        taskrows.retire(rows, ended, Stored(task, f"{id_}.yaml", "done", "", head))


# -- timing


def _timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def _commands(
    folder: str, cases: dict[str, Callable[[int], list[str]]], other: str = ""
) -> tuple[dict[str, float], dict[str, float]]:
    """Time commands as a shell starts them, alternating between the folders."""
    dibs = os.path.join(os.path.dirname(sys.executable), "dibs")
    environ = {**os.environ, "DIBS_AGENT": "bench"}
    places = [folder, other] if other else [folder]
    samples: dict[tuple[str, str], list[float]] = {}
    for turn in range(ROUNDS):
        for name, command in cases.items():
            for place in places:
                start = time.perf_counter()
                subprocess.run(
                    [dibs, *command(turn)],
                    cwd=place,
                    env=environ,
                    check=True,
                    stdout=subprocess.DEVNULL,
                )
                samples.setdefault((place, name), []).append(time.perf_counter() - start)
    here = {name: median(samples[folder, name]) for name in cases}
    return here, {name: median(samples[other, name]) for name in cases} if other else here
