"""Read the input of a briefing: the crew as one agent sees it."""

from __future__ import annotations

from dibs.core.briefing.activity import is_told
from dibs.core.briefing.snapshot import CrewState, Tally
from dibs.core.tasks.rules import Status
from dibs.services.claims.agents import AgentView, view_of
from dibs.services.claims.views import held_in, waiting_in, with_tasks
from dibs.services.state.decisions import pending
from dibs.services.state.mailbox import message_in, unread_rows
from dibs.services.state.tasks import statuses, unfinished
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.core.claims.ledger import Entry
    from dibs.core.talk.decisions import Decision
    from dibs.core.talk.mail import Message
    from dibs.core.tasks.rules import Task
    from dibs.services.state.rows import Rows

#: How many of the newest ledger entries are read, and how many of them are shown at most.
LOOKED_AT, KEPT = 120, 20
#: How many unread messages are read; more do not fit into any briefing and wait for the next one.
MAX_MAIL = 1_000
#: How many delegations a briefing shows.
DELEGATIONS = 20


class Unread(Record):
    """Undelivered messages in a reader's boxes."""

    #: Each once, oldest first.
    messages: tuple[Message, ...]
    #: The boxes of each message, by its id.
    boxes: dict[str, list[str]]


def crew_state(
    rows: Rows, me: str, *, human: bool, ttl: float, mail: Iterable[Message] = ()
) -> CrewState:
    """Return what a briefing can report to ``me``; progress of the board only for a lead."""
    from dibs.core.briefing.crew import is_lead

    held = tuple(held_in(rows))
    views = [
        AgentView(agent, rows.now, 0.0, 0)  # the reader is here, however long it was silent
        if agent.id == me
        else view_of(rows, agent, 0, ttl)
        for agent in rows.agents()
    ]
    seen = CrewState(
        rows.now,
        me,
        human,
        tuple(with_tasks((view.agent for view in views), held)),
        held,
        tuple(waiting_in(rows)),
        tuple(mail),
        _undecided(rows),
        activity=tuple(_activity(rows, me)),
        doing={view.agent.id: view.activity(ttl) for view in views},
    )
    if not is_lead(seen):
        return seen
    times = {agent.id: rows.active(agent.id) for agent in seen.agents}
    heard = {id_: moment for id_, moment in times.items() if moment}
    return seen._replace(tally=tally(rows), seen=heard)


def _undecided(rows: Rows) -> tuple[Decision, ...]:
    """Return the pending decisions, without those about conflicts that are over."""
    found = tuple(pending(rows))
    if not any(decision.conflict for decision in found):
        return found
    from dibs.services.claims.escalation import undecided

    return tuple(undecided(rows))


def delegations(rows: Rows, me: str) -> tuple[Task, ...]:
    """Return the unfinished tasks that ``me`` delegated, or that others delegated to it, oldest first."""
    found = [
        task
        for task in unfinished(rows)
        if me in {task.agent, task.created_by} and task.agent and task.agent != task.created_by
    ]
    return tuple(sorted(found, key=lambda task: (task.created, task.id))[:DELEGATIONS])


def unread(rows: Rows, boxes: tuple[str, ...], without: Iterable[str] = ()) -> Unread:
    """Return the undelivered messages in ``boxes``, except the messages ``without``."""
    left_out = set(without)
    listed: dict[str, list[str]] = {}
    for box in boxes:
        for row, _ in unread_rows(rows, box):
            listed.setdefault(row, []).append(box)
    messages, where = [], {}
    for row in sorted(listed)[:MAX_MAIL]:
        message = message_in(rows, row)
        if message is not None and message.id not in left_out:
            messages.append(message)
            where[message.id] = listed[row]
    return Unread(tuple(messages), where)


def tally(rows: Rows) -> Tally:
    """Count the tasks that are not archived by status."""
    by_status: dict[str, list[str]] = {}
    for id_, status in statuses(rows):
        by_status.setdefault(status, []).append(id_)
    return Tally(
        sum(map(len, by_status.values())),
        len(by_status.get(Status.DONE, ())),
        len(by_status.get(Status.CANCELLED, ())),
        tuple(sorted(by_status.get(Status.BLOCKED, ()))),
        tuple(sorted(by_status.get(Status.ERROR, ()))),
    )


def _activity(rows: Rows, me: str) -> list[Entry]:
    """Return recent entries of others, oldest first; only the newest entries are read."""
    found: list[Entry] = []
    for looked, entry in enumerate(rows.events(newest_first=True)):
        if looked >= LOOKED_AT or len(found) >= KEPT:
            break
        if entry.agent != me and is_told(entry):
            found.append(entry)
    return found[::-1]
