"""Tasks on the board: list, show, create, and check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta

from dibs.core.tasks import drawing
from dibs.core.tasks.rules import PRIORITIES, Status, urgency
from dibs.server.rest.nouns.places import MOST_FILES, files_at, seen_from
from dibs.server.rest.routes import (
    MOST_ITEMS,
    Answer,
    ApiRoute,
    Body,
    Call,
    Listing,
    Name,
    NoBody,
    Paths,
    PathText,
    Text,
)
from dibs.server.security.identity import TokenScope
from dibs.services.board.listing import TaskFilter, history, listing
from dibs.services.board.validate import check_files
from dibs.services.tasks.values import Created, TaskView, new_draft
from dibs.shapes import tasks as shapes
from dibs.taskfile.reading import description_of

if TYPE_CHECKING:
    Priority = str
    State = str
else:
    Priority, State = Literal[PRIORITIES], Literal[tuple(Status)]


class TaskQuery(Listing, frozen=True):
    """Which tasks to list."""

    all: Annotated[bool, Meta(description="include finished tasks")] = False
    status: State | None = None
    agent: Annotated[Name | None, Meta(description="only tasks of this agent or role")] = None
    priority: Priority | None = None
    ready: Annotated[bool, Meta(description="only tasks that can be taken now")] = False
    blocked: Annotated[bool, Meta(description="only tasks that are blocked or waiting")] = False
    recent: Annotated[
        int, Meta(ge=0, le=MOST_ITEMS, description="also this many finished tasks, the newest")
    ] = 0


def list_tasks(call: Call, body: TaskQuery) -> Any:
    """Return tasks in the order in which they would be taken."""
    project = call.project
    wanted = TaskFilter(
        body.all, body.status, body.agent, body.priority,
        ready=body.ready, blocked=body.blocked, recent=body.recent,
    )  # fmt: skip
    found = listing(project.tasks, project.board, call.caller, wanted)
    found = found._replace(aside=tuple(seen_from(call, found.aside)))
    whole = shapes.listing(found)
    for task, shape in zip(found.tasks, whole["tasks"], strict=False):  # the queue's follow
        shape.update(shapes.movable(task, call.caller))
    keys = [*map(_task_key, found.tasks), *((1, file.name) for file in found.queue)]
    items = zip(keys, whole.pop("tasks"), strict=True)
    page = call.page(body, "tasks", items, lambda pair: pair[0], **whole)
    return {**page, "tasks": [shape for _, shape in page["tasks"]]}


def _task_key(task: TaskView) -> tuple[Any, ...]:
    said = task.stored.task
    over = said.status in {Status.DONE, Status.CANCELLED, Status.ARCHIVE}
    return (0, over, urgency(said.priority), said.created, said.id)


def show_task(call: Call, _: NoBody) -> Any:
    """Return one task with its file and its history."""
    tasks = call.project.tasks
    shown = tasks.show(call.caller, tasks.checked_id(call.path["id"]))
    whole = shapes.whole(shown, history(call.project.ledger, shown.stored.id))
    described = {"description": description_of(shown.stored.text)}
    whole["task"].update(described, **shapes.movable(shown, call.caller))
    return whole


class GraphQuery(Body, frozen=True):
    """Which tasks the graph has."""

    task: Annotated[Name, Meta(description="only tasks connected to this one")] = ""


def graph(call: Call, body: GraphQuery) -> Any:
    """Return which tasks depend on which."""
    return drawing.as_json(call.project.tasks.graph(call.caller, body.task))


class _Making(Body, frozen=True, kw_only=True):
    strict: Annotated[bool, Meta(description="create nothing if a similar task is active")] = False
    dry_run: Annotated[bool, Meta(description="only say what would be created")] = False


class NewTask(_Making, frozen=True, kw_only=True):
    """A new task."""

    title: Text
    agent: Annotated[Name, Meta(description="an agent or a role; anyone if empty")] = ""
    priority: Priority | None = None
    artefacts: Paths = []
    needs: Annotated[list[Name], Meta(max_length=1_000)] = []
    notes: Annotated[list[Text], Meta(max_length=1_000)] = []
    mode: Name = ""
    slug: Name = ""


def create(call: Call, body: NewTask) -> Any:
    """Create a task."""
    draft = new_draft(
        body.title,
        agent=body.agent,
        priority=body.priority or "",
        artefacts=[pattern.text for pattern in call.patterns(body.artefacts)],
        needs=body.needs,
        notes=body.notes,
        mode=body.mode,
        slug=body.slug,
    )
    return _created(call, body, [draft])


def _created(call: Call, body: _Making, drafts: list[Any]) -> Answer:
    made: Created = call.project.tasks.create(
        call.caller,
        drafts,
        strict=body.strict,
        dry_run=body.dry_run,
        request_id=call.request_id,
    )
    return Answer(200 if body.dry_run else 201, shapes.created(made, dry_run=body.dry_run))


class CheckQuery(Body, frozen=True):
    """Which files to check; by default, the whole board."""

    file: Annotated[list[PathText], Meta(max_length=MOST_FILES)] = []
    strict: Annotated[bool, Meta(description="require names that follow the rule")] = False
    quiet: Annotated[bool, Meta(description="errors only, no notes")] = False


def validate(call: Call, body: CheckQuery) -> Any:
    """Check task files, or the whole board."""
    board = call.project.board
    found = check_files(board, call.caller, files_at(call, body.file), strict=body.strict)
    found = found._replace(findings=tuple(seen_from(call, found.findings)))
    return shapes.checked(found, quiet=body.quiet)


ROUTES = (
    ApiRoute(
        "GET", "/tasks", "tasks.list", "List unfinished tasks",
        "task ls", list_tasks, TaskQuery, scope=TokenScope.READ,
    ),
    ApiRoute(
        "POST", "/tasks", "tasks.create", "Create a task",
        "task new", create, NewTask, statuses=(201, 200), keeps_ids=True,
    ),
    ApiRoute(
        "GET", "/tasks/{id}", "tasks.show", "Show one task in detail",
        "task show", show_task, scope=TokenScope.READ,
    ),
    ApiRoute(
        "GET", "/board/graph", "tasks.graph", "Show which tasks depend on which",
        "task graph", graph, GraphQuery, scope=TokenScope.READ,
    ),
    ApiRoute(
        "GET", "/board/validate", "tasks.validate", "Check the board or some task files",
        "task validate", validate, CheckQuery, scope=TokenScope.READ,
    ),
)  # fmt: skip
