"""A claim that is made only to see others refused, by an agent that is forgotten afterwards."""

from __future__ import annotations

import os
from secrets import token_hex

from dibs.core.claims.agents import Agent, AgentStatus, Caller, is_terminal
from dibs.core.claims.rules import Granted
from dibs.core.patterns.pattern import parse
from dibs.core.toolcalls.coverage import SCRATCH_AGENT, SCRATCH_SESSION, is_scratch
from dibs.errors import Unavailable
from dibs.services.claims.agents import Agents
from dibs.services.claims.service import Claims
from dibs.services.guard.sessions import forget_process
from dibs.services.state.sessions import drop_guarded, drop_session, session_of, sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from dibs.services.state.rows import Rows
    from dibs.services.state.sessions import SessionRow
    from dibs.services.state.store import Store

#: What every scratch file begins with.
PREFIX = ".dibs-prove-"
#: Nothing that is left behind by a kill lasts longer, in seconds.
_TTL = 120.0
REASON = "dibs doctor tries its guards"


class TrialClaim:
    """A file that does not exist, held by an agent that does not work; as a block, nothing of it stays."""

    def __init__(self, store: Store, state: str) -> None:
        self._store = store
        self._state = state
        mark = token_hex(4)
        self.path = f"{PREFIX}{mark}"
        self.holder = f"{SCRATCH_AGENT}{mark}"
        #: What agents that are tried here are called: all are forgotten with it.
        self.session = f"{SCRATCH_SESSION}{mark[:3]}"  # whole in the name of its agent

    def __enter__(self) -> TrialClaim:
        host = os.uname().nodename if hasattr(os, "uname") else ""
        caller = Caller(self.holder, host=host)
        pattern = parse(self.path, fold_case=self._store.fold_case)
        ttl = max(_TTL, self._store.engine.shortest_ttl)
        answer = Claims(self._store).claim(caller, [pattern], ttl=ttl, reason=REASON)
        if not isinstance(answer, Granted):
            raise Unavailable(f"nothing can be proved: even {self.path} cannot be claimed")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        tried = self._store.look(
            lambda rows: [session.id for key, session in sessions(rows) if self.session in key]
        )
        agents = [seen.agent for seen in Agents(self._store).all()]
        mine = [a for a in agents if a.id in tried or a.id.startswith(self.holder)]
        forget(self._store, self._state, mine)


def forget(store: Store, state: str, agents: Iterable[Agent]) -> list[str]:
    """End scratch agents and take them off the roster; the ledger keeps what they did."""
    names = []
    for agent in agents:
        names.append(agent.id)
        if not is_terminal(agent.status):
            Agents(store).leave(Caller(agent.id, agent.role), status=AgentStatus.COMPLETED)

    def step(rows: Rows) -> list[SessionRow]:
        left = []
        for name in names:
            rows.drop_agent(name)
            drop_guarded(rows, name)
            found = session_of(rows, name)
            if found is not None:
                drop_session(rows, *found)
                left.append(found[1])
        return left

    for session in store.apply(step) if names else ():
        forget_process(state, session)
    return names


def left_behind(store: Store) -> list[Agent]:
    """Return scratch agents that a killed proof has left on the roster, and whose claims have run out."""
    return [
        seen.agent for seen in Agents(store).all() if is_scratch(seen.agent.id) and not seen.claims
    ]
