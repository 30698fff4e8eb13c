"""Work on tasks and decide about them: every transition of the board.

The header ``If-Match`` with a task's version makes a transition fail if the task has changed since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from dibs.core.tasks.rules import Handoff
from dibs.project.stopping import WaitStopped
from dibs.server.rest.routes import Answer, ApiRoute, Body, Call, Name, Number, Paths, Span, Text
from dibs.services.tasks.values import NothingFree, TakenTask, token_metrics
from dibs.shapes import claims
from dibs.shapes import tasks as shapes

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.services.board.tasks import Tasks
    from dibs.services.state.tasks import Stored

Roles = Annotated[list[Name], Meta(max_length=100)]
Token = Annotated[Number, Meta(description="fail unless the claim has this token")]


class StartBody(Body, frozen=True):
    """How to begin an attempt."""

    roles: Annotated[Roles, Meta(description="also match tasks for these roles")] = []
    claim: Annotated[bool, Meta(description="also claim its artefacts")] = False
    ttl: Span | None = None
    reason: Text = ""


class TakeBody(StartBody, frozen=True):
    """How to take the next task."""

    wait: Annotated[Span, Meta(description="wait at most this long for a task")] = 0


def take(call: Call, body: TakeBody) -> Any:
    """Take the next available task."""
    answer = call.project.tasks.take(
        call.caller,
        roles=body.roles,
        claim=body.claim,
        ttl=body.ttl,
        wait=body.wait,
        reason=body.reason,
        request_id=call.request_id,
    )
    if isinstance(answer, NothingFree):
        steps = shapes.take_steps(answer, body.roles)
        return Answer(409, shapes.nothing_free(answer, steps))
    shape = shapes.taken(answer)
    if call.hung_up and not call.request_id:  # one with a key would repeat the request
        here = call._replace(gone=None)
        here.project.tasks.release(call.caller, shape["task"]["id"], token=shape["token"])
        raise WaitStopped
    return shape


def start(call: Call, body: StartBody) -> Any:
    """Take a specific task."""
    tasks = _tasks(call)
    id_ = tasks.checked_id(call.path["id"])
    answer = tasks.start(
        call.caller,
        id_,
        roles=body.roles,
        claim=body.claim,
        ttl=body.ttl,
        reason=body.reason,
        request_id=call.request_id,
    )
    if isinstance(answer, TakenTask):
        return shapes.taken(answer)
    human = call.caller.human
    steps = claims.task_steps(answer, id_, human=human)
    return Answer(409, claims.outcome(answer, human=human, steps=steps))


class Next(Body, frozen=True):
    """A follow-up task for an agent or a role."""

    agent: Name
    title: Text = ""
    artefacts: Paths = []
    notes: Annotated[list[Text], Meta(max_length=1_000)] = []


class DoneBody(Body, frozen=True):
    """The result of a task."""

    summary: Text = ""
    artefacts: Paths = []
    next: Next | None = None
    tokens_in: Number | None = None
    tokens_out: Number | None = None
    token: Token = 0


def _handoff(call: Call, after: Next) -> Handoff:
    return Handoff(after.agent, after.title, _paths(call, after.artefacts), tuple(after.notes))


def done(call: Call, body: DoneBody) -> Any:
    """Finish a task."""
    tasks = _tasks(call)
    stored = tasks.done(
        call.caller,
        call.path["id"],
        token=body.token,
        summary=body.summary,
        artefacts=_paths(call, body.artefacts),
        handoff=None if body.next is None else _handoff(call, body.next),
        metrics=token_metrics(body.tokens_in, body.tokens_out),
        request_id=call.request_id,
    )
    similar = tasks.alike(stored) if stored.task.handoff is not None else None
    return shapes.moved("done", stored, similar)


class FailBody(Body, frozen=True):
    """What went wrong."""

    message: Text
    trace: Text = ""
    token: Token = 0


def fail(call: Call, body: FailBody) -> Any:
    """Mark a task as failed."""
    stored = _tasks(call).fail(
        call.caller,
        call.path["id"],
        message=body.message,
        trace=body.trace,
        token=body.token,
        request_id=call.request_id,
    )
    return shapes.moved("failed", stored, None)


class TokenBody(Body, frozen=True):
    """The attempt that ends."""

    token: Token = 0


def release(call: Call, body: TokenBody) -> Any:
    """Release a task so that another agent can take it."""
    stored = _tasks(call).release(call.caller, call.path["id"], token=body.token)
    return shapes.moved("released", stored, None)


class WhyBody(Body, frozen=True):
    """Why."""

    reason: Text = ""


class NeededWhy(Body, frozen=True):
    """Why; required."""

    reason: Annotated[Text, Meta(min_length=1)]


class ReassignBody(WhyBody, frozen=True, kw_only=True):
    """To whom a task goes, and why."""

    to: Annotated[Name, Meta(description="an agent, a role, or `any`")]


def reassign(call: Call, body: ReassignBody) -> Any:
    """Assign a task to another agent or role, or to anyone."""
    tasks = _tasks(call)
    to = "" if body.to == "any" else body.to
    stored = tasks.reassign(call.caller, _id(call), to=to, reason=body.reason)
    return shapes.moved("reassign", stored, tasks.alike(stored))


def _decided(verb: str) -> Callable[[Call, Any], Any]:
    """Return the function of a verb that decides about a task without working on it."""

    def act(call: Call, body: WhyBody | NeededWhy) -> Any:
        stored: Stored = getattr(_tasks(call), verb)(call.caller, _id(call), reason=body.reason)
        return shapes.moved(verb, stored, None)

    return act


def _id(call: Call) -> str:
    from dibs.core.tasks.rules import check_task_id

    return check_task_id(call.path["id"])


def _tasks(call: Call) -> Tasks:
    return call.project.tasks.at_version(call.version)


def _paths(call: Call, texts: list[str]) -> tuple[str, ...]:
    return tuple(pattern.text for pattern in call.patterns(texts))


def _transition(verb: str, summary: str, act: Any, takes: Any, **more: Any) -> ApiRoute:
    return ApiRoute(
        "POST", f"/tasks/{{id}}/{verb}", f"tasks.{verb}", summary, f"task {verb}", act, takes,
        versioned=True, **more,
    )  # fmt: skip


ROUTES = (
    ApiRoute(
        "POST", "/board/take", "tasks.take", "Take the next available task",
        "task take", take, TakeBody, statuses=(200, 409), waits=True, keeps_ids=True,
    ),
    _transition("start", "Take a specific task", start, StartBody, statuses=(200, 409), keeps_ids=True),
    _transition("done", "Finish a task that you hold", done, DoneBody, keeps_ids=True),
    _transition("fail", "Mark a task as failed", fail, FailBody, keeps_ids=True),
    _transition("release", "Release a task so that another agent can take it", release, TokenBody),
    _transition("retry", "Make a failed task available again", _decided("retry"), WhyBody),
    _transition(
        "reopen", "Reopen a finished or blocked task", _decided("reopen"), WhyBody
    ),
    _transition("cancel", "Cancel a task", _decided("cancel"), NeededWhy),
    _transition("block", "Block a task until it is reopened", _decided("block"), NeededWhy),
    _transition("reassign", "Assign a task to another agent or role", reassign, ReassignBody),
)  # fmt: skip
