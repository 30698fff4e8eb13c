"""The agents on this machine: which are used here, installed, wired to Dibs, trusted. Nothing is changed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

from dibs.core.text.findings import Finding, Level
from dibs.install.agents.table import AGENTS
from dibs.install.inspect.consent import Consent, Trusted, consent
from dibs.install.inspect.settings import hooks_of, servers_of, shown
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from dibs.install.agents.table import AgentSettings
    from dibs.install.inspect.settings import InstalledHook, McpRegistration, UnreadableSettings

#: The time limit for a program to print its version, in seconds.
_PATIENCE = 5.0
#: How many folders above a program its package may be.
_ABOVE = 4


class AgentSetup(Record):
    """One agent, as this repository and this machine show it."""

    name: str
    #: Where its program is; empty if it is not installed.
    program: str
    version: str
    hooks: tuple[InstalledHook, ...]
    unreadable: tuple[UnreadableSettings, ...]
    servers: tuple[McpRegistration, ...]
    consent: Consent

    @property
    def wired(self) -> bool:
        """Whether a hook of it can refuse a write."""
        return any(hook.refuses for hook in self.hooks)


def used_here(root: str, environ: Mapping[str, str], made: Collection[str] = ()) -> dict[str, str]:
    """Return the agents that are used here, each with what shows it.

    Files and folders that Dibs made show nothing.
    """
    shown = {name: _shown(agent, root, environ, made) for name, agent in AGENTS.items()}
    return {name: how for name, how in shown.items() if how}


def program_of(agent: AgentSettings, environ: Mapping[str, str]) -> str:
    """Return the agent's program, as the PATH finds it; empty if it does not."""
    for name in agent.programs:
        for folder in environ.get("PATH", "").split(os.pathsep):
            place = os.path.join(folder, name)
            if os.path.isabs(folder) and os.path.isfile(place) and os.access(place, os.X_OK):
                return place
    return ""


def _shown(
    agent: AgentSettings, root: str, environ: Mapping[str, str], made: Collection[str]
) -> str:
    place = program_of(agent, environ)
    if place:
        return f"program {place}"
    home = environ.get("HOME", "")
    for folder in agent.homes if os.path.isabs(home) else ():
        if os.path.isdir(os.path.join(home, folder)):
            return f"folder ~/{folder}"
    for sign in agent.signs:
        if sign not in made and os.path.lexists(os.path.join(root, sign)):
            return f"{sign} in the repository"
    return ""


def look(root: str, home: str, environ: Mapping[str, str]) -> list[AgentSetup]:
    """Return every agent that is installed here or that the settings name."""
    found = []
    for name in AGENTS:
        hooks, bad = hooks_of(name, root, home, environ)
        program = program_of(AGENTS[name], environ)
        servers = servers_of(name, root, home, environ)
        if not (program or hooks or bad or servers):
            continue
        word = consent(name, hooks, root, home, environ) if hooks else Consent(Trusted.UNKNOWN)
        version = version_of(program) if program else ""
        found.append(
            AgentSetup(name, program, version, tuple(hooks), tuple(bad), tuple(servers), word)
        )
    return found


def findings(seen: Sequence[AgentSetup], root: str) -> list[Finding]:
    """Return findings: agents without guards, and hooks that their agents skip."""
    found = []
    for one in seen:
        for bad in one.unreadable:
            text = f"{shown(bad.file, root)} cannot be read: {bad.why}; {one.name} may ignore all of it"
            found.append(Finding(Level.WARN, one.name, text))
        if one.wired and one.consent.missing:
            found.append(Finding(Level.WARN, one.name, one.consent.text))
        elif one.wired:
            files = dict.fromkeys(shown(hook.file, root) for hook in one.hooks)
            found.append(Finding(Level.OK, one.name, f"guarded by {', '.join(files)}"))
        elif one.program and one.name != "vscode":
            text = f"installed, and no hook of Dibs guards it: dibs init --agents {one.name}"
            found.append(Finding(Level.OK, one.name, text))
        found += [
            Finding(Level.WARN, one.name, text) for hook in one.hooks if (text := _broken(hook))
        ]
    return found


def unreachable(seen: Sequence[AgentSetup], environ: Mapping[str, str]) -> list[Finding]:
    """Return a warning where agents cannot run the commands that a refusal names."""
    if not any(one.wired for one in seen) or shutil.which("dibs", path=environ.get("PATH", "")):
        return []
    text = (
        "dibs is not on the PATH: hooks and MCP work, but an agent that is told to run `dibs ask` cannot;"
        " put it on the PATH of login shells too, which Codex uses"
    )
    return [Finding(Level.WARN, "path", text)]


def unwired(
    root: str, trees: Sequence[str], home: str, environ: Mapping[str, str]
) -> list[Finding]:
    """Return the working trees in which an agent would not find the hooks that the main one has."""
    here = {name for name in AGENTS if _own_hooks(name, root, environ)}
    found = []
    for tree in trees:
        lacking = sorted(name for name in here if not _own_hooks(name, tree, environ))
        lacking = [name for name in lacking if not hooks_of(name, tree, home, environ)[0]]
        if lacking:
            text = f"{tree} has no hooks for {', '.join(lacking)}: run `dibs init` there"
            found.append(Finding(Level.WARN, "worktree", text))
    return found


def _own_hooks(name: str, tree: str, environ: Mapping[str, str]) -> bool:
    return bool(hooks_of(name, tree, "", environ)[0])


def _broken(hook: InstalledHook) -> str:
    """Return what keeps a command from running: a program that it names is gone."""
    import shlex

    try:
        words = shlex.split(hook.command.partition("||")[0])
    except ValueError:
        return ""
    gone = [word for word in words if os.path.isabs(word) and not os.path.exists(word)]
    if not gone:
        return ""
    return f"the hook at {hook.event} names {gone[0]}, which is gone: run `dibs init` again"


def version_of(program: str) -> str:
    """Return the version of an agent: from its package where that can be found, else by asking it."""
    folder = os.path.dirname(os.path.realpath(program))
    for _ in range(_ABOVE):
        try:
            with open(os.path.join(folder, "package.json"), encoding="utf-8") as file:
                version = json.load(file).get("version")
        except (OSError, ValueError, AttributeError):
            version = None
        if isinstance(version, str):
            return version[:40]
        folder = os.path.dirname(folder)
    try:
        done = subprocess.run(  # noqa: S603 - a program of the user's own PATH, asked for its version
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    words = done.stdout.decode("utf-8", "replace").split()
    return next((word[:40] for word in words if word[:1].isdigit()), "")
