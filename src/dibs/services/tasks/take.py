"""Take tasks: choose the next one for a caller, queue waiting callers, or start one by its id.

Callers that wait hold a ticket for one shared queue, which also covers the lock-file queue. A task that an
earlier waiter could take is left for it.
"""

from __future__ import annotations

import time
from functools import lru_cache
from itertools import islice

from dibs.core.claims.agents import heartbeat_every
from dibs.core.claims.rules import EXCLUSIVE, Denied, Granted, Request, check_text
from dibs.core.patterns.pattern import parse
from dibs.core.tasks.names import name_of
from dibs.core.tasks.rules import Status, Task, check_step, eligible
from dibs.core.text.names import check_agent_id, quote, role_word
from dibs.errors import BadInput, NotAllowed, NotFound, Unavailable
from dibs.services.claims.acquire import SHOWN, Survey, WaitOptions, queue_up, survey
from dibs.services.state.idempotency import once
from dibs.services.state.presence import arrive, offer_work, withdraw
from dibs.services.state.task_index import (
    drop_turn,
    examples,
    put_turn,
    ready_for,
    running,
    turn_of,
)
from dibs.services.state.tasks import Stored, load, need, past
from dibs.services.tasks.attempts import (
    TakeRequest,
    begin,
    checked_request,
    continue_attempt,
    live_claim,
    request_for,
    return_dead_tasks,
    return_if_dead,
)
from dibs.services.tasks.lock_queue.taking import QueueTaking
from dibs.services.tasks.lock_queue.view import FREE, HELD
from dibs.services.tasks.values import NothingFree, TakenTask
from dibs.services.tasks.views import graph_around, shown_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from dibs.core.claims.agents import Beat, Caller
    from dibs.core.patterns.pattern import Pattern
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store
    from dibs.services.tasks.lock_queue.view import LockedTasks
    from dibs.services.tasks.values import TaskView

    T = TypeVar("T")

#: The pattern of a waiter's ticket.
TURN = "@tasks/next"
#: How often a waiter checks, in seconds: scripts add tasks and remove locks without a ledger entry.
LOOK_EVERY = 5.0
SHORTEST_PAUSE = 0.005


@lru_cache(maxsize=2)
def turn_at(*, fold_case: bool) -> Pattern:
    """Return the pattern of a waiter's ticket."""
    return parse(TURN, fold_case=fold_case)


class Taking(QueueTaking):
    """One caller's request for a task: the next one, or one by its id."""

    def __init__(
        self,
        store: Store,
        caller: Caller,
        roles: Sequence[str],
        claim: bool,
        ttl: object,
        reason: str,
        request_id: str,
        locked: Callable[[], LockedTasks | None] | None = None,
    ) -> None:
        """Check the caller's roles and options; ``locked`` reads the lock-file queue."""
        named = [check_agent_id(role_word(role)) for role in roles]
        super().__init__(store, caller, locked)
        self.request_id = request_id
        self._wish = TakeRequest(
            caller.id,
            tuple(dict.fromkeys((role_word(caller.role), *named))),
            claim,
            store.ttl(ttl),
            check_text(reason, "reason") if reason else "",
        )
        self._turn = turn_at(fold_case=store.fold_case)
        #: What the last step began, so that its row is not read again.
        self._begun: Stored | None = None

    def next(self, patience: float) -> TakenTask | NothingFree:
        """Give the caller the next available task; with ``patience`` (seconds), queue it if there is none."""
        self._refresh()

        def step(rows: Rows) -> TakenTask | NothingFree:
            self._begun = None
            answer = self._once(rows, "take", lambda: self._next(rows, patience))
            return answer if isinstance(answer, NothingFree) else self._taken(rows, answer)

        return self._store.apply(step)

    def start(
        self, id_: str, check: Callable[[Rows, str], None] | None = None
    ) -> TakenTask | Denied:
        """Give the caller the task with this id, unless ``check`` raises."""

        def begin_once(rows: Rows) -> Granted | Denied:
            if check is not None:
                check(rows, id_)
            return self._begin(rows, id_)

        def step(rows: Rows) -> TakenTask | Denied:
            asked = f"start\n{id_.lower()}"
            answer = self._once(rows, asked, lambda: begin_once(rows))
            return answer if isinstance(answer, Denied) else self._taken(rows, answer)

        return self._store.apply(step)

    def start_queued(self, name: str) -> TakenTask | Denied:
        """Give the caller the task with this name in the lock-file queue."""
        self._refresh()

        def step(rows: Rows) -> TakenTask | Denied:
            answer = self._once(
                rows, f"start\n{name.lower()}", lambda: self._begin_queued(rows, self._wish, name)
            )
            return answer if isinstance(answer, Denied) else self._taken(rows, answer)

        return self._store.apply(step)

    def leave(self) -> None:
        """Leave the queue."""
        self._store.apply(self._leave)

    def _once(self, rows: Rows, asked: str, act: Callable[[], T]) -> T:
        return once(rows, self._caller.id, self.request_id, asked, act)

    def _begin(self, rows: Rows, id_: str) -> Granted | Denied:
        caller = self._caller
        beat = arrive(rows, caller)
        offer_work(rows, caller.id)
        wish = _with_role(self._wish, beat)
        need(rows, id_)
        return_if_dead(self._store, rows, id_)
        stored = need(rows, id_)
        beat = rows.beat(caller.id) or beat
        if stored.task.status == Status.IN_PROGRESS:
            return self._again(rows, beat, wish, stored)
        check_step(stored.task, "take", Status.IN_PROGRESS)
        if not caller.human and not eligible(stored.task, caller.id, wish.roles):
            raise _for_another(stored.task, caller.id)
        obstacles = graph_around(rows, [stored.id]).obstacles(stored.id)
        if obstacles:
            raise BadInput(
                f"task {quote(stored.id)} {'; '.join(o.why for o in obstacles[:5])}",
                code="TASK_DEPENDENCY",
                field="task",
                hint="take one that is ready: dibs task take",
            )
        if stored.aside:
            raise BadInput(
                f"task {quote(stored.id)} is unavailable: {stored.aside}",
                code="TASK_ASIDE",
                field="task",
                hint="fix the file (`dibs task validate` shows the error), or delete it and Dibs restores it",
            )
        request = checked_request(self._store, caller, beat, wish, stored.task)
        begun = begin(self._store, rows, caller, beat, request, stored, quiet=False)
        return begun if isinstance(begun, Denied) else begun[1]

    def _again(self, rows: Rows, beat: Beat, wish: TakeRequest, stored: Stored) -> Granted | Denied:
        """Answer a caller that asks for a task in progress, which may be its own."""
        caller = self._caller
        holder = live_claim(self._store, rows, stored.id)
        if holder is None and stored.task.agent != caller.id:
            # Someone works on it by hand, without a claim.
            check_step(stored.task, "take", Status.IN_PROGRESS)
        return continue_attempt(self._store, rows, caller, beat, wish, stored)

    def _taken(self, rows: Rows, granted: Granted) -> TakenTask:
        """Return the granted task, from the board or from the lock-file queue."""
        if self._begun is not None:
            return TakenTask(self._begun, granted)
        name = name_of(rows.pattern(granted.claims[0].pattern))
        stored = load(rows, name)
        queue = self._queue(rows)
        if stored is None and queue is not None and past(rows, name) is None:
            return TakenTask(queue.taken(name, granted.claims[0].agent), granted)
        return TakenTask(stored or need(rows, name), granted)

    # -- the next task

    def _next(self, rows: Rows, patience: float) -> Granted | NothingFree:
        caller = self._caller
        beat = arrive(rows, caller)
        offer_work(rows, caller.id)
        wish = _with_role(self._wish, beat)
        return_dead_tasks(self._store, rows, every_attempt=False)
        line = self._line(rows, caller.id)
        granted = self._unfinished_take(rows, wish) or self._first(rows, wish, line)
        if granted is None and return_dead_tasks(self._store, rows, every_attempt=True):
            granted = self._first(rows, wish, line)
        if granted is not None:
            self._out_of_line(rows, line)
            return granted
        queued = self._from_queue(rows, wish, len(_earlier(line)))
        if isinstance(queued, Granted):
            self._out_of_line(rows, line)
            return queued
        if patience:
            until = rows.now + patience
            turn = WaitOptions(until, self._store.waiter_ttl, standing=False)
            request = Request(caller.id, (self._turn,), EXCLUSIVE, wish.ttl, wish.reason)
            queue_up(rows, request, rows.beat(caller.id) or beat, line.own_ticket, turn)
            put_turn(rows, caller.id, wish.roles, claim=wish.claim)
        return NothingFree(self._in_the_way(rows), tuple(queued[:SHOWN]), len(_earlier(line)))

    def _first(self, rows: Rows, wish: TakeRequest, line: Survey) -> Granted | None:
        """Begin the first task that nobody holds and that no earlier waiter could take."""
        caller = self._caller
        kept = self._kept_for_others(rows, line)
        for id_ in ready_for(rows, wish.agent, wish.roles):
            stored = load(rows, id_)
            if stored is None or id_ in kept:
                continue
            beat = rows.beat(caller.id)
            assert beat is not None
            try:
                request = checked_request(self._store, caller, beat, wish, stored.task)
            except (BadInput, NotAllowed):
                continue  # it may not claim the artefacts; `start` reports that
            begun = begin(self._store, rows, caller, beat, request, stored, quiet=True)
            if not isinstance(begun, Denied):
                self._begun, granted = begun
                return granted
        return None

    def _kept_for_others(self, rows: Rows, line: Survey) -> set[str]:
        """Return the tasks reserved for callers that are already waiting, one for each."""
        kept: set[str] = set()
        for agent in _earlier(line):
            wish = self._wish_of(rows, agent)
            free = (id_ for id_ in ready_for(rows, wish.agent, wish.roles) if id_ not in kept)
            kept.update(islice((id_ for id_ in free if self._is_free(rows, wish, id_)), 1))
        return kept

    def _wish_of(self, rows: Rows, agent: str) -> TakeRequest:
        return TakeRequest(agent, *turn_of(rows, agent), 0.0)

    def _is_free(self, rows: Rows, wish: TakeRequest, id_: str) -> bool:
        stored = load(rows, id_)
        if stored is None:
            return False
        return not survey(rows, request_for(self._store, wish, stored.task)).conflicts

    def _in_the_way(self, rows: Rows) -> tuple[TaskView, ...]:
        """Return some of the tasks, with the reasons why they cannot be taken."""
        return tuple(shown_in(self._store, rows, examples(rows, SHOWN)))

    # -- waiting

    def _line(self, rows: Rows, agent: str) -> Survey:
        """Return the queue of waiting callers, after dropping dead ones."""
        if not rows.is_anything_at(self._turn):
            return Survey()  # usually nobody is waiting
        line = survey(rows, Request(agent, (self._turn,), EXCLUSIVE, 0.0))
        for ticket in line.dead_tickets:
            withdraw(rows, ticket, "no heartbeat")
            drop_turn(rows, ticket.agent)
        return line

    def _out_of_line(self, rows: Rows, line: Survey) -> None:
        if line.own_ticket is not None:
            rows.drop_ticket(line.own_ticket)  # the entry of the grant covers this
            drop_turn(rows, line.own_ticket.agent)

    def _leave(self, rows: Rows) -> None:
        line = self._line(rows, self._caller.id)
        if line.own_ticket is not None:
            withdraw(rows, line.own_ticket, "stopped waiting")
            drop_turn(rows, self._caller.id)

    @property
    def _beat_every(self) -> float:
        return heartbeat_every(self._store.config.heartbeat, self._store.waiter_ttl)

    def pause(self, give_up: float) -> None:
        """Wait until a task may be available, a heartbeat is due, or the time is up."""
        act_at = min(give_up, time.monotonic() + self._beat_every)
        if self._locked is not None:  # only its remote knows whether a task is free
            import random

            poll = LOOK_EVERY * random.uniform(0.8, 1.2)  # noqa: S311
            act_at = min(act_at, time.monotonic() + poll)
        newest = self._store.engine.wait(0, 0)
        while (now := time.monotonic()) < act_at:
            free_in = self._store.look(self._free_in)
            if free_in <= 0:
                return
            pause = max(SHORTEST_PAUSE, min(act_at - now, free_in, LOOK_EVERY))
            newest = self._store.engine.wait(newest, pause)

    def _free_in(self, rows: Rows) -> float:
        """Return the seconds until a task may be available to a waiter, 0 for now."""
        wish = self._wish
        line = survey(rows, Request(wish.agent, (self._turn,), EXCLUSIVE, 0.0))
        beat = rows.beat(wish.agent)
        wish = wish if beat is None else _with_role(wish, beat)
        kept = self._kept_for_others(rows, line)
        for id_ in ready_for(rows, wish.agent, wish.roles):
            if id_ not in kept and self._is_free(rows, wish, id_):
                return 0.0
        for _, id_, _ in running(rows):
            if live_claim(self._store, rows, id_) is None:
                return 0.0
        queue = self._queue(rows)
        queued = queue.pending(wish.agent) if queue is not None else ()
        if sum(file.state == FREE for file in queued) > len(_earlier(line)):
            return 0.0
        return min((file.expires_in for file in queued if file.state == HELD), default=LOOK_EVERY)


def _with_role(wish: TakeRequest, beat: Beat) -> TakeRequest:
    """Add the role with which an agent joined, so that a call need not repeat it."""
    return wish._replace(roles=tuple(dict.fromkeys((*wish.roles, role_word(beat.role)))))


def _earlier(line: Survey) -> list[str]:
    """Return the callers that have been waiting longer, the first one first."""
    tickets = {c.ticket: c.holder for c in line.conflicts if c.ticket}
    return [tickets[number] for number in sorted(tickets)]


def _for_another(task: Task, caller: str) -> NotAllowed:
    return NotAllowed(
        f"task {quote(task.id)} is assigned to {task.agent}",
        code="TASK_NOT_YOURS",
        field="task",
        hint=f"if you act as {task.agent}: dibs task start {task.id} --role {task.agent};"
        f" to take it over: dibs task reassign {task.id} --to {caller}",
    )


def unshown(taken: TakenTask, error: Unavailable | OSError) -> Unavailable:
    """Return the error for a caller that took a task whose file cannot be written; it names the task."""
    problem = error.message if isinstance(error, Unavailable) else error.strerror or str(error)
    return Unavailable(
        f"you hold task {quote(taken.stored.id)} (token {taken.granted.token}), but {problem}",
        code=error.code if isinstance(error, Unavailable) else "STORAGE_IO",
        hint="work on it, or let the claim expire; the next board command updates the file",
    )


def no_task() -> NotFound:
    """Return the error for an empty board."""
    return NotFound(
        "no tasks to take",
        code="QUEUE_EMPTY",
        hint='create one: dibs task new "TITLE"; see failed and blocked tasks: dibs task ls',
    )
