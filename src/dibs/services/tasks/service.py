"""The use cases of the board: tasks are made, taken, done, handed on, and cared for.

Rows in the engine decide; the files in ``work/`` are brought in line by services/board/board.py. Every method
is one transaction, but for ``take`` when it waits.
"""

from __future__ import annotations

from contextlib import nullcontext

from dibs.services.state import tasks as taskrows
from dibs.services.state.idempotency import once
from dibs.services.tasks.values import Created

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    from dibs.core.claims.agents import Caller
    from dibs.core.claims.rules import Denied
    from dibs.core.tasks.graph import Graph
    from dibs.core.tasks.rules import Handoff
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store
    from dibs.services.state.tasks import Past, Stored
    from dibs.services.tasks.take import Around, Taking
    from dibs.services.tasks.transitions import Moves
    from dibs.services.tasks.values import (
        Draft,
        HandEditVerdict,
        HandMade,
        NothingFree,
        SimilarTask,
        Stuck,
        TakenTask,
        TaskView,
        Trouble,
    )


class Tasks:
    """What can be done with tasks. Refusals are raised (BadInput, NotFound, Fenced, NotAllowed)."""

    def __init__(self, store: Store) -> None:
        self._store = store

    # -- making

    def create(
        self,
        caller: Caller,
        drafts: Sequence[Draft],
        *,
        strict: bool = False,
        dry_run: bool = False,
        request_id: str = "",
    ) -> Created:
        """Make tasks, all or none; they may depend on each other in any order.

        Active tasks that they look like are told; with ``strict`` they refuse them (``TASK_SIMILAR``).
        """
        from dibs.services.state.presence import arrive
        from dibs.services.tasks.create import drafted, likenesses, refuse_similar, write_new
        from dibs.services.tasks.texts import TaskWriter

        def plan(rows: Rows) -> Created:
            listed = drafted(rows, caller.id, drafts)
            found = likenesses(rows, listed, fold_case=self._store.fold_case)
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
            listed = [row for row in (taskrows.load(rows, id_) for id_ in ids) if row is not None]
            return planned._replace(tasks=tuple(listed))

        return self._store.look(plan) if dry_run else self._store.apply(step)

    # -- reading

    def all(self, *, finished: bool = False) -> list[TaskView]:
        """Return the tasks that are not finished, or all that are not archived, in the order of taking."""
        from dibs.services.tasks.views import all_shown

        return self._store.look(lambda rows: all_shown(self._store, rows, finished=finished))

    def show(self, id_: str) -> TaskView:
        """Return one task, archived ones too; ``NotFound`` (``NO_TASK``) if there is none."""
        from dibs.services.tasks.views import one_shown

        return self._store.look(lambda rows: one_shown(self._store, rows, id_))

    def graph(self) -> Graph:
        """Return how the tasks depend on each other."""
        from dibs.services.tasks.views import whole_graph

        return self._store.look(whole_graph)

    # -- working

    def take(
        self,
        caller: Caller,
        *,
        roles: Sequence[str] = (),
        claim: bool | None = None,
        ttl: object = None,
        wait: object = 0,
        reason: str = "",
        request_id: str = "",
        around: Around = nullcontext,
    ) -> TakenTask | NothingFree:
        """Hand the caller the next task that it can take; ``around`` is entered for each try.

        With ``claim`` its artefacts are claimed with it, all or nothing; one whose artefacts are held is
        passed over. ``NotFound`` (``QUEUE_EMPTY``) if there is nothing to be done at all.
        """
        taking = self._taking()
        wish = taking.wish(caller, roles, claim, ttl, reason)
        return taking.take(caller, wish, wait, request_id, around)

    def start(
        self,
        caller: Caller,
        id_: str,
        *,
        roles: Sequence[str] = (),
        claim: bool | None = None,
        ttl: object = None,
        reason: str = "",
        request_id: str = "",
    ) -> TakenTask | Denied:
        """Hand the caller this very task; to a human whomever it names."""
        taking = self._taking()
        wish = taking.wish(caller, roles, claim, ttl, reason)
        return taking.start(caller, wish, id_, request_id)

    def _taking(self) -> Taking:
        from dibs.services.tasks.take import Taking

        return Taking(self._store)

    def done(
        self,
        caller: Caller,
        id_: str,
        *,
        token: int = 0,
        summary: str = "",
        artefacts: Sequence[str] = (),
        handoff: Handoff | None = None,
        review: bool = False,
        metrics: Mapping[str, object] | None = None,
        request_id: str = "",
    ) -> Stored:
        """Finish a task that the caller holds, or accept one that is in review."""
        from dibs.services.tasks.transitions import checked_result

        said = checked_result(self._store, summary, artefacts, handoff, review, metrics)
        asked = f"done\n{id_.lower()}"
        return self._move(caller, asked, id_, request_id, lambda m: m.done(id_, token, said))

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
        """Say that a task cannot be done as it is: it waits in ``error`` for a retry."""
        asked = f"fail\n{id_.lower()}"
        return self._move(
            caller, asked, id_, request_id, lambda m: m.fail(id_, token, message, trace)
        )

    def release(self, caller: Caller, id_: str, *, token: int = 0) -> Stored:
        """Give a task back, so that another caller can take it."""
        return self._move(caller, "", id_, "", lambda m: m.release(id_, token))

    def retry(self, caller: Caller, id_: str, *, reason: str = "") -> Stored:
        """Let a failed task be tried again, with as many attempts as a new one."""
        return self._move(caller, "", id_, "", lambda m: m.retry(id_, reason))

    def reopen(self, caller: Caller, id_: str, *, reason: str = "") -> Stored:
        """Put a task that is finished, in review or blocked back to be done."""
        return self._move(caller, "", id_, "", lambda m: m.reopen(id_, reason))

    def cancel(self, caller: Caller, id_: str, *, reason: str = "") -> Stored:
        """Take a task off the board: nobody shall do it."""
        return self._move(caller, "", id_, "", lambda m: m.cancel(id_, reason))

    def block(self, caller: Caller, id_: str, *, reason: str) -> Stored:
        """Let nobody take a task until it is reopened."""
        return self._move(caller, "", id_, "", lambda m: m.block(id_, reason))

    def reassign(self, caller: Caller, id_: str, *, to: str, reason: str = "") -> Stored:
        """Give a task to another agent or role; ``to`` is empty for anybody.

        For a finished task it says who shall follow, as long as nobody does.
        """
        return self._move(caller, "", id_, "", lambda m: m.reassign(id_, to, reason))

    def _move(
        self,
        caller: Caller,
        asked: str,
        id_: str,
        request_id: str,
        move: Callable[[Moves], Stored],
    ) -> Stored:
        """Make a move as one transaction; a repeat of it is answered with the task as it is now."""
        from dibs.services.tasks.transitions import Moves

        def step(rows: Rows) -> Stored:
            made: list[Stored] = []

            def action() -> list[str]:
                made.append(move(Moves(self._store, rows, caller)))
                return [made[0].id]

            once(rows, caller.id, request_id, asked, action)
            return made[0] if made else taskrows.need(rows, id_)

        return self._store.apply(step)

    def alike(self, stored: Stored) -> list[SimilarTask]:
        """Return the active tasks that look like the work which is handed on with a task."""
        from dibs.services.tasks.create import likenesses
        from dibs.services.tasks.handoffs import delegated

        row = stored._replace(task=delegated(stored))
        fold = self._store.fold_case
        return self._store.look(lambda rows: likenesses(rows, [row], fold_case=fold))

    # -- for the orchestrator

    def sweep(self) -> list[Stored]:
        """Take back the tasks whose attempts are gone; too often, and it is an error for a human."""
        from dibs.services.tasks.upkeep import sweep

        return self._store.apply(lambda rows: sweep(self._store, rows))

    def assign(self, caller: Caller, *, spread: bool = True) -> list[Stored]:
        """Hand ready new tasks to whom they name; with ``spread`` the others to the least loaded agents."""
        from dibs.services.tasks.upkeep import assign

        return self._store.apply(lambda rows: assign(self._store, rows, caller, spread=spread))

    def hand_off(
        self, caller: Caller, known: Container[str] = ()
    ) -> tuple[list[Stored], list[Trouble]]:
        """Make the tasks that finished ones ask for; ``known`` are agents that have a folder."""
        from dibs.services.tasks.handoffs import hand_off

        return self._store.apply(lambda rows: hand_off(rows, caller, known))

    def stuck(self, caller: Caller) -> list[Stuck]:
        """Report the tasks that take too long, once in each timeout, and act as the policy says."""
        from dibs.services.tasks.upkeep import stuck

        return self._store.apply(lambda rows: stuck(self._store, rows, caller))

    def archive(self, caller: Caller) -> list[Stored]:
        """Take tasks that were finished long ago off the board's daily rows."""
        from dibs.services.tasks.upkeep import archive

        return self._store.apply(lambda rows: archive(self._store, rows, caller))

    # -- for the mirror

    def head(self) -> int:
        """Return the number of the last change of any task, 0 if there was none."""
        return self._store.look(taskrows.head)

    def versions(self) -> dict[str, int]:
        """Return the version of each task that is not archived, by id."""
        return self._store.look(taskrows.versions)

    def stored(self, ids: Iterable[str]) -> dict[str, Stored]:
        """Return the rows of these tasks, of those that have one, under the ids that were asked for."""
        asked = list(ids)

        def step(rows: Rows) -> dict[str, Stored]:
            found = {id_: taskrows.load(rows, id_) for id_ in asked}
            return {id_: row for id_, row in found.items() if row is not None}

        return self._store.look(step)

    def unknown(self, ids: Iterable[str]) -> list[str]:
        """Return those of these ids that no task has or had."""
        asked = list(ids)

        def step(rows: Rows) -> list[str]:
            return [i for i in asked if not (taskrows.load(rows, i) or taskrows.past(rows, i))]

        return self._store.look(step)

    def pasts(self, ids: Iterable[str]) -> dict[str, Past]:
        """Return how those of these tasks ended that are archived, by the ids that were asked for."""
        asked = list(ids)

        def step(rows: Rows) -> dict[str, Past]:
            found = {id_: taskrows.past(rows, id_) for id_ in asked}
            return {id_: past for id_, past in found.items() if past is not None}

        return self._store.look(step)

    def past(self, id_: str) -> Past | None:
        """Return how an archived task ended."""
        return self._store.look(lambda rows: taskrows.past(rows, id_))

    def accept(self, caller: Caller, hand_made: Sequence[HandMade]) -> list[HandEditVerdict]:
        """Take hand-made files into the rows, or say of each why not; one transaction for all."""
        from dibs.services.tasks.hand_edits import accept

        return self._store.apply(lambda rows: accept(self._store, rows, caller, hand_made))

    def hold_back(self, caller: Caller, reasons: Mapping[str, str]) -> None:
        """Keep tasks from being handed out whose files stand aside, by id and reason; "" ends that."""
        from dibs.services.tasks.hand_edits import hold_back

        self._store.apply(lambda rows: hold_back(rows, caller, reasons))
