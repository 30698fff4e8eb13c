"""How sessions end: by their own word, or because their process is gone.

What is committed or unchanged is given back. What is not committed is half-done: a copy of it is kept, and
whoever claims it next is told.
"""

from __future__ import annotations

from dibs.ancestry import realm
from dibs.core.agents import Caller, Status
from dibs.core.ledger import Kind
from dibs.services.agents import end_agent
from dibs.services.filed import claims_of
from dibs.services.holdings import give_back
from dibs.services.presence import arrive
from dibs.services.sessions import drop_seat, forget_process, is_gone, key_of, seat_of, seats

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.core.toolcalls import Heard
    from dibs.repository import Repository
    from dibs.services.book import Book
    from dibs.services.desk import Desk
    from dibs.services.sessions import Seat


class Departures:
    """Ends sessions of agents."""

    def __init__(self, desk: Desk, repository: Repository) -> None:
        self._desk = desk
        self._repository = repository

    def end(self, heard: Heard) -> list[str]:
        """End the session of whoever speaks, with all subagents in it; return the agents that left."""
        key = key_of(heard)

        def step(book: Book) -> list[Seat]:
            left = [
                (row, seat)
                for row, seat in seats(book, key)
                if row == key or row.startswith(f"{key}/")
            ]
            for row, seat in reversed(left):
                _leave(book, row, seat, "its session ended")
            return [seat for _, seat in left]

        return self._forget(self._desk.apply(step))

    def gone(self, names: Iterable[str] | None = None) -> list[str]:
        """End the agents of this machine whose process is gone; of these ``names``, or of all."""
        here, wanted = realm(), None if names is None else set(names)

        def look(book: Book) -> list[tuple[str, Seat]]:
            if wanted is None:
                every = list(seats(book))
            else:
                every = [found for name in wanted if (found := seat_of(book, name)) is not None]
            return [(row, seat) for row, seat in every if is_gone(seat, here)]

        found = self._desk.look(look)
        if not found:
            return []

        def step(book: Book) -> list[Seat]:
            left = [(row, seat) for row, seat in look(book) if (row, seat) in found]
            for row, seat in reversed(left):
                _leave(book, row, seat, "its process is gone")
            return [seat for _, seat in left]

        return self._forget(self._desk.apply(step))

    def _forget(self, left: list[Seat]) -> list[str]:
        for seat in left:
            forget_process(self._repository.state, seat)
        return [seat.id for seat in left]


def _leave(book: Book, row: str, seat: Seat, why: str) -> None:
    """End an agent: all that it holds is given back."""
    drop_seat(book, row, seat)
    agent = book.agent(seat.id)
    if agent is None or book.beat(seat.id) is None:
        return
    beat = arrive(book, Caller(seat.id, agent.role))
    give_back(book, seat.id, beat, claims_of(book, seat.id))
    end_agent(book, agent, Status.EXITED, why)
    book.emit(
        seat.id, agent.role, Kind.AGENT_EXITED, f"{seat.id} exited: {why}", status=Status.EXITED
    )
