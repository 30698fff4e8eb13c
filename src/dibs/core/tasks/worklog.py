"""The text of a work log for one attempt at a task. Pure.

The sections are those that Directive 014 of the orchestration document requires. Dibs fills in what it knows
and leaves prompts where only the agent knows.
"""

from __future__ import annotations

from itertools import count
from time import gmtime, strftime

from dibs.core.tasks.rules import Status
from dibs.core.text.untrusted import markdown_code as code
from dibs.core.text.untrusted import markdown_text as plain
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dibs.core.claims.ledger import Entry
    from dibs.core.tasks.rules import Task

#: How many characters of the task's id are used in the file name.
DESCRIPTION_MAX = 50
_STAMP = len("2025-11-23T1430-")

#: How the lines begin that say which attempt a log is about.
TASK_ID, ATTEMPT = "**Task ID:**", "**Attempt:**"

#: Marks of an artefact: reported and found, planned but not reported, reported but not found.
THERE, PLANNED, MISSING = "✅", "⚠️", "❗️"


class Artefact(Record):
    """One artefact of a task, and its mark."""

    path: str
    mark: str


def marks(task: Task, there: Iterable[str]) -> list[Artefact]:
    """Return the reported and planned artefacts; ``there`` are those found on disk."""
    found = frozenset(there)
    reported = [Artefact(path, THERE if path in found else MISSING) for path in task.made]
    planned = [Artefact(path, PLANNED) for path in task.artefacts if path not in task.made]
    return reported + planned


def description(task_id: str) -> str:
    """Return the part of a task's id for the log's name: without the time, and limited in length."""
    stamped = len(task_id) > _STAMP and task_id[:4].isdigit() and task_id[10] == "T"
    return (task_id[_STAMP:] if stamped else task_id)[:DESCRIPTION_MAX].strip("-.")


def file_names(task: Task, ended: float) -> Iterator[str]:
    """Yield names for a task's log: the minute in which it ended, what it was about, and a number."""
    base = f"{minute(ended)}-{description(task.id)}"
    yield f"{base}.md"
    for number in count(2):
        yield f"{base}-{number}.md"


def minute(at: float) -> str:
    """Return a time as file names begin with it."""
    return strftime("%Y-%m-%dT%H%M", gmtime(at))


def belongs_to(name: str, log: str, changed: float, task: Task, attempt: int, since: float) -> bool:
    """Return whether a log, ours or an agent's own, is about this attempt at a task.

    ``changed`` is when the file was last changed, ``since`` when the attempt before ended, or 0. Clocks of
    agents may run ahead, so their times decide nothing.
    """
    if not name.endswith(".md") or description(task.id) not in name:
        return False
    later = name[: len("2025-11-23T1430")] > minute(since)
    if TASK_ID not in log:
        return later or changed > since
    numbers = [line.removeprefix(ATTEMPT) for line in log.split("\n") if line.startswith(ATTEMPT)]
    return f"{TASK_ID} {task.id}\n" in log and (
        numbers == [f" {attempt}"] or (later and not numbers)
    )


def text(
    task: Task,
    agent: str,
    attempt: int,
    ended: float,
    artefacts: Sequence[Artefact],
    steps: Sequence[Entry],
) -> str:
    """Return the log of the attempt by ``agent`` that ended at ``ended``."""
    title = plain(task.title or task.id)
    parts = [
        f"# Work Log: {title}\n",
        _head(task, agent, attempt, ended),
        f"## Context\n\n{_context(task)}",
        "## Approach\n\n_Why you did it this way, and which alternatives you considered._\n",
        "## Guidelines & Directives Used\n\n_Which rules, profiles, and modes applied._\n",
        f"## Execution Steps\n\n{_steps(steps)}",
        f"## Artifacts Created\n\n{_artefacts(artefacts)}",
        f"## Outcomes\n\n{_outcome(task)}",
        "## Lessons Learned\n\n_What the next agent should know._\n",
        f"## Metadata\n\n{_metadata(task, ended)}",
    ]
    return "\n".join(parts)


def _head(task: Task, agent: str, attempt: int, ended: float) -> str:
    return (
        f"**Agent:** {plain(agent)}\n{TASK_ID} {task.id}\n{ATTEMPT} {attempt}\n"
        f"**Date:** {_moment(ended)}\n**Status:** {task.status}\n"
    )


def _context(task: Task) -> str:
    lines = [f"- **Priority:** {plain(task.priority)}"]
    if task.mode:
        lines.append(f"- **Mode:** {plain(task.mode)}")
    if task.created_by:
        lines.append(f"- **Created by:** {plain(task.created_by)}")
    if task.dependencies:
        lines.append(f"- **Depends on:** {', '.join(map(plain, task.dependencies))}")
    return "\n".join(lines) + "\n"


def _steps(entries: Sequence[Entry]) -> str:
    lines = [
        f"{number}. {_moment(entry.at)} {plain(entry.summary)}"
        for number, entry in enumerate(entries, 1)
    ]
    return "\n".join(lines or ["_None recorded._"]) + "\n"


def _artefacts(artefacts: Sequence[Artefact]) -> str:
    lines = [f"- {mark} {code(path)}" for path, mark in artefacts]
    return "\n".join(lines or ["_None reported._"]) + "\n"


def _outcome(task: Task) -> str:
    if task.status == Status.ERROR:
        return f"Failed: {plain(task.error) or 'no reason given'}\n"
    return f"{plain(task.summary) or 'No summary given.'}\n"


def _metadata(task: Task, ended: float) -> str:
    minutes = f"{max(0.0, ended - task.started) / 60:.0f} min" if task.started else "unknown"
    handoff = plain(task.handoff.agent) if task.handoff else "none"
    related = ", ".join(map(plain, task.dependencies)) or "none"
    return (
        f"- **Duration:** {minutes}\n"
        f"- **Retries:** {task.retries}\n"
        f"- **Handoff:** {handoff}\n"
        f"- **Related tasks:** {related}\n"
    )


def _moment(at: float) -> str:
    return strftime("%Y-%m-%d %H:%M:%S UTC", gmtime(at))
