"""Execute the text commands of an agent, and return the replies in the words of the crew document.

A command calls the same service as the command line. A refusal is a reply as well: who, why, and which
command helps. A reply contains no command, so that an agent that repeats it does nothing by that.
"""

from __future__ import annotations

from dibs.core.briefing.activity import listed, role_part, words
from dibs.core.briefing.crew import utc_clock
from dibs.core.claims.agents import check_acts_for
from dibs.core.claims.log_filters import stored_kinds
from dibs.core.claims.rules import MAX_TEXT
from dibs.core.crew.text_commands import CommandError
from dibs.core.text.names import cut, plural, printable
from dibs.core.text.untrusted import path, word
from dibs.errors import BadInput, DibsError
from dibs.services.crew.command_call import CommandCall
from dibs.services.crew.command_replies import refusal, reply
from dibs.services.crew.file_commands import HANDLERS as FILE_HANDLERS
from dibs.services.crew.task_commands import HANDLERS as TASK_HANDLERS
from dibs.services.state.ledger import Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.agents import Caller
    from dibs.core.crew.text_commands import TextCommand
    from dibs.core.talk.mail import Message
    from dibs.core.talk.recipients import Group
    from dibs.core.text.untrusted import Part
    from dibs.services.crew.command_call import CommandServices, CrewControl, Handler, Lines

#: How many agents and entries a reply lists, and how many names a line has.
_AGENTS, _ENTRIES, _NAMES = 50, 10, 10


class TextCommands:
    """Executes the text commands of one agent."""

    def __init__(self, services: CommandServices, caller: Caller, control: CrewControl) -> None:
        self._services, self._caller, self._control = services, caller, control

    def execute(self, command: TextCommand | CommandError) -> str:
        """Execute a command, and return the reply; an error is only reported."""
        if isinstance(command, CommandError):
            return reply([(f"Invalid command: {printable(command.message)}",)])
        call = CommandCall(self._services, self._control, self._caller, command.fields)
        try:
            return reply(_HANDLERS[command.name](call))
        except DibsError as error:
            return reply([refusal(command.name, error)])


# -- messages, groups, and decisions


def _message(call: CommandCall) -> Lines:
    return _say(call, call.text("to"))


def _broadcast(call: CommandCall) -> Lines:
    return _say(call, "all")


def _group_message(call: CommandCall) -> Lines:
    return _say(call, f"group:{call.text('group')}")


def _say(call: CommandCall, to: str) -> Lines:
    sent: Message = call.services.mail.say(call.caller, to, call.text("content"))
    lines: Lines = [(f"Message {sent.id} sent to ", path(sent.to, "dibs"))]
    for key, why in (
        ("ended", "has ended; it sees this if it returns"),
        ("full", "has a full inbox"),
    ):
        lines += [(f"Note: {name} {why}",) for name in sent.data.get(key, ())]
    return lines


def _new_group(call: CommandCall) -> Lines:
    group = call.services.groups.new(call.caller, call.text("name"), _members(call))
    return [("Group created: ", *_group(group))]


def _add_to_group(call: CommandCall) -> Lines:
    group = call.services.groups.add(call.caller, call.text("group"), _members(call))
    return [("Added to group ", *_group(group))]


def _remove_from_group(call: CommandCall) -> Lines:
    group = call.services.groups.remove(call.caller, call.text("group"), _members(call))
    return [("Removed from group ", *_group(group))]


def _members(call: CommandCall) -> list[str]:
    return [*call.texts("members"), *(f"role:{role}" for role in call.texts("roles"))]


def _group(group: Group) -> tuple[Part, ...]:
    names = [*group.members, *(f"role:{role}" for role in group.roles)]
    return (group.name, ": ", *(listed(names, group.by, most=_NAMES) or ["no members"]))


def _list_groups(call: CommandCall) -> Lines:
    lines: Lines = [("- ", *_group(group)) for group in call.services.groups.all()]
    return lines or [("There are no groups",)]


def _decision(call: CommandCall) -> Lines:
    made = call.services.decisions.new(
        call.caller,
        call.text("title"),
        rationale=call.text("rationale"),
        confirm=bool(call.fields.get("needsConfirmation")),
    )
    if made.outcome != "pending":
        return [(f"Decision {made.id} recorded ✓",)]
    return [
        (f"Decision {made.id} waits for {made.decider}: do not act on it until it is confirmed",)
    ]


# -- agents and activity


def _terminate_agent(call: CommandCall) -> Lines:
    target = call.text("agentId")
    known = {view.agent.id: view.agent.parent for view in call.services.agents.all()}
    if target in known:
        check_acts_for(call.caller, target, known, f"dibs agent stop {target}")
    stopped = call.control.stop(target, by=call.caller.id, reason=call.text("reason"))
    return [("Stopping: ", *listed(stopped, "dibs", most=_NAMES)) if stopped else ("It has ended",)]


def _progress(call: CommandCall) -> Lines:
    percent = call.fields.get("percent")
    said = [call.text("summary"), "" if percent is None else f"{percent:g}%", call.text("status")]
    if not any(said):
        raise BadInput("give summary, percent, or status")
    return _noted(call, ", ".join(text for text in said if text))


def _noted(call: CommandCall, note: str) -> Lines:
    call.services.agents.report(call.caller, note=note)
    return [("Recorded ✓",)]


def _activity(call: CommandCall) -> Lines:
    """Record what the agent did, always as progress; without a summary, list what happened."""
    kind, summary, details = (
        call.text("actionType"),
        call.text("summary"),
        call.fields.get("details"),
    )
    if summary:
        from json import dumps

        more = f" {dumps(details, ensure_ascii=False)}" if details else ""
        return _noted(call, cut(f"{kind}: {summary}{more}" if kind else summary + more, MAX_TEXT))
    kinds = stored_kinds([kind], "actionType") if kind else frozenset()
    found = call.services.ledger.newest(Query(kinds=kinds), _ENTRIES)
    lines: Lines = []
    for entry in found:
        role: tuple[Part, ...] = (role_part(entry.role, entry.agent), " ") if entry.role else ()
        who = word(entry.agent, "dibs")
        lines.append((f"- [{utc_clock(entry.at)}] ", *role, who, ": ", *words(entry)))
    return lines or [("Nothing has happened yet",)]


def _query_crew(call: CommandCall) -> Lines:
    seen = call.services.overview()
    held: dict[str, list[str]] = {}
    for one in seen.claims:
        if not one.claim.pattern.startswith("task:"):
            held.setdefault(one.claim.agent, []).append(one.claim.pattern)
    lines: Lines = []
    for view in seen.agents[:_AGENTS]:
        agent = view.agent
        you = " (you)" if agent.id == call.caller.id else ""
        task: tuple[Part, ...] = (", task: ", word(agent.task, agent.id)) if agent.task else ()
        locks: tuple[Part, ...] = (
            (", locked: ", *listed(held[agent.id], agent.id, most=_NAMES))
            if agent.id in held
            else ()
        )
        lines.append((
            f"- {agent.id}{you} — ", role_part(agent.role, agent.id), f" — {view.activity(seen.ttl)}",
            *task, *locks,
        ))  # fmt: skip
    more = len(seen.agents) - _AGENTS
    return [*lines, *([(f"and {plural(more, 'more agent')}",)] if more > 0 else [])]


_HANDLERS: dict[str, Handler] = {
    **FILE_HANDLERS,
    **TASK_HANDLERS,
    "AGENT_MESSAGE": _message,
    "BROADCAST": _broadcast,
    "GROUP_MESSAGE": _group_message,
    "CREATE_GROUP": _new_group,
    "ADD_TO_GROUP": _add_to_group,
    "REMOVE_FROM_GROUP": _remove_from_group,
    "LIST_GROUPS": _list_groups,
    "DECISION": _decision,
    "TERMINATE_AGENT": _terminate_agent,
    "PROGRESS": _progress,
    "ACTIVITY": _activity,
    "QUERY_CREW": _query_crew,
}
