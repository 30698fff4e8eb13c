"""The agents on this machine: which are used here, installed, guarded, and trusted. Changes nothing."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys

from dibs.core.text.findings import Finding, Level
from dibs.core.text.names import few
from dibs.git.run import absolute
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
        """Whether it has a hook that can block a write."""
        return any(hook.refuses for hook in self.hooks)

    @property
    def accepted(self) -> str:
        """The user's consent to its hooks, or to another agent's hooks that it runs; empty without hooks."""
        return self.consent.trusted if self.wired or self.consent.trusted != Trusted.UNKNOWN else ""


def used_here(root: str, environ: Mapping[str, str], made: Collection[str] = ()) -> dict[str, str]:
    """Return the agents that are used here, each with the evidence; what Dibs created does not count."""
    shown = {name: _shown(agent, root, environ, made) for name, agent in AGENTS.items()}
    return {name: how for name, how in shown.items() if how}


def program_of(agent: AgentSettings, environ: Mapping[str, str]) -> str:
    """Return the agent's program on the PATH; empty if there is none."""
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
        return f"found at {place}"
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
        own = any(not server.lent for server in servers)
        if not (program or hooks or bad or own):
            continue
        lent = [
            h for lender in AGENTS[name].reads_too for h in hooks_of(lender, root, "", environ)[0]
        ]
        runs = [*hooks, *lent]
        word = consent(name, runs, root, home, environ) if runs else Consent(Trusted.UNKNOWN)
        # A program in the repository is not run.
        version = version_of(program) if absolute(os.path.dirname(program), root) else ""
        found.append(
            AgentSetup(name, program, version, tuple(hooks), tuple(bad), tuple(servers), word)
        )
    return found


def guarded_by(name: str, seen: Sequence[AgentSetup]) -> str:
    """Return the agent whose hooks guard an agent: itself, or another; empty if there are none."""
    wired = {one.name for one in seen if one.wired}
    return next((lender for lender in AGENTS[name].lenders if lender in wired), "")


def findings(seen: Sequence[AgentSetup], root: str) -> list[Finding]:
    """Return findings about agents without guards and hooks that their agents skip."""
    found = []
    for one in seen:
        lender = guarded_by(one.name, seen)
        for bad in one.unreadable:
            text = f"cannot read {shown(bad.file, root)}: {bad.why}; {one.name} may ignore the whole file"
            found.append(Finding(Level.WARN, one.name, text))
        if lender and one.consent.missing:
            found.append(Finding(Level.WARN, one.name, one.consent.text))
        elif one.wired and (texts := _outdated(one)):
            found += [Finding(Level.WARN, one.name, text) for text in texts]
        elif one.wired:
            files = dict.fromkeys(shown(hook.file, root) for hook in one.hooks)
            found.append(Finding(Level.OK, one.name, f"guarded by {', '.join(files)}"))
        elif lender and one.name != "vscode":
            text = f"guarded by {AGENTS[lender].title}'s hooks, which it also runs"
            found.append(Finding(Level.OK, one.name, text))
        elif one.program and one.name != "vscode":
            text = f"installed but not guarded: run `dibs init --agents {one.name}`"
            found.append(Finding(Level.WARN, one.name, text))
        if one.wired and one.consent.gap:
            found.append(Finding(Level.WARN, one.name, one.consent.gap))
        found += [
            Finding(Level.WARN, one.name, text) for hook in one.hooks if (text := _broken(hook))
        ]
    return found


def _outdated(one: AgentSetup) -> list[str]:
    """Return which tools the matchers of an agent's hooks omit, and how to replace the hooks."""
    texts = []
    if tools := _skipped(one):
        texts.append(f"its hooks are older than this version and skip {few(tools)}")
    if not _hears_reads(one):
        texts.append("its hooks skip reads, so an agent that only reads sends no heartbeat")
    return [f"{text}: run `dibs init --agents {one.name}`" for text in texts]


def _skipped(one: AgentSetup) -> list[str]:
    """Return the tools that write or run commands for which no hook is called before or after."""
    from dibs.install.prove.hooks import matches

    settings = AGENTS[one.name].hooks
    if not settings.writers:
        return []
    tools = [name.replace(".*", "server__tool") for name in settings.writers.split("|")]
    before = [h.matcher for h in one.hooks if h.refuses]
    after = [h.matcher for h in one.hooks if h.event in settings.tool_events and not h.refuses]
    return [
        tool
        for tool in tools
        if not all(any(matches(text, tool) for text in some) for some in (before, after))
    ]


def _hears_reads(one: AgentSetup) -> bool:
    """Return whether a hook is called for the tool that reads a file, or the agent has no matchers."""
    from dibs.install.prove.hooks import matches

    reader = AGENTS[one.name].hooks.readers.partition("|")[0]
    events = AGENTS[one.name].hooks.tool_events
    return not reader or any(h.event in events and matches(h.matcher, reader) for h in one.hooks)


def unreachable(seen: Sequence[AgentSetup], environ: Mapping[str, str]) -> list[Finding]:
    """Return a warning if agents cannot run the commands that a refusal names."""
    if not any(one.wired for one in seen) or shutil.which("dibs", path=environ.get("PATH", "")):
        return []
    text = (
        "dibs is not on the PATH: hooks and MCP work, but agents cannot run commands such as `dibs ask`;"
        f" {_path_hint()}"
    )
    return [Finding(Level.WARN, "path", text)]


def _path_hint() -> str:
    """Return how to put dibs on the PATH; Codex starts login shells, which read the profile."""
    folder = os.path.dirname(sys.executable)
    if not os.path.exists(os.path.join(folder, "dibs")):
        return "add its folder to the PATH in your shell profile"
    return f'add this line to your shell profile: `export PATH="$PATH:{folder}"`'


def unwired(
    root: str, trees: Sequence[str], home: str, environ: Mapping[str, str]
) -> list[Finding]:
    """Return the worktrees that lack hooks which the main one has."""
    here = {name for name in AGENTS if _own_hooks(name, root, environ)}
    found = []
    for tree in trees:
        lacking = sorted(name for name in here if not _own_hooks(name, tree, environ))
        lacking = [name for name in lacking if not hooks_of(name, tree, home, environ)[0]]
        if lacking:
            command = shlex.join(["dibs", "init", "--agents", ",".join(lacking), "--repo", tree])
            text = f"{tree} has no hooks for {', '.join(lacking)}: run `{command}`"
            found.append(Finding(Level.WARN, "worktree", text))
    return found


def _own_hooks(name: str, tree: str, environ: Mapping[str, str]) -> bool:
    return bool(hooks_of(name, tree, "", environ)[0])


def _broken(hook: InstalledHook) -> str:
    """Return why a command cannot run: a program that it names does not exist."""
    try:
        words = shlex.split(hook.command.partition("||")[0])
    except ValueError:
        return ""
    gone = [word for word in words if os.path.isabs(word) and not os.path.exists(word)]
    if not gone:
        return ""
    return (
        f"the {hook.event} hook runs {gone[0]}, which does not exist:"
        f" run `dibs init --agents {hook.agent}`"
    )


def version_of(program: str) -> str:
    """Return the version of an agent, from its package if there is one, else from ``--version``."""
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
