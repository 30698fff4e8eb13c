"""Turn a snapshot of the crew into the sections of one agent's briefing. Pure.

The sections PROJECT HEALTH, YOUR AGENTS, OTHER CREW, CURRENT CREW STATUS, and RECENT ACTIVITY follow the crew
document.
"""

from __future__ import annotations

from time import gmtime, strftime

from dibs.core.briefing.activity import is_told, listed, role_part, span, words
from dibs.core.briefing.holdings import crew_sections, own_sections
from dibs.core.briefing.mail import mail_sections
from dibs.core.briefing.page import Line, Section
from dibs.core.claims.agents import (
    DEAD,
    DONE,
    HUMAN,
    IDLE,
    STOPPED,
    WORKING,
    AgentStatus,
    activity,
    count_crew,
    family,
    is_terminal,
)
from dibs.core.text.names import plural
from dibs.core.text.untrusted import Part, ShownTime, path, word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dibs.core.briefing.snapshot import CrewState, Tally
    from dibs.core.claims.agents import Agent
    from dibs.core.claims.ledger import Entry

#: How many entries of recent activity are shown.
RECENT = 15
_MANY_IDLE = 3
#: A lead's briefing reports a missing heartbeat after this many seconds.
_SILENT = 300
_CLAIMS_SHOWN = 4
_TASK_SHOWN = 120
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


def utc_clock(moment: float) -> str:
    """Return the time of day in UTC, for readers whose time zone is unknown."""
    return strftime("%H:%M:%S", gmtime(moment))


def sections(
    state: CrewState, *, told: int = 0, clock: Callable[[float], str] = utc_clock
) -> list[Section]:
    """Return the sections of a briefing, most important first.

    Activity starts after the ledger entry ``told``; ``clock`` formats times for the reader.
    """
    first, letters = mail_sections(state.mail, state.now)
    crew = _lead_view(state) if is_lead(state) else _specialist_view(state)
    recent = _activity(state, told, clock)
    return [*first, *crew, *own_sections(state, clock), *_delegations(state), *letters, *recent]


def is_lead(state: CrewState) -> bool:
    """Return whether the reader is a lead: a human, a parent of agents, or a lead by role."""
    me = next((agent for agent in state.agents if agent.id == state.me), None)
    said = me.role.lower().replace("-", " ").replace("_", " ").split() if me else []
    return state.human or "lead" in said or any(a.parent == state.me for a in state.agents)


def _delegations(state: CrewState) -> list[Section]:
    """Return the unfinished work that the reader delegated, and that others delegated to it.

    An agent learns of each change by message, so this does not count as a change.
    """
    lines = []
    for task in state.delegations:
        who = "you" if task.agent == state.me else word(task.agent, "board")
        sender = word(task.created_by, "board") if task.created_by else "someone"
        by: tuple[Part, ...] = () if task.created_by == state.me else (" from ", sender)
        what = word(task.title, task.created_by or "board", _TASK_SHOWN)
        name = path(task.id, "board")
        parts = ("- to ", who, *by, ": ", what, " (", name, f", {task.status})")
        lines.append(Line(f"task {task.id}", parts))
    return [Section("DELEGATIONS", tuple(lines), volatile=True, rank=2)] if lines else []


# -- the lead's view


def _lead_view(state: CrewState) -> list[Section]:
    crew = [agent for agent in state.agents if agent.role != HUMAN]
    parents = {agent.id: agent.parent for agent in crew if agent.parent}
    below = {agent.id for agent in crew} if state.human else set(family(state.me, parents))
    others = [agent for agent in crew if agent.id != state.me]
    own = [agent for agent in others if agent.id in below]
    rest = [agent for agent in others if agent.id not in below]
    found = [
        Section("PROJECT HEALTH", (_health(state, crew), _blocked(state.tally)), rank=0),
        Section("YOUR AGENTS", _roster(state, own, "your agents"), rank=3),
        Section("OTHER CREW", _roster(state, rest, "other agents"), rank=4),
    ]
    return [*(section for section in found if section.lines), *crew_sections(state)]


def _doing(state: CrewState, agent: Agent) -> str:
    """Return what an agent does at the moment."""
    known = state.doing.get(agent.id)
    return known or activity(agent.status, 0.0, 1.0, dead=False, guarded=True, ended=agent.ended)


def _status(state: CrewState, agent: Agent) -> str:
    """Return an agent's status in the words of the crew document."""
    doing = _doing(state, agent)
    return AgentStatus.RUNNING if doing == WORKING else doing


def _health(state: CrewState, crew: Sequence[Agent]) -> Line:
    counts = count_crew((agent, _doing(state, agent)) for agent in crew)
    active, idle = counts[WORKING], counts[IDLE]
    tally = state.tally
    icon = "✅"
    if tally.blocked or tally.failed:
        icon = "🔴"
    elif idle >= _MANY_IDLE and idle > active:
        icon = "⚠️"
    share = ""
    if tally.total:
        share = f" {100 * (tally.done + tally.skipped) // tally.total}% complete ·"
    fleet = f" {active} active, {idle} idle, {counts[DONE]} done" + _ends(counts)
    parts: list[Part] = [icon + share + fleet]
    if state.pending:
        age = state.now - min(decision.at for decision in state.pending)
        pending = f" · ⚠️ {plural(len(state.pending), 'decision')} pending"
        parts += [pending, ShownTime(f" ({_age(age)})")]
    return Line("health", tuple(parts))


def _ends(counts: dict[str, int]) -> str:
    """Return how many agents did not end themselves, or failed."""
    words = (STOPPED, DEAD, AgentStatus.FAILED)
    return "".join(f", {counts[word]} {word}" for word in words if counts.get(word))


def _age(seconds: float) -> str:
    """Return an age in one unit, as in the crew document: ``3 min``."""
    for unit, name in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= unit:
            return f"{int(seconds // unit)} {name}"
    return f"{max(0, int(seconds))} s"


def _blocked(tally: Tally) -> Line:
    parts: list[Part] = [plural(len(tally.blocked), "blocked task")]
    if tally.blocked:
        parts += [": ", *listed(tally.blocked, "board")]
    if tally.failed:
        parts += [f" · {len(tally.failed)} failed: ", *listed(tally.failed, "board")]
    return Line("tasks", tuple(parts))


def _roster(state: CrewState, agents: Iterable[Agent], whose: str) -> tuple[Line, ...]:
    """Return one line for each agent that works or failed, and a count of those that ended."""
    lines: list[Line] = []
    ended: list[Agent] = []
    for agent in agents:
        if is_terminal(agent.status) and agent.status != AgentStatus.FAILED:
            ended.append(agent)
            continue
        model = (" [", word(agent.model, agent.id), "]") if agent.model else ()
        task = (", task: ", word(agent.task, agent.id, _TASK_SHOWN)) if agent.task else ()
        parts = (f"- {agent.id}", *_called(agent), " — ", role_part(agent.role, agent.id), *model,
                 " — ", word(_status(state, agent), agent.id), *task, *_silence(state, agent))  # fmt: skip
        lines.append(Line(f"agent {agent.id}", parts))
    counts = count_crew((agent, _doing(state, agent)) for agent in ended)
    if lines and (count := sum(counts.values())):
        how = f" ({counts[DONE]} {DONE}{ends})" if (ends := _ends(counts)) else ""
        lines.append(Line(f"{whose} that ended", (f"- and {count} ended{how}",)))
    return tuple(lines)


def _silence(state: CrewState, agent: Agent) -> tuple[Part, ...]:
    """Return for how long an agent has sent no heartbeat, if that is long."""
    silent = state.now - state.seen.get(agent.id, state.now)
    if is_terminal(agent.status) or silent < _SILENT:
        return ()
    return (ShownTime(f", no heartbeat for {span(silent)}"),)


def _called(agent: Agent) -> tuple[Part, ...]:
    named = agent.name and agent.name != agent.id
    return (" ", word(agent.name, agent.id)) if named else ()


# -- the specialist's view


def _specialist_view(state: CrewState) -> list[Section]:
    claimed: dict[str, list[str]] = {}
    for held in state.held:
        claimed.setdefault(held.claim.agent, []).append(held.claim.pattern)
    lines = [
        _peer(agent, _status(state, agent), sorted(claimed.get(agent.id, ())))
        for agent in state.agents
        if agent.id != state.me
        and not is_terminal(agent.status)
        # Humans matter to an agent only while they hold something.
        and (agent.role != HUMAN or agent.id in claimed)
    ]
    return [Section("CURRENT CREW STATUS", tuple(lines), rank=4)] if lines else []


def _peer(agent: Agent, status: str, patterns: Sequence[str]) -> Line:
    task: tuple[Part, ...] = (
        (", Task: ", word(agent.task, agent.id, _TASK_SHOWN)) if agent.task else (", No task",)
    )
    # The task field already shows the claim on a task.
    files = [one for one in patterns if not (agent.task and one.startswith("task:"))]
    claims = (", Claims: ", *listed(files, agent.id, most=_CLAIMS_SHOWN)) if files else ()
    parts = (f"- Agent {agent.id}", *_called(agent), " (", role_part(agent.role, agent.id), ") — ",
             word(status, agent.id), *task, *claims)  # fmt: skip
    return Line(f"agent {agent.id}", parts)


# -- activity


def _activity(state: CrewState, told: int, clock: Callable[[float], str]) -> list[Section]:
    """Return what others did, newest first."""
    news = [
        entry
        for entry in state.activity
        if entry.seq > told and entry.agent != state.me and is_told(entry)
    ]
    lines = tuple(_event(entry, clock) for entry in reversed(news[-RECENT:]))
    return [Section("RECENT ACTIVITY", lines, volatile=True)] if lines else []


def _event(entry: Entry, clock: Callable[[float], str]) -> Line:
    who = word(entry.agent, "dibs")
    role: tuple[Part, ...] = (role_part(entry.role, entry.agent), " ") if entry.role else ()
    at = entry.details.get("expired_at")
    when = ShownTime(clock(at if isinstance(at, int | float) else entry.at))
    return Line(f"event {entry.seq}", ("- [", when, "] ", *role, who, ": ", *words(entry)))
