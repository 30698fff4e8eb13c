"""The text of a work log for one attempt at a task. Pure.

The sections are those that Directive 014 of the orchestration document requires. Dibs fills in what it knows
and leaves prompts where only the agent knows.
"""

from __future__ import annotations

from time import gmtime, strftime

from dibs.core.tasks.rules import Status
from dibs.core.text.untrusted import markdown_code as code
from dibs.core.text.untrusted import markdown_text as plain
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.core.claims.ledger import Entry
    from dibs.core.tasks.rules import Task

#: How many characters of the task's id are used in the file name.
DESCRIPTION_MAX = 50
_STAMP = len("2025-11-23T1430-")

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


def file_name(task: Task, ended: float) -> str:
    """Return the name of a task's log: the minute in which it ended, and what it was about."""
    return f"{strftime('%Y-%m-%dT%H%M', gmtime(ended))}-{description(task.id)}.md"


def text(
    task: Task, agent: str, ended: float, artefacts: Sequence[Artefact], steps: Sequence[Entry]
) -> str:
    """Return the log of the attempt by ``agent`` that ended at ``ended``."""
    title = plain(task.title or task.id)
    parts = [
        f"# Work Log: {title}\n",
        _head(task, agent, ended),
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


def _head(task: Task, agent: str, ended: float) -> str:
    return (
        f"**Agent:** {plain(agent)}\n**Task ID:** {task.id}\n"
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
    minutes = f"{(ended - task.started) / 60:.0f} min" if task.started else "unknown"
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
