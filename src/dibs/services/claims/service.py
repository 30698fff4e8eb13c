"""Claim patterns, wait for them, and list claims."""

from __future__ import annotations

import time

from dibs.core.claims.agents import NEVER, heartbeat_every
from dibs.core.claims.rules import (
    EXCLUSIVE,
    Conflict,
    Denied,
    Granted,
    Held,
    Outcome,
    Queued,
    Request,
    Waiter,
    check_request,
    check_text,
    fold_duplicates,
)
from dibs.core.text.durations import check_wait
from dibs.services.claims.acquire import SHOWN, WaitOptions, attempt, circle_of, survey
from dibs.services.state.presence import arrive, withdraw
from dibs.startup.memo import partial
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.core.claims.agents import Caller
    from dibs.core.patterns.pattern import Pattern
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

    Step = Callable[[Rows], Outcome]
    Watching = Callable[[Sequence[Conflict], float], None]

#: The shortest pause of a waiter in seconds, however soon a claim expires.
SHORTEST_PAUSE = 0.005
#: How often a waiter looks in seconds even if nothing changed: an owner's process may have died.
LOOK_EVERY = 2.0
#: How often it looks if someone watches the time left.
WATCH_EVERY = 1.0


class Claims:
    """Claim and list. Every method is one transaction, except ``claim`` when it waits."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def claim(
        self,
        caller: Caller,
        patterns: Sequence[Pattern],
        *,
        mode: str = EXCLUSIVE,
        ttl: object = None,
        wait: object = 0,
        queue: bool = False,
        reason: str = "",
        task: str = "",
        request_id: str = "",
        watching: Watching | None = None,
        shows_left: bool = False,
    ) -> Outcome:
        """Grant all of ``patterns`` to ``caller``, or none.

        With ``wait`` the call blocks in a fair queue for at most that many seconds, and calls
        ``watching`` with the conflicts and the seconds left about once a second. With ``queue`` it
        joins the queue and returns; a later call collects the grant. What others left uncommitted in new
        claims is in the answer; unless the caller ``shows_left``, it is also a message.
        """
        request = self._wish(caller, patterns, mode, ttl, reason, task)
        patience = check_wait(wait) if wait != 0 or wait is False else 0.0

        def step(rows: Rows) -> Outcome:
            def act() -> Outcome:
                outcome = self._attempt(rows, caller, request, patience, queue)
                mails = not shows_left and not caller.human
                return _with_left(rows, request, outcome, mails=mails)

            if not request_id:
                return act()
            from dibs.services.state.idempotency import once

            return once(rows, caller.id, request_id, _fingerprint(request), act)

        if not patience:
            return self._store.apply(step)
        return self._claim_in_turn(request, patience, step, watching, keep=queue)

    def _wish(
        self,
        caller: Caller,
        patterns: Sequence[Pattern],
        mode: str,
        ttl: object,
        reason: str,
        task: str,
    ) -> Request:
        return Request(
            caller.id,
            fold_duplicates(patterns),
            mode,
            self._store.ttl(ttl),
            check_text(reason, "reason") if reason else "",
            check_text(task, "task") if task else "",
        )

    def _claim_in_turn(
        self,
        request: Request,
        patience: float,
        step: Step,
        watching: Watching | None,
        *,
        keep: bool,
    ) -> Outcome:
        """Ask, wait if necessary, and leave no ticket behind if the wait ends without a grant."""
        try:
            outcome = self._store.apply(step)
            if not isinstance(outcome, Queued):
                return outcome
            outcome = self._wait(request, outcome, patience, step, watching)
        except BaseException:
            # However it was interrupted, even with a grant on its way: nobody is waiting now.
            self._give_up(request, keep=keep)
            raise
        if not isinstance(outcome, Granted):
            self._give_up(request, keep=keep)
        return outcome

    def _attempt(
        self, rows: Rows, caller: Caller, request: Request, patience: float, queue: bool
    ) -> Outcome:
        config = self._store.config
        beat = arrive(rows, caller)
        check_request(request, held=beat.claims, human=caller.human)
        waiting = None
        if queue:
            waiting = WaitOptions(rows.now + config.max_hold, self._store.ttl(), standing=True)
        elif patience:
            waiting = WaitOptions(rows.now + patience, self._store.waiter_ttl, standing=False)
        outcome = attempt(rows, request, beat, max_hold=config.max_hold, waiting=waiting)
        if queue and isinstance(outcome, Queued) and outcome.ticket.since == rows.now:
            from dibs.services.claims.turns import expect

            expect(rows, outcome.ticket, outcome.conflicts)
        return outcome

    def _wait(
        self,
        request: Request,
        queued: Queued,
        patience: float,
        step: Step,
        watching: Watching | None,
    ) -> Outcome:
        """Wait for a turn: look after every change, act only if nothing is in the way or an action is due.

        A heartbeat may be due, or a release request to the owner.
        """
        from dibs.services.claims.asks import ask_owners

        outcome: Outcome = queued
        give_up = time.monotonic() + patience
        beat_every = self._store.look(lambda rows: self._beat_every(rows, request.agent))
        next_beat = time.monotonic() + beat_every
        look = partial(look_around, request=request)
        around = self._store.look(look)
        newest = 0
        while isinstance(outcome, Queued):
            now = time.monotonic()
            if now >= give_up:
                return Denied(tuple(around.conflicts[:SHOWN]), "timeout")
            if watching is not None:
                watching(around.conflicts, give_up - now)
            soonest = now + min((c.expires_in for c in around.conflicts), default=0.0)
            look_at = now + (LOOK_EVERY if watching is None else WATCH_EVERY)
            act_at = min(give_up, next_beat, soonest, now + around.ask_in, look_at)
            newest = self._store.engine.wait(newest, max(SHORTEST_PAUSE, act_at - now))
            around = self._store.look(look)
            if around.ask_in <= 0:
                self._store.apply(partial(ask_owners, request=request))
            now = time.monotonic()
            # After the timeout a waiter takes what is unclaimed, but gets no new ticket.
            if not around.conflicts or (now < give_up and (around.must_act or now >= next_beat)):
                outcome = self._store.apply(partial(_turn, queued=outcome, step=step))
                next_beat = now + beat_every
                if isinstance(outcome, Queued):  # another agent was faster
                    around = around._replace(conflicts=outcome.conflicts)
        return outcome

    def _give_up(self, request: Request, *, keep: bool) -> None:
        """Remove the waiter's ticket from the queue, even if it has just expired."""
        if not keep:
            self._store.apply(partial(_leave_queue, request=request))

    def _beat_every(self, rows: Rows, agent: str) -> float:
        """Return the heartbeat interval of a waiter, which keeps its ticket and claims alive."""
        beat = rows.beat(agent)
        shortest = beat.ttl if beat is not None else self._store.config.ttl
        ttl = min(self._store.waiter_ttl, shortest)
        return heartbeat_every(self._store.config.heartbeat, ttl)

    def check(
        self, caller: Caller, patterns: Sequence[Pattern], mode: str = EXCLUSIVE
    ) -> tuple[Conflict, ...]:
        """Return the conflicts of ``caller`` with ``patterns`` now; change nothing."""
        request = Request(caller.id, fold_duplicates(patterns), mode, self._store.config.ttl)
        check_request(request, held=0, human=True)
        return self._store.look(lambda rows: tuple(survey(rows, request).conflicts))

    def overlapping(self, pattern: Pattern) -> tuple[list[Held], list[Waiter]]:
        """Return the claims and tickets that overlap ``pattern``."""
        from dibs.core.patterns.pattern import overlap
        from dibs.services.claims.views import held_in, waiting_in

        def step(rows: Rows) -> tuple[list[Held], list[Waiter]]:
            held = [
                h
                for h in held_in(rows)
                if overlap(rows.pattern(h.claim.pattern), pattern) is not None
            ]
            waiting = [
                w
                for w in waiting_in(rows)
                if any(overlap(rows.pattern(t), pattern) is not None for t in w.ticket.patterns)
            ]
            return held, waiting

        return self._store.look(step)

    def all(self, agent: str = "") -> tuple[list[Held], list[Waiter]]:
        """Return all live claims and tickets, of one agent or of all."""
        from dibs.services.claims.views import held_in, waiting_in

        def step(rows: Rows) -> tuple[list[Held], list[Waiter]]:
            held = [h for h in held_in(rows, agent) if not agent or h.claim.agent == agent]
            waiting = [w for w in waiting_in(rows) if not agent or w.ticket.agent == agent]
            return held, waiting

        return self._store.look(step)

    def queue(self, agent: str = "") -> list[Waiter]:
        """Return all live tickets, of one agent or of all, with what blocks each."""
        from dibs.services.claims.views import held_in, queue_in

        def step(rows: Rows) -> list[Waiter]:
            queue = queue_in(rows, list(held_in(rows)))
            return [waiter for waiter in queue if agent in {"", waiter.ticket.agent}]

        return self._store.look(step)


class Around(Record):
    """What a waiter sees at one moment."""

    conflicts: Sequence[Conflict]
    #: Whether nothing is in the way, the ticket is gone, there is a deadlock, or an agent ahead has to be
    #: told that it is its turn.
    must_act: bool
    #: Seconds until it asks an owner to release.
    ask_in: float


def look_around(rows: Rows, request: Request) -> Around:
    """Return the conflicts of a waiter, and whether it must act.

    A request never creates a deadlock, but a lost claim can: an agent that loses what it also waits for is
    behind earlier waiters.
    """
    from dibs.services.claims.asks import next_ask

    around = survey(rows, request)
    ticket, conflicts = around.own_ticket, around.conflicts
    if not conflicts or ticket is None:
        return Around(conflicts, must_act=True, ask_in=NEVER)
    must_act = bool(circle_of(rows, request.agent, around.own_number))
    if around.standing and not must_act:
        from dibs.services.claims.turns import has_come

        must_act = any(has_come(rows, ahead) for ahead in around.standing.values())
    return Around(conflicts, must_act, next_ask(rows, ticket, conflicts) - rows.now)


def _turn(rows: Rows, queued: Queued, step: Step) -> Outcome:
    """Try again, unless a human refused this ticket."""
    number = queued.ticket.number
    if rows.ticket(number) is None:
        from dibs.services.claims.escalation import refusal

        refused = refusal(rows, number, queued.conflicts)
        if refused is not None:
            return refused
    return step(rows)


def _leave_queue(rows: Rows, request: Request) -> None:
    around = survey(rows, request)
    tickets = [ticket for ticket in around.dead_tickets if ticket.agent == request.agent]
    if around.own_ticket is not None:
        tickets.append(around.own_ticket)
    for ticket in tickets:
        withdraw(rows, ticket, "it gave up")


def _with_left(rows: Rows, request: Request, outcome: Outcome, *, mails: bool) -> Outcome:
    """Add to a grant what former owners left uncommitted under the new claims; usually nothing."""
    if not isinstance(outcome, Granted) or request.mode != EXCLUSIVE or not any(outcome.fresh):
        return outcome
    if not rows.is_anything_left():
        return outcome
    from dibs.services.state.ownership import mail_left, take_over

    news = take_over(rows, request.agent, request.patterns)
    if mails:
        mail_left(rows, request.agent, news)
    return outcome._replace(left=tuple(news)) if news else outcome


def _fingerprint(request: Request) -> str:
    return "\n".join((request.mode, *sorted(p.key for p in request.patterns)))
