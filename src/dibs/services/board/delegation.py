"""Delegate work to another agent: a task on the board, and a message about it.

Similar active work is a warning: the sender sees it, and the work is sent. With ``strict``, nothing is sent.
All of this is one transaction, so of two senders of the same work, the second one always sees the first.
"""

from __future__ import annotations

from dibs.core.claims.agents import alive
from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import check_text
from dibs.core.talk.mail import MAX_MESSAGE, MailKind, Message
from dibs.core.talk.recipients import ALL, Addressed, Crew, resolve
from dibs.core.tasks.rules import OPEN, Status, Task, check_title
from dibs.core.tasks.similarity import Active, Similarity
from dibs.core.text.names import is_agent_id, quote, role_word
from dibs.errors import BadInput, NotAllowed, NotFound
from dibs.services.board.tasks import BoardFiles
from dibs.services.state import mailbox
from dibs.services.state import tasks as taskrows
from dibs.services.state.idempotency import answered, remember
from dibs.services.state.presence import arrive
from dibs.services.tasks.create import drafted, write_new
from dibs.services.tasks.texts import TaskWriter
from dibs.services.tasks.transitions import Moves
from dibs.services.tasks.values import Draft
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.core.claims.agents import Agent, Caller
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store
    from dibs.services.state.tasks import Stored


class Delegated(Record):
    """Delegated work, and the agents that were notified."""

    stored: Stored
    to: tuple[str, ...]
    #: Those of them that have stopped; they see it when they return.
    ended: tuple[str, ...] = ()
    #: Similar active work; a warning to the sender.
    alike: tuple[Similarity, ...] = ()


class Repeated(Record):
    """The result of a strict delegation if similar work is active: nothing was sent."""

    alike: tuple[Similarity, ...]


class Delegation:
    """Delegate work, and cancel it."""

    def __init__(self, store: Store, files: BoardFiles | None = None) -> None:
        self._store = store
        self._files = files or BoardFiles()

    def delegate(
        self,
        caller: Caller,
        to: str,
        title: str,
        *,
        context: str = "",
        artefacts: Sequence[str] = (),
        strict: bool = False,
        request_id: str = "",
    ) -> Delegated | Repeated:
        """Create a task for an agent or a role and notify it; if ``strict``, only if none is similar."""
        words = check_text(context, "context", MAX_MESSAGE)
        check_title(title)
        asked = f"delegate\n{to}\n{title}"

        def step(rows: Rows) -> Delegated | Repeated:
            beat = arrive(rows, caller)
            if request_id:
                earlier = answered(rows, caller.id, request_id, asked)
                if earlier is not None:
                    return Delegated(taskrows.need(rows, earlier[0]), tuple(earlier[1:]))
            agents = rows.agents()
            whom = _receivers(to, caller, agents)
            draft = Draft(fields=_fields(_owner(whom), title, words, artefacts))
            listed = drafted(rows, caller.id, [draft])
            tasks = list(taskrows.unfinished(rows))
            found = _similar(listed[0].task, tasks, agents, fold_case=self._store.fold_case)
            if found and strict:
                return Repeated(found)
            writer = TaskWriter(rows, caller.id, beat.role)
            (made,) = write_new(writer, listed)
            more = f":\n{words}" if words else ""
            text = f"{made.task.title}{more}\n(start it with: dibs task start {made.id})"
            _tell(writer, made, whom, Kind.DELEGATED, "delegated to", text)
            if request_id:
                remember(rows, caller.id, request_id, asked, [made.id, *whom.boxes])
            return Delegated(made, whom.boxes, whom.ended, found)

        with self._files.command(caller, makes=True):
            return self._store.apply(step)

    def cancel(self, caller: Caller, id_: str, *, reason: str = "") -> Delegated:
        """Cancel work that has not started and notify its agents; only for its sender and humans."""
        words = check_text(reason, "reason")

        def step(rows: Rows) -> Delegated:
            stored = taskrows.need(rows, id_)
            _check_cancel(stored, caller)
            whom = _still_there(stored, caller, rows.agents())
            after = Moves(self._store, rows, caller).cancel(id_, words)
            writer = TaskWriter(rows, caller.id, arrive(rows, caller).role)
            text = f"task {stored.id} was cancelled" + (f": {words}" if words else "")
            _tell(writer, stored, whom, Kind.DELEGATION_CANCELLED, "cancelled work for", text)
            return Delegated(after, whom.boxes, whom.ended)

        with self._files.command(caller):
            return self._store.apply(step)


def _receivers(to: str, sender: Caller, agents: Sequence[Agent]) -> Addressed:
    """Return the recipients of work for ``to``: that agent, or all active agents with that role.

    Refuse an unknown recipient, the sender alone, and everyone: work needs an owner.
    """
    found = resolve(to, sender, Crew(agents, {}))
    if found.to == ALL:
        hint = "name an agent or a role; `dibs task new` creates a task for anyone"
        raise BadInput("cannot delegate to everyone", code="NO_ADDRESSEE", field="to", hint=hint)
    return found


def _owner(addressed: Addressed) -> str:
    """Return the recipient as a task file names it; a role without Latin letters has no such name."""
    name = addressed.to.removeprefix("role:")
    found = role_word(name)
    if is_agent_id(found):
        return found
    raise BadInput(
        f"a task cannot name the role {quote(name)}",
        code="AGENT_ID",
        field="to",
        hint=f"name one of its agents: {', '.join(addressed.boxes[:5])}",
    )


def _similar(
    new: Task, tasks: Iterable[Task], agents: Iterable[Agent], *, fold_case: bool
) -> tuple[Similarity, ...]:
    """Return similar work: tasks on the board, and what agents say they are doing."""
    known = {task.id: task for task in tasks}
    said = {
        f"agent:{agent.id}": Task(f"agent:{agent.id}", Status.IN_PROGRESS, agent.id, agent.task)
        for agent in alive(agents)
        if agent.task and agent.task not in known
    }
    found = Active({**known, **said}.values(), fold_case=fold_case).like(new)
    return tuple(one._replace(id="") if one.id in said else one for one in found)


def _fields(to: str, title: str, context: str, artefacts: Sequence[str]) -> dict[str, object]:
    """Return the fields of the new task's file, without empty ones."""
    fields: dict[str, object] = {
        "agent": to, "title": title, "artefacts": list(artefacts),
        "context": {"notes": [context]} if context else {},
    }  # fmt: skip
    return {key: value for key, value in fields.items() if value}


def _check_cancel(stored: Stored, caller: Caller) -> None:
    if stored.task.status not in OPEN:
        held = stored.task.status == Status.IN_PROGRESS
        raise BadInput(
            f"task {quote(stored.id)} is {stored.task.status}; only unstarted work can be cancelled",
            code="TASK_TRANSITION",
            field="task",
            hint=f"request it from its owner: dibs ask task:{stored.id}"
            if held
            else f"see what happened to it: dibs task show {stored.id}",
        )
    if stored.task.created_by != caller.id and not caller.human:
        raise NotAllowed(
            f"task {quote(stored.id)} was sent by {stored.task.created_by or 'someone else'}, not by you",
            code="NOT_SENDER",
            field="task",
            hint=f"only its sender or a human can cancel it; if you hold it: dibs task release {stored.id}",
        )


def _still_there(stored: Stored, caller: Caller, agents: Sequence[Agent]) -> Addressed:
    """Return the agents to notify about a cancellation, possibly none."""
    try:
        return _receivers(stored.asked, caller, agents)
    except (BadInput, NotFound):
        return Addressed(stored.asked, ())


def _tell(
    writer: TaskWriter, stored: Stored, whom: Addressed, kind: str, did: str, text: str
) -> None:
    """Write the ledger entry, and deliver the message."""
    rows, task = writer.rows, stored.task
    known = rows.agent(stored.asked)
    rows.emit(
        writer.agent, writer.role, kind, f"{writer.agent} {did} {stored.asked}: {task.title}",
        task=task.id, title=task.title[:200], toAgentId=stored.asked if known else "",
        toRole=known.role if known else stored.asked,
    )  # fmt: skip
    if whom.boxes:
        id_ = mailbox.next_id(rows)
        data = {"task": task.id, "title": task.title, "state": kind}
        message = Message(
            id_, rows.now, writer.agent, writer.role, MailKind.DELEGATED, text, whom.to, whom.boxes,
            data=data,
        )  # fmt: skip
        mailbox.put(rows, message)
