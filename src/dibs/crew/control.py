"""What people and agents do with the crew, for the command line and REST alike.

These calls change rows; the supervisor acts on them. Commands come only from the configuration: a caller
names a role.
"""

from __future__ import annotations

import os
import sys

from dibs.core.crew.roles import NAME
from dibs.crew.assign import waiting_tasks
from dibs.crew.folders import agent_folder, config_in_force, crashes_of, load_config, put_in_force
from dibs.crew.logs import read_log
from dibs.crew.processes import find_program
from dibs.errors import Misconfigured, NotFound, Unavailable
from dibs.local.repository import main_tree
from dibs.services.crew.service import CrewMembers
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dibs.core.claims.agents import Caller
    from dibs.core.crew.members import CrewStatus, Member
    from dibs.core.crew.roles import CrewConfig
    from dibs.crew.logs import LogPart
    from dibs.project.project import Project

#: Packages of the extra ``crew`` that the supervisor needs.
_NEEDED = ("acp", "mcp")
#: How much of its output ``show`` has.
_TAIL = 4_000


class CrewOverview(Record):
    """The crew at one moment."""

    state: CrewStatus
    config: CrewConfig | None
    members: tuple[Member, ...]
    #: The task of each agent that has one.
    tasks: dict[str, str]
    #: The tasks that wait, each with the reason.
    waiting: tuple[tuple[str, str], ...] = ()

    @property
    def limit(self) -> int:
        """How many agents the crew may have; 0 if it was never up."""
        return self.state.limit or (self.config.max_agents if self.config else 0)


class MemberDetails(Record):
    """One agent of the crew, its crashes, and the end of its output."""

    member: Member
    task: str
    crashes: tuple[dict[str, Any], ...]
    output: str


def up(project: Project, caller: Caller, serve: Callable[[], None] = lambda: None) -> CrewOverview:
    """Check ``crew.toml`` of the main working tree, apply it, and let the crew work.

    ``serve`` makes a server manage the project; agents start as soon as the crew is up.
    """
    if not sys.platform.startswith("linux"):
        raise Unavailable("dibs crew needs Linux", code="PLATFORM", hint="use dibs work -- COMMAND")
    _need_packages()
    repository = project.place.repository
    config, data = load_config(os.path.join(main_tree(repository), NAME), os.environ)
    for role in config.roles:
        find_program(role.command[0], os.environ.get("PATH", ""), main_tree(repository))
    put_in_force(repository.state, data)
    serve()
    CrewMembers(project.store).change(
        caller, "started the crew", up=True, paused=False, limit=config.max_agents
    )
    return overview(project)


def overview(project: Project, *, ended: bool = False) -> CrewOverview:
    """Return the crew: its agents, and what waits for one."""
    crew = CrewMembers(project.store)
    state = crew.state()
    config = _config(project)
    members = crew.members(everywhere=True)
    tasks = {one.agent: task for one in members for task in crew.held(one.agent)[:1]}
    shown = CrewOverview(
        state, config, tuple(one for one in members if ended or not one.is_over), tasks
    )
    if config is None or not state.up:
        return shown
    return shown._replace(
        waiting=waiting_tasks(project, crew, config, shown.limit, paused=state.paused)
    )


def details(project: Project, agent: str) -> MemberDetails:
    """Return one agent of the crew."""
    crew = CrewMembers(project.store)
    member = crew.member(agent)
    state = project.place.repository.state
    crashes = tuple(crashes_of(state, agent))
    output = read_log(agent_folder(state, agent), limit=_TAIL).text
    return MemberDetails(member, next(iter(crew.held(agent)), ""), crashes, output)


def output(
    project: Project, agent: str, offset: int | None = None, limit: int = 0, file: int = 0
) -> LogPart:
    """Return a part of an agent's output, by default the end."""
    CrewMembers(project.store).member(agent)
    folder = agent_folder(project.place.repository.state, agent)
    return read_log(folder, offset, limit or 65_536, file)


def spawn(project: Project, caller: Caller, role: str = "", task: str = "") -> Member:
    """Start an agent with a role of the configuration, optionally for one task."""
    config = need_config(project)
    if task:
        task = project.tasks.show(None, project.tasks.checked_id(task)).stored.id
    parent = "" if caller.human else caller.id
    return CrewMembers(project.store).spawn(
        config, config.role(role), caller, parent=parent, task=task
    )


def stop(
    project: Project, caller: Caller, agents: Sequence[str], reason: str = "", *, again: bool = False
) -> list[Member]:  # fmt: skip
    """Stop agents and their subagents; without names, all of them, and the crew is down."""
    crew = CrewMembers(project.store)
    if not agents:
        if not again:
            crew.change(caller, "stopped the crew", up=False)
        agents = [one.agent for one in crew.members() if not one.is_over]
    return crew.stop(caller, agents, reason=reason, again=again)


def stop_agent(project: Project, caller: Caller, agent: str, reason: str = "") -> list[str]:
    """Stop any agent and its subagents; the supervisor ends the processes of those that it runs."""
    crew = CrewMembers(project.store)
    chosen = crew.below(agent)
    if not chosen:
        return project.agents.stop(caller, agent, reason=reason)
    ended = crew.stop(caller, chosen, reason=reason)
    names = [one.agent for one in ended]
    if agent in chosen:
        return names
    return [*names, *project.agents.stop(caller, agent, reason=reason, apart=chosen)]


def scale(project: Project, caller: Caller, limit: int) -> CrewOverview:
    """Change how many agents the crew may have; agents above the limit end when they are idle."""
    need_config(project)
    CrewMembers(project.store).change(caller, f"changed the limit to {limit}", limit=limit)
    return overview(project)


def pause(project: Project, caller: Caller, *, paused: bool) -> CrewOverview:
    """Assign no more tasks, or continue; running turns go on."""
    need_config(project)
    CrewMembers(project.store).change(
        caller, "paused the crew" if paused else "resumed the crew", paused=paused
    )
    return overview(project)


def need_config(project: Project) -> CrewConfig:
    """Return the configuration in force; raise if the crew was never up."""
    found = _config(project)
    if found is None:
        raise NotFound("the crew is not up", code="NO_CREW", hint="run: dibs crew up")
    return found


def _config(project: Project) -> CrewConfig | None:
    return config_in_force(project.place.repository.state, os.environ)


def _need_packages() -> None:
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in _NEEDED):
        raise Misconfigured(
            "dibs crew needs the extra `crew`, which is not installed", code="EXTRA_MISSING",
            hint="install dibs[crew]",
        )  # fmt: skip
