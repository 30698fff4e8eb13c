"""Renew, release, request, transfer, and revoke claims.

Each is a gate: it checks in its own transaction that the caller still holds the claim under the given token.
A stale caller is fenced, and nothing changes.
"""

from __future__ import annotations

from dibs.core.claims.agents import Beat, Caller, check_human
from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import Ask, Claim, Lost, check_text
from dibs.core.text.durations import WAIT_MAX, WAIT_MIN, check_span
from dibs.errors import BadInput
from dibs.services.claims.acquire import SHOWN
from dibs.services.claims.transfer import hand_over
from dibs.services.state.idempotency import once
from dibs.services.state.own_claims import others, own
from dibs.services.state.presence import arrive, drop_asks, lose
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.claims.rules import LeftWork
    from dibs.core.patterns.pattern import Pattern
    from dibs.services.state.own_claims import Filed
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: How many seconds a reported loss stays in the store.
FORGOTTEN_AFTER = 24 * 3600.0


class Renewed(Record):
    """An agent's claims after a renewal, and its news."""

    claims: tuple[Claim, ...]
    expires: tuple[float, ...]
    #: Lost claims that had not been reported to it.
    lost: tuple[Lost, ...]
    #: Release requests to it.
    asks: tuple[Ask, ...]


class Holdings:
    """What owners, waiting agents, and humans do with existing claims."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def renew(
        self,
        caller: Caller,
        patterns: Sequence[Pattern] = (),
        *,
        ttl: object = None,
        token: int = 0,
    ) -> Renewed:
        """Send a heartbeat, and change the ttl of the claims on ``patterns``, or of all claims.

        If a named claim is lost, the whole call is fenced.
        """
        span = None if ttl is None else self._store.ttl(ttl)
        hold = self._store.config.max_hold

        def step(rows: Rows) -> Renewed:
            beat = arrive(rows, caller)
            filed = own(rows, caller.id, patterns, token, "dibs renew {}")
            if patterns or span is not None:
                for _, claim in filed:
                    renewed = claim._replace(ttl=span or claim.ttl, hard=rows.now + hold)
                    rows.put_claim(renewed, rows.pattern(claim.pattern))
                if span is not None:
                    rows.put_beat(caller.id, beat._replace(ttl=min(beat.ttl, span)))
                _tell_renewed(rows, caller.id, beat, filed)
            claims = tuple(claim for _, claim in own(rows, caller.id, (), 0))
            expires = tuple(rows.deadline(claim) for claim in claims)
            lost = tell_lost(rows, caller.id) if beat.lost else ()
            return Renewed(claims, expires, lost, tuple(a for _, a in rows.asks(caller.id)))

        return self._store.apply(step)

    def release(
        self,
        caller: Caller,
        patterns: Sequence[Pattern] = (),
        *,
        token: int = 0,
        request_id: str = "",
    ) -> list[Claim]:
        """Release the claims on ``patterns``, or all; a glob also releases the paths held inside it."""

        def action(rows: Rows) -> list[Claim]:
            beat = arrive(rows, caller)
            filed = own(rows, caller.id, patterns, token, "dibs release {}")
            give_back(rows, caller.id, beat, filed)
            return [claim for _, claim in filed]

        if not request_id:
            return self._store.apply(action)
        fingerprint = "release\n" + "\n".join(sorted(p.key for p in patterns))
        return self._store.apply(
            lambda rows: once(rows, caller.id, request_id, fingerprint, lambda: action(rows))
        )

    def left(self, agent: str, released: Sequence[Claim]) -> list[LeftWork]:
        """Return the saved changes that an agent left uncommitted under claims that it released."""
        from dibs.services.state.ownership import own_left

        return self._store.look(
            lambda rows: own_left(rows, agent, [rows.pattern(c.pattern) for c in released])
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
        """Transfer the caller's claims on ``patterns`` to another agent, under a new token."""
        fingerprint = f"transfer\n{to}\n" + "\n".join(sorted(p.key for p in patterns))

        def action(rows: Rows) -> list[Claim]:
            beat = arrive(rows, caller)
            filed = own(rows, caller.id, patterns, token, f"dibs transfer {{}} --to {to}")
            return hand_over(rows, caller.id, beat.role, filed, to)

        return self._store.apply(
            lambda rows: once(rows, caller.id, request_id, fingerprint, lambda: action(rows))
        )

    def ask(
        self, caller: Caller, patterns: Sequence[Pattern], *, within: object = 300, note: str = ""
    ) -> list[Ask]:
        """Ask the owners of claims that overlap ``patterns`` to release them in time."""
        span = check_span(within, WAIT_MIN, WAIT_MAX, field="within", code="WAIT_RANGE")
        words = check_text(note, "note") if note else ""

        def step(rows: Rows) -> list[Ask]:
            from dibs.services.claims.asks import put_asks

            beat = arrive(rows, caller)
            asks: dict[tuple[str, str], Ask] = {}
            for _, claim in others(rows, caller.id, patterns):
                ask = Ask(claim.pattern, claim.agent, caller.id, words, rows.now, rows.now + span)
                asks[claim.agent, claim.pattern] = ask
            return put_asks(rows, beat.role, list(asks.values()))

        return self._store.apply(step)

    def revoke(self, caller: Caller, pattern: Pattern, *, reason: str) -> list[Claim]:
        """Revoke all claims that overlap ``pattern``; for humans only."""
        from shlex import quote

        instead = f"request it: dibs ask {quote(pattern.text)}"
        check_human(caller, "only a human may revoke a claim", hint=instead)
        if not reason.strip():
            raise BadInput("a reason is required: --reason", code="REASON", field="reason")
        words = check_text(reason, "reason")

        def step(rows: Rows) -> list[Claim]:
            beat = arrive(rows, caller)
            filed = others(rows, "", [pattern])
            take_from_holders(rows, caller.id, beat.role, filed, words)
            return [claim for _, claim in filed]

        return self._store.apply(step)


def take_from_holders(rows: Rows, by: str, role: str, filed: Sequence[Filed], words: str) -> None:
    """Revoke claims; each owner gets the reason, and its token becomes invalid."""
    for key, claim in filed:
        lost = Lost(claim.pattern, claim.token, "revoked", rows.now, by, words)
        lose(rows, key, claim, lost)
        rows.emit(
            by, role, Kind.LOCK_REVOKED,
            f"{by} revoked {claim.agent}'s claim on {claim.pattern}: {words}",
            pattern=claim.pattern, holder=claim.agent, token=claim.token, reason=words,
        )  # fmt: skip


def give_back(
    rows: Rows, agent: str, beat: Beat, filed: Sequence[Filed], *, clean_in: str = ""
) -> None:
    """Drop claims that their owner releases; ``clean_in`` is a tree in which they cover no changes."""
    if not filed:
        return
    from dibs.services.state.ownership import end_claim

    texts = [claim.pattern for _, claim in filed]
    asks = drop_asks(rows, agent, map(rows.pattern, texts))
    for key, claim in filed:
        end_claim(rows, key, claim, clean_in=clean_in)
    counted = len([claim for _, claim in filed if claim.token])
    rows.put_beat(agent, beat._replace(claims=max(0, beat.claims - counted)))
    details: dict[str, object] = {"patterns": texts[:SHOWN], "tokens": _tokens(filed)}
    if asks:
        from dibs.services.state.mailbox import notify_requesters

        details["asked_by"] = sorted({ask.asker for ask in asks})
        notify_requesters(rows, agent, asks)
    summary = f"{agent} released {', '.join(texts[:5])}"
    rows.emit(agent, beat.role, Kind.LOCK_RELEASED, summary, **details)


def _tokens(filed: Sequence[Filed]) -> list[int]:
    return sorted({claim.token for _, claim in filed})[:SHOWN]


def _tell_renewed(rows: Rows, agent: str, beat: Beat, filed: Sequence[Filed]) -> None:
    texts = [claim.pattern for _, claim in filed]
    if texts:
        summary = f"{agent} renewed {', '.join(texts[:5])}"
        rows.emit(agent, beat.role, Kind.LOCK_RENEWED, summary, patterns=texts[:SHOWN])


def tell_lost(rows: Rows, agent: str) -> tuple[Lost, ...]:
    """Return the losses not yet reported to ``agent``, and mark them as reported."""
    news = []
    for _, lost in list(rows.lost(agent)):
        pattern = rows.pattern(lost.pattern)
        if not lost.told:
            news.append(lost)
            rows.put_lost(agent, pattern, lost._replace(told=True))
        elif lost.at + FORGOTTEN_AFTER <= rows.now:
            rows.drop_lost(agent, pattern)
            beat = rows.beat(agent) or Beat(rows.now)
            rows.put_beat(agent, beat._replace(lost=max(0, beat.lost - 1)))
    return tuple(news)
