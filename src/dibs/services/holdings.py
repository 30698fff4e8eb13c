"""What becomes of a claim once it is held: renewed, released, asked for, handed over, revoked.

Each of these is a gate: it checks in its own transaction that the caller still holds what it acts on,
and with which token. A late caller is fenced and nothing changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, NoReturn

from dibs.core.agents import Agent, Beat, Caller, is_terminal
from dibs.core.claims import (
    Ask,
    Claim,
    Lost,
    check_text,
    compatible,
    deadline,
    find_cycle,
    live,
)
from dibs.core.durations import check_ttl, check_wait
from dibs.core.index import entry_prefix
from dibs.core.ledger import Kind
from dibs.core.names import quote
from dibs.core.patterns import overlap
from dibs.errors import BadInput, DibsError, Fenced, NotAllowed, NotFound
from dibs.services.acquire import waits_of
from dibs.services.book import claim_of
from dibs.services.presence import arrive, drop_asks, lose
from dibs.services.repeats import once

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.patterns import Pattern
    from dibs.services.book import Book
    from dibs.services.desk import Desk

Filed = tuple[str, Claim]

#: How many patterns and tokens a ledger entry names.
SHOWN = 20
#: How long a holder is remembered to have lost a claim after it was told.
FORGOTTEN_AFTER = 24 * 3600.0


class Renewed(NamedTuple):
    """What an agent holds after a renewal, and what it learns by it."""

    claims: tuple[Claim, ...]
    expires: tuple[float, ...]
    #: Claims that it lost and had not been told of.
    lost: tuple[Lost, ...]
    #: Who asks it to give something back.
    asks: tuple[Ask, ...]


class Holdings:
    """The use cases of a holder, of those who wait for it, and of the human above both."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def renew(
        self,
        caller: Caller,
        patterns: Sequence[Pattern] = (),
        *,
        ttl: object = None,
        token: int = 0,
    ) -> Renewed:
        """Give a sign of life, and a new ttl to the claims on ``patterns`` if asked for.

        Without patterns every claim of the caller is meant. A named claim that is lost fences the whole call.
        """
        span = None if ttl is None else check_ttl(ttl)
        hold = self._desk.config.max_hold

        def step(book: Book) -> Renewed:
            beat = arrive(book, caller)
            filed = _own(book, caller.id, patterns, token)
            if patterns or span is not None:
                for _, claim in filed:
                    renewed = claim._replace(ttl=span or claim.ttl, hard=book.now + hold)
                    book.put_claim(renewed, book.pattern(claim.pattern))
                if span is not None:
                    book.put_beat(caller.id, beat._replace(ttl=min(beat.ttl, span)))
                _tell_renewed(book, caller.id, beat, filed)
            claims = tuple(claim for _, claim in _own(book, caller.id, (), 0))
            expires = tuple(deadline(claim, book.now) for claim in claims)
            lost = _tell_lost(book, caller.id) if beat.lost else ()
            return Renewed(claims, expires, lost, tuple(a for _, a in book.asks(caller.id)))

        return self._desk.apply(step)

    def release(
        self,
        caller: Caller,
        patterns: Sequence[Pattern] = (),
        *,
        token: int = 0,
        request_id: str = "",
    ) -> list[Claim]:
        """Give back the claims on ``patterns``, or all; a glob also means the paths held inside it."""
        fingerprint = "release\n" + "\n".join(sorted(p.key for p in patterns))

        def action(book: Book) -> list[Claim]:
            beat = arrive(book, caller)
            filed = _own(book, caller.id, patterns, token)
            give_back(book, caller.id, beat, filed)
            return [claim for _, claim in filed]

        return self._desk.apply(
            lambda book: once(book, caller.id, request_id, fingerprint, lambda: action(book))
        )

    def transfer(
        self,
        caller: Caller,
        patterns: Sequence[Pattern],
        *,
        to: str,
        token: int = 0,
        request_id: str = "",
    ) -> list[Claim]:
        """Hand the caller's claims on ``patterns`` to another agent, under a new token."""
        fingerprint = f"transfer\n{to}\n" + "\n".join(sorted(p.key for p in patterns))

        def action(book: Book) -> list[Claim]:
            beat = arrive(book, caller)
            filed = _own(book, caller.id, patterns, token)
            heir = _heir(book, caller.id, to)
            _check_whole(book, caller.id, filed)
            handed = _hand_over(book, beat, filed, heir)
            _check_circle(book, heir.id)
            return handed

        return self._desk.apply(
            lambda book: once(book, caller.id, request_id, fingerprint, lambda: action(book))
        )

    def ask(
        self, caller: Caller, patterns: Sequence[Pattern], *, within: object = 300, note: str = ""
    ) -> list[Ask]:
        """Ask whoever holds something that overlaps ``patterns`` to give it back in time."""
        span = check_wait(within)
        words = check_text(note, "note") if note else ""

        def step(book: Book) -> list[Ask]:
            beat = arrive(book, caller)
            asks: dict[tuple[str, str], Ask] = {}
            for _, claim in _others(book, caller.id, patterns):
                ask = Ask(claim.pattern, claim.agent, caller.id, words, book.now, book.now + span)
                asks[claim.agent, claim.pattern] = ask
            for ask in asks.values():
                book.put_ask(ask)
                _tell_asked(book, beat, ask)
            return list(asks.values())

        return self._desk.apply(step)

    def revoke(self, caller: Caller, pattern: Pattern, *, reason: str) -> list[Claim]:
        """Take from their holders all claims that overlap ``pattern``; for humans only."""
        if not caller.human:
            raise NotAllowed(
                f"{caller.id} is no human: only a human revokes a claim",
                code="HUMANS_ONLY",
                hint="ask the holder with `dibs ask`",
            )
        if not reason.strip():
            raise BadInput("say why: --reason is needed", code="REASON", field="reason")
        words = check_text(reason, "reason")

        def step(book: Book) -> list[Claim]:
            beat = arrive(book, caller)
            filed = _others(book, "", [pattern])
            for key, claim in filed:
                lost = Lost(claim.pattern, claim.token, "revoked", book.now, caller.id, words)
                lose(book, key, claim, lost)
                book.emit(
                    caller.id, beat.role, Kind.LOCK_REVOKED,
                    f"{caller.id} revoked the claim of {claim.agent} on {claim.pattern}: {words}",
                    pattern=claim.pattern, holder=claim.agent, token=claim.token, reason=words,
                )  # fmt: skip
            return [claim for _, claim in filed]

        return self._desk.apply(step)


def give_back(book: Book, agent: str, beat: Beat, filed: Sequence[Filed]) -> None:
    """Take off claims by their holder's own will."""
    if not filed:
        return
    texts = [claim.pattern for _, claim in filed]
    askers = drop_asks(book, agent, map(book.pattern, texts))
    for key, _ in filed:
        book.txn.delete(key)
    book.put_beat(agent, beat._replace(claims=max(0, beat.claims - len(filed))))
    details: dict[str, object] = {"patterns": texts[:SHOWN], "tokens": _tokens(filed)}
    if askers:
        details["asked_by"] = askers
    summary = f"{agent} released {', '.join(texts[:5])}"
    book.emit(agent, beat.role, Kind.LOCK_RELEASED, summary, **details)


def _tokens(filed: Sequence[Filed]) -> list[int]:
    return sorted({claim.token for _, claim in filed})[:SHOWN]


def claims_of(book: Book, agent: str) -> list[Filed]:
    """Return the claims of ``agent`` with their keys, live or not."""
    return [(f.key, claim_of(f)) for f in book.of_agent(agent) if not f.ticket]


def _own(book: Book, agent: str, patterns: Sequence[Pattern], token: int) -> list[Filed]:
    """Return the caller's claims that are meant; raise if one that is named is not its own.

    The caller has arrived, so what is left of its claims is live.
    """
    if not patterns:
        filed = [f for f in claims_of(book, agent) if token in {0, f[1].token}]
        if token and not filed:
            raise _stale(token, "")
        return filed
    chosen: dict[str, Claim] = {}
    for pattern in patterns:
        mine = _own_at(book, agent, pattern)
        if not mine:
            _refuse(book, agent, pattern, token)
        for key, claim in mine:
            if token not in {0, claim.token}:
                raise _stale(token, f" for {claim.pattern}; it is held with {claim.token}")
            chosen[key] = claim
    return list(chosen.items())


def _stale(token: int, where: str) -> Fenced:
    return Fenced(
        f"token {token} is not in force{where}",
        hint="the claim that it came with is gone: stop work on it, and claim it again",
    )


def _own_at(book: Book, agent: str, pattern: Pattern) -> list[Filed]:
    """Return the claims of ``agent`` on ``pattern``; for a glob, else, on paths inside it."""
    prefix = f"{entry_prefix(pattern)}{agent}/"
    exact, inside = [], []
    for found in book.near(pattern):
        if found.agent == agent and not found.ticket:
            held = book.pattern(found.record["pattern"])
            if found.key.startswith(prefix) and held.key == pattern.key:
                exact.append((found.key, claim_of(found)))
            elif held.literal and not pattern.literal and overlap(pattern, held) is not None:
                inside.append((found.key, claim_of(found)))
    return exact + inside


def _refuse(book: Book, agent: str, pattern: Pattern, token: int) -> NoReturn:
    """Raise what fits a claim that the caller does not hold."""
    holders = [claim for _, claim in _others(book, agent, [pattern])]
    now_held = f"; {holders[0].agent} holds {holders[0].pattern} now" if holders else ""
    for _, lost in book.lost(agent):
        if overlap(pattern, book.pattern(lost.pattern)) is not None:
            raise Fenced(
                f"{lost}{now_held}",
                hint="stop working on it, keep your changes aside, and claim it again",
            )
    if token:
        raise _stale(token, f" for {pattern.text}{now_held}")
    error: type[DibsError] = Fenced if holders else NotFound
    raise error(
        f"you ({agent}) do not hold {quote(pattern.text)}{now_held}",
        code="FENCED" if holders else "NOT_HELD",
        hint="`dibs status` shows what you hold",
    )


def _others(book: Book, agent: str, patterns: Sequence[Pattern]) -> list[Filed]:
    """Return the live claims of agents other than ``agent`` that overlap ``patterns``."""
    chosen: dict[str, Claim] = {}
    for pattern in patterns:
        for found in book.near(pattern):
            if found.agent != agent and not found.ticket:
                claim = claim_of(found)
                overlaps = overlap(pattern, book.pattern(claim.pattern)) is not None
                if overlaps and live(claim, book.seen(claim.agent), book.now):
                    chosen[found.key] = claim
    return list(chosen.items())


def _tell_renewed(book: Book, agent: str, beat: Beat, filed: Sequence[Filed]) -> None:
    texts = [claim.pattern for _, claim in filed]
    if texts:
        summary = f"{agent} renewed {', '.join(texts[:5])}"
        book.emit(agent, beat.role, Kind.LOCK_RENEWED, summary, patterns=texts[:SHOWN])


def _tell_lost(book: Book, agent: str) -> tuple[Lost, ...]:
    """Return the losses that ``agent`` has not heard of, and note that it has now."""
    news = []
    for _, lost in list(book.lost(agent)):
        pattern = book.pattern(lost.pattern)
        if not lost.told:
            news.append(lost)
            book.put_lost(agent, pattern, lost._replace(told=True))
        elif lost.at + FORGOTTEN_AFTER <= book.now:
            book.drop_lost(agent, pattern)
            beat = book.beat(agent) or Beat(book.now)
            book.put_beat(agent, beat._replace(lost=max(0, beat.lost - 1)))
    return tuple(news)


def _heir(book: Book, giver: str, to: str) -> Agent:
    heir = book.agent(to)
    if heir is None or is_terminal(heir.status):
        message = f"no agent {to} works here"
        hint = f"let it join first: `dibs agent join --agent {to}`"
        raise NotFound(message, code="NO_AGENT", field="to", hint=hint)
    if to == giver:
        raise BadInput(f"{to} holds it already", code="AGENT_SAME", field="to")
    return heir


def _check_whole(book: Book, giver: str, filed: Sequence[Filed]) -> None:
    """Refuse to hand over a part of what the giver keeps: both would hold it."""
    if not filed:
        raise NotFound(f"you ({giver}) hold nothing to hand over", code="NOT_HELD")
    moved = dict(filed)
    for key, kept in claims_of(book, giver):
        for claim in [] if key in moved else moved.values():
            apart = overlap(book.pattern(kept.pattern), book.pattern(claim.pattern)) is None
            if not apart and not compatible(kept.mode, claim.mode):
                raise BadInput(
                    f"you also hold {kept.pattern}, which overlaps {claim.pattern}",
                    code="TRANSFER_OVERLAP",
                    hint="hand over both, or release the one that you do not need",
                )


def _check_circle(book: Book, heir: str) -> None:
    """Refuse a handover that would make the heir and others wait for each other."""
    cycle = find_cycle(heir, waits_of(book, heir), lambda agent: waits_of(book, agent))
    if cycle:
        circle = ", ".join(f"{w.agent} waits for {w.pattern} of {w.holder}" for w in cycle)
        raise NotAllowed(f"this would close a circle of waiters: {circle}", code="DEADLOCK")


def _hand_over(book: Book, beat: Beat, filed: Sequence[Filed], heir: Agent) -> list[Claim]:
    giver = filed[0][1].agent
    token = book.emit(
        giver, beat.role, Kind.LOCK_TRANSFERRED,
        f"{giver} handed {', '.join(c.pattern for _, c in filed[:5])} to {heir.id}",
        patterns=[claim.pattern for _, claim in filed[:SHOWN]], to=heir.id,
    )  # fmt: skip
    theirs = book.beat(heir.id) or Beat(book.now, role=heir.role)
    handed = []
    for place, (key, claim) in enumerate(filed):
        lost = Lost(claim.pattern, claim.token, "transferred", book.now, heir.id, told=True)
        lose(book, key, claim, lost)
        merged = _drop_same(book, heir.id, book.pattern(claim.pattern))
        if book.lost_at(heir.id, book.pattern(claim.pattern)) is not None:
            book.drop_lost(heir.id, book.pattern(claim.pattern))
            theirs = theirs._replace(lost=max(0, theirs.lost - 1))
        moved = claim._replace(id=f"c{token}.{place}", agent=heir.id, token=token, since=book.now)
        book.put_claim(moved, book.pattern(claim.pattern))
        theirs = theirs._replace(
            ttl=min(theirs.ttl, moved.ttl),
            hard=min(theirs.hard, moved.hard),
            claims=theirs.claims + 1 - merged,
        )
        handed.append(moved)
    book.put_beat(heir.id, theirs)
    return handed


def _drop_same(book: Book, agent: str, pattern: Pattern) -> int:
    """Take off an agent's own shared claim that the one handed over replaces."""
    same = [
        key
        for key, claim in _own_at(book, agent, pattern)
        if book.pattern(claim.pattern).key == pattern.key
    ]
    for key in same:
        book.txn.delete(key)
    return len(same)


def _tell_asked(book: Book, beat: Beat, ask: Ask) -> None:
    book.emit(
        ask.asker, beat.role, Kind.RELEASE_REQUESTED,
        f"{ask.asker} asks {ask.holder} for {ask.pattern}" + (f": {ask.note}" if ask.note else ""),
        pattern=ask.pattern, holder=ask.holder, until=ask.until, note=ask.note,
    )  # fmt: skip
