"""Who waits for whom: the claims and earlier tickets that block each waiter.

These are the rules of a request (``core.claims.rules``), applied to a whole queue at once: an index finds the
few claims and tickets that may overlap, so that it stays fast with thousands of claims.
"""

from __future__ import annotations

from itertools import islice, product

from dibs.core.claims.rules import (
    EXCLUSIVE,
    MODES,
    Request,
    compatible,
    obstacle,
    queued_before,
)
from dibs.core.patterns.lookup import PatternIndex
from dibs.core.patterns.pattern import overlap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dibs.core.claims.rules import Claim, Conflict, Held, Waiter
    from dibs.core.patterns.pattern import Pattern

#: How many claims and tickets are named for one waiter.
SHOWN = 20


class Blockers:
    """The live claims and tickets of a project, searchable for what blocks a waiter."""

    def __init__(
        self,
        held: Sequence[Held],
        parsed: Callable[[str], Pattern],
        may_take: Callable[[str, Claim], bool],
    ) -> None:
        """Index ``held``. ``may_take`` returns whether an agent may take a claim past its ttl."""
        self._held = held
        self._parsed = parsed
        self._may_take = may_take
        self._patterns = [parsed(one.claim.pattern) for one in held]
        #: The places of literals by key; most waiters want one of them.
        self._exact: dict[str, list[int]] = {}
        #: The agents and patterns of claims; a value says whether the claim is exclusive.
        self._own: dict[tuple[str, str], bool] = {}
        for place, (one, pattern) in enumerate(zip(held, self._patterns, strict=True)):
            self._own[one.claim.agent, pattern.key] = one.claim.mode == EXCLUSIVE
            if pattern.literal:
                self._exact.setdefault(pattern.key, []).append(place)
        self._globs = self._indexed(literal=False)
        #: Built when the first waiter wants a glob.
        self._literals: dict[str, PatternIndex] | None = None

    def _indexed(self, *, literal: bool) -> dict[str, PatternIndex]:
        """Return an index of the literals or of the globs, by mode."""
        found = {mode: PatternIndex() for mode in MODES}
        for place, pattern in enumerate(self._patterns):
            if pattern.literal == literal:
                found[self._held[place].claim.mode].add(str(place), pattern)
        return found

    def of_queue(self, queue: Sequence[Waiter]) -> list[Waiter]:
        """Return the waiters, which are in queue order, with what blocks each; owners come first."""
        earlier: dict[str, Waiter] = {}
        index = PatternIndex()
        found: list[Waiter] = []
        for waiter in queue:
            ticket = waiter.ticket
            patterns = tuple(self._parsed(text) for text in ticket.patterns)
            request = Request(ticket.agent, patterns, ticket.mode, ticket.ttl)
            blockers = [*islice(self._owners(request), SHOWN)]
            ahead = self._ahead(request, ticket.number, index, earlier)
            blockers += islice(ahead, SHOWN - len(blockers))
            found.append(waiter._replace(blocked_by=tuple(blockers)))
            for place, pattern in enumerate(patterns):
                index.add(f"{ticket.number}.{place}", pattern)
                earlier[f"{ticket.number}.{place}"] = waiter
        return found

    def _owners(self, request: Request) -> Iterator[Conflict]:
        for asked in request.patterns:
            for place, witness in self._overlapping(asked, request.mode):
                one = self._held[place]
                claim, running = one.claim, one.while_running
                if claim.agent == request.agent:
                    continue
                if not (running and self._may_take(request.agent, claim)):
                    yield obstacle(asked, claim, witness, one.expires_in, while_running=running)

    def _overlapping(self, asked: Pattern, mode: str) -> Iterator[tuple[int, str]]:
        """Yield the place of each claim that excludes such a request, and a witness."""
        indexes = [self._globs]
        if asked.literal:
            for place in self._exact.get(asked.key, ()):
                witness = overlap(asked, self._patterns[place])
                if witness is not None and not compatible(mode, self._held[place].claim.mode):
                    yield place, witness
        else:
            if self._literals is None:
                self._literals = self._indexed(literal=True)
            indexes.append(self._literals)
        for index, held in product(indexes, MODES):
            if not compatible(mode, held):
                found = index[held].overlapping(asked)
                yield from ((int(place), witness) for place, _, witness in found)

    def _ahead(
        self, request: Request, own: int, index: PatternIndex, earlier: dict[str, Waiter]
    ) -> Iterator[Conflict]:
        for asked in request.patterns:
            if self._holds(request, asked):
                continue
            for place, pattern, _ in index.overlapping(asked):
                waiter = earlier[place]
                if waiter.ticket.agent == request.agent:
                    continue
                left = waiter.gives_up_in
                conflict = queued_before(request, asked, pattern, waiter.ticket, own, left)
                if conflict is not None:
                    yield conflict

    def _holds(self, request: Request, asked: Pattern) -> bool:
        """Return whether the waiter already holds this pattern, so that no other waiter is ahead of it."""
        exclusive = self._own.get((request.agent, asked.key))
        return exclusive is not None and (exclusive or request.mode != EXCLUSIVE)
