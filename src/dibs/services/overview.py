"""Who works here, what is held and who waits, at one moment: all from one snapshot."""

from __future__ import annotations

from dibs.core.values import Record
from dibs.services.agents import Seen, agents_in
from dibs.services.claims import Held, Waiter, held_in, waiting_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.services.book import Book
    from dibs.services.desk import Desk


class Overview(Record):
    """A project at one moment."""

    now: float
    claims: list[Held]
    queue: list[Waiter]
    agents: list[Seen]


def overview(desk: Desk, agent: str = "") -> Overview:
    """Look at the project, or at what concerns one agent."""

    def step(book: Book) -> Overview:
        return Overview(
            book.now,
            [h for h in held_in(book) if agent in {"", h.claim.agent}],
            [w for w in waiting_in(book) if agent in {"", w.ticket.agent}],
            [s for s in agents_in(book) if agent in {"", s.agent.id}],
        )

    return desk.look(step)
