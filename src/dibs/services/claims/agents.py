"""Agents: joining, signs of life, reports, leaving, and being stopped with all below."""

from __future__ import annotations

from dibs.core.claims.agents import (
    Agent,
    Beat,
    Caller,
    Status,
    check_own_id,
    check_parent,
    check_role,
    family,
    is_terminal,
)
from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import Lost, check_text, live
from dibs.core.text.names import check_agent_id
from dibs.errors import BadInput, NotFound
from dibs.services.claims.holdings import give_back
from dibs.services.state.guarded_agents import guarded_since
from dibs.services.state.own_claims import claims_of
from dibs.services.state.presence import admit, arrive, expire, lose, offer_work, role_of, withdraw
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.core.claims.rules import Claim
    from dibs.services.state.rows import Book
    from dibs.services.state.store import Desk


#: What an agent says of itself in words of its own.
_TEXTS = ("task", "model", "name", "role")


class Seen(Record):
    """An agent as a reader sees it."""

    agent: Agent
    #: When it last gave a sign of life; when it ended, for one that has.
    last_seen: float
    silent_for: float
    claims: int
    #: The dialect in which its tool calls come by our hooks; empty for an agent that is not guarded.
    guarded: str = ""


class Agents:
    """The use cases of an agent's life."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def join(self, agent: Agent, *, human: bool = False) -> Agent:
        """Let ``agent`` work here: a new one, or one that ended and starts again; a ``human`` may join."""
        check_own_id(check_agent_id(agent.id), human=human)
        check_role(agent.role, human=human)
        if agent.parent:
            check_agent_id(agent.parent)
        texts: dict[str, Any] = {key: check_text(getattr(agent, key), key) for key in _TEXTS}
        words = agent._replace(**texts)

        def step(book: Book) -> Agent:
            known = book.agent(agent.id)
            if agent.parent:
                _check_family(book, agent)
            name = words.name or (known.name if known else words.id)
            joined = words._replace(name=name, started=book.now)
            if book.beat(agent.id) is not None and known is not None:
                joined = joined._replace(started=known.started)
                arrive(book, Caller(agent.id, agent.role))
            admit(book, joined)
            offer_work(book, joined.id)
            return joined

        return self._desk.apply(step)

    def beat(self, caller: Caller) -> Beat:
        """Give a sign of life."""
        return self._desk.apply(lambda book: arrive(book, caller))

    def report(self, caller: Caller, *, note: str = "", **changes: Any) -> Agent:
        """Say what the caller does: any of status, task, model, context, name, role."""
        _check_changes(changes)
        check_role(changes.get("role") or "", human=caller.human)
        words = check_text(note, "note") if note else ""

        def step(book: Book) -> Agent:
            beat = arrive(book, caller)
            agent = _known(book, caller.id)._replace(**changes)
            book.put_agent(agent)
            book.put_beat(caller.id, beat._replace(role=agent.role))
            kind = Kind.STATUS_CHANGE if "status" in changes else Kind.PROGRESS_UPDATE
            said = [words] if words else [f"{key} {value}" for key, value in changes.items()]
            summary = f"{caller.id}: {', '.join(said) or 'is here'}"
            book.emit(caller.id, agent.role, kind, summary, **changes)
            return agent

        return self._desk.apply(step)

    def leave(self, caller: Caller, *, status: str = Status.EXITED, note: str = "") -> list[Claim]:
        """End the caller's session: everything that it holds is given back."""
        if status not in {Status.EXITED, Status.COMPLETED, Status.FAILED}:
            message = f"{status} is no way to leave: use exited, completed or failed"
            raise BadInput(message, code="STATUS", field="status")
        words = check_text(note, "note") if note else ""

        def step(book: Book) -> list[Claim]:
            agent = book.agent(caller.id)
            if agent is None or book.beat(caller.id) is None:
                raise _unknown(caller.id)
            beat = arrive(book, caller)
            filed = claims_of(book, caller.id)
            give_back(book, caller.id, beat, filed)
            end_agent(book, agent, status, words)
            book.emit(
                caller.id, agent.role, Kind.AGENT_EXITED,
                f"{caller.id} {status}" + (f": {words}" if words else ""), status=status,
            )  # fmt: skip
            return [claim for _, claim in filed]

        return self._desk.apply(step)

    def stop(self, caller: Caller, target: str, *, reason: str = "") -> list[str]:
        """Terminate an agent and all agents below it; their claims go. Return who was stopped."""
        words = check_text(reason, "reason") if reason else ""

        def step(book: Book) -> list[str]:
            if caller.id != target:
                arrive(book, caller)
            agents = {agent.id: agent for agent in book.agents()}
            if target not in agents:
                raise _unknown(target)
            members = family(target, {agent.id: agent.parent for agent in agents.values()})
            stopped = [name for name in members if not is_terminal(agents[name].status)]
            for name in reversed(stopped):
                _terminate(book, agents[name], caller.id, words)
            return stopped

        return self._desk.apply(step)

    def all(self, *, ended: bool = True) -> list[Seen]:
        """Return the agents, those that work first."""
        agents = self._desk.look(agents_in)
        return [seen for seen in agents if ended or not is_terminal(seen.agent.status)]

    def show(self, agent: str) -> tuple[Seen, list[Lost]]:
        """Return one agent, and the claims that it lost."""

        def step(book: Book) -> tuple[Seen, list[Lost]]:
            count = _live_claims(book).get(agent, 0)
            return _seen(book, _known(book, agent), count), [lost for _, lost in book.lost(agent)]

        return self._desk.look(step)

    def sweep(self) -> int:
        """Take off every claim that ran out, so that its holder is told; return how many."""

        def step(book: Book) -> int:
            dead = [
                (key, claim)
                for key, claim in book.claims()
                if not live(claim, book.seen(claim.agent), book.now)
            ]
            for key, claim in dead:
                expire(book, key, claim)
            return len(dead)

        return self._desk.apply(step)


def agents_in(book: Book) -> list[Seen]:
    """Return every agent with its liveness, those that work first."""
    counts = _live_claims(book)
    seen = [_seen(book, agent, counts.get(agent.id, 0)) for agent in book.agents()]
    return sorted(seen, key=lambda s: (is_terminal(s.agent.status), s.agent.id))


def _check_family(book: Book, agent: Agent) -> None:
    if book.agent(agent.parent) is None:
        raise _unknown(agent.parent)
    parents = {known.id: known.parent for known in book.agents()}
    check_parent(agent.id, agent.parent, parents)


def _check_changes(changes: dict[str, Any]) -> None:
    status = changes.get("status")
    if status is not None and status not in {Status.RUNNING, Status.IDLE}:
        message = f"{status!r} is no status to report: use running or idle, or leave"
        raise BadInput(message, code="STATUS", field="status")
    context = changes.get("context")
    if context is not None and not 0 <= context <= 1:
        message = f"context use {context} is not between 0 and 1"
        raise BadInput(message, code="CONTEXT", field="context")
    for key in _TEXTS:
        if changes.get(key):
            changes[key] = check_text(changes[key], key)


def _live_claims(book: Book) -> dict[str, int]:
    """Count the live claims of each agent: a beat also counts those that ran out unnoticed."""
    counts: dict[str, int] = {}
    for _, claim in book.claims():
        if live(claim, book.seen(claim.agent), book.now):
            counts[claim.agent] = counts.get(claim.agent, 0) + 1
    return counts


def _seen(book: Book, agent: Agent, claims: int) -> Seen:
    beat = book.beat(agent.id)
    last_seen = agent.started if beat is None else beat.seen
    _, dialect = guarded_since(book, agent.id)
    return Seen(agent, last_seen, book.now - last_seen, claims, dialect)


def _known(book: Book, agent: str) -> Agent:
    known = book.agent(agent)
    if known is None:
        raise _unknown(agent)
    return known


def _unknown(agent: str) -> NotFound:
    return NotFound(
        f"no agent {agent} works here", code="NO_AGENT", hint="`dibs agent ls` names those that do"
    )


def _terminate(book: Book, agent: Agent, by: str, reason: str) -> None:
    for key, claim in claims_of(book, agent.id):
        lose(book, key, claim, Lost(claim.pattern, claim.token, "terminated", book.now, by, reason))
    end_agent(book, agent, Status.TERMINATED, reason or f"by {by}")
    book.emit(
        by, role_of(book, by), Kind.AGENT_TERMINATED,
        f"{by} stopped {agent.id}" + (f": {reason}" if reason else ""),
        toAgentId=agent.id, toRole=agent.role,
    )  # fmt: skip


def end_agent(book: Book, agent: Agent, status: str, why: str) -> None:
    """Write an agent as one that has ended; its tickets go, its claims are gone already."""
    for ticket in [ticket for ticket in book.tickets() if ticket.agent == agent.id]:
        withdraw(book, ticket, "its agent ended")
    for key, _ in list(book.lost(agent.id)):
        book.txn.delete(key)
    book.put_agent(agent._replace(status=status, ended=why))
    book.drop_beat(agent.id)
