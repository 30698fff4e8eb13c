"""Who works here, what is held and who waits, at one moment: all from one snapshot."""

from __future__ import annotations

from dibs.core.claims.agents import is_terminal
from dibs.services.claims.agents import AgentView, agents_in
from dibs.services.claims.service import held_in, waiting_in
from dibs.services.state.decisions import waiting_since
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.rules import Held, Waiter
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store


class Overview(Record):
    """A project at one moment."""

    now: float
    claims: list[Held]
    queue: list[Waiter]
    #: Those that work; the others are only counted.
    agents: list[AgentView]
    ended: int
    #: Since when each decision waits that waits for somebody, the oldest first.
    undecided: list[float]


def overview(store: Store, agent: str = "") -> Overview:
    """Look at the project, or at what concerns one agent."""

    def step(rows: Rows) -> Overview:
        agents = [seen for seen in agents_in(rows) if agent in {"", seen.agent.id}]
        working = [seen for seen in agents if not is_terminal(seen.agent.status)]
        return Overview(
            rows.now,
            [held for held in held_in(rows) if agent in {"", held.claim.agent}],
            [waiter for waiter in waiting_in(rows) if agent in {"", waiter.ticket.agent}],
            working,
            len(agents) - len(working),
            waiting_since(rows),
        )

    return store.look(step)
