"""A claim that is made only to see others refused, by an agent that is forgotten afterwards."""

from __future__ import annotations

import os
from secrets import token_hex

from dibs.core.agents import Agent, Caller, Status, is_terminal
from dibs.core.claims import Granted
from dibs.core.patterns import parse
from dibs.errors import Unavailable
from dibs.services.agents import Agents
from dibs.services.claims import Claims

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from dibs.services.book import Book
    from dibs.services.desk import Desk

#: What every scratch file and every scratch agent begins with.
PREFIX = ".dibs-prove-"
AGENT_PREFIX = "prove-"
#: Nothing that is left behind by a kill lasts longer, in seconds.
_TTL = 120.0
REASON = "dibs doctor tries its guards"


class Scratch:
    """A file that does not exist, held by an agent that does not work; as a block, nothing of it stays."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        mark = token_hex(4)
        self.path = f"{PREFIX}{mark}"
        self.holder = f"{AGENT_PREFIX}{mark}"
        #: What agents that are tried here are called: all are forgotten with it.
        self.session = f"{mark}-prove"

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
        mark = self.holder.removeprefix(AGENT_PREFIX)
        forget(self._desk, [self.holder], containing=mark)


def forget(desk: Desk, agents: Iterable[str] = (), *, containing: str = "") -> list[str]:
    """End scratch agents and take them off the roster; the ledger keeps what they did."""
    known = {seen.agent.id: seen.agent for seen in Agents(desk).all()}
    wanted = {agent for agent in agents if agent in known}
    if containing:
        wanted |= {agent for agent in known if containing in agent}
    for agent in sorted(wanted, reverse=True):
        if not is_terminal(known[agent].status):
            Agents(desk).leave(Caller(agent, known[agent].role), status=Status.COMPLETED)

    def step(book: Book) -> None:
        for agent in wanted:
            book.txn.delete(f"agent/{agent}")

    if wanted:
        desk.apply(step)
    return sorted(wanted)


def left_behind(agents: Iterable[Agent]) -> list[str]:
    """Return scratch agents that a killed proof has left on the roster."""
    return sorted(agent.id for agent in agents if agent.id.startswith(AGENT_PREFIX))
