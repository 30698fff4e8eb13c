"""Find the lifetimes of agents in ledger entries.

Pure. An agent whose entries begin without joining joined before the first known entry.
"""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.history.spans import AgentSpan, StatusChange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.core.claims.agents import Agent
    from dibs.core.claims.ledger import Entry

#: Entries that name an agent without its having acted.
_NOT_ITS_ACT = frozenset(
    {Kind.LOCK_EXPIRED, Kind.LOCK_UNQUEUED, Kind.LOCK_TURN, Kind.WORK_SALVAGED}
)
_JOINS = frozenset({Kind.AGENT_JOINED, Kind.SUB_AGENT_SPAWNED})
#: The roles of Dibs itself.
_NOBODY = frozenset({"store", "dibs", "system", "server"})
CRASHED, TERMINATED = "crashed", "terminated"


class _Life:
    """An open lifetime."""

    __slots__ = ("begin", "changes", "crashed", "early", "parent", "role")

    def __init__(self, begin: float, role: str, parent: str, *, early: bool) -> None:
        self.begin, self.role, self.parent, self.early = begin, role, parent, early
        self.changes: list[StatusChange] = []
        self.crashed = False


class Lives:
    """The lifetimes of a ledger, open and ended."""

    def __init__(self) -> None:
        #: The time of the first known entry.
        self.first = 0.0
        #: The time of the last entry of each agent.
        self.last: dict[str, float] = {}
        self._open: dict[str, _Life] = {}
        self._ended: list[AgentSpan] = []

    def heard(self, entry: Entry) -> None:
        """Note an entry of an agent; if it is the first one, the agent joined earlier."""
        agent, kind = entry.agent, entry.kind
        if kind in _NOT_ITS_ACT:
            return
        if agent not in self.last and agent and entry.role not in _NOBODY and kind not in _JOINS:
            self._open[agent] = _Life(self.first, entry.role, "", early=True)
        self.last[agent] = entry.at

    def joined(self, entry: Entry) -> None:
        """Begin a lifetime; joining again changes nothing but the role and the parent."""
        parent = entry.details.get("parent")
        name = parent if isinstance(parent, str) else ""
        life = self._open.get(entry.agent)
        if life is None:
            self._open[entry.agent] = _Life(entry.at, entry.role, name, early=False)
        else:
            life.role, life.parent = entry.role, name or life.parent

    def reported(self, entry: Entry) -> None:
        """Note what an agent said about itself."""
        life = self._open.get(entry.agent)
        status, task = entry.details.get("status"), entry.details.get("task")
        if life is not None and (isinstance(status, str) or isinstance(task, str)):
            before = life.changes[-1] if life.changes else StatusChange(0.0, "running", "")
            change = StatusChange(
                entry.at,
                status if isinstance(status, str) else before.status,
                task if isinstance(task, str) else before.task,
            )
            life.changes.append(change)

    def crashed(self, entry: Entry) -> None:
        """Note that an agent's process died; its exit follows."""
        life = self._open.get(entry.agent)
        if life is not None:
            life.crashed = True

    def exited(self, entry: Entry) -> None:
        """End a lifetime."""
        status = entry.details.get("status")
        self._end(entry.agent, entry.at, status if isinstance(status, str) else "exited", "")

    def terminated(self, entry: Entry, agent: str) -> None:
        """End the lifetime of an agent that was stopped."""
        self._end(agent, entry.at, TERMINATED, entry.agent)

    def _end(self, agent: str, at: float, how: str, by: str) -> None:
        life = self._open.pop(agent, None)
        if life is not None:
            self._ended.append(self._span(agent, life, at, CRASHED if life.crashed else how, by))

    def _span(self, agent: str, life: _Life, end: float | None, how: str, by: str) -> AgentSpan:
        last = self.last.get(agent, life.begin) if end is None else end
        return AgentSpan(
            agent, life.role, life.parent, life.begin, end, life.early, how, by,
            tuple(life.changes), last,
        )  # fmt: skip

    def spans(self, now: Mapping[str, tuple[Agent, float]] | None) -> list[AgentSpan]:
        """Return all lifetimes; the current state has those without an entry, and when each last called."""
        found = list(self._ended)
        known = dict(now or {})
        for name, life in self._open.items():
            span = self._span(name, life, None, "", "")
            if now is not None and name not in known:
                span = span._replace(end=span.last, how="exited")
            elif name in known:
                agent, last = known.pop(name)
                span = span._replace(
                    role=agent.role, parent=agent.parent or span.parent, last=max(last, span.last)
                )
                if life.early and agent.started < span.begin:
                    span = span._replace(begin=agent.started, early=False)
            found.append(span)
        for name, (agent, last) in known.items():
            found.append(
                AgentSpan(
                    name, agent.role, agent.parent, agent.started, None, False, "", "", (), last
                )
            )
        return found
