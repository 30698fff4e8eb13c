"""The queue of tasks: the next free one is taken, done, given back; each is one transaction.

A task is a row ``queue/<file>`` whose value is the file's text; its exclusion is the claim ``task:<name>``.
Tasks are taken in the order of their files. Who waits for a task draws a ticket for the turn at the queue, so
that a later caller does not overtake: as many free tasks as there are earlier waiters are left to them.
"""

from __future__ import annotations

import time
from functools import lru_cache

from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import EXCLUSIVE, Granted, Request, check_text
from dibs.core.patterns.pattern import parse
from dibs.core.tasks.files import ENDINGS, name_of, pack, task_of_file, task_pattern
from dibs.core.text.durations import check_ttl, check_wait
from dibs.core.text.names import quote
from dibs.errors import BadInput, NotFound
from dibs.services.claims.acquire import SHOWN, WaitOptions, attempt, queue_up, survey
from dibs.services.claims.holdings import Holdings, give_back
from dibs.services.state.idempotency import once
from dibs.services.state.own_claims import own
from dibs.services.state.presence import arrive, withdraw
from dibs.services.tasks.plain_queue_rows import (
    DONE,
    FINISHED,
    FREE,
    HELD,
    PENDING,
    QueuedFile,
    QueueRows,
)
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.core.claims.agents import Caller
    from dibs.core.claims.rules import Claim
    from dibs.core.patterns.pattern import Pattern
    from dibs.services.claims.acquire import Survey
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: What a waiter's ticket is for.
TURN = "@tasks/next"
#: The largest file that becomes a task, in bytes.
MAX_FILE = 256 * 1024
#: Scripts add tasks and take locks off without a word in the ledger: so often, in seconds, a waiter looks.
LOOK_EVERY = 5.0
SHORTEST_PAUSE = 0.005


@lru_cache(maxsize=2)
def turn_at(*, fold_case: bool) -> Pattern:
    """Return what a waiter's ticket is for, as a pattern."""
    return parse(TURN, fold_case=fold_case)


class TakenFile(Record):
    """The answer to a caller that has a task now."""

    task: QueuedFile
    #: What the task's file says.
    text: str
    granted: Granted


class NoFreeTask(Record):
    """The answer where no task is free: who holds which."""

    tasks: tuple[QueuedFile, ...]
    #: How many callers wait for a task already.
    ahead: int
    #: Whether the caller waited for one.
    waited: bool = False


class Queue:
    """The use cases of the queue. Every method is one transaction, but for ``take`` when it waits."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._turn = turn_at(fold_case=store.fold_case)

    def take(
        self,
        caller: Caller,
        *,
        ttl: object = None,
        wait: object = 0,
        reason: str = "",
        request_id: str = "",
    ) -> TakenFile | NoFreeTask:
        """Claim the first task that is free; ``NotFound`` (``QUEUE_EMPTY``) if there is none to be done."""
        config = self._store.config
        span = config.ttl if ttl is None else check_ttl(ttl)
        patience = check_wait(wait)
        request = Request(
            caller.id, (self._turn,), EXCLUSIVE, span, check_text(reason, "reason") if reason else ""
        )  # fmt: skip

        def step(rows: Rows) -> TakenFile | NoFreeTask:
            until = rows.now + patience
            turn = WaitOptions(until, config.waiter_ttl, standing=False) if patience else None
            answer = once(
                rows, caller.id, request_id, "take", lambda: self.hand_out(rows, caller, request, turn)
            )  # fmt: skip
            return answer if isinstance(answer, NoFreeTask) else self.taken(rows, answer)

        answer: TakenFile | NoFreeTask | None = None
        give_up = time.monotonic() + patience
        try:
            answer = self._store.apply(step)
            while isinstance(answer, NoFreeTask) and time.monotonic() < give_up:
                self._pause(caller.id, give_up)
                answer = self._store.apply(step)
        finally:
            if patience and not isinstance(answer, TakenFile):
                self._store.apply(lambda rows: self._leave(rows, caller.id))
        if isinstance(answer, NoFreeTask) and not answer.tasks:
            raise _empty()
        return answer._replace(waited=patience > 0) if isinstance(answer, NoFreeTask) else answer

    def done(
        self, caller: Caller, name: str, *, token: int = 0, note: str = "", request_id: str = ""
    ) -> QueuedFile:
        """Finish a task that the caller holds: its claim goes, and its file moves to those that are done."""
        pattern = task_pattern(name, fold_case=self._store.fold_case)
        words = check_text(note, "note") if note else ""

        def finish(rows: Rows) -> list[Claim]:
            beat = arrive(rows, caller)
            filed = own(rows, caller.id, [pattern], token)
            files = self._shelf(rows).files(PENDING, name)
            if not files:
                raise _no_task(name)
            for file, value in files.items():
                rows.txn.delete(PENDING + file)
                rows.txn.put(FINISHED + file, value)
            task = task_of_file(next(iter(files)), fold_case=self._store.fold_case)
            summary = f"{caller.id} finished {task}" + (f": {words}" if words else "")
            details = {"task": task, "note": words} if words else {"task": task}
            rows.emit(caller.id, beat.role, Kind.TASK_COMPLETED, summary, **details)
            give_back(rows, caller.id, beat, filed)
            return [claim for _, claim in filed]

        def step(rows: Rows) -> QueuedFile:
            asked = f"done\n{pattern.key}"
            once(rows, caller.id, request_id, asked, lambda: finish(rows))
            # A repeat may come when the file is gone.
            file = next(iter(self._shelf(rows).files(FINISHED, name)), "")
            spelled = task_of_file(file, fold_case=self._store.fold_case) or name_of(pattern)
            return QueuedFile(spelled, file, DONE, caller.id, words)

        return self._store.apply(step)

    def release(self, caller: Caller, name: str, *, token: int = 0) -> list[Claim]:
        """Give a task back, so that the next caller can take it."""
        pattern = task_pattern(name, fold_case=self._store.fold_case)
        return Holdings(self._store).release(caller, [pattern], token=token)

    def all(self) -> list[QueuedFile]:
        """Return every task: those to be done in the order of the queue, then those that are done."""

        def step(rows: Rows) -> list[QueuedFile]:
            shelf = self._shelf(rows)
            return [*shelf.states(""), *shelf.finished()]

        return self._store.look(step)

    def add(self, caller: Caller, files: Mapping[str, bytes]) -> list[QueuedFile]:
        """Put files into the queue, all or none; what they say is not looked into."""
        names = {file: self._checked(file, content) for file, content in files.items()}

        def step(rows: Rows) -> list[QueuedFile]:
            beat = arrive(rows, caller)
            for file, name in names.items():
                for prefix in (PENDING, FINISHED):
                    if self._shelf(rows).files(prefix, name):
                        raise _exists(name, done=prefix == FINISHED)
                rows.txn.put(PENDING + file, pack(files[file]))
            added = list(names.values())
            summary = f"{caller.id} added {', '.join(added[:5])}"
            rows.emit(caller.id, beat.role, Kind.TASK_ADDED, summary, tasks=added[:SHOWN])
            return [QueuedFile(name, file, FREE) for file, name in names.items()]

        return self._store.apply(step)

    # -- taking

    def hand_out(
        self, rows: Rows, caller: Caller, wish: Request, turn: WaitOptions | None
    ) -> Granted | NoFreeTask:
        """Grant the first task that is free and not left to an earlier waiter."""
        beat = arrive(rows, caller)
        shelf = self._shelf(rows)
        line = self._line(rows, caller.id)
        ahead = _ahead(line)
        tasks = shelf.swept(caller.id)
        free = [task for task in tasks if task.state == FREE]
        beat = rows.beat(caller.id) or beat
        if len(free) > ahead:
            if line.own_ticket is not None:
                rows.drop_ticket(line.own_ticket)  # the entry that grants says so
            request = wish._replace(patterns=(shelf.pattern(free[ahead].name),))
            hold = self._store.config.max_hold
            outcome = attempt(rows, request, beat, max_hold=hold, waiting=None)
            assert isinstance(outcome, Granted)
            return outcome
        if turn is not None:
            queue_up(rows, wish, beat, line.own_ticket, turn)
        elif not tasks:
            raise _empty()
        return NoFreeTask(tuple(tasks), ahead)

    def taken(self, rows: Rows, granted: Granted) -> TakenFile:
        """Return the task that was granted, with its text."""
        claim = granted.claims[0]
        shelf = self._shelf(rows)
        name = name_of(rows.pattern(claim.pattern))
        file = next(iter({**shelf.files(PENDING, name), **shelf.files(FINISHED, name)}), "")
        left = granted.expires[0] - rows.now
        task = QueuedFile(name, file, HELD, claim.agent, claim.reason, claim.since, left)
        return TakenFile(task, shelf.text(file), granted)

    def _line(self, rows: Rows, agent: str) -> Survey:
        """Look at who waits for a task; those who are not heard of any more leave the line."""
        line = survey(rows, Request(agent, (self._turn,), EXCLUSIVE, 0.0))
        for ticket in line.dead_tickets:
            withdraw(rows, ticket, "its waiter was not heard of")
        return line

    def _leave(self, rows: Rows, agent: str) -> None:
        line = self._line(rows, agent)
        if line.own_ticket is not None:
            withdraw(rows, line.own_ticket, "it gave up")

    def _pause(self, agent: str, give_up: float) -> None:
        """Wait until a task may be free, a sign of life is due, or the time is over."""
        act_at = min(give_up, time.monotonic() + self._store.config.waiter_ttl / 3)
        newest = self._store.engine.wait(0, 0)
        while (now := time.monotonic()) < act_at:
            free_in = self._store.look(lambda rows: self.free_in(rows, agent))
            if free_in <= 0:
                return
            pause = max(SHORTEST_PAUSE, min(act_at - now, free_in, LOOK_EVERY))
            newest = self._store.engine.wait(newest, pause)

    def free_in(self, rows: Rows, agent: str) -> float:
        """Return in how many seconds a task may be there for ``agent``, 0 for now."""
        ahead = _ahead(survey(rows, Request(agent, (self._turn,), EXCLUSIVE, 0.0)))
        tasks = list(self._shelf(rows).states(agent))
        if sum(task.state == FREE for task in tasks) > ahead:
            return 0.0
        return min((task.expires_in for task in tasks if task.state == HELD), default=LOOK_EVERY)

    def _shelf(self, rows: Rows) -> QueueRows:
        return QueueRows(rows, fold_case=self._store.fold_case)

    def _checked(self, file: str, content: bytes) -> str:
        """Return the task that a file is for, or say why it is for none."""
        name = task_of_file(file, fold_case=self._store.fold_case)
        if not name:
            raise BadInput(
                f"{quote(file)} cannot be the file of a task",
                code="TASK_FILE",
                field="file",
                hint=f"name it after the task, ending in {' or '.join(ENDINGS)}",
            )
        if len(content) > MAX_FILE:
            message = f"{quote(file)} has {len(content)} bytes: a task has at most {MAX_FILE}"
            raise BadInput(message, code="LIMIT", field="file")
        return name


def _ahead(line: Survey) -> int:
    """Return how many others wait for a task, and came earlier."""
    return len({conflict.ticket for conflict in line.conflicts if conflict.ticket})


def _empty() -> NotFound:
    return NotFound(
        "the queue is empty: there is no task to take",
        code="QUEUE_EMPTY",
        hint="`dibs task add FILE` puts one there; --wait waits for one",
    )


def _no_task(name: str) -> NotFound:
    return NotFound(
        f"there is no task {quote(name)} in the queue, though you hold a claim on it",
        code="NO_TASK",
        hint="`dibs task ls` shows the queue; `dibs task release` gives the claim back",
    )


def _exists(name: str, *, done: bool) -> BadInput:
    message = f"the task {quote(name)} is {'done' if done else 'in the queue'} already"
    return BadInput(message, code="TASK_EXISTS", field="file", hint="give the file another name")
