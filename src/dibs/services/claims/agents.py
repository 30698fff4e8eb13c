"""Register, report, and end agents."""

from __future__ import annotations

from functools import partial

from dibs.core.claims.agents import (
    HUMAN,
    PROCESS_DIED,
    Agent,
    AgentStatus,
    Beat,
    Caller,
    activity,
    check_acts_for,
    check_own_id,
    check_parent,
    check_readmits,
    check_role,
    current_status,
    family,
    is_terminal,
)
from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import Lost, check_text
from dibs.core.text.names import check_agent_id
from dibs.errors import BadInput, NotFound
from dibs.services.claims.holdings import give_back
from dibs.services.state.own_claims import claims_of
from dibs.services.state.presence import admit, arrive, expire, lose, offer_work, role_of, withdraw
from dibs.services.state.sessions import guarded_since, runs_here, session_of
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Any

    from dibs.core.claims.rules import Claim
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store


#: Free text that an agent reports about itself.
_TEXTS = ("task", "model", "name", "role")


class AgentView(Record):
    """An agent as listings show it."""

    agent: Agent
    #: Its last call, or when it started if it has ended.
    last_seen: float
    silent_for: float
    claims: int
    #: The dialect of the hooks that guard it; empty for an agent that is not guarded.
    guarded: str = ""
    #: Whether its process on this machine has ended.
    dead: bool = False

    def activity(self, ttl: float) -> str:
        """Return what the agent does at the moment, given the project's ttl."""
        # The process of a guarded agent is visible, unless it died before its first hook was done.
        agent, guarded = self.agent, bool(self.guarded and self.agent.pid)
        silent, ended = self.silent_for, agent.ended
        return activity(agent.status, silent, ttl, dead=self.dead, guarded=guarded, ended=ended)


class Agents:
    """Register agents, take their reports, and end them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def join(self, agent: Agent, caller: Caller | None = None) -> Agent:
        """Register an agent, or start one again that has ended; a human may join too.

        ``caller`` is who registers it, by default the agent itself. Only a human can let a stopped agent back
        in, or change the parent of a known one.
        """
        who = caller or Caller(agent.id)
        check_own_id(check_agent_id(agent.id), human=who.human)
        check_role(agent.role, human=who.human)
        if agent.parent:
            check_agent_id(agent.parent)
        texts: dict[str, Any] = {key: check_text(getattr(agent, key), key) for key in _TEXTS}
        words = agent._replace(**texts)

        def step(rows: Rows) -> Agent:
            known = rows.agent(agent.id)
            check_readmits(who, known)
            if agent.parent:
                _check_family(rows, agent, known, who)
            name = words.name or (known.name if known else words.id)
            # Only a human takes an agent away from its parent.
            parent = agent.parent or (known.parent if known and not who.from_human else "")
            joined = words._replace(name=name, parent=parent, started=rows.now)
            if rows.beat(agent.id) is not None and known is not None:
                joined = joined._replace(started=known.started)
                arrive(rows, Caller(agent.id, agent.role))
            admit(rows, joined)
            offer_work(rows, joined.id)
            return joined

        return self._store.apply(step)

    def beat(self, caller: Caller) -> Beat:
        """Send a heartbeat."""
        return self._store.apply(lambda rows: arrive(rows, caller))

    def keep(self, caller: Caller) -> None:
        """Send a heartbeat if the caller holds claims; it does not join by that."""

        def holds(rows: Rows) -> bool:
            beat = rows.beat(caller.id)
            return beat is not None and beat.claims > 0

        if self._store.look(holds):
            self.beat(caller)

    def report(self, caller: Caller, *, note: str = "", **changes: Any) -> Agent:
        """Update the caller's status, task, model, context, name, or role."""
        _check_changes(changes)
        check_role(changes.get("role") or "", human=caller.human)
        words = check_text(note, "note") if note else ""

        def step(rows: Rows) -> Agent:
            beat = arrive(rows, caller)
            agent = _known(rows, caller.id)._replace(**changes)
            rows.put_agent(agent)
            rows.put_beat(caller.id, beat._replace(role=agent.role))
            kind = Kind.STATUS_CHANGE if "status" in changes else Kind.PROGRESS_UPDATE
            said = [words] if words else [f"{key} {value}" for key, value in changes.items()]
            summary = f"{caller.id}: {', '.join(said) or 'no change'}"
            rows.emit(caller.id, agent.role, kind, summary, **changes)
            return agent

        return self._store.apply(step)

    def leave(
        self, caller: Caller, *, status: str = AgentStatus.EXITED, note: str = ""
    ) -> list[Claim]:
        """End the caller's session and release all its claims."""
        if status not in {AgentStatus.EXITED, AgentStatus.COMPLETED, AgentStatus.FAILED}:
            message = f"unknown status {status} (use exited, completed, or failed)"
            raise BadInput(message, code="STATUS", field="status")
        words = check_text(note, "note") if note else ""

        def step(rows: Rows) -> list[Claim]:
            agent = rows.agent(caller.id)
            if agent is None or rows.beat(caller.id) is None:
                raise _unknown(caller.id)
            beat = arrive(rows, caller)
            filed = claims_of(rows, caller.id)
            give_back(rows, caller.id, beat, filed)
            end_agent(rows, agent, status, words)
            rows.emit(
                caller.id, agent.role, Kind.AGENT_EXITED,
                f"{caller.id} {status}" + (f": {words}" if words else ""), status=status,
            )  # fmt: skip
            return [claim for _, claim in filed]

        return self._store.apply(step)

    def stop(
        self,
        caller: Caller,
        target: str,
        *,
        reason: str = "",
        apart: Container[str] = (),
    ) -> list[str]:
        """Stop an agent and its subagents, ``apart`` from some, and end their claims; return their ids.

        An agent may only stop itself and its subagents.
        """
        words = check_text(reason, "reason") if reason else ""

        def step(rows: Rows) -> list[str]:
            if target not in {caller.id, caller.issuer} and not caller.by:
                arrive(rows, caller)
            agents = {agent.id: agent for agent in rows.agents()}
            if target not in agents:
                raise _unknown(target)
            parents = {agent.id: agent.parent for agent in agents.values()}
            check_acts_for(caller, target, parents, f"dibs agent stop {target}")
            members = family(target, parents)
            stopped = [
                name
                for name in members
                if name not in apart and not is_terminal(agents[name].status)
            ]
            for name in reversed(stopped):
                _terminate(rows, agents[name], caller, words)
            return stopped

        return self._store.apply(step)

    def all(self, *, ended: bool = True) -> list[AgentView]:
        """Return the agents, those that have not ended first."""
        agents = self._store.look(partial(agents_in, ttl=self._store.config.ttl))
        return [seen for seen in agents if ended or not is_terminal(seen.agent.status)]

    def show(self, agent: str) -> tuple[AgentView, list[Lost]]:
        """Return one agent and its lost claims."""

        def step(rows: Rows) -> tuple[AgentView, list[Lost]]:
            count = _live_claims(rows).get(agent, 0)
            seen = view_of(rows, _known(rows, agent), count, self._store.config.ttl)
            return seen, [lost for _, lost in rows.lost(agent)]

        return self._store.look(step)

    def sweep(self) -> int:
        """Drop every expired claim and notify its owner; return how many."""

        def step(rows: Rows) -> int:
            dead = [(key, claim) for key, claim in rows.claims() if not rows.is_live(claim)]
            for key, claim in dead:
                expire(rows, key, claim)
            return len(dead)

        return self._store.apply(step)


def agents_in(rows: Rows, ttl: float) -> list[AgentView]:
    """Return every agent with its liveness, those that have not ended first."""
    counts = _live_claims(rows)
    seen = [view_of(rows, agent, counts.get(agent.id, 0), ttl) for agent in rows.agents()]
    return sorted(seen, key=lambda s: (is_terminal(s.agent.status), s.agent.id))


def _check_family(rows: Rows, agent: Agent, known: Agent | None, who: Caller) -> None:
    """Check a parent: only a human, or an agent above both, gives a known agent another parent.

    A new agent may name its parent, but not one whose session runs: the hooks report its subagents.
    """
    if rows.agent(agent.parent) is None:
        raise _unknown(agent.parent)
    parents = {one.id: one.parent for one in rows.agents()}
    check_parent(agent.id, agent.parent, parents)
    what = f"dibs agent join --agent {agent.id} --parent {agent.parent}"
    if known is not None and known.parent != agent.parent:
        check_acts_for(who, agent.id, parents, what)
    elif known is not None or not _is_running(rows, agent.parent):
        return
    check_acts_for(who, agent.parent, parents, what)


def _is_running(rows: Rows, agent: str) -> bool:
    found = session_of(rows, agent)
    return found is not None and runs_here(found[1])


def _check_changes(changes: dict[str, Any]) -> None:
    status = changes.get("status")
    if status is not None and status not in {AgentStatus.RUNNING, AgentStatus.IDLE}:
        message = f"unknown status {status!r} (use running or idle)"
        raise BadInput(message, code="STATUS", field="status")
    context = changes.get("context")
    if context is not None and not 0 <= context <= 1:
        message = f"context use must be from 0 to 1, not {context}"
        raise BadInput(message, code="CONTEXT", field="context")
    for key in _TEXTS:
        if changes.get(key):
            changes[key] = check_text(changes[key], key)


def _live_claims(rows: Rows) -> dict[str, int]:
    """Count each agent's live claims; a beat also counts expired ones."""
    counts: dict[str, int] = {}
    for _, claim in rows.claims():
        if rows.is_live(claim):
            counts[claim.agent] = counts.get(claim.agent, 0) + 1
    return counts


def _as_seen(rows: Rows, agent: Agent, ttl: float) -> Agent:
    """Return ``agent`` with its status now: it may have been killed since it last reported one."""
    if is_terminal(agent.status):
        return agent
    dead = rows.is_gone(agent.id)
    silent_for = rows.now - (rows.active(agent.id) or agent.started)
    status = current_status(agent.status, silent_for, ttl, dead=dead)
    return agent._replace(status=status, ended=PROCESS_DIED if dead else agent.ended)


def view_of(rows: Rows, agent: Agent, claims: int, ttl: float) -> AgentView:
    """Return an agent with its liveness."""
    last_seen = rows.active(agent.id) or agent.started
    dead = not is_terminal(agent.status) and rows.is_gone(agent.id)
    _, dialect = guarded_since(rows, agent.id)
    silent_for = rows.now - last_seen
    return AgentView(_as_seen(rows, agent, ttl), last_seen, silent_for, claims, dialect, dead)


def _known(rows: Rows, agent: str) -> Agent:
    known = rows.agent(agent)
    if known is None:
        raise _unknown(agent)
    return known


def _unknown(agent: str) -> NotFound:
    return NotFound(
        f"unknown agent {agent}", code="NO_AGENT", hint="`dibs agent ls` lists the agents"
    )


def _terminate(rows: Rows, agent: Agent, caller: Caller, reason: str) -> None:
    by = caller.issuer
    role = HUMAN if caller.from_human else role_of(rows, by)
    for key, claim in claims_of(rows, agent.id):
        lose(rows, key, claim, Lost(claim.pattern, claim.token, "terminated", rows.now, by, reason))
    end_agent(rows, agent, AgentStatus.TERMINATED, f"{reason} (by {by})" if reason else f"by {by}")
    rows.emit(
        by, role, Kind.AGENT_TERMINATED,
        f"{by} stopped {agent.id}" + (f": {reason}" if reason else ""),
        toAgentId=agent.id, toRole=agent.role,
    )  # fmt: skip


def end_agent(rows: Rows, agent: Agent, status: str, why: str) -> None:
    """Mark an agent as ended and drop its tickets; its claims must be dropped already."""
    for ticket in [ticket for ticket in rows.tickets() if ticket.agent == agent.id]:
        withdraw(rows, ticket, "its agent ended")
    rows.drop_losses(agent.id)
    rows.put_agent(agent._replace(status=status, ended=why))
    rows.drop_beat(agent.id)
