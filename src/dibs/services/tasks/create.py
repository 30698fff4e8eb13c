"""Create tasks: several at once, all or nothing, which may depend on each other in any order."""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.tasks.batch import check_new
from dibs.core.tasks.names import new_id
from dibs.core.tasks.rules import FINISHED, INBOX, Status, check_task_id
from dibs.core.tasks.similarity import Active
from dibs.core.text.names import quote, slug
from dibs.core.text.secrets import storable
from dibs.errors import BadInput
from dibs.services.state.tasks import Stored, load, past, unfinished
from dibs.services.tasks.texts import TaskWriter, moment
from dibs.services.tasks.values import SimilarTask
from dibs.taskfile.reading import error_of, read
from dibs.taskfile.writing import edit, render, stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from dibs.core.tasks.rules import Task
    from dibs.services.state.rows import Rows
    from dibs.services.tasks.values import Draft

#: How many tasks one call may create.
MAX_BATCH = 5_000


def drafted(rows: Rows, author: str, drafts: Sequence[Draft]) -> list[Stored]:
    """Return the rows of new tasks; raise the first problem."""
    if not drafts:
        raise BadInput("no tasks given", code="YAML_SHAPE", field="task")
    if len(drafts) > MAX_BATCH:
        raise BadInput(f"{len(drafts)} tasks in one call: at most {MAX_BATCH}", code="LIMIT")
    names = _Names(rows)
    ids = [names.take(draft) for draft in drafts]
    listed = [_row(rows, author, draft, id_) for draft, id_ in zip(drafts, ids, strict=True)]
    check_new([row.task for row in listed], lambda id_: needs_of(rows, id_))
    return listed


def needs_of(rows: Rows, id_: str) -> tuple[str, ...] | None:
    """Return what a task depends on: nothing once it is finished, None if it does not exist."""
    stored = load(rows, id_)
    if stored is not None and stored.id == id_:
        return () if stored.task.status in FINISHED else stored.task.dependencies
    return () if past(rows, id_) is not None else None


def write_new(writer: TaskWriter, rows: Sequence[Stored], said: str = "added") -> list[Stored]:
    """Write the rows of new tasks and a ledger entry for each."""
    return [
        writer.write(
            None,
            row,
            Kind.TASK_ADDED,
            f"{writer.agent} {said} {row.id}" + (f": {row.task.title}" if row.task.title else ""),
            {"title": row.task.title[:200]} if row.task.title else None,
        )
        for row in rows
    ]


def similar_tasks(rows: Rows, listed: Sequence[Stored], *, fold_case: bool) -> list[SimilarTask]:
    """Return the active tasks that are similar to new ones."""
    active = Active(unfinished(rows), fold_case=fold_case)
    return [
        SimilarTask(row.id, like.id, like.title, like.share, like.paths)
        for row in listed
        for like in active.like(row.task)
    ]


def refuse_similar(found: Sequence[SimilarTask]) -> None:
    """Refuse to create tasks that are similar to existing ones."""
    if found:
        first = found[0]
        raise BadInput(
            f"task {quote(first.other)} is similar: {quote(first.title)}",
            code="TASK_SIMILAR",
            field="title",
            hint="drop --strict to create it anyway",
        )


class _Names:
    """Chooses a unique id for each task of a batch."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._taken: set[str] = set()
        #: The number that was last appended to each base id.
        self._numbers: dict[str, int] = {}

    def take(self, draft: Draft) -> str:
        """Return the id of one more task: the given one, or one made from the time, agent, and title."""
        fields, given = draft.fields, draft.id
        if given and self._is_taken(check_task_id(given)):
            raise BadInput(
                f"task {quote(given)} already exists",
                code="TASK_EXISTS",
                field="id",
                hint="use another id, or omit it",
            )
        id_ = given or self._made(_masked(draft.slug or str(fields.get("title") or "")), fields)
        self._taken.add(id_.lower())
        return id_

    def _made(self, about: str, fields: Mapping[str, Any]) -> str:
        base = new_id(self._rows.now, str(fields.get("agent") or ""), slug(about))
        number, id_ = self._numbers.get(base, 1), base
        while self._is_taken(id_):
            number += 1
            id_ = f"{base}-{number}"
        self._numbers[base] = number
        return id_

    def _is_taken(self, id_: str) -> bool:
        return id_.lower() in self._taken or is_taken(self._rows, id_)


def is_taken(rows: Rows, id_: str) -> bool:
    """Return whether a task with this id exists or is archived."""
    return load(rows, id_) is not None or past(rows, id_) is not None


def _row(rows: Rows, author: str, draft: Draft, id_: str) -> Stored:
    file = f"{id_}.yaml"
    own = {"id": id_, "status": Status.NEW, "created_at": stamp(rows.now), "created_by": author}
    text = render({**own, **_masked(draft.fields)})
    reading = read(text.encode("utf-8", "surrogateescape"), file)
    if reading.task is None:
        raise error_of(reading.remarks[0], file)
    return filled_in(rows, reading.text, reading.task, file, author)


def filled_in(rows: Rows, text: str, task: Task, file: str, author: str) -> Stored:
    """Return the row of a file in the inbox, with missing fields filled in: id, status, author, and time."""
    changes: dict[str, Any] = {}
    listed = f"\n{text}"
    if "\nid:" not in listed and "\ntask_id:" not in listed:
        changes["id"] = task.id
    if "\nstatus:" not in listed:
        changes["status"] = task.status
    if not task.created:
        task = task._replace(created=moment(rows.now))
        changes["created_at"] = stamp(task.created)
    if author and not task.created_by:
        task = task._replace(created_by=author)
        changes["created_by"] = author
    return Stored(task, file, INBOX, edit(text, changes), 0, asked=task.agent)


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {key: _masked(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(inner) for inner in value]
    return value
