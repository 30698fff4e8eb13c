"""Handoffs: create the follow-up task that a finished task asks for, exactly once.

The transaction that finishes the task creates it. The orchestrator creates those that could not be created.
A follow-up is recognized by its dependency and its title, so no number of orchestrators, kills, and hand
edits creates a second one.
"""

from __future__ import annotations

from itertools import count

from dibs.core.claims.ledger import Kind
from dibs.core.tasks.names import new_id
from dibs.core.tasks.rules import INBOX, Task
from dibs.core.text.names import check_agent_id
from dibs.errors import BadInput
from dibs.services.claims.acquire import SHOWN
from dibs.services.state.keys import TOLD_HANDOFF
from dibs.services.state.presence import arrive
from dibs.services.state.task_index import dependents, forget_report, handoffs, report
from dibs.services.state.tasks import Stored, load, past, put, several
from dibs.services.tasks.create import is_taken
from dibs.services.tasks.texts import TaskWriter
from dibs.services.tasks.values import Trouble
from dibs.taskfile.reading import error_of, read
from dibs.taskfile.writing import render, stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.core.claims.agents import Caller
    from dibs.core.tasks.rules import Handoff
    from dibs.services.state.rows import Rows


def hand_off(rows: Rows, caller: Caller) -> tuple[list[Stored], list[Trouble]]:
    """Create the follow-ups that finished tasks still lack; report each one that cannot be created, once."""
    made: list[Stored] = []
    troubles: list[Trouble] = []
    for id_ in handoffs(rows):
        source = load(rows, id_)
        if source is None or source.task.handoff is None:
            continue
        new = _row_of(rows, source, source.task.handoff)
        if isinstance(new, Trouble):
            if report(rows, TOLD_HANDOFF, id_, f"{new.code} {source.task.handoff.agent}"):
                _tell(TaskWriter(rows, caller.id, arrive(rows, caller).role), source, new)
                troubles.append(new)
            continue
        created = follow_up(TaskWriter(rows, caller.id, arrive(rows, caller).role), source)
        forget_report(rows, TOLD_HANDOFF, id_)
        made += [created] if created is not None else []
    return made, troubles


def follow_up(writer: TaskWriter, source: Stored, *, stays: bool = True) -> Stored | None:
    """Create the follow-up of a done task; None if it exists or cannot be created.

    ``stays`` tells whether the task keeps its row, which then names the follow-up.
    """
    rows, handoff = writer.rows, source.task.handoff
    if handoff is None or source.follower:
        return None
    there = _existing(rows, source, handoff)
    new = _row_of(rows, source, handoff)
    if isinstance(new, Trouble):
        return None
    if stays:
        put(rows, source._replace(follower=there or new.id), source)
    return None if there else _write(writer, source, new)


def _existing(rows: Rows, source: Stored, handoff: Handoff) -> str:
    """Return the id of the follow-up if someone has created it, else nothing."""
    title = title_of(source, handoff)
    for id_, other in several(rows, dependents(rows, source.id)).items():
        if other.task.title == title and handoff.agent in {other.task.agent, other.asked}:
            return id_
    for id_ in _ids(source, handoff):
        row, ended = load(rows, id_), past(rows, id_)
        if row is None and ended is None:
            return ""
        if (row and source.id in row.task.dependencies) or (ended and ended.title == title):
            return id_
    return ""


def _ids(source: Stored, handoff: Handoff) -> Iterator[str]:
    """Yield ids for the follow-up: its minute, agent, and title, then also a number."""
    base = new_id(source.task.completed, handoff.agent, handoff.title or "follow-up")
    yield base
    for number in count(2):
        yield f"{base}-{number}"


def title_of(source: Stored, handoff: Handoff) -> str:
    """Return the title of a follow-up."""
    return handoff.title or f"Follow-up to {source.id}"


def _row_of(rows: Rows, source: Stored, handoff: Handoff) -> Stored | Trouble:
    """Return the row of the follow-up, or why it cannot be created."""
    try:
        check_agent_id(handoff.agent)
    except BadInput as error:
        return Trouble(
            source.id, "AGENT_ID", f"{source.id} hands off to an invalid agent: {error.message}"
        )
    id_ = next(id_ for id_ in _ids(source, handoff) if not is_taken(rows, id_))
    file = f"{id_}.yaml"
    reading = read(follower_text(source, handoff, id_).encode("utf-8", "replace"), file)
    if reading.task is None:
        problem = error_of(reading.remarks[0], file)
        return Trouble(
            source.id, problem.code, f"the follow-up of {source.id} is invalid: {problem}"
        )
    return Stored(reading.task, file, INBOX, reading.text, 0, asked=handoff.agent)


def _tell(writer: TaskWriter, source: Stored, trouble: Trouble) -> None:
    """Record a problem in the ledger."""
    assert source.task.handoff is not None
    writer.rows.emit(
        writer.agent, writer.role, Kind.HANDOFF_REFUSED, trouble.message,
        task=source.id, next_agent=source.task.handoff.agent, code=trouble.code,
    )  # fmt: skip


def _write(writer: TaskWriter, source: Stored, row: Stored) -> Stored:
    """Write the follow-up."""
    doer = doer_of(source)
    details = {
        "source": source.id,
        "from": doer,
        "to": row.task.agent,
        "artefacts": list(row.task.artefacts[:SHOWN]),
    }
    said = f"{doer} handed off {row.id} to {row.task.agent}"
    return writer.write(None, row, Kind.HANDOFF_CREATED, said, details)


def follower_text(source: Stored, handoff: Handoff, id_: str) -> str:
    """Return the file of the follow-up, in the documented form."""
    origin = f"Created by {doer_of(source)} as handoff from task {source.id}"
    return render(
        {
            "id": id_,
            "agent": handoff.agent,
            "status": "new",
            "title": title_of(source, handoff),
            "artefacts": list(handoff.artefacts),
            "context": {"notes": [*handoff.notes, origin], "dependencies": [source.id]},
            "created_at": stamp(source.task.completed),
            "created_by": doer_of(source),
        }
    )


def delegated(stored: Stored) -> Task:
    """Return the work that a task hands off: its follow-up, else the task itself."""
    handoff = stored.task.handoff
    if handoff is None:
        return stored.task
    return Task(stored.follower or stored.id, title=handoff.title, artefacts=handoff.artefacts)


def doer_of(source: Stored) -> str:
    """Return the name under which a task was done: the assigned one, else the agent that did it."""
    return source.asked or source.doer or source.task.agent
