"""Who works here: the values of an agent, its liveness, and its family.

Pure. An agent is one session of one worker. What it is and what it does is an ``Agent``; when it last
gave a sign of life is a ``Beat``, kept apart because every call of an agent writes it.
"""

from __future__ import annotations

from dibs.errors import BadInput
from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: A moment that never comes, where infinity has no JSON.
NEVER = 1e12


class AgentStatus(metaclass=TextEnum):
    """What an agent is doing. ``exited`` left by itself; ``terminated`` was stopped by somebody."""

    RUNNING = "running"
    IDLE = "idle"
    COMPLETED = "completed"
    FAILED = "failed"
    TERMINATED = "terminated"
    EXITED = "exited"


#: Statuses that an agent does not come back from without joining again.
TERMINAL = frozenset(
    {AgentStatus.COMPLETED, AgentStatus.FAILED, AgentStatus.TERMINATED, AgentStatus.EXITED}
)


#: The role of people. They may do more than agents, so no agent may take this role.
HUMAN = "human"

#: What an agent does at the moment, as listings show it.
WORKING, IDLE, DEAD, STOPPED = "working", "idle", "gone", "stopped"
#: An agent that sent no heartbeat for this many times its ttl is gone.
_GONE_AFTER = 12


class Caller(Record):
    """Who makes a call: enough to let an unknown agent join by its first call."""

    id: str
    role: str = "agent"
    host: str = ""

    @property
    def human(self) -> bool:
        """Whether a person acts, who may revoke and may claim everything."""
        return self.role == HUMAN


class Agent(Record):
    """What is known of one agent, but for its liveness."""

    id: str
    name: str = ""
    role: str = "agent"
    parent: str = ""
    host: str = ""
    pid: int = 0
    started: float = 0.0
    status: str = AgentStatus.RUNNING
    model: str = ""
    task: str = ""
    #: How much of its context window is used, 0 to 1; negative when not known.
    context: float = -1.0
    #: Why it ended, in the words of whoever ended it.
    ended: str = ""


class Beat(Record):
    """An agent's last sign of life, and when the first of its claims would lapse without another."""

    seen: float
    #: The shortest ttl among its claims.
    ttl: float = NEVER
    #: The earliest moment at which one of its claims ends whatever it does.
    hard: float = NEVER
    #: How many claims it holds.
    claims: int = 0
    #: How many claims it lost without giving them back.
    lost: int = 0
    role: str = "agent"

    def lapsed(self, now: float) -> bool:
        """Tell whether some claim of the agent may have run out."""
        return now >= self.hard or now >= self.seen + self.ttl


def is_terminal(status: str) -> bool:
    """Tell whether an agent with this status has ended."""
    return status in TERMINAL


def activity(status: str, silent_for: float, ttl: float, *, dead: bool, guarded: bool) -> str:
    """Return what an agent does at the moment: working, idle, gone, stopped, or how it ended.

    A guarded agent's process is visible, so without a heartbeat it is idle, however long that lasts.
    """
    if dead:
        return DEAD
    if status == AgentStatus.TERMINATED:
        return STOPPED
    if status != AgentStatus.RUNNING:
        return status
    if silent_for < ttl:
        return WORKING
    return DEAD if silent_for >= _GONE_AFTER * ttl and not guarded else IDLE


def family(agent: str, parents: Mapping[str, str]) -> list[str]:
    """Return ``agent`` and all its descendants, parents first; a cycle is walked once."""
    children: dict[str, list[str]] = {}
    for child in sorted(parents):
        children.setdefault(parents[child], []).append(child)
    found = [agent]
    seen = {agent}
    for member in found:
        for child in children.get(member, ()):
            if child not in seen:
                seen.add(child)
                found.append(child)
    return found


def ancestors(agent: str, parents: Mapping[str, str]) -> list[str]:
    """Return the chain of parents of ``agent``, nearest first; a cycle is walked once."""
    chain: list[str] = []
    seen = {agent}
    above = parents.get(agent, "")
    while above and above not in seen:
        chain.append(above)
        seen.add(above)
        above = parents.get(above, "")
    return chain


def check_parent(agent: str, parent: str, parents: Mapping[str, str]) -> None:
    """Refuse a parent that would make the family tree a circle."""
    if parent == agent or agent in ancestors(parent, parents):
        message = f"{parent} cannot be the parent of {agent}: it is {agent} itself or one below it"
        raise BadInput(message, code="AGENT_CYCLE", field="parent")


def check_role(role: str, *, human: bool) -> str:
    """Return a role that somebody gives itself; refuse an agent that would pass for a human by it."""
    if role.strip().casefold() == HUMAN and not human:
        hint = "say what you do: lead, tester, reviewer, ..."
        raise BadInput("an agent cannot have the role human", code="ROLE", field="role", hint=hint)
    return role


def check_own_id(id_: str, *, human: bool) -> str:
    """Return the id that somebody works under; refuse an agent one that means everybody, or a human."""
    first = id_.replace(".", "-").replace("_", "-").partition("-")[0].casefold()
    if id_ == "all" or (first == HUMAN and not human):
        raise BadInput(
            f"an agent cannot be called {id_}: that means others",
            code="AGENT_ID",
            field="agent",
            hint="an id says what the agent is, for example tester-1",
        )
    return id_


def alive(agents: Iterable[Agent]) -> list[Agent]:
    """Return the agents that have not ended."""
    return [agent for agent in agents if not is_terminal(agent.status)]
