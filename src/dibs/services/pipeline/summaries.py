"""Built in: when a task is done, tell its lead what was done."""

from __future__ import annotations

from dibs.core.claims.agents import HUMAN
from dibs.core.claims.ledger import Kind
from dibs.core.talk.mail import HUMANS, MailKind, Message
from dibs.core.text.durations import show_span
from dibs.core.text.names import few, printable
from dibs.services.pipeline.handlers import MARK
from dibs.services.state import mailbox
from dibs.services.state import tasks as taskrows
from dibs.services.state.serving.faults import DIBS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.claims.ledger import Entry
    from dibs.services.state.rows import Rows
    from dibs.services.state.tasks import Stored

#: The name of the handler, and how much of a summary its ledger entry shows.
NAME, HEADLINE = "summary", 80
#: The values of ``handlers.summary``.
LEAD, ALSO_HUMAN, OFF = "lead", "human", "off"


def summarize(rows: Rows, entries: Sequence[Entry], whom: str) -> None:
    """Send the summaries of finished tasks; ``whom`` is the setting ``handlers.summary``."""
    for entry in entries:
        id_ = entry.details.get("task")
        stored = taskrows.load(rows, id_) if isinstance(id_, str) else None
        box = _lead(rows, entry, stored, whom)
        if box:
            _send(rows, box, entry, _text(entry, stored))


def _lead(rows: Rows, entry: Entry, stored: Stored | None, whom: str) -> str:
    """Return the inbox of the doer's lead: its parent, or who created the task; empty for nobody's.

    An agent that ended reads nothing, and nobody gets a message about its own work.
    """
    doer = (stored.doer if stored is not None else "") or entry.agent
    known = rows.agent(doer)
    parent = known.parent if known is not None else ""
    creator = stored.task.created_by if stored is not None else ""
    for name in (parent, creator):
        if name and name not in {doer, entry.agent} and _is_agent(rows, name):
            return name
    return HUMANS if whom == ALSO_HUMAN and entry.role != HUMAN else ""


def _is_agent(rows: Rows, name: str) -> bool:
    beat = rows.beat(name)
    return beat is not None and beat.role != HUMAN


def _text(entry: Entry, stored: Stored | None) -> str:
    if stored is None:
        return printable(entry.summary)
    task, doer = stored.task, stored.doer or entry.agent
    said = f"{doer} finished {task.id}: {task.title}"
    if entry.agent != doer:
        said += f" (accepted by {entry.agent})"
    lines = [said]
    if task.started and task.completed > task.started:
        lines[0] += f", after {show_span(round(task.completed - task.started))}"
    if task.summary:
        lines.append(task.summary)
    if task.made:
        lines.append(f"files: {few(task.made)}")
    return "\n".join(printable(line) for line in lines)


def _send(rows: Rows, box: str, entry: Entry, text: str) -> None:
    to = box.removeprefix("@")
    first = " ".join(text.split())[:HEADLINE]
    task = entry.details.get("task", "")
    rows.emit(
        DIBS, DIBS, Kind.MESSAGE_SENT, f"{DIBS} to {to}: {first}",
        to=to, task=task, about=entry.seq, **{MARK: NAME}, **mailbox.recipient(rows, to),
    )  # fmt: skip
    number, data = mailbox.next_id(rows), {"task": task, "seq": entry.seq}
    kind = MailKind.SUMMARY
    mailbox.put(rows, Message(number, rows.now, "", "", kind, text, box, (box,), number, data=data))
