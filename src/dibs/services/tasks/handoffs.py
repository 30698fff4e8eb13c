"""Handoffs: create the follow-up task that a finished task asks for, exactly once.

The new id is derived from the finished task, so any number of orchestrators create it once. A handoff to an
unknown agent is reported once and waits until that agent joins or someone reassigns it.
"""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.tasks.names import handoff_id
from dibs.core.tasks.rules import INBOX, Task
from dibs.core.text.names import check_agent_id, role_word
from dibs.errors import BadInput
from dibs.services.claims.acquire import SHOWN
from dibs.services.state.keys import TOLD_HANDOFF
from dibs.services.state.presence import arrive
from dibs.services.state.task_index import forget_report, handoffs, report
from dibs.services.state.tasks import Stored, every, load, put
from dibs.services.tasks.create import is_taken
from dibs.services.tasks.texts import TaskWriter
from dibs.services.tasks.values import Trouble
from dibs.taskfile.reading import error_of, read
from dibs.taskfile.writing import render, stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from dibs.core.claims.agents import Caller
    from dibs.core.tasks.rules import Handoff
    from dibs.services.state.rows import Rows


def hand_off(
    rows: Rows, caller: Caller, known: Container[str]
) -> tuple[list[Stored], list[Trouble]]:
    """Create the follow-ups of finished tasks; report each one that cannot be created, once."""
    made: list[Stored] = []
    troubles: list[Trouble] = []
    waiting = handoffs(rows)
    if not waiting:
        return made, troubles
    recipients = _Recipients(rows, known)
    for id_ in waiting:
        source = load(rows, id_)
        if source is None or source.task.handoff is None:
            continue
        row = _row_of(source, source.task.handoff, recipients)
        if isinstance(row, Stored):
            role = arrive(rows, caller).role
            made += _follow(rows, TaskWriter(rows, caller.id, role), source, row)
            forget_report(rows, TOLD_HANDOFF, id_)
        elif report(rows, TOLD_HANDOFF, id_, f"{row.code} {source.task.handoff.agent}"):
            _tell(rows, caller.id, arrive(rows, caller).role, source, row)
            troubles.append(row)
    return made, troubles


class _Recipients:
    """Names that can receive a task: agents and roles that joined, have a folder, or are named by a task."""

    def __init__(self, rows: Rows, folders: Container[str]) -> None:
        self._rows = rows
        self._folders = folders
        self._names: set[str] | None = None

    def knows(self, name: str) -> bool:
        if name in self._folders or self._rows.agent(name) is not None:
            return True
        if self._names is None:
            self._names = {role_word(agent.role) for agent in self._rows.agents()}
            for stored in every(self._rows):
                self._names |= {stored.task.agent, stored.asked}
        return name in self._names


def _row_of(source: Stored, handoff: Handoff, recipients: _Recipients) -> Stored | Trouble:
    """Return the row of the follow-up, or why it cannot be created."""
    try:
        check_agent_id(handoff.agent)
    except BadInput as error:
        return Trouble(
            source.id, "AGENT_ID", f"{source.id} hands off to an invalid agent: {error.message}"
        )
    if not recipients.knows(handoff.agent):
        message = (
            f"the follow-up of {source.id} waits for {handoff.agent}, which is not a known agent or"
            f" role; to choose another: dibs task reassign {source.id} --to AGENT"
        )
        return Trouble(source.id, "NO_AGENT", message)
    id_ = handoff_id(source.id, source.task.completed, handoff.agent, handoff.title)
    file = f"{id_}.yaml"
    reading = read(follower_text(source, handoff, id_).encode("utf-8", "replace"), file)
    if reading.task is None:
        problem = error_of(reading.remarks[0], file)
        return Trouble(
            source.id, problem.code, f"the follow-up of {source.id} is invalid: {problem}"
        )
    return Stored(reading.task, file, INBOX, reading.text, 0, asked=handoff.agent)


def _tell(rows: Rows, agent: str, role: str, source: Stored, trouble: Trouble) -> None:
    """Record a problem in the ledger."""
    assert source.task.handoff is not None
    rows.emit(
        agent, role, Kind.HANDOFF_REFUSED, trouble.message,
        task=source.id, next_agent=source.task.handoff.agent, code=trouble.code,
    )  # fmt: skip


def _follow(rows: Rows, writer: TaskWriter, source: Stored, row: Stored) -> list[Stored]:
    """Write the follow-up unless it exists, and record it in the finished task's row."""
    put(rows, source._replace(follower=row.id), source)
    if is_taken(rows, row.id):
        return []
    doer = doer_of(source)
    details = {
        "source": source.id,
        "from": doer,
        "to": row.task.agent,
        "artefacts": list(row.task.artefacts[:SHOWN]),
    }
    said = f"{doer} handed off {row.id} to {row.task.agent}"
    return [writer.write(None, row, Kind.HANDOFF_CREATED, said, details)]


def follower_text(source: Stored, handoff: Handoff, id_: str) -> str:
    """Return the file of the follow-up, in the documented form."""
    origin = f"Created by {doer_of(source)} as handoff from task {source.id}"
    return render(
        {
            "id": id_,
            "agent": handoff.agent,
            "status": "new",
            "title": handoff.title or f"Follow-up to {source.id}",
            "artefacts": list(handoff.artefacts),
            "context": {"notes": [*handoff.notes, origin], "dependencies": [source.id]},
            "created_at": stamp(source.task.completed),
            "created_by": doer_of(source),
        }
    )


def delegated(stored: Stored) -> Task:
    """Return the work that a task hands off: its follow-up, else the task itself."""
    handoff = stored.task.handoff
    if handoff is None or stored.follower:
        return stored.task
    return Task(stored.id, title=handoff.title, artefacts=handoff.artefacts)


def doer_of(source: Stored) -> str:
    """Return the name under which a task was done: the assigned one, else the agent that did it."""
    return source.asked or source.doer or source.task.agent
