"""The task tool: list, take, start, done, fail, release, new, and delegate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.core.claims.rules import Denied
from dibs.errors import BadInput, Fenced, NotAllowed, NotFound
from dibs.mcp.messages import refused_next, tell
from dibs.mcp.tools_claims import patterns_of
from dibs.services.tasks.values import TakenTask
from dibs.shapes import delegation, tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dibs.api.client import Dibs
    from dibs.mcp.inputs import TaskAsked
    from dibs.services.state.tasks import Stored
    from dibs.services.tasks.values import NothingFree, TaskView

    Act = Callable[[Dibs, TaskAsked], dict[str, Any]]


#: The answer of ``task``; ``ok`` is false if no task is available for the caller.
TOLD = "ok:bool action task:task? tasks:task* [similar:similar_work*]"


def task(dibs: Dibs, asked: TaskAsked) -> dict[str, Any]:
    """Perform one action on the board."""
    if asked.action in {"start", "done", "fail", "release"} and not asked.id:
        raise BadInput(f"{asked.action} needs a task id", code="USAGE", field="id")
    if asked.action in {"fail", "new", "delegate"} and not asked.text.strip():
        raise BadInput(f"{asked.action} needs a text", code="USAGE", field="text")
    return _ACTIONS[asked.action](dibs, asked)


def _list(dibs: Dibs, asked: TaskAsked) -> dict[str, Any]:
    found = dibs.tasks()
    return _listed(dibs, asked, found, ok=True)


def _take(dibs: Dibs, asked: TaskAsked) -> dict[str, Any]:
    try:
        answer = dibs.project.tasks.take(dibs.caller, roles=tuple(asked.roles))
    except NotFound as empty:
        if empty.code != "QUEUE_EMPTY":
            raise
        return _told(dibs, asked, ok=False, steps=["No task is available."])
    return _attempt(dibs, asked, answer)


def _start(dibs: Dibs, asked: TaskAsked) -> dict[str, Any]:
    answer = dibs.project.tasks.start(dibs.caller, asked.id, roles=tuple(asked.roles))
    return _attempt(dibs, asked, answer)


def _attempt(
    dibs: Dibs, asked: TaskAsked, answer: TakenTask | NothingFree | Denied
) -> dict[str, Any]:
    if isinstance(answer, TakenTask):
        stored = answer.stored._replace(
            holder=answer.granted.claims[0].agent, token=answer.granted.token
        )
        steps = ["Read its text and do the task. Then call task with action=done and its id."]
        return _one(dibs, asked, stored, steps=steps, text=True)
    if isinstance(answer, Denied):
        held = any(conflict.pattern == f"task:{asked.id}" for conflict in answer.conflicts)
        another = ["Another agent holds it. Take another task: call task with action=take."]
        return _told(dibs, asked, ok=False, steps=another if held else refused_next(answer))
    return _listed(dibs, asked, answer.tasks, ok=False)


def _done(dibs: Dibs, asked: TaskAsked) -> dict[str, Any]:
    made = [pattern.text for pattern in patterns_of(dibs, asked.paths)]
    return _move(dibs, asked, summary=asked.text, artefacts=made)


def _fail(dibs: Dibs, asked: TaskAsked) -> dict[str, Any]:
    return _move(dibs, asked, message=asked.text)


def _new(dibs: Dibs, asked: TaskAsked) -> dict[str, Any]:
    about = [pattern.text for pattern in patterns_of(dibs, asked.paths)]
    made = dibs.new_task(asked.text, agent=asked.agent, artefacts=about)
    return _one(dibs, asked, made)


def _delegate(dibs: Dibs, asked: TaskAsked) -> dict[str, Any]:
    if not asked.agent:
        raise BadInput("delegate needs an agent or a role", code="USAGE", field="agent")
    about = [pattern.text for pattern in patterns_of(dibs, asked.paths)]
    answer = dibs.delegate(asked.agent, asked.text, artefacts=about, strict=asked.strict)
    shape = delegation.answer(answer)
    told = {
        "ok": shape["task"] is not None, "action": asked.action, "task": shape["task"], "tasks": [],
        "similar": shape["similar"],
    }  # fmt: skip
    steps = ["Similar work is active: check that yours is different."] if shape["similar"] else []
    return tell(dibs, TOLD, told, steps)


def _move(dibs: Dibs, asked: TaskAsked, **said: object) -> dict[str, Any]:
    """End an attempt; if another agent holds the task, the error names it."""
    try:
        act = getattr(dibs.project.tasks, asked.action)
        stored: Stored = act(dibs.caller, asked.id, **said)
    except Fenced:
        holder = dibs.project.tasks.show(None, asked.id).holder
        if holder and holder != dibs.caller.id:
            raise NotAllowed(
                f"{holder} holds task {asked.id}, and you are {dibs.caller.id}",
                code="NOT_YOU",
                field="id",
                hint="only its owner can end it",
            ) from None
        raise
    return _one(dibs, asked, stored)


def _one(
    dibs: Dibs, asked: TaskAsked, stored: Stored, steps: Sequence[str] = (), *, text: bool = False
) -> dict[str, Any]:
    task = {**tasks.stored(stored), **({"text": stored.text} if text else {})}
    return _told(dibs, asked, ok=True, task=task, steps=steps)


def _listed(dibs: Dibs, asked: TaskAsked, found: Sequence[TaskView], *, ok: bool) -> dict[str, Any]:
    steps = (
        []
        if ok
        else ["No task is available for you now. Work on something else and try again later."]
    )
    return _told(dibs, asked, ok=ok, listed=[tasks.shown(one) for one in found], steps=steps)


def _told(
    dibs: Dibs, asked: TaskAsked, *, ok: bool, steps: Sequence[str],
    task: dict[str, Any] | None = None, listed: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:  # fmt: skip
    shape = {"ok": ok, "action": asked.action, "task": task, "tasks": list(listed)}
    return tell(dibs, TOLD, shape, steps)


_ACTIONS: dict[str, Act] = {
    "list": _list,
    "take": _take,
    "start": _start,
    "done": _done,
    "fail": _fail,
    "release": _move,
    "new": _new,
    "delegate": _delegate,
}
