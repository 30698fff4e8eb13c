"""Carry out assignments: read the board and the crew, let the core plan, and start tasks for agents."""

from __future__ import annotations

from dibs.core.claims.agents import Caller
from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import Denied
from dibs.core.crew.assignment import CrewCount, CrewPlan, FreeAgent, ReadyTask, plan
from dibs.core.crew.members import MemberState, host_of
from dibs.core.text.names import few
from dibs.errors import DibsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.core.crew.members import Member
    from dibs.core.crew.roles import CrewConfig
    from dibs.project.project import Project
    from dibs.services.crew.service import CrewMembers
    from dibs.services.state.rows import Rows

#: Entries that name the files of an agent, and how many files are considered.
_EDITS = (Kind.COMMITTED, Kind.FILE_EDIT)
_MOST_PATHS = 200


class Assigner:
    """Gives ready tasks to free agents; ``wake`` tells an agent's runner that it has one."""

    def __init__(self, wake: Callable[[Member], None]) -> None:
        self._wake = wake
        #: The tasks that wait after the last call, each with the reason.
        self.waiting: tuple[tuple[str, str], ...] = ()

    def assign(
        self, project: Project, crew: CrewMembers, config: CrewConfig, limit: int
    ) -> CrewPlan:
        """Start tasks for free agents; return the plan, whose other parts the caller carries out."""
        ready = _ready(project, crew)
        live = [one for one in crew.members() if not one.is_over]
        if not ready and len(live) <= limit:
            self.waiting = ()
            return CrewPlan()
        free = {one.agent: one for one in live if _is_free(crew, config, one)}
        held: dict[str, str] = {}
        for member in free.values():
            wanted = next((task for task in ready if task.id == member.wanted), None)
            if wanted is not None and self._start(project, member, wanted, held):
                ready = [task for task in ready if task.id != wanted.id]
                free = {name: one for name, one in free.items() if name != member.agent}
        agents = [
            FreeAgent(one.agent, one.role, _paths(project, one), one.since) for one in free.values()
        ]
        planned = plan(config, ready, agents, _count(crew, config, live, limit))
        tasks = {task.id: task for task in ready}
        for id_, agent in planned.assign:
            self._start(project, free[agent], tasks[id_], held)
        self.waiting = (*planned.waiting, *held.items())
        return planned

    def _start(
        self, project: Project, member: Member, task: ReadyTask, held: dict[str, str]
    ) -> bool:
        """Start a task for an agent and wake its runner; note in ``held`` why that is not possible."""
        caller = Caller(member.agent, member.role, host_of(member.realm))
        try:
            # A task for an agent that has ended goes to another one with its role.
            answer = project.tasks.start(
                caller, task.id, roles=(member.role, *filter(None, [task.named]))
            )
        except DibsError as error:
            held[task.id] = error.message
            return False
        if isinstance(answer, Denied):
            owners = sorted({one.holder for one in answer.conflicts})
            held[task.id] = f"its files are held by {few(owners)}"
            return False
        self._wake(member)
        return True


def waiting_tasks(
    project: Project, crew: CrewMembers, config: CrewConfig, limit: int, *, paused: bool
) -> tuple[tuple[str, str], ...]:
    """Return the ready tasks that no agent works on, each with the reason; changes nothing."""
    ready = _ready(project, crew)
    if paused:
        return tuple((task.id, "the crew is paused") for task in ready)
    live = [one for one in crew.members() if not one.is_over]
    free = [FreeAgent(one.agent, one.role) for one in live if _is_free(crew, config, one)]
    found = plan(config, ready, free, _count(crew, config, live, limit))
    return (
        *((task, f"{agent} is about to start it") for task, agent in found.assign),
        *found.waiting,
    )


def _ready(project: Project, crew: CrewMembers) -> list[ReadyTask]:
    """Return the tasks that can be taken, in the order of taking.

    A task for an agent of the crew that has ended is for its role. One that needs work which is still being
    merged is not ready.
    """
    members = crew.members(everywhere=True)
    ended = {one.agent: one.role for one in members if one.is_over}
    current = {one.current for one in members if not one.is_over}
    found = []
    for view in project.tasks.all(None):
        task = view.stored.task
        if view.ready and current.isdisjoint(task.dependencies):
            role = ended.get(task.agent, task.agent)
            named = task.agent if role != task.agent else ""
            found.append(ReadyTask(task.id, role, task.artefacts, named))
    return found


def _is_free(crew: CrewMembers, config: CrewConfig, member: Member) -> bool:
    """Return whether an agent waits for a task and may use more tokens."""
    if not _is_idle(crew, member):
        return False
    role = next((one for one in config.roles if one.name == member.role), None)
    return role is not None and not (role.token_budget and member.tokens >= role.token_budget)


def _is_idle(crew: CrewMembers, member: Member) -> bool:
    return member.state == MemberState.IDLE and not crew.held(member.agent)


def _paths(project: Project, member: Member) -> tuple[str, ...]:
    """Return the files that an agent has committed or edited, as the ledger knows them."""
    found: dict[str, None] = {}

    def step(rows: Rows) -> None:
        for entry in rows.events(newest_first=True, agents=(member.agent,), kinds=_EDITS):
            for value in (entry.details.get("paths"), entry.details.get("path")):
                named = value if isinstance(value, list) else [value]
                found.update(dict.fromkeys(one for one in named if isinstance(one, str) and one))
            if len(found) >= _MOST_PATHS:
                break

    project.store.look(step)
    return tuple(found)


def _count(crew: CrewMembers, config: CrewConfig, live: Sequence[Member], limit: int) -> CrewCount:
    by_role: dict[str, int] = {}
    starting: dict[str, int] = {}
    for member in live:
        by_role[member.role] = by_role.get(member.role, 0) + 1
        if member.state == MemberState.STARTING and not member.wanted:
            starting[member.role] = starting.get(member.role, 0) + 1
    failed = crew.failed_roles([role.name for role in config.roles])
    idle = sorted((one for one in live if _is_idle(crew, one)), key=lambda one: one.since)
    names = tuple(one.agent for one in idle)
    return CrewCount(len(live), by_role, starting, limit, tuple(failed), names)
