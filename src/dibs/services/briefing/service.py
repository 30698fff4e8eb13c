"""Briefings: tell an agent what changed in its crew, with each message in exactly one briefing.

A delivery has three steps, and the process may die between them. ``prepare`` stores an offer: the text, its
number, and its messages. A surface prints the text. ``delivered`` confirms it: only then do the messages
count as delivered. An offer that is not confirmed before its lease expires is repeated with the same number
and text. So each message is in one numbered delivery, and a number that arrives twice was not confirmed the
first time.

A view reads the state without blocking writers. A short transaction then stores the offer, unless another
delivery was offered in between.
"""

from __future__ import annotations

import os
import time
from functools import partial

from dibs.services.briefing.snapshot import crew_state, delegations, unread
from dibs.services.state.deliveries import (
    Briefed,
    Offer,
    get_briefed,
    get_offer,
    put_briefed,
    put_offer,
    reader_of,
)
from dibs.services.state.mailbox import boxes_of, mark_briefed, row_of
from dibs.services.state.presence import arrive
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dibs.core.briefing.layout import Rendered
    from dibs.core.briefing.page import Section
    from dibs.core.briefing.snapshot import CrewState
    from dibs.core.claims.agents import Caller
    from dibs.core.talk.mail import Message
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: How long an offer waits for its confirmation, in seconds on the engine's clock.
LEASE = 10.0
#: How long a follower collects changes before it reports them, and how often it polls.
DEBOUNCE, POLL = 2.0, 5.0
#: The budget of a page without a limit.
UNBOUNDED = 1 << 40
#: A call with nothing to report renews the heartbeat if that is older than this part of its ttl.
STALE = 0.25


class Delivery(Record):
    """A briefing to print and then confirm by its number; 0 is a page that needs no confirmation."""

    number: int
    #: ``full`` or ``delta``.
    mode: str
    digest: str
    text: str
    #: The messages in it.
    mail: tuple[str, ...]
    #: How many lines and messages the budget left out.
    left: int
    #: Whether it repeats an unconfirmed offer.
    again: bool = False
    #: The state it reports; for a repeated offer, the state now.
    state: CrewState | None = None
    #: The whole state, for a reader that asked for it, if ``text`` repeats a lost change.
    whole: str = ""


class _Wish(Record):
    """A reader and what it asks for."""

    caller: Caller
    budget: int
    full: bool
    #: The project's ttl, in seconds.
    ttl: float


class _Plan(Record):
    """A delivery, and the offer to store before it."""

    delivery: Delivery | None = None
    offer: Offer | None = None
    #: Whether the reader must renew its heartbeat first, or at least soon.
    first: bool = False
    soon: bool = False


class Briefings:
    """Use cases: brief a reader on the state of the crew."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def prepare(
        self, caller: Caller, *, full: bool = False, budget: int = 0, alive: bool = True
    ) -> Delivery | None:
        """Return the next briefing for ``caller``, if there is news; the caller confirms it by ``delivered``.

        ``full`` is for a reader that lost its context. ``alive`` says that the agent itself is calling: then
        the call is a heartbeat.
        """
        self._store.settle()
        wish = _Wish(
            caller, budget or self._store.config.brief_tokens, full, self._store.config.ttl
        )
        while True:
            plan = self._store.look(partial(_plan, wish=wish, alive=alive))
            if plan.first or plan.soon:
                self._store.apply(partial(arrive, caller=caller))
            if plan.offer is None and not plan.first:
                return plan.delivery
            if plan.offer and self._store.apply(partial(_begin, wish=wish, plan=plan, alive=alive)):
                return plan.delivery

    def delivered(self, caller: Caller, number: int) -> bool:
        """Confirm the delivery ``number``; return whether it was unconfirmed."""
        return number > 0 and self._store.apply(partial(_end, caller=caller, number=number))

    def peek(self, caller: Caller, *, budget: int = 0) -> Delivery:
        """Return the whole state as ``caller`` sees it, with unread messages; change nothing.

        Without a ``budget`` nothing is left out: a page that left something out refers here.
        """
        wish = _Wish(caller, budget or UNBOUNDED, full=True, ttl=self._store.config.ttl)
        return self._store.look(partial(_page, wish=wish))

    def follow(
        self, caller: Caller, *, budget: int = 0, pause: Callable[[float], None] = time.sleep
    ) -> Iterator[Delivery]:
        """Yield a briefing after every change, forever; confirm each before the next.

        Only the start is a heartbeat: a follower may outlive its agent.
        """
        engine = self._store.engine
        newest, shown, first = engine.wait(0, 0), "", True
        while True:
            delivery = self.prepare(caller, budget=budget, alive=first)
            first = False
            if delivery is not None and (delivery.number or delivery.digest != shown):
                shown = delivery.digest
                yield delivery
            seen, newest = newest, engine.wait(newest, POLL)
            if newest != seen:
                pause(DEBOUNCE)


def _plan(rows: Rows, wish: _Wish, *, alive: bool) -> _Plan:
    """Return what to deliver."""
    caller = wish.caller
    beat = rows.beat(caller.id)
    if alive and (beat.lapsed(rows.now) if beat is not None else not caller.human):
        return _Plan(first=True)
    reader = reader_of(caller)
    offer = get_offer(rows, reader)
    if offer is not None and rows.now >= offer.until:
        return _Plan(_again(rows, wish, offer), offer)
    if offer is not None and (wish.full or caller.human):
        return _Plan(_page(rows, wish, without=offer.mail))
    plan = _news(rows, wish, get_briefed(rows, reader)) if offer is None else None
    soon = alive and beat is not None and rows.now - beat.seen > STALE * beat.ttl
    return plan or _Plan(soon=soon)


def _news(rows: Rows, wish: _Wish, last: Briefed) -> _Plan | None:
    """Return what is new to a reader, if anything."""
    caller = wish.caller
    waiting = unread(rows, boxes_of(caller.id, human=caller.human))
    if caller.human and not waiting.messages:
        return _Plan(_page(rows, wish))
    seen = _crew(rows, wish, waiting.messages)
    agent = rows.agent(caller.id)
    life = 0.0 if agent is None or caller.human else agent.started
    forgot = wish.full or caller.human or not last.number or last.life != life
    if forgot:
        seen = _with_delegations(rows, wish, seen)
    sections, digest = _sections(seen, 0 if forgot else last.seq)
    unchanged = not forgot and digest == last.digest
    if unchanged and not waiting.messages:
        return None
    number = last.number + 1
    page = _render(sections, wish, number, None if forgot else last.items)
    if unchanged and not page.mail:
        return None
    newest = next((entry.seq for entry in rows.events(newest_first=True)), 0)
    told = Briefed(number, 0.0, digest, page.told, newest, page.mode, life)
    offer = Offer(told, page.text, {id_: waiting.boxes[id_] for id_ in page.mail}, page.left)
    return _Plan(_delivery(offer, seen), offer)


def _again(rows: Rows, wish: _Wish, offer: Offer) -> Delivery:
    """Return an unconfirmed delivery unchanged.

    A reader that asks for the whole state after losing a change also gets the state, without messages.
    """
    from dibs.core.briefing.layout import FULL

    seen = _crew(rows, wish)
    whole = ""
    if wish.full and offer.briefed.mode != FULL:
        seen = _with_delegations(rows, wish, seen)
        whole = _render(_sections(seen)[0], wish, 0, None).text
    return _delivery(offer, seen)._replace(again=True, whole=whole)


def _page(rows: Rows, wish: _Wish, without: Iterable[str] = ()) -> Delivery:
    """Return the whole state as a page without a number; the messages ``without`` are in another delivery."""
    caller = wish.caller
    waiting = unread(rows, boxes_of(caller.id, human=caller.human), without)
    seen = _with_delegations(rows, wish, _crew(rows, wish, waiting.messages))
    sections, digest = _sections(seen)
    page = _render(sections, wish, 0, None)
    return Delivery(0, page.mode, digest, page.text, page.mail, page.left, state=seen)


def _crew(rows: Rows, wish: _Wish, mail: Iterable[Message] = ()) -> CrewState:
    caller = wish.caller
    return crew_state(rows, caller.id, human=caller.human, ttl=wish.ttl, mail=mail)


def _with_delegations(rows: Rows, wish: _Wish, seen: CrewState) -> CrewState:
    """Add the active delegations for an agent that gets the whole state, such as after compaction."""
    if wish.caller.human:
        return seen
    return seen._replace(delegations=delegations(rows, wish.caller.id))


def _sections(seen: CrewState, told: int = 0) -> tuple[list[Section], str]:
    """Return the sections and their digest; activity starts after the entry ``told``."""
    from dibs.core.briefing.crew import sections
    from dibs.core.briefing.page import digest

    def clock(moment: float) -> str:
        return time.strftime("%H:%M:%S", time.localtime(moment))

    found = sections(seen, told=told, clock=clock)
    return found, digest(found)


def _render(
    sections: list[Section], wish: _Wish, number: int, known: dict[str, str] | None
) -> Rendered:
    """Render a page; text from other agents is fenced unless a person reads it."""
    from dibs.core.briefing.layout import render
    from dibs.core.briefing.page import foreign_texts
    from dibs.core.text.untrusted import nonce_for

    nonce = ""
    if not wish.caller.human:
        nonce = nonce_for(foreign_texts(sections), lambda: os.urandom(4).hex())
    return render(sections, nonce=nonce, budget=wish.budget, number=number, known=known)


def _delivery(offer: Offer, seen: CrewState) -> Delivery:
    told, mail = offer.briefed, tuple(offer.mail)
    return Delivery(told.number, told.mode, told.digest, offer.text, mail, offer.left, state=seen)


def _begin(rows: Rows, wish: _Wish, plan: _Plan, *, alive: bool) -> bool:
    """Store a plan's offer; return False if another delivery came first."""
    assert plan.offer is not None
    assert plan.delivery is not None
    reader, number = reader_of(wish.caller), plan.delivery.number
    offer = get_offer(rows, reader)
    if plan.delivery.again:
        mine = offer is not None and offer.briefed.number == number and rows.now >= offer.until
    else:
        mine = offer is None and get_briefed(rows, reader).number == number - 1
    if mine:
        put_offer(rows, reader, plan.offer._replace(until=rows.now + LEASE))
        if alive and rows.beat(wish.caller.id) is not None:
            arrive(rows, wish.caller)
    return mine


def _end(rows: Rows, caller: Caller, number: int) -> bool:
    """Confirm a delivery if it is the current offer."""
    reader = reader_of(caller)
    offer = get_offer(rows, reader)
    if offer is None or offer.briefed.number != number:
        return False
    for message, boxes in offer.mail.items():
        row = row_of(message)
        for box in boxes:
            mark_briefed(rows, box, row, number)
    put_briefed(rows, reader, offer.briefed._replace(at=rows.now))
    return True
