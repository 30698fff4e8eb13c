"""A claim that is made only to see others refused, by an agent that is forgotten afterwards."""

from __future__ import annotations

import os
from secrets import token_hex

from dibs.core.claims.agents import Agent, Caller, Status, is_terminal
from dibs.core.claims.rules import Granted
from dibs.core.patterns.pattern import parse
from dibs.core.toolcalls.coverage import SCRATCH_AGENT, SCRATCH_SESSION, is_scratch
from dibs.errors import Unavailable
from dibs.services.claims.agents import Agents
from dibs.services.claims.service import Claims
from dibs.services.guard.sessions import drop_seat, forget_process, seat_of, seats
from dibs.services.state.guarded_agents import GUARDED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from dibs.services.guard.sessions import Seat
    from dibs.services.state.rows import Book
    from dibs.services.state.store import Desk

#: What every scratch file begins with.
PREFIX = ".dibs-prove-"
#: Nothing that is left behind by a kill lasts longer, in seconds.
_TTL = 120.0
REASON = "dibs doctor tries its guards"


class Scratch:
    """A file that does not exist, held by an agent that does not work; as a block, nothing of it stays."""

    def __init__(self, desk: Desk, state: str) -> None:
        self._desk = desk
        self._state = state
        mark = token_hex(4)
        self.path = f"{PREFIX}{mark}"
        self.holder = f"{SCRATCH_AGENT}{mark}"
        #: What agents that are tried here are called: all are forgotten with it.
        self.session = f"{SCRATCH_SESSION}{mark[:3]}"  # whole in the name of its agent

    def __enter__(self) -> Scratch:
        host = os.uname().nodename if hasattr(os, "uname") else ""
        caller = Caller(self.holder, host=host)
        pattern = parse(self.path, fold_case=self._desk.fold_case)
        ttl = max(_TTL, self._desk.engine.shortest_ttl)
        answer = Claims(self._desk).claim(caller, [pattern], ttl=ttl, reason=REASON)
        if not isinstance(answer, Granted):
            raise Unavailable(f"nothing can be proved: even {self.path} cannot be claimed")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        sat = self._desk.look(
            lambda book: [seat.id for key, seat in seats(book) if self.session in key]
        )
        agents = [seen.agent for seen in Agents(self._desk).all()]
        mine = [a for a in agents if a.id in sat or a.id.startswith(self.holder)]
        forget(self._desk, self._state, mine)


def forget(desk: Desk, state: str, agents: Iterable[Agent]) -> list[str]:
    """End scratch agents and take them off the roster; the ledger keeps what they did."""
    names = []
    for agent in agents:
        names.append(agent.id)
        if not is_terminal(agent.status):
            Agents(desk).leave(Caller(agent.id, agent.role), status=Status.COMPLETED)

    def step(book: Book) -> list[Seat]:
        left = []
        for name in names:
            book.txn.delete(f"agent/{name}")
            book.txn.delete(f"{GUARDED}{name}")
            found = seat_of(book, name)
            if found is not None:
                drop_seat(book, *found)
                left.append(found[1])
        return left

    for seat in desk.apply(step) if names else ():
        forget_process(state, seat)
    return names


def left_behind(desk: Desk) -> list[Agent]:
    """Return scratch agents that a killed proof has left on the roster, and whose claims have run out."""
    return [
        seen.agent for seen in Agents(desk).all() if is_scratch(seen.agent.id) and not seen.claims
    ]
