"""What becomes of a claim once it is held: renewed, released, asked for, handed over, revoked.

Each of these is a gate: it checks in its own transaction that the caller still holds what it acts on,
and with which token. A late caller is fenced and nothing changes.
"""

from __future__ import annotations

from dibs.core.claims.agents import Beat, Caller
from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import Ask, Claim, Lost, check_text, deadline
from dibs.core.text.durations import WAIT_MAX, WAIT_MIN, check_span
from dibs.errors import BadInput, NotAllowed
from dibs.services.claims.acquire import SHOWN
from dibs.services.claims.transfer import hand_over
from dibs.services.state.idempotency import once
from dibs.services.state.own_claims import others, own
from dibs.services.state.presence import arrive, drop_asks, lose
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.patterns.pattern import Pattern
    from dibs.services.state.own_claims import Filed
    from dibs.services.state.rows import Book
    from dibs.services.state.store import Desk

#: How long a holder is remembered to have lost a claim after it was told.
FORGOTTEN_AFTER = 24 * 3600.0


class Renewed(Record):
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
        span = None if ttl is None else self._desk.ttl(ttl)
        hold = self._desk.config.max_hold

        def step(book: Book) -> Renewed:
            beat = arrive(book, caller)
            filed = own(book, caller.id, patterns, token)
            if patterns or span is not None:
                for _, claim in filed:
                    renewed = claim._replace(ttl=span or claim.ttl, hard=book.now + hold)
                    book.put_claim(renewed, book.pattern(claim.pattern))
                if span is not None:
                    book.put_beat(caller.id, beat._replace(ttl=min(beat.ttl, span)))
                _tell_renewed(book, caller.id, beat, filed)
            claims = tuple(claim for _, claim in own(book, caller.id, (), 0))
            expires = tuple(deadline(claim, book.now) for claim in claims)
            lost = tell_lost(book, caller.id) if beat.lost else ()
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

        def action(book: Book) -> list[Claim]:
            beat = arrive(book, caller)
            filed = own(book, caller.id, patterns, token)
            give_back(book, caller.id, beat, filed)
            return [claim for _, claim in filed]

        if not request_id:
            return self._desk.apply(action)
        fingerprint = "release\n" + "\n".join(sorted(p.key for p in patterns))
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
            filed = own(book, caller.id, patterns, token)
            return hand_over(book, caller.id, beat.role, filed, to)

        return self._desk.apply(
            lambda book: once(book, caller.id, request_id, fingerprint, lambda: action(book))
        )

    def ask(
        self, caller: Caller, patterns: Sequence[Pattern], *, within: object = 300, note: str = ""
    ) -> list[Ask]:
        """Ask whoever holds something that overlaps ``patterns`` to give it back in time."""
        span = check_span(within, WAIT_MIN, WAIT_MAX, field="within", code="WAIT_RANGE")
        words = check_text(note, "note") if note else ""

        def step(book: Book) -> list[Ask]:
            from dibs.services.claims.asks import put_asks

            beat = arrive(book, caller)
            asks: dict[tuple[str, str], Ask] = {}
            for _, claim in others(book, caller.id, patterns):
                ask = Ask(claim.pattern, claim.agent, caller.id, words, book.now, book.now + span)
                asks[claim.agent, claim.pattern] = ask
            return put_asks(book, beat.role, list(asks.values()))

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
            filed = others(book, "", [pattern])
            take_from_holders(book, caller.id, beat.role, filed, words)
            return [claim for _, claim in filed]

        return self._desk.apply(step)


def take_from_holders(book: Book, by: str, role: str, filed: Sequence[Filed], words: str) -> None:
    """Revoke claims: each holder is told why, and its token is worth nothing from now on."""
    for key, claim in filed:
        lost = Lost(claim.pattern, claim.token, "revoked", book.now, by, words)
        lose(book, key, claim, lost)
        book.emit(
            by, role, Kind.LOCK_REVOKED,
            f"{by} revoked the claim of {claim.agent} on {claim.pattern}: {words}",
            pattern=claim.pattern, holder=claim.agent, token=claim.token, reason=words,
        )  # fmt: skip


def give_back(book: Book, agent: str, beat: Beat, filed: Sequence[Filed]) -> None:
    """Take off claims by their holder's own will."""
    if not filed:
        return
    texts = [claim.pattern for _, claim in filed]
    asks = drop_asks(book, agent, map(book.pattern, texts))
    for key, _ in filed:
        book.txn.delete(key)
    counted = len([claim for _, claim in filed if claim.token])
    seen, ttl, hard, claims, lost, role = beat
    book.put_beat(agent, Beat(seen, ttl, hard, max(0, claims - counted), lost, role))
    details: dict[str, object] = {"patterns": texts[:SHOWN], "tokens": _tokens(filed)}
    if asks:
        from dibs.services.state.mailbox import tell_askers

        details["asked_by"] = sorted({ask.asker for ask in asks})
        tell_askers(book, agent, asks)
    summary = f"{agent} released {', '.join(texts[:5])}"
    book.emit(agent, beat.role, Kind.LOCK_RELEASED, summary, **details)


def _tokens(filed: Sequence[Filed]) -> list[int]:
    return sorted({claim.token for _, claim in filed})[:SHOWN]


def _tell_renewed(book: Book, agent: str, beat: Beat, filed: Sequence[Filed]) -> None:
    texts = [claim.pattern for _, claim in filed]
    if texts:
        summary = f"{agent} renewed {', '.join(texts[:5])}"
        book.emit(agent, beat.role, Kind.LOCK_RENEWED, summary, patterns=texts[:SHOWN])


def tell_lost(book: Book, agent: str) -> tuple[Lost, ...]:
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
