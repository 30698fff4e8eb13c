"""The text commands about agents: delegate work to them, start and stop them, and call any tool."""

from __future__ import annotations

from json import dumps

from dibs.core.briefing.activity import listed
from dibs.core.claims.agents import check_acts_for
from dibs.core.text.names import cut
from dibs.core.text.untrusted import UntrustedText, path, word
from dibs.errors import BadInput, DibsError
from dibs.services.board.delegation import Delegated
from dibs.services.tasks.values import new_draft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.text.untrusted import Part
    from dibs.services.crew.command_call import CommandCall, Handler, Lines

#: The longest title that is made from the first line of a text, and how many names a line has.
_TITLE, _NAMES = 120, 10
_BOARD = "board"


def _split(text: str) -> tuple[str, str]:
    """Return a text as a title and the rest; a long first line is part of both."""
    first, _, rest = text.strip().partition("\n")
    if len(first) <= _TITLE:
        return first.strip(), rest.strip()
    return cut(first, _TITLE), text.strip()


def _delegate(call: CommandCall) -> Lines:
    """Send work to an agent or a role; similar work is a warning."""
    title, rest = _split(call.text("task"))
    context = "\n".join(text for text in (rest, call.text("context")) if text)
    answer = call.services.delegation.delegate(call.caller, call.text("to"), title, context=context)
    assert isinstance(answer, Delegated)  # it is not strict
    id_ = path(answer.stored.id, _BOARD)
    lines: Lines = [("Delegated to ", *listed(answer.to, _BOARD, most=_NAMES), " as task ", id_)]
    lines += [(f"Note: {agent} has ended; it sees this if it returns",) for agent in answer.ended]
    for like in answer.alike:
        name = path(like.id, _BOARD) if like.id else "work in progress"
        whose: tuple[Part, ...] = (" of ", word(like.agent, _BOARD)) if like.agent else ()
        text = UntrustedText(like.title, like.agent or _BOARD)
        lines.append(("Warning: similar to ", name, *whose, ": ", text))
    return lines


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
    about: tuple[Part, ...] = (" for task ", path(id_, _BOARD)) if id_ else ()
    return [("Agent started: ", word(agent, _BOARD), *about)]


def _terminate_agent(call: CommandCall) -> Lines:
    target = call.text("agentId")
    known = {view.agent.id: view.agent.parent for view in call.services.agents.all()}
    if target in known:
        check_acts_for(call.caller, target, known, f"dibs agent stop {target}")
    stopped = call.control.stop(target, by=call.caller.id, reason=call.text("reason"))
    return [("Stopping: ", *listed(stopped, "dibs", most=_NAMES)) if stopped else ("It has ended",)]


def _call_tool(call: CommandCall) -> Lines:
    """Call a tool as the agent; its answer already marks other agents' text."""
    arguments = dict(call.fields)
    name = arguments.pop("tool")
    answer = call.control.call_tool(call.caller, name, arguments)
    return [(f"{name}: {dumps(answer, ensure_ascii=False)}",)]


HANDLERS: dict[str, Handler] = {
    "DELEGATE": _delegate,
    "CREATE_AGENT": _create_agent,
    "TERMINATE_AGENT": _terminate_agent,
    "DIBS": _call_tool,
}
