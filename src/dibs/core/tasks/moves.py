"""Which transitions of a task a caller can make now, for surfaces that offer them.

Pure. The table of transitions decides; this module adds who may make them.
"""

from __future__ import annotations

from dibs.core.tasks.rules import OPEN, TRANSITIONS, Status, eligible
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.agents import Caller
    from dibs.core.tasks.rules import Task


class TaskMove(Record):
    """A transition that a caller can make."""

    #: The command: ``start``, ``done``, ``cancel``, and so on.
    verb: str
    #: The state that readers see afterward.
    to: str
    #: What the caller must give: ``reason``, ``message``, or ``to``.
    needs: tuple[str, ...] = ()


class TaskStanding(Record):
    """What decides who may move a task, besides its content."""

    #: The agent with a live claim on the task, empty if nobody has one.
    holder: str = ""
    #: Whether the attempt has a token: it was taken, not started by an edit of the file.
    taken: bool = False
    #: The agent or role that it returns to; empty for the inbox.
    asked: str = ""
    #: Whether it can be taken now.
    ready: bool = False
    #: Whether it waits for other tasks, and stays blocked until they are done.
    waits: bool = False


_NEEDS = {
    "fail": ("message",), "block": ("reason",), "cancel": ("reason",), "reassign": ("to",)
}  # fmt: skip
#: Verbs of an attempt: only its agent may use them.
_RESULTS = frozenset({"done", "fail", "release"})
#: Verbs that take a task from the agent that holds it.
_DECISIONS = frozenset({"block", "cancel", "reassign"})
#: Verbs after which the task is where it was before anyone started it.
_BACK = frozenset({"release", "retry", "reopen"})
#: Transitions that callers do not make.
_NEVER = frozenset({"assign", "lose", "archive"})
_FROM = {
    status: [s for s in TRANSITIONS if s.source == status and s.verb not in _NEVER]
    for status in Status
}


def moves(task: Task, standing: TaskStanding, caller: Caller) -> list[TaskMove]:
    """Return the transitions that the caller can make, in the order of the table."""
    back = Status.ASSIGNED if standing.asked else Status.NEW
    found = []
    for verb, source, target in _FROM.get(task.status, ()):
        if not _may(verb, task, standing, caller):
            continue
        if (verb in _BACK and target != back) or (verb == "reassign" and source == target == "new"):
            continue
        shown = Status.BLOCKED if standing.waits and target in OPEN else target
        name = "start" if verb == "take" else verb
        found.append(TaskMove(name, shown, _NEEDS.get(verb, ())))
    return list(dict.fromkeys(found))


def closed(task: Task, standing: TaskStanding, caller: Caller) -> dict[str, str]:
    """Return the states that the task could have next, but not through this caller, and why."""
    open_ = {move.to for move in moves(task, standing, caller)}
    return {
        target: _why_not(verb, task, standing)
        for verb, _, target in _FROM.get(task.status, ())
        if target not in open_ and not _may(verb, task, standing, caller)
    }


def _why_not(verb: str, task: Task, standing: TaskStanding) -> str:
    holder = standing.holder
    if verb in _RESULTS:
        return f"only {holder or 'the agent that works on it'} can do that"
    if holder:
        return f"{holder} holds it"
    return "it waits for other tasks" if standing.waits else f"it is for {task.agent or 'others'}"


def _may(verb: str, task: Task, standing: TaskStanding, caller: Caller) -> bool:
    mine = standing.holder == caller.id
    if verb == "take":
        allowed = caller.human or eligible(task, caller.id, ())
        return standing.ready and not standing.holder and allowed
    if verb in _RESULTS:
        by_hand = not standing.taken and not standing.holder
        named = caller.human or task.agent in {caller.id, caller.role}
        return mine or (by_hand and named)
    if verb in _DECISIONS:
        return mine or caller.human or not standing.holder
    return True
