"""The text of the board's generated pages, from ledger entries and tasks. Pure.

The formats are those of the orchestration document: WORKFLOW_LOG.md, HANDOFFS.md, AGENT_STATUS.md. A page
depends only on its entries, so two machines that read one ledger write the same bytes.
"""

from __future__ import annotations

from time import gmtime, strftime

from dibs.core.claims.agents import HUMAN
from dibs.core.claims.ledger import Kind
from dibs.core.tasks.rules import Status
from dibs.core.text.untrusted import markdown_text as plain
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dibs.core.claims.ledger import Entry

#: At the top of each page, to warn people against editing it.
NOTICE = "<!-- written by dibs from its ledger; edits are not kept here -->"

WORKFLOW_HEAD = f"# Agent Orchestration Workflow Log\n\n{NOTICE}\n\n"
HANDOFFS_HEAD = f"# Agent Handoffs\n\n{NOTICE}\n\n"
STATUS_HEAD = f"# Agent Status Dashboard\n\n{NOTICE}\n\n"

#: Ledger kinds, besides those of tasks, that appear in the workflow log.
_TOLD = frozenset({Kind.HANDOFF_CREATED, Kind.HANDOFF_REFUSED, Kind.BOARD_CYCLE})

#: Ledger kinds that show that a task's agent was at work, also when it works by hand.
_AT_WORK = frozenset({Kind.TASK_STARTED, Kind.TASK_COMPLETED, Kind.TASK_FAILED})


class Load(Record):
    """How much work one agent has."""

    assigned: int = 0
    in_progress: int = 0
    #: The task in progress, empty if there is none.
    current: str = ""


def is_logged(kind: str) -> bool:
    """Return whether the workflow log has a line for entries of this kind."""
    return kind.startswith("task_") or kind in _TOLD


def workflow_line(entry: Entry) -> str:
    """Return an entry as one line of WORKFLOW_LOG.md."""
    moment = strftime("%Y-%m-%d %H:%M:%S UTC", gmtime(entry.at))
    return f"**{moment}** - {plain(entry.summary)}\n"


def handoff_block(entry: Entry) -> str:
    """Return a handoff as a block of HANDOFFS.md."""
    details = entry.details
    moment = strftime("%Y-%m-%d %H:%M", gmtime(entry.at))
    source, target = plain(str(details.get("from", ""))), plain(str(details.get("to", "")))
    artefacts = details.get("artefacts") or ()
    names = ", ".join(plain(str(name)) for name in artefacts) or "none"
    return (
        f"## {moment} - {source} → {target}\n\n"
        f"**Artefacts:** {names}\n"
        f"**Task ID:** {plain(str(details.get('task', '')))}\n"
        f"**Status:** Created\n\n"
    )


def seen_in(entry: Entry) -> str:
    """Return the agent that an entry shows at work; empty if none: people are not on the status page."""
    if entry.details.get("by_hand") and entry.kind in _AT_WORK:
        return str(entry.details.get("agent") or "")
    return entry.agent if entry.role != HUMAN else ""


def loads(work: Iterable[tuple[str, str, str]]) -> dict[str, Load]:
    """Count the tasks of each agent; ``work`` yields each task's id, state, and agent.

    Only tasks that the agent can start count as assigned: not those that wait for dependencies.
    """
    found: dict[str, Load] = {}
    for id_, status, agent in work:
        if not agent:
            continue
        load = found.get(agent, Load())
        if status == Status.IN_PROGRESS:
            current = min(load.current, id_) if load.current else id_
            found[agent] = Load(load.assigned, load.in_progress + 1, current)
        elif status == Status.ASSIGNED:
            found[agent] = Load(load.assigned + 1, load.in_progress, load.current)
    return found


def status_page(found: Mapping[str, Load], seen: Mapping[str, float], updated: float) -> str:
    """Return AGENT_STATUS.md: every agent that has work or was ever seen."""
    stamp = strftime("%Y-%m-%d %H:%M:%S UTC", gmtime(updated))
    blocks = [f"{STATUS_HEAD}_Last updated: {stamp}_\n"]
    for agent in sorted({*found, *seen}):
        load = found.get(agent, Load())
        doing = f"Working on {plain(load.current)}" if load.current else "Idle"
        moment = seen.get(agent)
        last = strftime("%Y-%m-%d %H:%M:%S UTC", gmtime(moment)) if moment else "never"
        blocks.append(
            f"\n## {plain(agent)}\n\n"
            f"- **Status:** {doing}\n"
            f"- **Assigned:** {load.assigned}\n"
            f"- **In Progress:** {load.in_progress}\n"
            f"- **Last seen:** {last}\n"
        )
    return "".join(blocks)
