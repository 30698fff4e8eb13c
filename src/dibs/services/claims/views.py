"""Snapshots of a project: live claims, the queue, and the agents."""

from __future__ import annotations

from dibs.core.claims.agents import CONTINUES, STOPPED, is_terminal
from dibs.core.claims.rules import Held, Waiter, ticket_deadline
from dibs.services.state.facts import may_take_over
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.core.claims.agents import Agent
    from dibs.core.claims.rules import Ask
    from dibs.services.claims.agents import AgentView
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store


def held_in(rows: Rows, agent: str = "") -> Iterable[Held]:
    """Yield every live claim, of one agent or of all, with its release requests."""
    asks: dict[tuple[str, str], list[Ask]] = {}
    for _, ask in rows.asks():
        asks.setdefault((ask.holder, rows.pattern(ask.pattern).key), []).append(ask)
    for _, claim in rows.claims(agent):
        ends = rows.deadline(claim)
        if rows.now < ends:
            asked = asks and asks.get((claim.agent, rows.pattern(claim.pattern).key))
            running = rows.is_while_running(claim)
            yield Held(claim, ends, ends - rows.now, tuple(asked or ()), running)


def waiting_in(rows: Rows) -> Iterable[Waiter]:
    """Yield every live ticket in queue order."""
    place = 0
    for ticket in rows.tickets():
        left = ticket_deadline(ticket, rows.seen(ticket.agent)) - rows.now
        if left > 0:
            place += 1
            yield Waiter(ticket, place, left)


def queue_in(rows: Rows, held: Sequence[Held]) -> list[Waiter]:
    """Return every live ticket in queue order, with what blocks it; ``held`` are all live claims."""
    queue = list(waiting_in(rows))
    if not queue:
        return queue
    from dibs.core.claims.blocking import Blockers

    blockers = Blockers(held, rows.pattern, lambda agent, claim: may_take_over(rows, agent, claim))
    return blockers.of_queue(queue)


class Overview(Record):
    """A project at one moment."""

    now: float
    #: The number of the newest ledger entry; 0 if there is none.
    seq: int
    claims: list[Held]
    queue: list[Waiter]
    #: Agents and people that have not ended.
    agents: list[AgentView]
    #: How many have ended; one that works on under another id has not.
    ended: int
    #: When each pending decision was asked for, the oldest first.
    undecided: list[float]
    #: Ended agents that someone stopped or whose process died.
    stopped: list[AgentView]
    #: The project's ttl, in seconds.
    ttl: float


def overview(store: Store, agent: str = "") -> Overview:
    """Return a snapshot of the project, or of one agent's part."""
    return store.look(lambda rows: _overview(rows, store.config.ttl, agent))


def _overview(rows: Rows, ttl: float, agent: str) -> Overview:
    from dibs.services.claims.agents import agents_in
    from dibs.services.claims.escalation import undecided

    newest = next(rows.events(newest_first=True), None)
    everything = list(held_in(rows))
    held = [held for held in everything if agent in {"", held.claim.agent}]
    found = [seen for seen in agents_in(rows, ttl) if agent in {"", seen.agent.id}]
    known = with_tasks((seen.agent for seen in found), held)
    agents = [s._replace(agent=a) for s, a in zip(found, known, strict=True)]
    working = [seen for seen in agents if not is_terminal(seen.agent.status)]
    return Overview(
        rows.now,
        0 if newest is None else newest.seq,
        held,
        [waiter for waiter in queue_in(rows, everything) if agent in {"", waiter.ticket.agent}],
        working,
        sum(not s.agent.ended.endswith(CONTINUES) for s in agents if s not in working),
        [decision.at for decision in undecided(rows)],
        [s for s in agents if s not in working and (s.dead or s.activity(ttl) == STOPPED)],
        ttl,
    )


def with_tasks(agents: Iterable[Agent], held: Iterable[Held]) -> list[Agent]:
    """Return agents with the task that each one holds, if any; of several, the first."""
    tasks: dict[str, str] = {}
    for one in held:
        scheme, _, name = one.claim.pattern.partition(":")
        if scheme == "task" and name:
            tasks.setdefault(one.claim.agent, name)
    return [agent._replace(task=tasks.get(agent.id, agent.task)) for agent in agents]
