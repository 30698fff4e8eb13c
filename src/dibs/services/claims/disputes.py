"""Both sides of a conflict that a human decides, and the queue."""

from __future__ import annotations

from dibs.core.claims.rules import Ask
from dibs.core.patterns.pattern import overlap
from dibs.services.claims.escalation import asks_between, still_open
from dibs.services.claims.views import held_in, waiting_in
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.agents import Agent
    from dibs.core.claims.rules import Held, Waiter
    from dibs.core.talk.decisions import Decision
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store


class DisputeSide(Record):
    """One of the two agents in a conflict."""

    id: str
    #: None if the agent is no longer in the store.
    agent: Agent | None
    #: Its last heartbeat, 0 if it has ended.
    seen: float


class Sides(Record):
    """What a human needs to know to decide."""

    now: float
    #: Whether the conflict still exists.
    open: bool
    holder: DisputeSide
    #: The claims in question that are still held.
    held: tuple[Held, ...]
    asker: DisputeSide
    #: The release requests between the two, with the replies.
    asks: tuple[Ask, ...]
    #: All agents that wait for any of it.
    queue: tuple[Waiter, ...]


def both_sides(store: Store, decision: Decision) -> Sides | None:
    """Return both sides of a conflict from one snapshot; None for any other decision."""
    if not decision.conflict:
        return None
    return store.look(lambda rows: sides(rows, decision))


def sides(rows: Rows, decision: Decision) -> Sides:
    """Return both sides of a conflict."""
    data = decision.data
    wanted = [rows.pattern(text) for text in data["wanted"]]
    pending = still_open(rows, decision)
    held = [
        h
        for h in (held_in(rows) if pending else ())
        if h.claim.agent == data["holder"] and h.claim.token in data["tokens"]
    ]
    queue = [
        waiter
        for waiter in waiting_in(rows)
        if any(
            overlap(rows.pattern(t), p) is not None for t in waiter.ticket.patterns for p in wanted
        )
    ]
    about = [h.claim.pattern for h in held]
    asks = asks_between(rows, data["holder"], decision.asker, about)
    if not pending:
        asks = [Ask(**record) for record in data["asks"]]
    return Sides(
        rows.now, pending, _side(rows, data["holder"]), tuple(held),
        _side(rows, decision.asker), tuple(asks), tuple(queue),
    )  # fmt: skip


def _side(rows: Rows, agent: str) -> DisputeSide:
    return DisputeSide(agent, rows.agent(agent), rows.active(agent))
