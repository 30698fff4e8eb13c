"""Which task goes to which agent, and when another agent is started.

Pure. The supervisor calls ``plan`` when something changed; it carries out the plan and calls it again.
"""

from __future__ import annotations

from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dibs.core.crew.roles import CrewConfig, CrewRole

#: How many agents one plan starts at most, so that a long board does not start all at once.
AT_ONCE = 2
#: Why a task waits although an agent with another role is idle.
_NEEDS_PLACE = "an idle agent with another role has to end first"


class ReadyTask(Record):
    """A task that can be taken, in the order of taking."""

    id: str
    #: The agent or the role that it is for; empty for anyone.
    agent: str = ""
    #: The paths that it names.
    paths: tuple[str, ...] = ()
    #: The agent that it was for, if that has ended and ``agent`` is its role.
    named: str = ""


class FreeAgent(Record):
    """An agent of the crew that waits for a task."""

    id: str
    role: str
    #: The paths that it has worked on, and since when it waits.
    paths: tuple[str, ...] = ()
    since: float = 0.0


class CrewCount(Record):
    """How many agents there are, and what starting another one would be refused for."""

    total: int
    #: Live agents by role, including those that are starting.
    by_role: Mapping[str, int]
    #: Agents that are starting: each will take a task.
    starting: Mapping[str, int]
    limit: int
    #: Roles that failed to start too often.
    failed: tuple[str, ...] = ()
    #: All agents that wait for a task, also those that may not get one; the longest waiting first.
    idle: tuple[str, ...] = ()


class CrewPlan(Record):
    """What to do next: assignments (task, agent), roles to start, and why tasks wait (task, reason)."""

    assign: tuple[tuple[str, str], ...] = ()
    spawn: tuple[str, ...] = ()
    waiting: tuple[tuple[str, str], ...] = ()
    #: Idle agents to end: there are more than the limit, or a task needs a place for another role.
    retire: tuple[str, ...] = ()


def plan(
    config: CrewConfig, ready: Sequence[ReadyTask], free: Sequence[FreeAgent], count: CrewCount
) -> CrewPlan:
    """Give each ready task to the best free agent; start agents for the others while limits allow it."""
    left = list(free)
    assign: list[tuple[str, str]] = []
    spawn: list[str] = []
    waiting: list[tuple[str, str]] = []
    coming, short = dict(count.starting), False
    for task in ready:
        chosen = _best(task, left)
        if chosen is not None:
            left.remove(chosen)
            assign.append((task.id, chosen.id))
            continue
        role = _role_for(config, task)
        if role is None:
            waiting.append((task.id, f"no role or agent is called {task.agent}"))
            continue
        if coming.get(role.name, 0) > 0:
            coming[role.name] -= 1
            waiting.append((task.id, f"an agent with the role {role.name} is starting"))
            continue
        why = _refusal(role, count, spawn)
        short = short or (why == _NEEDS_PLACE)
        waiting.append((task.id, why or f"an agent with the role {role.name} is starting"))
        if not why and len(spawn) < AT_ONCE:
            spawn.append(role.name)
    given = {agent for _, agent in assign}
    idle = [agent for agent in count.idle if agent not in given]
    needed = count.total - count.limit + (1 if short and not spawn else 0)
    return CrewPlan(tuple(assign), tuple(spawn), tuple(waiting), tuple(idle[: max(0, needed)]))


def may_take(task: ReadyTask, agent: FreeAgent) -> bool:
    """Return whether a task is for this agent, its role, or anyone."""
    return task.agent in {"", agent.id, agent.role}


def _best(task: ReadyTask, free: Sequence[FreeAgent]) -> FreeAgent | None:
    """Return the agent that knows most of the task's files; of several, the one that waits longest."""
    able = [agent for agent in free if may_take(task, agent)]
    return min(able, key=lambda one: (-_known(task, one), one.since, one.id), default=None)


def _known(task: ReadyTask, agent: FreeAgent) -> int:
    """Count the task's paths that the agent has worked on, or below which it has."""
    return sum(
        any(_is_near(path, known) for known in agent.paths) for path in dict.fromkeys(task.paths)
    )


def _is_near(path: str, known: str) -> bool:
    head = path.partition("*")[0].rstrip("/")
    return known == path or (bool(head) and (known == head or known.startswith(f"{head}/")))


def _role_for(config: CrewConfig, task: ReadyTask) -> CrewRole | None:
    if not task.agent:
        return config.roles[0]
    return next((role for role in config.roles if role.name == task.agent), None)


def _refusal(role: CrewRole, count: CrewCount, spawn: Sequence[str]) -> str:
    """Return why no agent with this role can be started now; empty if one can."""
    if role.name in count.failed:
        return f"agents with the role {role.name} failed to start; run: dibs crew up"
    if count.total + len(spawn) >= count.limit:
        return _NEEDS_PLACE if count.idle else _busy(count.limit, "")
    mine = count.by_role.get(role.name, 0) + spawn.count(role.name)
    if mine >= role.limit:
        return _busy(role.limit, f" with the role {role.name}")
    return ""


def _busy(limit: int, which: str) -> str:
    return f"all {limit} agents{which} are busy" if limit > 1 else f"the only agent{which} is busy"
