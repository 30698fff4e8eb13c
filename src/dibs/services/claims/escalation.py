"""Conflicts that a human decides: how one is escalated, what a decision does, and when it is moot.

An escalation creates one pending decision per owner. It identifies the claims by their tokens, so a claim
that changed hands meanwhile is not affected. A decision takes effect in the transaction that records it.
"""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import EXCLUSIVE, Denied, Request, check_text, ticket_deadline
from dibs.core.patterns.pattern import overlap
from dibs.core.talk.decision_rules import DISPUTED, KEPT
from dibs.core.talk.decisions import Decision, Outcome
from dibs.core.text.names import cut, few
from dibs.services.claims.acquire import SHOWN, survey
from dibs.services.state.decisions import get_refusal, pending, put_decision, put_refusal
from dibs.services.state.own_claims import claims_of
from dibs.services.state.presence import arrive, close_asks, role_of, withdraw
from dibs.services.talk.decision_effects import open_decision, tell
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from dibs.core.claims.agents import Caller
    from dibs.core.claims.rules import Ask, Conflict, Ticket
    from dibs.core.patterns.pattern import Pattern
    from dibs.services.state.own_claims import Filed
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: How many characters of a pattern a title shows.
LONG = 60
#: After this many seconds without a heartbeat of the asking agent, its conflict is moot.
FORSAKEN = 24 * 3600.0
#: How long a refusal is stored: several processes may wait with one ticket.
REFUSAL_KEPT = 24 * 3600.0


class Dispute(Record):
    """An agent's wish for patterns that other agents hold."""

    agent: str
    #: The requested patterns.
    patterns: tuple[str, ...]
    mode: str
    #: Its ticket, 0 if it is not in the queue.
    ticket: int = 0
    note: str = ""


class Escalations:
    """Escalate conflicts to a human."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def escalate(
        self, caller: Caller, patterns: Sequence[Pattern], *, note: str = ""
    ) -> list[Decision]:
        """Ask a human to decide between the caller and each owner of claims that overlap ``patterns``.

        A repeat returns the pending decision. If no one else holds them, nothing happens.
        """
        words = check_text(note, "note") if note else ""

        def step(rows: Rows) -> list[Decision]:
            arrive(rows, caller)
            ticket = _ticket_for(rows, caller.id, patterns)
            mode = EXCLUSIVE if ticket is None else ticket.mode
            conflicts = survey(rows, Request(caller.id, tuple(patterns), mode, 0.0)).conflicts
            wanted = tuple(pattern.text for pattern in patterns)
            number = 0 if ticket is None else ticket.number
            return put_before_human(
                rows, Dispute(caller.id, wanted, mode, number, words), conflicts
            )

        return self._store.apply(step)


def _ticket_for(rows: Rows, agent: str, patterns: Iterable[Pattern]) -> Ticket | None:
    """Return the agent's live ticket for any of ``patterns``."""
    return next(iter(_tickets_for(rows, agent, patterns)), None)


def _tickets_for(rows: Rows, agent: str, patterns: Iterable[Pattern]) -> list[Ticket]:
    """Return live tickets for any of ``patterns``, of one agent or of all, the earliest first."""
    wanted = list(patterns)
    return [
        ticket
        for ticket in rows.tickets()
        if agent in {"", ticket.agent}
        and ticket_deadline(ticket, rows.seen(ticket.agent)) > rows.now
        and any(
            overlap(rows.pattern(text), p) is not None for text in ticket.patterns for p in wanted
        )
    ]


def put_before_human(rows: Rows, wish: Dispute, conflicts: Sequence[Conflict]) -> list[Decision]:
    """Create a pending decision for each owner that conflicts with ``wish``, or return the existing one."""
    in_the_way: dict[str, list[Conflict]] = {}
    for conflict in conflicts:
        if not conflict.ticket:
            in_the_way.setdefault(conflict.holder, []).append(conflict)
    return [d for holder, found in in_the_way.items() for d in _put(rows, wish, holder, found)]


def _put(rows: Rows, wish: Dispute, holder: str, conflicts: list[Conflict]) -> list[Decision]:
    """Return the pending decisions between these two agents, and create one for the remaining conflicts.

    A decision never covers more than before: a human may already have read it.
    """
    found: list[Decision] = []
    rest = conflicts
    for decision in _between(rows, wish.agent, holder):
        keys = {rows.pattern(text).key for text in decision.data["wanted"]}
        same = [c for c in rest if rows.pattern(c.pattern).key in keys]
        if same:
            found.append(_repeat(rows, wish, decision, same))
            rest = [c for c in rest if c not in same]
    if not rest:
        return found
    from dibs.services.talk.decisions import check_room

    check_room(rows, wish.agent)
    return [*found, _make(rows, wish, holder, rest)]


def _between(rows: Rows, asker: str, holder: str) -> list[Decision]:
    """Return the pending decisions about open conflicts between two agents."""
    return [
        decision
        for decision in pending(rows)
        if (decision.conflict, decision.asker) == (True, asker)
        and decision.data["holder"] == holder
        and still_open(rows, decision)
    ]


def _repeat(rows: Rows, wish: Dispute, decision: Decision, conflicts: list[Conflict]) -> Decision:
    """Add the claims that now conflict to a pending decision."""
    before = decision.data
    held = list(dict.fromkeys((*before["patterns"], *_held(conflicts))))
    data = {
        **before,
        "patterns": held[:SHOWN],
        "tokens": sorted({*before["tokens"], *(c.token for c in conflicts)}),
        "mode": wish.mode,
        "ticket": wish.ticket or before["ticket"],
        "asks": _asks(rows, before["holder"], wish.agent, held),
    }
    again = decision._replace(data=data, rationale=wish.note or decision.rationale)
    put_decision(rows, again)
    return again


def _held(conflicts: Iterable[Conflict]) -> list[str]:
    return list(dict.fromkeys(c.held for c in conflicts))


def asks_between(rows: Rows, holder: str, asker: str, held: Iterable[str]) -> list[Ask]:
    """Return the release requests of one agent to another for ``held``, with the replies."""
    patterns = set(held)
    return [a for _, a in rows.asks(holder) if a.asker == asker and a.pattern in patterns]


def _asks(rows: Rows, holder: str, asker: str, held: Iterable[str]) -> list[dict[str, Any]]:
    """Return the same as a decision stores it."""
    return [ask._asdict() for ask in asks_between(rows, holder, asker, held)[:SHOWN]]


def _make(rows: Rows, wish: Dispute, holder: str, conflicts: list[Conflict]) -> Decision:
    wanted = list(dict.fromkeys(c.pattern for c in conflicts))
    data: dict[str, Any] = {
        "holder": holder,
        "patterns": _held(conflicts)[:SHOWN],
        "tokens": sorted({c.token for c in conflicts}),
        "wanted": wanted,
        "mode": wish.mode,
        "ticket": wish.ticket,
        "asks": _asks(rows, holder, wish.agent, _held(conflicts)),
    }
    shown = few([cut(text, LONG) for text in wanted])
    title = f"{wish.agent} wants {shown}, which {holder} holds"
    role = role_of(rows, wish.agent)
    number = rows.emit(
        wish.agent, role, Kind.CONFLICT_ESCALATED,
        f"{wish.agent} escalated to a human: {title}" + (f": {wish.note}" if wish.note else ""),
        holder=holder, patterns=data["patterns"], wanted=wanted[:SHOWN],
    )  # fmt: skip
    decision = Decision(
        f"d{number}", rows.now, wish.agent, role, title, wish.note, Outcome.PENDING,
        conflict=True, data=data,
    )  # fmt: skip
    decision = open_decision(rows, decision)
    tell(rows, holder, decision, DISPUTED, wish.agent, wish.note, wanted)
    return decision


def still_open(rows: Rows, decision: Decision) -> bool:
    """Return whether the conflict still exists.

    It is over if the owner no longer holds the claims, or if the asking agent has ended or sent no
    heartbeat for a day.
    """
    return bool(_disputed(rows, decision)) and rows.seen(decision.asker) + FORSAKEN > rows.now


def undecided(rows: Rows) -> list[Decision]:
    """Return the pending decisions, without those about conflicts that are over."""
    return [d for d in pending(rows) if not d.conflict or still_open(rows, d)]


def why_over(rows: Rows, decision: Decision) -> str:
    """Return why a conflict is over."""
    wanted = few([cut(text, LONG) for text in decision.data["wanted"]])
    if _disputed(rows, decision):
        return f"{decision.asker} no longer waits for {wanted}"
    return f"{decision.data['holder']} no longer holds {wanted}"


def _disputed(rows: Rows, decision: Decision) -> list[Filed]:
    """Return the disputed claims that are still held."""
    holder = decision.data["holder"]
    wanted = {(found := rows.pattern(text)).key: found for text in decision.data["wanted"]}

    def in_the_way(pattern: Pattern) -> bool:
        # Most are requested exactly as they are held; that needs no comparison of pairs.
        return pattern.key in wanted or any(
            overlap(pattern, p) is not None for p in wanted.values()
        )

    return [
        (key, claim)
        for key, claim in claims_of(rows, holder)
        if claim.token in decision.data["tokens"]
        and rows.is_live(claim)
        and in_the_way(rows.pattern(claim.pattern))
    ]


def carry_out(
    rows: Rows, caller: Caller, decision: Decision, confirmed: bool, reason: str
) -> Decision:
    """Apply a decision: revoke the owner's claims, or refuse the request.

    ``decision`` is already marked as decided; it is returned as settled if the conflict is over.
    """
    if not still_open(rows, decision):
        return decision._replace(outcome=Outcome.SETTLED)
    data = dict(decision.data)
    holder = data["holder"]
    disputed = {claim.pattern for _, claim in _disputed(rows, decision)}
    data["asks"] = _asks(rows, holder, decision.asker, disputed)
    asks = [(k, a) for k, a in rows.asks(holder) if a.asker == decision.asker]
    close_asks(rows, [(k, a) for k, a in asks if a.pattern in disputed])  # the human has replied
    if confirmed:
        data["first"] = _first_in_line(rows, data["wanted"])
        _revoke(rows, caller, decision, reason)
    else:
        _refuse(rows, caller, decision, reason)
    return decision._replace(data=data)


def _first_in_line(rows: Rows, wanted: Sequence[str]) -> str:
    """Return the first agent in the queue, which may not be the one that escalated; empty if none waits."""
    waiting = _tickets_for(rows, "", [rows.pattern(text) for text in wanted])
    return waiting[0].agent if waiting else ""


def _revoke(rows: Rows, caller: Caller, decision: Decision, reason: str) -> None:
    from dibs.services.claims.holdings import take_from_holders

    words = reason or f"{decision.asker} needs it (decision {decision.id})"
    take_from_holders(rows, caller.id, role_of(rows, caller.id), _disputed(rows, decision), words)


def _refuse(rows: Rows, caller: Caller, decision: Decision, reason: str) -> None:
    """Remove the asking agent from the queue, and store the refusal for its waiting process."""
    patterns = [rows.pattern(claim.pattern) for _, claim in _disputed(rows, decision)]
    tickets = {t.number: t for t in _tickets_for(rows, decision.asker, patterns)}
    for number, ticket in tickets.items():
        said = {"by": caller.id, "reason": reason, "decision": decision.id}
        put_refusal(rows, number, said, REFUSAL_KEPT)
        withdraw(rows, ticket, f"{caller.id} refused it" + _because(reason))
    tell(rows, decision.data["holder"], decision, KEPT, caller.id, reason)


def _because(reason: str) -> str:
    return f": {reason}" if reason else ""


def refusal(rows: Rows, ticket: int, conflicts: Sequence[Conflict]) -> Denied | None:
    """Return the denial for a ticket that a human refused."""
    said = get_refusal(rows, ticket)
    if said is None:
        return None
    return Denied(
        tuple(conflicts[:SHOWN]), "refused", (), said["decision"], said["by"], said["reason"]
    )
