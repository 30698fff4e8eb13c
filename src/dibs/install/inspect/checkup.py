"""Check a project: its store, board, git, crew, and the agents on this machine; and repair what can be."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, TypeVar

from dibs.core.text.findings import Level
from dibs.errors import Misconfigured, Unavailable
from dibs.guard.git.install import GitHooks
from dibs.install.inspect.agents import findings, guarded_by, look, unreachable, unwired
from dibs.install.inspect.gaps import as_findings, gaps
from dibs.local.repository import refuse_links
from dibs.services.board import check as boards
from dibs.services.commits.doctor import GitCare
from dibs.services.state.damage import findings as damaged
from dibs.startup.records import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.core.claims.agents import Caller
    from dibs.core.text.findings import Finding
    from dibs.core.toolcalls.coverage import GuardStatus
    from dibs.install.inspect.agents import AgentSetup
    from dibs.install.inspect.gaps import Gap
    from dibs.project.project import Project

T = TypeVar("T")


class Checkup(Record):
    """What a check found."""

    #: The findings of each part.
    found: dict[str, list[Finding]]
    agents: list[AgentSetup]
    standings: list[GuardStatus]
    #: What keeps agents from being guarded.
    missing: Sequence[Gap] = ()
    #: The repairs that were made; None if none were wanted.
    done: list[str] | None = None

    @property
    def well(self) -> bool:
        """Whether nothing is wrong."""
        return all(one.level != Level.BAD for part in self.found.values() for one in part)

    def shape(self) -> dict[str, Any]:
        """Return it as JSON."""
        shape = {
            "well": self.well,
            "findings": [
                {"part": part, **finding._asdict()}
                for part, found in self.found.items()
                for finding in found
            ],
            "agents": [_agent(agent, self.agents) for agent in self.agents],
            "crew": [standing._asdict() for standing in self.standings],
        }
        return shape if self.done is None else {**shape, "done": self.done}


def check_up(
    project: Project,
    caller: Caller,
    *,
    fix: bool = False,
    accept: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Checkup:
    """Check everything; with ``fix``, repair what can be repaired first.

    With ``accept``, keep the changes of agents' commands to files that guard agents.
    """
    repository = project.place.repository
    refuse_links(repository.state)
    done = _repair(project, caller, progress, accept=accept) if fix else None
    progress("checking agents")
    agents = look(repository.root, os.path.expanduser("~"), os.environ)
    missing = gaps(repository, agents)
    found = _findings(project, agents, missing, progress)
    standings = _despite_damage(project.doctoring.standings)
    return Checkup(found, agents, standings, missing, done)


def _git(project: Project) -> GitCare:
    repository = project.place.repository
    ours: frozenset[str] = frozenset()
    if repository.common:
        hooks = GitHooks(repository.common, repository.state).look()
        ours = frozenset(hook.name for hook in hooks if hook.current)
    return GitCare(repository, project.gate, ours)


def _repair(
    project: Project, caller: Caller, progress: Callable[[str], None], *, accept: bool
) -> list[str]:
    from dibs.install.prove.git import sweep
    from dibs.services.guard.wiring import accept as accept_wiring

    progress("repairing")
    repository = project.place.repository
    done = accept_wiring(project.store, repository, caller) if accept else []
    done += _despite_damage(lambda: boards.repair(project.board, caller))
    done += _despite_damage(lambda: project.doctoring.repair(caller))
    done += _despite_damage(lambda: _git(project).repair())
    return [*done, *sweep(repository, time.time())]


def _wiring(project: Project) -> list[Finding]:
    """Report changed files that guard agents, and settings that do not count, or not yet."""
    from dibs.config.table import FIELDS
    from dibs.core.text.findings import Finding
    from dibs.project.location import locate
    from dibs.services.guard.wiring import findings as changed
    from dibs.services.pipeline.consent import HINT, StartConsent

    # Not the settings with which the project was opened: the file may have changed since.
    loaded = locate(project.place.repository.root, lenient=True).loaded
    shown = {field.name: f"{field.section}.{field.key}" for field in FIELDS}
    waiting = [
        Finding(
            Level.WARN,
            "settings",
            f"{shown[name]} is {getattr(loaded.config, name)!r}, from the last commit; the uncommitted"
            f" dibs.toml says {value!r} (to apply it, commit it; to discard it: `git checkout dibs.toml`)",
        )
        for name, value in sorted(loaded.uncommitted.items())
    ]
    consent = [] if loaded.invalid else StartConsent(project.place.repository).pending()
    waiting += [
        Finding(Level.WARN, "settings", f"dibs.toml starts this by itself: {line}; {HINT}")
        for line in consent
    ]
    invalid = [Finding(Level.BAD, "settings", loaded.invalid)] if loaded.invalid else []
    unknown = [Finding(Level.WARN, "settings", line) for line in loaded.unknown]
    return [*changed(project.place.repository), *invalid, *unknown, *waiting]


def _despite_damage(check: Callable[[], list[T]]) -> list[T]:
    """Return the result; nothing if rows are damaged or settings are wrong, which other checks report."""
    try:
        return check()
    except Misconfigured:
        return []
    except Unavailable as error:
        if error.code != "STORE_DAMAGED":
            raise
        return []


def _part(name: str, check: Callable[[], list[Finding]]) -> list[Finding]:
    """Return the findings of a part; what is misconfigured there must not hide those of the others."""
    from dibs.core.text.findings import Finding

    def checked() -> list[Finding]:
        try:
            return check()
        except Misconfigured as error:
            text = "; ".join(filter(None, (error.message, error.hint)))
            return [Finding(Level.BAD, name, text)]

    return _despite_damage(checked)


def _findings(
    project: Project,
    agents: Sequence[AgentSetup],
    missing: Sequence[Gap],
    progress: Callable[[str], None],
) -> dict[str, list[Finding]]:
    from dibs import __version__

    root = project.place.repository.root
    wired = any(agent.wired for agent in agents)
    found: dict[str, list[Finding]] = {}
    progress("checking the store")
    found["engine"] = [*project.engine.inspect(), *damaged(project.engine)]
    progress("checking the board")
    found["board"] = _part("board", lambda: boards.check(project.board, root))
    progress("checking git")
    found["git"] = _part("git", lambda: [*_git(project).inspect(), *project.check_queue()])
    progress("checking worktrees and agents")
    found["crew"] = _part("crew", lambda: project.doctoring.inspect(__version__, wired=wired))
    trees = _despite_damage(project.doctoring.trees)
    found["agents"] = [
        *findings(agents, root),
        *_wiring(project),
        *as_findings(missing),
        *unreachable(agents, os.environ),
        *unwired(root, trees, os.path.expanduser("~"), os.environ),
    ]
    return found


def _agent(agent: AgentSetup, seen: Sequence[AgentSetup]) -> dict[str, object]:
    return {
        "agent": agent.name,
        "installed": bool(agent.program),
        "version": agent.version or None,
        "hooks": [
            {"event": hook.event, "file": hook.file, "refuses": hook.refuses}
            for hook in agent.hooks
        ],
        "mcp": [server.file for server in agent.servers],
        "guarded": bool(guarded_by(agent.name, seen)),
        "accepted": agent.accepted or None,
        "note": agent.consent.text or agent.consent.gap,
    }
