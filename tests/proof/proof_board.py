"""Agents that drain a board, as processes: take, work briefly, finish; each records what it did.

Run as a program: ``proof_board.py CLONE VARIABLES AGENT DIARY`` works until the board is empty.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.project.project import Project

#: The maximum time that an agent works on a task, in seconds.
LONGEST = 0.02
#: How long an agent waits for a task before it asks again; on git, joining and leaving the queue
#: are a push each.
PATIENCE = 8


def note(diary: Path, **words: Any) -> None:
    """Append a line in one write, so that lines of several processes do not mix."""
    handle = os.open(diary, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(handle, (json.dumps(words) + "\n").encode())
    finally:
        os.close(handle)


def read(diary: Path) -> list[dict[str, Any]]:
    """Return the complete lines in the order they were written."""
    lines = diary.read_text().split("\n")[:-1] if diary.exists() else []
    return [json.loads(line) for line in lines]


def random_board(count: int, seed: int) -> list[dict[str, Any]]:
    """Return the fields of tasks, each of which may depend on up to three earlier ones."""
    chance = random.Random(seed)
    names = [f"2026-01-01T{n // 60:02d}{n % 60:02d}-any-step-{n}" for n in range(count)]
    return [
        {
            "id": name,
            "title": f"step {number}",
            "priority": chance.choice(["critical", "high", "normal", "low"]),
            "artefacts": [f"out/{number}.txt"],
            "context": {
                "dependencies": chance.sample(names[:number], min(number, chance.randrange(4)))
            },
        }
        for number, name in enumerate(names)
    ]


def order_broken(entries: Iterable[Any], board: list[dict[str, Any]]) -> list[str]:
    """Return the tasks that were started before all their dependencies were done, by the ledger."""
    needs = {fields["id"]: set(fields["context"]["dependencies"]) for fields in board}
    done: set[str] = set()
    broken = []
    for entry in entries:
        task = entry.details.get("task", "")
        if entry.kind == "task_started" and not needs.get(task, set()) <= done:
            broken.append(task)
        elif entry.kind == "task_completed":
            done.add(task)
    return broken


def drain(project: Project, agent: str, diary: Path) -> None:
    """Take and finish tasks until all are done."""
    from dibs.core.claims.agents import Caller
    from dibs.errors import Fenced, NotFound
    from dibs.services.tasks.values import TakenTask

    caller = Caller(agent)

    while True:
        try:
            answer = project.tasks.take(caller, wait=PATIENCE)
        except NotFound:
            return
        if not isinstance(answer, TakenTask):
            continue
        name, token = answer.stored.task.id, answer.stored.token
        note(diary, did="start", task=name, agent=agent, token=token)
        time.sleep(random.random() * LONGEST)
        try:
            project.tasks.done(caller, name, token=token, summary=f"{name} by {agent}")
            note(diary, did="done", task=name, agent=agent, token=token)
        except Fenced:
            note(diary, did="fenced", task=name, agent=agent, token=token)


if __name__ == "__main__":
    clone, variables, agent, diary = sys.argv[1:]
    from dibs.project.project import open_project

    os.environ.update(json.loads(variables))
    opened = open_project(clone)
    drain(opened, agent, Path(diary))
    opened.close()
