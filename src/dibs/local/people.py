"""Whether a human runs a command, or an agent that left its own process tree.

While a guarded session runs on this machine, a caller without a name counts as a human only in a terminal
that no agent could have started. ``why_not_human`` decides; the rest reads ``/proc``.
"""

from __future__ import annotations

import os

from dibs.local.files import read_file
from dibs.local.identity import MARKERS, VARIABLE
from dibs.local.noted_agents import noted_agents
from dibs.local.processes import (
    RunningProcess,
    above,
    environment_of,
    is_foster,
    is_hidden,
    realm,
    running,
    variables_in,
)
from dibs.local.server_files import guarded_states, server_folder
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from dibs.local.noted_agents import NotedAgent

#: Programs that start a person's shell. The kernel cuts names after 15 characters.
LOGINS = frozenset({
    "sshd", "sshd-session", "dropbear", "mosh-server", "login", "agetty", "getty", "mingetty", "telnetd",
    "gnome-terminal-", "ptyxis", "ptyxis-agent", "kgx", "konsole", "yakuake", "guake", "tilda", "xterm",
    "uxterm", "urxvt", "urxvtd", "rxvt", "alacritty", "kitty", "foot", "wezterm-gui", "wezterm", "ghostty",
    "tilix", "terminator", "xfce4-terminal", "lxterminal", "mate-terminal", "qterminal", "st", "terminology",
    "sakura", "contour", "rio", "warp", "tabby", "hyper", "code", "code-insiders", "codium", "cursor",
    "windsurf", "zed", "zed-editor", "idea", "pycharm", "goland", "webstorm", "clion", "rider", "phpstorm",
    "rubymine", "rustrover", "emacs", "SessionLeader",
})  # fmt: skip
#: Servers whose shells belong to the person who is attached to them, and the names of their clients.
MULTIPLEXERS = {
    "tmux: server": "tmux: client", "screen": "screen", "SCREEN": "screen", "zellij": "zellij",
}  # fmt: skip
#: Daemons that run commands for anyone who asks, besides those that adopt orphans.
_ON_REQUEST = frozenset(
    {"atd", "cron", "crond", "anacron", "fcron", "supervisord", "containerd-shim", "dbus-daemon"}
)
#: The variable with a token, and the file in the server's folder with the hashes of all tokens.
TOKEN, TOKENS = "DIBS_TOKEN", "tokens.json"
_NAMES = frozenset({VARIABLE, *MARKERS})
_TMUX = "TMUX"
_SSH = "SSH_CONNECTION"


class ProcessContext(Record):
    """What is known about a command: its process and those above it, the nearest first."""

    chain: tuple[RunningProcess, ...]
    #: Agents that may run on this machine.
    agents: tuple[NotedAgent, ...] = ()
    #: The terminals of these agents.
    terminals: frozenset[int] = frozenset()
    #: By process number, the agent's marker in the environment of a process in the chain.
    markers: Mapping[int, str] = {}
    #: See ``processes.realm``.
    realm: str = ""
    #: When the first process of this PID namespace started.
    space_born: int = 0
    #: Whether the login comes from this machine itself.
    looped: bool = False
    #: Whether a human needs a terminal; programs with windows have none.
    needs_terminal: bool = True
    #: See ``processes.is_hidden``.
    hidden: bool = False


def why_not_human(  # noqa: C901, PLR0911 - one reason each
    scene: ProcessContext, clients: Callable[[RunningProcess], Iterable[Sequence[RunningProcess]]]
) -> str:
    """Return why a command's caller does not count as a human; empty if it may be one.

    ``clients`` returns the chains of the clients that are attached to a multiplexer.
    """
    agents = scene.agents
    if not agents:
        return ""
    for process in scene.chain:
        if scene.markers.get(process.pid):
            name = scene.markers[process.pid]
            return f"{process} has {name} in its environment, so an agent started it"
        if found := _agent_at(scene, process):
            return f"{process} is {found.agent}"
    first = min(agents, key=lambda one: one.born)
    nested = [one for one in agents if _is_nested(scene, one)]
    if nested:
        return f"this PID namespace is newer than the session of {nested[0].agent}, which may have created it"
    if scene.hidden:
        return f"/proc does not show this process here, so {first.agent} may have started it"
    if not scene.chain:
        return ""  # without /proc, only the environment is known
    if scene.needs_terminal and not scene.chain[0].terminal:
        return f"there is no terminal, so {first.agent} may have started this process"
    if scene.looped:
        return f"the SSH login comes from this machine, so {first.agent} may have started it"
    if _is_anchored(scene, scene.chain, clients):
        return ""
    top = _top(scene, scene.chain)
    return f"{top} started after {first.agent}, which may have started it"


def _is_nested(scene: ProcessContext, agent: NotedAgent) -> bool:
    """Return whether this process is in a PID namespace that the agent may have created."""
    there, here = agent.realm.split("/"), scene.realm.split("/")
    elsewhere = agent.realm != scene.realm and there[:2] == here[:2]
    return elsewhere and scene.space_born > agent.born


def _agent_at(scene: ProcessContext, process: RunningProcess) -> NotedAgent | None:
    """Return the agent whose process this is."""
    same = (
        one
        for one in scene.agents
        if (one.realm, one.pid, one.born) == (scene.realm, process.pid, process.born)
    )
    return next(same, None)


def _top(scene: ProcessContext, chain: Sequence[RunningProcess]) -> RunningProcess:
    """Return the outermost process that started this one, as far as orphans show it.

    A process that adopts orphans started only those in its own terminal, and only if no agent is there.
    """
    top, terminal = chain[0], chain[0].terminal
    for process in chain[1:]:
        in_terminal = terminal and process.terminal == terminal not in scene.terminals
        if (is_foster(process) and not in_terminal) or process.name in _ON_REQUEST:
            break
        top = process
    return top


def _is_anchored(
    scene: ProcessContext,
    chain: Sequence[RunningProcess],
    clients: Callable[[RunningProcess], Iterable[Sequence[RunningProcess]]],
) -> bool:
    """Return whether a chain starts at something that no agent could have started."""
    top = _top(scene, chain)
    if top.name in MULTIPLEXERS:
        return any(
            one
            and not any(_agent_at(scene, process) for process in one)
            and _is_anchored(scene, one, lambda _: ())
            for one in clients(top)
        )
    # It entered the container from outside. An agent that runs elsewhere could do that, too.
    outside = top.above == 0 and top.pid != 1
    outside = outside and all(one.realm == scene.realm for one in scene.agents)
    earliest = min(one.born for one in scene.agents)
    return outside or top.name in LOGINS or (0 < top.born < earliest)


# -- what /proc says


def doubt_about(pid: int, states: Sequence[str], *, needs_terminal: bool = True) -> str:
    """Return why a process does not count as a human's in the user's projects and those with these states.

    A human's token in its environment proves the opposite.
    """
    states = tuple(dict.fromkeys((*states, *guarded_states())))
    agents = tuple(one for state in states for one in noted_agents(state))
    if not agents:
        return ""
    chain, here = _chain(pid), realm()
    visible = [running(one.pid) for one in agents if one.realm == here]
    environments = {one.pid: environment_of(one.pid) for one in chain}
    scene = ProcessContext(
        chain,
        agents,
        frozenset(one.terminal for one in visible if one is not None),
        {number: marker_in(entries) for number, entries in environments.items()},
        here,
        _born(1),
        any(map(_is_looped, environments.values())),
        needs_terminal,
        is_hidden(),
    )
    own = environments.get(pid, frozenset())
    found = why_not_human(scene, lambda server: _clients(server, own))
    token = _value(own, TOKEN) if found else ""
    return "" if token and proves_human(token, states) else found


def proves_human(token: str, states: Iterable[str] = ()) -> bool:
    """Return whether this is a human's token, and no running agent of these projects was started with it."""
    import hmac
    import json
    import time
    from hashlib import sha256

    setting = f"{TOKEN}={token}".encode("utf-8", "replace")
    states = tuple(states)
    if in_other_home(states) or any(setting in given for _, given in _environments(states)):
        return False  # an agent may have made it in a home folder of its own, or knows it
    try:
        rows = json.loads(read_file(os.path.join(server_folder(), TOKENS)))["tokens"]
        hashed = sha256(token.encode("utf-8", "replace")).hexdigest()
        found = [row for row in rows if hmac.compare_digest(row["hash"], hashed)]
        return any(
            row["scope"] in {"human", "admin"}
            and row["kind"] == "api"
            and (row["expires"] is None or time.time() < row["expires"])
            for row in found
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def in_other_home(states: Iterable[str]) -> str:
    """Return a running agent of these projects whose server folder is not this process's; empty if none.

    Tokens in another folder prove nothing: the agent may have created them.
    """
    folder = server_folder()
    apart = (
        one.agent
        for one, given in _environments(states)
        if given and server_folder(variables_in(given)) != folder
    )
    return next(apart, "")


def _environments(states: Iterable[str]) -> Iterator[tuple[NotedAgent, frozenset[bytes]]]:
    """Yield the agents of these projects in this PID namespace, with their variables."""
    here = realm()
    for one in (one for state in states for one in noted_agents(state)):
        if one.realm == here:
            yield one, environment_of(one.pid)


def _chain(pid: int) -> tuple[RunningProcess, ...]:
    itself = running(pid)
    if itself is None or not itself.above:
        return ()
    return (itself, *above(pid))


def _born(pid: int) -> int:
    found = running(pid)
    return 0 if found is None else found.born


def marker_in(entries: Iterable[bytes]) -> str:
    """Return the variable in a process's environment that shows that an agent started it."""
    for entry in entries:
        name, _, value = entry.partition(b"=")
        if value and name.decode("ascii", "replace") in _NAMES:
            return name.decode()
    return ""


def _is_looped(entries: Iterable[bytes]) -> bool:
    """Return whether an SSH login comes from this machine."""
    words = _value(entries, _SSH).split()
    return len(words) > 2 and (words[0] == words[2] or words[0].startswith(("127.", "::1")))  # noqa: PLR2004


def _value(entries: Iterable[bytes], name: str) -> str:
    start = f"{name}=".encode()
    return next((os.fsdecode(one[len(start) :]) for one in entries if one.startswith(start)), "")


def _clients(server: RunningProcess, own: frozenset[bytes]) -> list[tuple[RunningProcess, ...]]:
    """Return the chains of a multiplexer's attached clients, without those that an agent started."""
    if server.name == "tmux: server":
        pids = _tmux_clients(_value(own, _TMUX).partition(",")[0], server)
    else:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    wanted = MULTIPLEXERS[server.name]
    found = [one for one in map(running, pids) if one is not None and one.name == wanted]
    chains = [_chain(one.pid) for one in found if one.terminal and one.pid != server.pid]
    return [
        chain for chain in chains if not any(marker_in(environment_of(one.pid)) for one in chain)
    ]


def _tmux_clients(socket: str, server: RunningProcess) -> list[int]:
    """Return the process numbers of the clients that a tmux server lists at a socket.

    The server's own program asks, because anything can be called tmux, and the socket must be this server's.
    """
    import subprocess

    words = ["tmux", "-S", socket, "list-clients", "-F", "#{pid} #{client_pid}"]
    try:
        done = subprocess.run(  # noqa: S603
            words,
            executable=f"/proc/{server.pid}/exe",
            check=False,
            capture_output=True,
            timeout=5,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    rows = [row.split() for row in done.stdout.splitlines()]
    return [int(row[1]) for row in rows if row[:1] == [b"%d" % server.pid] and row[1].isdigit()]
