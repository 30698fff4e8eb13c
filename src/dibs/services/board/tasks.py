"""The task services: create, take, finish, hand off. Each call is one board command.

A command reconciles the board's files with the rows, acts, then writes the files; ``BoardFiles`` does the
first and the last. The rows decide. Each call is one transaction, except a ``take`` that waits.
"""

from __future__ import annotations

import time
from contextlib import nullcontext

from dibs.core.claims.rules import Denied
from dibs.core.text.durations import check_wait
from dibs.core.text.names import quote
from dibs.errors import BadInput, Fenced, NotFound, Unavailable
from dibs.services.state import tasks as taskrows
from dibs.services.state.idempotency import once
from dibs.services.tasks.values import Created, NothingFree, TakenTask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any, TypeVar

    from dibs.core.claims.agents import Caller
    from dibs.core.tasks.graph import Graph
    from dibs.core.tasks.rules import Handoff
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store
    from dibs.services.state.tasks import Stored
    from dibs.services.tasks.lock_queue.tasks import LockTasks
    from dibs.services.tasks.lock_queue.view import QueuedFile
    from dibs.services.tasks.take import Taking
    from dibs.services.tasks.transitions import Moves
    from dibs.services.tasks.values import Draft, SimilarTask, TaskView

    T = TypeVar("T")


class BoardFiles:
    """The files that show the tasks. This base class has none, so only rows change; see ``Board``."""

    def command(
        self,
        caller: Caller,  # noqa: ARG002
        *,
        makes: bool = False,  # noqa: ARG002
        reads: bool = False,  # noqa: ARG002
    ) -> AbstractContextManager[object]:
        """Return the context of one command; one that ``makes`` tasks creates a missing board."""
        return nullcontext()


class Tasks:
    """Operations on tasks. Refusals are raised (BadInput, NotFound, Fenced, NotAllowed)."""

    def __init__(
        self, store: Store, files: BoardFiles | None = None, locks: LockTasks | None = None
    ) -> None:
        """Use the board ``files``, and the lock-file queue ``locks`` if the repository has one."""
        self._store = store
        self._files = files or BoardFiles()
        self._locks = locks
        self._version: int | None = None

    def at_version(self, version: int | None) -> Tasks:
        """Return the same service, whose changes fail if the task's version is another one; None for any."""
        tasks = Tasks(self._store, self._files, self._locks)
        tasks._version = version
        return tasks

    def create(
        self,
        caller: Caller,
        drafts: Sequence[Draft],
        *,
        strict: bool = False,
        dry_run: bool = False,
        request_id: str = "",
    ) -> Created:
        """Create tasks, all or nothing; they may depend on each other in any order.

        Similar active tasks are reported; with ``strict`` they are an error (``TASK_SIMILAR``).
        """
        from dibs.services.state.presence import arrive
        from dibs.services.tasks.create import drafted, refuse_similar, similar_tasks, write_new
        from dibs.services.tasks.texts import TaskWriter

        def plan(rows: Rows) -> Created:
            listed = drafted(rows, caller.id, drafts)
            found = similar_tasks(rows, listed, fold_case=self._store.fold_case)
            if strict:
                refuse_similar(found)
            return Created(tuple(listed), tuple(found))

        def step(rows: Rows) -> Created:
            planned = Created(())

            def make() -> list[str]:
                nonlocal planned
                beat = arrive(rows, caller)
                planned = plan(rows)
                write_new(TaskWriter(rows, caller.id, beat.role), planned.tasks)
                return [row.id for row in planned.tasks]

            ids = once(rows, caller.id, request_id, f"create\n{len(drafts)}", make)
            return planned._replace(tasks=tuple(taskrows.several(rows, ids).values()))

        with self._files.command(caller, makes=not dry_run, reads=dry_run):
            return self._store.look(plan) if dry_run else self._store.apply(step)

    # -- reading; without a caller, files are not read

    def all(self, caller: Caller | None, *, finished: bool = False) -> list[TaskView]:
        """Return unfinished tasks, or all that are not archived, in the order of taking."""
        from dibs.services.tasks.views import all_shown

        return self._look(caller, lambda rows: all_shown(self._store, rows, finished=finished))

    def show(self, caller: Caller | None, id_: str) -> TaskView:
        """Return one task, archived or not; raise ``NotFound`` (``NO_TASK``) if it does not exist."""
        from dibs.services.tasks.views import one_shown

        try:
            return self._look(caller, lambda rows: one_shown(self._store, rows, id_))
        except NotFound:
            locked = self._locks.view() if self._locks is not None else None
            if locked is None:
                raise
            from dibs.services.tasks.lock_queue.view import QueueView

            found = self._store.look(lambda rows: QueueView(rows, locked).show(id_))
            if found is None:
                raise
            return found

    def graph(self, caller: Caller | None, around: str = "") -> Graph:
        """Return the dependency graph of the tasks, or of those connected to one."""
        graph = self._graph(caller)
        if around:
            self.show(None, around)  # raises NO_TASK
            graph = graph.around(around)
        return graph

    def _graph(self, caller: Caller | None) -> Graph:
        from dibs.services.tasks.views import whole_graph

        graph = self._look(caller, whole_graph)
        locked = self._locks.view() if self._locks is not None else None
        if locked is None:
            return graph
        from dibs.services.tasks.lock_queue.view import QueueView

        return self._store.look(lambda rows: QueueView(rows, locked).in_graph(graph))

    def queued(self) -> list[QueuedFile]:
        """Return the tasks of the lock-file queue, finished ones last; none if there is no queue."""
        return [] if self._locks is None else self._locks.all()

    @property
    def stale(self) -> str:
        """Why the lock-file queue is shown in an older state; empty if it is current."""
        return "" if self._locks is None else self._locks.queue.stale

    def checked_id(self, text: str) -> str:
        """Check a task id; the file of a task in the lock-file queue can have almost any name."""
        from dibs.core.tasks.names import task_of_file
        from dibs.core.tasks.rules import check_task_id

        try:
            return check_task_id(text)
        except BadInput:
            name = task_of_file(f"{text}.yml", fold_case=False)
            locked = self._locks.view() if name and self._locks is not None else None
            if locked is None or not locked.snapshot.has(name):
                raise
            return name

    def alike(self, stored: Stored) -> list[SimilarTask]:
        """Return the active tasks that are similar to the work that a task hands off."""
        from dibs.services.tasks.create import similar_tasks
        from dibs.services.tasks.handoffs import delegated

        row = stored._replace(task=delegated(stored))
        fold = self._store.fold_case
        return self._look(None, lambda rows: similar_tasks(rows, [row], fold_case=fold))

    def _look(self, caller: Caller | None, step: Callable[[Rows], T]) -> T:
        if caller is None:
            return self._store.look(step)
        with self._files.command(caller, reads=True):
            return self._store.look(step)

    # -- working

    def take(
        self,
        caller: Caller,
        *,
        roles: Sequence[str] = (),
        claim: bool = False,
        ttl: object = None,
        wait: object = 0,
        reason: str = "",
        request_id: str = "",
        pausing: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> TakenTask | NothingFree:
        """Give the caller the next task that it can take; wait for one if there is none yet.

        ``claim`` also claims its artefacts, all or nothing, and skips tasks whose artefacts are held. Raises
        ``NotFound`` (``QUEUE_EMPTY``) if there is nothing to do at all. ``pausing`` is the context of each
        pause, during which the caller has no task yet and may end the wait with an exception.
        """
        from dibs.services.tasks.take import Taking, no_task

        patience = check_wait(wait)
        locked = self._locks.current if self._locks is not None else None
        taking = Taking(self._store, caller, roles, claim, ttl, reason, request_id, locked)
        answer: TakenTask | NothingFree | None = None
        give_up = time.monotonic() + patience
        try:
            answer = self._next(caller, taking, patience)
            while isinstance(answer, NothingFree) and time.monotonic() < give_up:
                with pausing():
                    taking.pause(give_up)
                answer = self._next(caller, taking, patience)
        finally:
            if patience and not isinstance(answer, TakenTask):
                taking.leave()
        if isinstance(answer, TakenTask):
            return answer
        if not answer.tasks and not answer.queue:
            raise no_task()
        return answer._replace(waited=patience > 0)

    def start(
        self,
        caller: Caller,
        id_: str,
        *,
        roles: Sequence[str] = (),
        claim: bool = False,
        ttl: object = None,
        reason: str = "",
        request_id: str = "",
    ) -> TakenTask | Denied:
        """Give the caller the task with this id; a human can take any task."""
        from dibs.services.tasks.take import Taking

        locked = self._locks.current if self._locks is not None else None
        taking = Taking(self._store, caller, roles, claim, ttl, reason, request_id, locked)
        try:
            return self._begin(caller, lambda: taking.start(id_, self._check_version))
        except NotFound as missing:
            if self._locks is None or missing.code != "NO_TASK":
                raise
        while True:
            answer = self._begin(caller, lambda: taking.start_queued(id_))
            if isinstance(answer, Denied) or self._secured(caller, taking, answer):
                return answer

    def _next(self, caller: Caller, taking: Taking, patience: float) -> TakenTask | NothingFree:
        """Try once to get a task; a lock-file task that another agent locked first is not one."""
        while True:
            answer = self._begin(caller, lambda: taking.next(patience))
            if isinstance(answer, NothingFree) or self._secured(caller, taking, answer):
                return answer

    def _secured(self, caller: Caller, taking: Taking, taken: TakenTask) -> bool:
        """Push the lock file of a task that needs one; return whether the caller has the task."""
        if self._locks is None or not taking.is_locked(taken):
            return True
        return self._locks.secure(caller, taken.stored.id, taken.granted, taking.request_id)

    def _begin(self, caller: Caller, act: Callable[[], T]) -> T:
        """Begin an attempt; if its file cannot be written afterwards, the error names the task."""
        answer: T | None = None
        try:
            with self._files.command(caller):
                answer = act()
        except (Unavailable, OSError) as error:
            if isinstance(answer, TakenTask):
                from dibs.services.tasks.take import unshown

                raise unshown(answer, error) from error
            raise
        return answer

    def done(
        self,
        caller: Caller,
        id_: str,
        *,
        token: int = 0,
        summary: str = "",
        artefacts: Sequence[str] = (),
        handoff: Handoff | None = None,
        metrics: Mapping[str, object] | None = None,
        request_id: str = "",
    ) -> Stored:
        """Finish a task that the caller holds."""
        from dibs.services.tasks.transitions import checked_result

        said = checked_result(self._store, summary, artefacts, handoff, metrics)
        try:
            return self._move(caller, "done", id_, lambda m: m.done(id_, token, said), request_id)
        except NotFound as missing:
            return self._end_queued(missing, "done", caller, id_, token=token, note=summary)

    def fail(
        self,
        caller: Caller,
        id_: str,
        *,
        message: str,
        token: int = 0,
        trace: str = "",
        request_id: str = "",
    ) -> Stored:
        """Set a task to ``error``, where it waits for a retry."""
        try:
            return self._move(
                caller, "fail", id_, lambda m: m.fail(id_, token, message, trace), request_id
            )
        except NotFound as missing:
            return self._end_queued(missing, "fail", caller, id_, token=token, message=message)

    def release(self, caller: Caller, id_: str, *, token: int = 0) -> Stored:
        """Release a task so that another agent can take it."""
        try:
            return self._move(caller, "release", id_, lambda m: m.release(id_, token))
        except NotFound as missing:
            return self._end_queued(missing, "release", caller, id_, token=token)

    def retry(self, caller: Caller, id_: str, *, reason: str = "") -> Stored:
        """Make a failed task available again, with as many attempts as a new one."""
        try:
            return self._move(caller, "retry", id_, lambda m: m.retry(id_, reason))
        except NotFound as missing:
            return self._end_queued(missing, "retry", caller, id_, reason=reason)

    def reopen(self, caller: Caller, id_: str, *, reason: str = "") -> Stored:
        """Reopen a task that is finished or blocked."""
        return self._move(caller, "reopen", id_, lambda m: m.reopen(id_, reason))

    def cancel(self, caller: Caller, id_: str, *, reason: str = "") -> Stored:
        """Cancel a task."""
        return self._move(caller, "cancel", id_, lambda m: m.cancel(id_, reason))

    def block(self, caller: Caller, id_: str, *, reason: str) -> Stored:
        """Block a task until it is reopened."""
        return self._move(caller, "block", id_, lambda m: m.block(id_, reason))

    def reassign(self, caller: Caller, id_: str, *, to: str, reason: str = "") -> Stored:
        """Assign a task to another agent or role; an empty ``to`` means anyone.

        For a finished task this assigns its follow-up, unless that already exists.
        """
        return self._move(caller, "reassign", id_, lambda m: m.reassign(id_, to, reason))

    def _check_version(self, rows: Rows, id_: str) -> None:
        """Refuse to change a task that is newer than the caller knows."""
        if self._version is None:
            return
        found = taskrows.need(rows, id_).version
        if found != self._version:
            raise Fenced(
                f"task {quote(id_)} has changed: it is at version {found}, not {self._version}",
                code="TASK_VERSION",
                field="version",
                hint=f"read it again: dibs task show {id_}",
            )

    def _end_queued(
        self, missing: NotFound, verb: str, caller: Caller, id_: str, **said: Any
    ) -> Stored:
        """End an attempt at a task of the lock-file queue; raise ``missing`` if there is none."""
        if missing.code != "NO_TASK" or self._locks is None or not self._locks.knows(id_):
            raise missing
        ended: QueuedFile = getattr(self._locks, verb)(caller, id_, **said)
        return ended.stored()

    def _move(
        self,
        caller: Caller,
        verb: str,
        id_: str,
        move: Callable[[Moves], Stored],
        request_id: str = "",
    ) -> Stored:
        """Make a transition in one transaction; a repeated request returns the task as it is now."""
        from dibs.services.tasks.transitions import Moves

        def step(rows: Rows) -> Stored:
            made: list[Stored] = []

            def action() -> list[str]:
                self._check_version(rows, id_)
                made.append(move(Moves(self._store, rows, caller)))
                return [made[0].id]

            once(rows, caller.id, request_id, f"{verb}\n{id_.lower()}", action)
            return made[0] if made else taskrows.need(rows, id_)

        with self._files.command(caller):
            return self._store.apply(step)
