"""The text commands about tasks: create, complete, list, and move them, delegate them, and start agents."""

from __future__ import annotations

from dibs.core.briefing.activity import listed
from dibs.core.claims.rules import MAX_TEXT
from dibs.core.tasks.rules import OPEN
from dibs.core.text.names import cut, few, plural
from dibs.core.text.untrusted import UntrustedText, path, word
from dibs.errors import BadInput, DibsError, NotFound
from dibs.services.board.delegation import Repeated
from dibs.services.tasks.values import new_draft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from dibs.core.text.untrusted import Part
    from dibs.services.crew.command_call import CommandCall, Handler, Lines
    from dibs.services.tasks.values import Created, Draft, TaskView

#: The longest title that is made from the first line of a text, and how many tasks a reply lists.
_TITLE, _LISTED = 120, 50
_BOARD = "board"


def _split(text: str) -> tuple[str, str]:
    """Return a text as a title and the rest; a long first line is part of both."""
    first, _, rest = text.strip().partition("\n")
    if len(first) <= _TITLE:
        return first.strip(), rest.strip()
    return cut(first, _TITLE), text.strip()


def _task(id_: str) -> Part:
    return path(id_, _BOARD)


# -- create


def _draft(call: CommandCall, said: Mapping[str, Any]) -> Draft:
    """Return the task that the fields of ADD_TASK describe."""
    title, rest = _split(said.get("title") or said.get("description") or said["taskId"])
    notes = said.get("description", "") if said.get("title") else rest
    draft = new_draft(
        title,
        agent=said.get("role", ""),
        priority=said.get("priority", ""),
        artefacts=[call.services.tree.resolve(file).text for file in said.get("files", [])],
        needs=said.get("dependsOn", []),
        notes=[notes] if notes else [],
    )
    return draft._replace(id=said["taskId"])


def _add_task(call: CommandCall) -> Lines:
    made = call.services.tasks.create(call.caller, [_draft(call, call.fields)])
    return _created(made)


def _declare_tasks(call: CommandCall) -> Lines:
    drafts = [_draft(call, said) for said in call.fields["tasks"]]
    return _created(call.services.tasks.create(call.caller, drafts))


def _created(made: Created) -> Lines:
    ids = listed([stored.id for stored in made.tasks], _BOARD, most=10)
    lines: Lines = [(f"Added {plural(len(made.tasks), 'task')}: ", *ids)]
    for like in made.similar[:_LISTED]:
        lines.append((
            "Warning: ", _task(like.id), " is similar to ", _task(like.other), ": ",
            UntrustedText(like.title, _BOARD),
        ))  # fmt: skip
    return lines


# -- work and list


def _own_task(call: CommandCall) -> str:
    """Return the task that a command names, or the agent's only task in progress."""
    if call.text("taskId"):
        return call.text("taskId")
    mine = [
        view.stored.id
        for view in call.services.tasks.all(call.caller)
        if view.holder == call.caller.id
    ]
    if not mine:
        raise NotFound("you have no task in progress", code="NO_TASK")
    if len(mine) > 1:
        raise BadInput(
            f"you have {len(mine)} tasks in progress: {few(mine, 5)}", hint="name one with taskId"
        )
    return mine[0]


def _complete_task(call: CommandCall) -> Lines:
    id_, tasks = _own_task(call), call.services.tasks
    summary, output = call.text("summary"), call.text("output")
    if call.text("status") == "failed":
        message = summary or output or "the agent reported a failure"
        stored = tasks.fail(call.caller, id_, message=cut(message, MAX_TEXT), trace=output)
        return [("Task ", _task(id_), f" failed; it is {stored.task.status}")]
    said = "\n".join(text for text in (summary, output) if text)
    stored = tasks.done(call.caller, id_, summary=cut(said, MAX_TEXT))
    lines: Lines = [("Task ", _task(id_), f" completed ✓ ({stored.task.status})")]
    if len(said) > MAX_TEXT:
        lines.append((f"Warning: the result was cut to {MAX_TEXT} characters",))
    if stored.follower:
        lines.append(("Follow-up: ", _task(stored.follower)))
    return lines


def _task_status(call: CommandCall) -> Lines:
    tasks, id_ = call.services.tasks, call.text("taskId")
    if id_:
        view = tasks.show(call.caller, tasks.checked_id(id_))
        text = UntrustedText(view.stored.text, _BOARD, 4_000)
        return [_status_line(view), ("Its file: ", text)]
    found = tasks.all(call.caller)
    more = [(f"and {len(found) - _LISTED} more",)] if len(found) > _LISTED else []
    lines: Lines = [_status_line(view) for view in found[:_LISTED]]
    return [*lines, *more] or [("There are no unfinished tasks",)]


def _status_line(view: TaskView) -> tuple[Part, ...]:
    task = view.stored.task
    whom: tuple[Part, ...] = (", held by ", word(view.holder, _BOARD)) if view.holder else ()
    if not whom and task.agent:
        whom = (", for ", word(task.agent, _BOARD))
    why: tuple[Part, ...] = (" (", word("; ".join(view.why), _BOARD, 200), ")") if view.why else ()
    title = UntrustedText(task.title or task.id, task.created_by or _BOARD)
    return ("- ", _task(task.id), f" — {view.state}", *whom, *why, ": ", title)


def _move(verb: str, done: str) -> Handler:
    """Return a handler that moves a task with a verb of the board."""

    def handle(call: CommandCall) -> Lines:
        move = getattr(call.services.tasks, verb)
        stored = move(call.caller, call.text("taskId"), reason=call.text("reason"))
        return [("Task ", _task(stored.id), f" {done}; it is {stored.task.status}")]

    return handle


def _reassign_task(call: CommandCall) -> Lines:
    to = call.text("agentId")
    stored = call.services.tasks.reassign(
        call.caller, call.text("taskId"), to=to, reason=call.text("reason")
    )
    return [("Task ", _task(stored.id), " is now for ", word(to, call.caller.id))]


# -- delegate


def _delegate(call: CommandCall) -> Lines:
    title, rest = _split(call.text("task"))
    context = "\n".join(text for text in (rest, call.text("context")) if text)
    answer = call.services.delegation.delegate(
        call.caller, call.text("to"), title, context=context, strict=not call.fields.get("anyway")
    )
    if isinstance(answer, Repeated):
        lines: Lines = [("Warning: similar work is active, so nothing was sent:",)]
        for like in answer.alike:
            name = _task(like.id) if like.id else "work in progress"
            whose: tuple[Part, ...] = (" of ", word(like.agent, _BOARD)) if like.agent else ()
            text = UntrustedText(like.title, like.agent or _BOARD)
            lines.append(("- ", name, *whose, ": ", text))
        return [*lines, ('To send it anyway, print DELEGATE again with "anyway": true',)]
    to = listed(answer.to, _BOARD, most=10)
    lines = [("Delegated to ", *to, " as task ", _task(answer.stored.id))]
    lines += [(f"Note: {agent} has ended; it sees this if it returns",) for agent in answer.ended]
    return lines


def _cancel_delegation(call: CommandCall) -> Lines:
    ids = [call.text("delegationId")] if call.text("delegationId") else _sent_to(call)
    cancelled = [
        call.services.delegation.cancel(call.caller, id_, reason=call.text("reason")) for id_ in ids
    ]
    return [("Delegation cancelled: ", _task(one.stored.id)) for one in cancelled]


def _sent_to(call: CommandCall) -> list[str]:
    """Return the tasks that the caller delegated to an agent and that have not started."""
    agent = call.text("agentId")
    if not agent:
        raise BadInput("give either delegationId or agentId")
    found = [
        view.stored.id
        for view in call.services.tasks.all(call.caller)
        if (view.stored.task.created_by, view.stored.task.agent) == (call.caller.id, agent)
        and view.stored.task.status in OPEN
    ]
    if not found:
        raise NotFound(f"you have no unstarted work with {agent}", code="NO_TASK")
    return found


def _create_agent(call: CommandCall) -> Lines:
    """Start an agent for a task of the board; a text becomes one, which does not stay if that fails."""
    role, id_, made = call.text("role"), call.text("taskId"), False
    tasks = call.services.tasks
    if id_ and call.text("task"):
        raise BadInput("give either task, a text, or taskId, a task of the board")
    if call.text("task"):
        title, rest = _split(call.text("task"))
        draft = new_draft(title, agent=role, notes=[rest] if rest else [])
        id_, made = tasks.create(call.caller, [draft]).tasks[0].id, True
    elif id_:
        id_ = tasks.show(call.caller, tasks.checked_id(id_)).stored.id
    try:
        agent = call.control.spawn(role, task=id_, parent=call.caller.id)
    except DibsError:
        if made:
            tasks.cancel(call.caller, id_, reason="no agent could be started for it")
        raise
    about: tuple[Part, ...] = (" for task ", _task(id_)) if id_ else ()
    return [("Agent started: ", word(agent, _BOARD), *about)]


HANDLERS: dict[str, Handler] = {
    "ADD_TASK": _add_task,
    "DECLARE_TASKS": _declare_tasks,
    "COMPLETE_TASK": _complete_task,
    "TASK_STATUS": _task_status,
    "RETRY_TASK": _move("retry", "can be taken again"),
    "REOPEN_TASK": _move("reopen", "was reopened"),
    "CANCEL_TASK": _move("cancel", "was cancelled"),
    "REASSIGN_TASK": _reassign_task,
    "DELEGATE": _delegate,
    "CANCEL_DELEGATION": _cancel_delegation,
    "CREATE_AGENT": _create_agent,
}
