"""Agents: their records, liveness, and subagents.

Pure. An agent is one session of one worker. ``Agent`` describes it; ``Beat`` has its last heartbeat, in a row
of its own because every call writes it.
"""

from __future__ import annotations

from dibs.errors import BadInput, NotAllowed, humans_only
from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: A time that never comes; infinity has no JSON.
NEVER = 1e12


class AgentStatus(metaclass=TextEnum):
    """An agent's status: ``exited`` ended itself, ``terminated`` was stopped."""

    RUNNING = "running"
    IDLE = "idle"
    COMPLETED = "completed"
    FAILED = "failed"
    TERMINATED = "terminated"
    EXITED = "exited"


#: An agent with one of these has ended and must join again.
TERMINAL = frozenset(
    {AgentStatus.COMPLETED, AgentStatus.FAILED, AgentStatus.TERMINATED, AgentStatus.EXITED}
)


#: The role of people. They may do more than agents, so no agent may take this role.
HUMAN = "human"

#: Names that a reader would mistake for Dibs, for a person, or for everyone.
RESERVED = frozenset({
    "admin", "administrator", "all", "anyone", "dibs", "everybody", "everyone", "human", "nobody", "none",
    "operator", "root", "server", "sudo", "superuser", "supervisor", "system", "user",
})  # fmt: skip
#: The end of the ID of the human at any terminal.
AT_TERMINAL = "terminal"
#: How a person shows that they are one.
PROOF = (
    "run it in your own terminal, or set DIBS_TOKEN to a token from `dibs token new --scope human`"
)

#: What an agent does at the moment, as listings show it.
WORKING, IDLE, DEAD, STOPPED = "working", "idle", "gone", "stopped"
#: How counts call agents that ended themselves.
DONE = "done"
#: Why an agent has exited that did not end itself: it was killed, or it works on under another id.
PROCESS_DIED, CONTINUES = "its process died", "continues its session"
#: An agent that sent no heartbeat for this many times its ttl is gone.
_GONE_AFTER = 12


class Caller(Record):
    """Who makes a call: enough to register an unknown agent with its first call."""

    id: str
    role: str = "agent"
    host: str = ""
    #: Who really makes the call, if it uses another agent's name.
    by: str = ""
    #: Whether a proven human makes the call under an agent's name.
    by_human: bool = False
    #: Why a caller without a name may not be a human; empty if there is no reason for doubt.
    doubt: str = ""

    @property
    def human(self) -> bool:
        """Whether a proven human acts, who may revoke claims and claim everything."""
        return self.role == HUMAN and not self.doubt

    @property
    def from_human(self) -> bool:
        """Whether a human makes the call, under any name."""
        return self.human or self.by_human

    @property
    def issuer(self) -> str:
        """Who really makes the call."""
        return self.by or self.id


class Agent(Record):
    """An agent without its liveness."""

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
    #: The share of its context window in use, 0 to 1; negative if unknown.
    context: float = -1.0
    #: Why it ended.
    ended: str = ""


class Beat(Record):
    """An agent's last heartbeat, and when its first claim expires without another."""

    seen: float
    #: The shortest ttl among its claims.
    ttl: float = NEVER
    #: The earliest hard deadline of its claims.
    hard: float = NEVER
    #: How many claims it holds.
    claims: int = 0
    #: How many claims it lost.
    lost: int = 0
    role: str = "agent"
    #: The ids of its tool calls that have not ended, separated by spaces.
    calls: str = ""
    #: When it was last active itself, if a server sent the last heartbeat because its process runs; else 0.
    active: float = 0.0
    #: When its turn ended, if it waits for its user; else 0.
    rests: float = 0.0

    def lapsed(self, now: float) -> bool:
        """Return whether any of the agent's claims may have expired."""
        return now >= self.hard or now >= self.seen + self.ttl


def is_terminal(status: str) -> bool:
    """Return whether an agent with this status has ended."""
    return status in TERMINAL


def current_status(status: str, silent_for: float, ttl: float, *, dead: bool) -> str:
    """Return an agent's status now, from the one it last reported.

    A killed agent cannot report that it ended: if its process is dead, it has exited, and without a heartbeat
    for the project's ttl it is idle, never running.
    """
    if is_terminal(status):
        return status
    if dead:
        return AgentStatus.EXITED
    return AgentStatus.IDLE if silent_for >= ttl else status


def activity(
    status: str, silent_for: float, ttl: float, *, dead: bool, guarded: bool, ended: str = ""
) -> str:
    """Return what an agent does at the moment: working, idle, gone, stopped, or how it ended.

    A guarded agent's process is visible, so without a heartbeat it is idle, however long that lasts.
    ``ended`` is why it ended.
    """
    if dead or (status == AgentStatus.EXITED and ended == PROCESS_DIED):
        return DEAD
    if status == AgentStatus.TERMINATED:
        return STOPPED
    now = current_status(status, silent_for, ttl, dead=False)
    if is_terminal(now):
        return now
    if silent_for >= _GONE_AFTER * ttl and not guarded:
        return DEAD
    return IDLE if now == AgentStatus.IDLE else WORKING


def heartbeat_every(setting: float, ttl: float) -> float:
    """Return the seconds between heartbeats: the setting, but at most half of the ttl; 0 is a third of it."""
    return min(setting, ttl / 2) if setting else ttl / 3


def count_crew(crew: Iterable[tuple[Agent, str]]) -> dict[str, int]:
    """Count agents by their activity; those that completed or exited are done.

    People do not count, and an agent that works on under another id counts once.
    """
    counts = dict.fromkeys((WORKING, IDLE, DONE), 0)
    for agent, doing in crew:
        if agent.role == HUMAN or agent.ended.endswith(CONTINUES):
            continue
        word = DONE if doing in {AgentStatus.COMPLETED, AgentStatus.EXITED} else doing
        counts[word] = counts.get(word, 0) + 1
    return counts


def family(agent: str, parents: Mapping[str, str]) -> list[str]:
    """Return ``agent`` and all its subagents, parents first; a cycle is walked once."""
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
    """Return the parents of ``agent``, nearest first; a cycle is walked once."""
    chain: list[str] = []
    seen = {agent}
    above = parents.get(agent, "")
    while above and above not in seen:
        chain.append(above)
        seen.add(above)
        above = parents.get(above, "")
    return chain


def check_parent(agent: str, parent: str, parents: Mapping[str, str]) -> None:
    """Refuse a parent that would create a cycle."""
    if parent == agent or agent in ancestors(parent, parents):
        message = f"{parent} cannot be the parent of {agent}: it is {agent} itself or one of its subagents"
        raise BadInput(message, code="AGENT_CYCLE", field="parent")


def may_act_for(agent: str, target: str, parents: Mapping[str, str]) -> bool:
    """Return whether ``agent`` may act for ``target``: for itself and its subagents, at any depth."""
    return target == agent or agent in ancestors(target, parents)


def check_acts_for(caller: Caller, target: str, parents: Mapping[str, str], what: str) -> None:
    """Refuse to do something to an agent that is neither the caller nor one of its subagents.

    A human may do it to every agent. ``what`` is the command that a human can run.
    """
    if not caller.from_human and not may_act_for(caller.issuer, target, parents):
        doubt = f" ({caller.doubt})" if caller.doubt else ""
        raise NotAllowed(
            f"only {target}, an agent above it, or a human may do this; you are {caller.issuer}{doubt}",
            code="NOT_YOU",
            field="id",
            hint=PROOF
            if caller.doubt
            else f"to reach it: dibs say {target} TEXT; or ask a human to run: {what}",
        )


def check_human(caller: Caller, message: str, *, hint: str, field: str = "") -> None:
    """Refuse a caller that is not a proven human; say who Dibs thinks it is, and why."""
    if caller.human:
        return
    if caller.doubt:
        raise NotAllowed(
            f"{message}; {caller.doubt}", code="HUMANS_ONLY", field=field,
            hint=f"agents: {hint}; humans: {PROOF}",
        )  # fmt: skip
    raise humans_only(message, caller.id, hint=hint, field=field)


def why_not(caller: Caller) -> str:
    """Return why a caller may not do what only humans may do."""
    who = caller.doubt or f"you are {caller.id}"
    return f"only a human may do this; {who} (see `dibs whoami -v`)"


def check_speaker(caller: Caller) -> None:
    """Refuse a human's message or decision from a caller that is not a proven human."""
    if caller.role == HUMAN and caller.doubt:
        raise NotAllowed(
            f"only a human may speak as {caller.id}; {caller.doubt}",
            code="HUMANS_ONLY",
            hint=f"agents: use --agent NAME; humans: {PROOF}",
        )


def check_readmits(caller: Caller, known: Agent | None) -> None:
    """Refuse to let a stopped agent back in, unless a human does it."""
    if known is not None and known.status == AgentStatus.TERMINATED and not caller.from_human:
        raise stopped(known)


def stopped(agent: Agent) -> NotAllowed:
    """Return the refusal of a call by a stopped agent."""
    return NotAllowed(
        f"{agent.id} was stopped: {agent.ended or 'no reason given'}",
        code="AGENT_STOPPED",
        hint=f"stop working; a human can readmit you with `dibs agent join --agent {agent.id}`",
    )


def check_role(role: str, *, human: bool) -> str:
    """Return a role; refuse ``human`` for an agent."""
    if role.strip().casefold() == HUMAN and not human:
        hint = "use a role such as lead, tester, or reviewer"
        raise BadInput("an agent cannot have the role human", code="ROLE", field="role", hint=hint)
    return role


def is_reserved(id_: str) -> bool:
    """Return whether an id means everyone, a human, or Dibs."""
    name = id_.replace(".", "-").replace("_", "-").strip("-").casefold()
    human = name.partition("-")[0] == HUMAN or name.endswith(f"-{AT_TERMINAL}")
    return human or name in RESERVED


def check_own_id(id_: str, *, human: bool) -> str:
    """Return an agent's own id; refuse one that means everyone, a human, or Dibs."""
    if id_ == "all" or (is_reserved(id_) and not human):
        raise BadInput(
            f"an agent cannot be named {id_}: the name is reserved",
            code="AGENT_ID",
            field="agent",
            hint="use an id such as tester-1",
        )
    return id_


def alive(agents: Iterable[Agent]) -> list[Agent]:
    """Return the agents that have not ended."""
    return [agent for agent in agents if not is_terminal(agent.status)]
