"""The claim that ``dibs doctor --prove`` holds while it tests the guards, and its removal afterwards."""

from __future__ import annotations

import os
from secrets import token_hex

from dibs.core.claims.agents import Agent, AgentStatus, Caller, is_terminal
from dibs.core.claims.probes import (
    AGENT_DIGITS,
    PROBE_AGENT,
    PROBE_FILE,
    PROBE_SESSION,
    SESSION_DIGITS,
    is_probe_agent,
)
from dibs.core.claims.rules import Granted
from dibs.core.patterns.pattern import parse
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

#: How long the claim of a killed test lasts, in seconds.
_TTL = 120.0
REASON = "dibs doctor is testing the guards"


class TrialClaim:
    """Hold a claim on a file that does not exist, for a test agent; remove both on exit."""

    def __init__(self, store: Store, state: str) -> None:
        self._store = store
        self._state = state
        mark = token_hex(AGENT_DIGITS // 2)
        self.path = f"{PROBE_FILE}{mark}"
        self.holder = f"{PROBE_AGENT}{mark}"
        #: The session of the agents whose guards are tested; short enough to fit whole in their names.
        self.session = f"{PROBE_SESSION}{mark[:SESSION_DIGITS]}"

    def __enter__(self) -> TrialClaim:
        host = os.uname().nodename if hasattr(os, "uname") else ""
        caller = Caller(self.holder, host=host)
        pattern = parse(self.path, fold_case=self._store.fold_case)
        ttl = max(_TTL, self._store.engine.shortest_ttl)
        answer = Claims(self._store).claim(caller, [pattern], ttl=ttl, reason=REASON)
        if not isinstance(answer, Granted):
            raise Unavailable(f"cannot test the guards: the claim on {self.path} was not granted")
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
    """Remove test agents from the store; their ledger entries stay, and views skip them."""
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
    """Return the test agents that a killed test left in the store and whose claims have expired."""
    return [
        seen.agent
        for seen in Agents(store).all()
        if is_probe_agent(seen.agent.id) and not seen.claims
    ]
