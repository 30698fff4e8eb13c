"""The orchestrator's upkeep: return, assign, warn, archive. Each step is safe to run twice at once."""

from __future__ import annotations

from itertools import islice
from math import inf

from dibs.core.claims.ledger import Kind
from dibs.core.tasks.rules import Status
from dibs.core.text.durations import show_span
from dibs.services.state.presence import arrive
from dibs.services.state.task_index import finished, fresh, silent
from dibs.services.state.tasks import Stored, load, past, several
from dibs.services.tasks.attempts import (
    fail_with,
    live_claim,
    lose_attempt,
    return_dead_tasks,
    return_task,
)
from dibs.services.tasks.texts import TaskWriter, moment, rewritten
from dibs.services.tasks.values import Stuck

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from dibs.core.claims.agents import Caller
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: How many tasks one transaction assigns or archives; the next one continues.
MANY = 500


def sweep(store: Store, rows: Rows) -> list[Stored]:
    """Return the tasks of dead agents to the board."""
    return return_dead_tasks(store, rows, every_attempt=True)


# -- assigning


def assign(rows: Rows, caller: Caller, *, skip: Container[str] = ()) -> list[Stored]:
    """Assign ready tasks to the agents that they name, except those in ``skip``."""
    named = list(islice((id_ for id_ in fresh(rows) if id_ not in skip), MANY))
    found = [load(rows, id_) for id_ in named]
    given = [row for row in found if row is not None and row.task.status == Status.NEW]
    if not given:
        return []
    writer = TaskWriter(rows, caller.id, arrive(rows, caller).role)
    return [_give(rows, writer, stored) for stored in given]


def _give(rows: Rows, writer: TaskWriter, stored: Stored) -> Stored:
    agent = stored.task.agent
    after = stored.task._replace(
        status=Status.ASSIGNED, assigned=moment(rows.now)
    )  # fmt: skip
    said = f"{stored.id} was assigned to {agent}"
    return writer.move(stored, "assign", after, Kind.TASK_ASSIGNED, said)


# -- tasks that take too long


def stuck(store: Store, rows: Rows, caller: Caller) -> list[Stuck]:
    """Report tasks without activity for the timeout, and act on them as configured.

    An attempt with a live claim is not stuck: its agent renews it. Nor is a task that waited for others:
    its time counts from the end of the last of them.
    """
    late = [id_ for id_ in _quiet(store, rows) if live_claim(store, rows, id_) is None]
    found = several(rows, late).values()
    limit = rows.now - store.config.board_timeout
    stuck = [
        row for row in found if row.task.status != Status.ASSIGNED or _free(rows, row) <= limit
    ]
    if not stuck:
        return []
    writer = TaskWriter(rows, caller.id, arrive(rows, caller).role)
    return [_warn(store, rows, writer, row) for row in stuck]


def _free(rows: Rows, stored: Stored) -> float:
    """Return when the last dependency of a task was done; never if the task still waits."""
    if not stored.task.dependencies:
        return 0.0
    if not stored.ready:
        return inf
    ended = [load(rows, id_) or past(rows, id_) for id_ in stored.task.dependencies]
    return max((one.task if isinstance(one, Stored) else one).completed for one in ended if one)


def _quiet(store: Store, rows: Rows) -> list[str]:
    found = []
    for since, id_ in silent(rows):
        if since + store.config.board_timeout > rows.now:
            break
        found.append(id_)
    return found


def _warn(store: Store, rows: Rows, writer: TaskWriter, stored: Stored) -> Stuck:
    """Warn first; after the same time without activity again, act."""
    task = stored.task
    begun = max(task.created, task.assigned, task.started)
    policy = store.config.board_stuck
    span = show_span(round(rows.now - begun))
    if policy == "warn" or not stored.warned:
        new = stored._replace(warned=rows.now)
        said = f"{task.id} has been {task.status} ({task.agent or 'no agent'}) for {span}"
        row = writer.write(stored, new, Kind.TASK_STUCK, said, {"since": begun})
        return Stuck(row, begun, "warned")
    if policy == "error":
        verb = "fail"
        row = fail_with(writer, stored, f"no activity for {span}", verb=verb)
        return Stuck(row, begun, "error")
    if task.status == Status.IN_PROGRESS:
        return Stuck(
            lose_attempt(store, rows, stored, f"showed no activity for {span}"), begun, "released"
        )
    why = f"{task.agent} did not start it within {span}"
    row = return_task(writer, stored, "reassign", why, warned=0.0, asked="")
    return Stuck(row, begun, "released")


# -- archiving


def archive(store: Store, rows: Rows, caller: Caller) -> list[Stored]:
    """Archive tasks that finished long enough ago, except those whose follow-up is not created yet."""
    ready: list[Stored] = []
    for at, id_ in finished(rows):
        if at + store.config.board_archive_after > rows.now or len(ready) >= MANY:
            break
        row = load(rows, id_)
        if row is not None and not _is_open_ended(row):
            ready.append(row)
    if not ready:
        return []
    writer = TaskWriter(rows, caller.id, arrive(rows, caller).role)
    return [_archive(writer, row) for row in ready]


def _archive(writer: TaskWriter, old: Stored) -> Stored:
    new = rewritten(old, old.task._replace(status=Status.ARCHIVE))
    return writer.archive(new, old.task.status, old, f"{old.id} was archived in {new.place}")


def _is_open_ended(stored: Stored) -> bool:
    task = stored.task
    return task.status == Status.DONE and task.handoff is not None and not stored.follower
