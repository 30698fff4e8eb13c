"""The commands that are written into files of agents, and how they are known again.

They name the interpreter and the file of this very installation, for a name that a PATH has to find may be
missing where an agent was started. They are the same in each release: agents ask again when one changes.
"""

from __future__ import annotations

import os
import re
import shlex
import sys

import dibs
from dibs.errors import BadInput
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: The keys of a handler's command.
_RUNS = ("command", "bash")
#: The script in a command of this installation, and the names of an agent and an event after it.
_SCRIPT = "/dibs/guard/run.py"
_NAMES = re.compile(r"[a-z]+(?: [A-Za-z_]+)?")


class Commands(Record):
    """How Dibs is called from the files of agents."""

    #: The words before the agent's name in a hook, and before ``mcp`` in a server.
    hook_words: tuple[str, ...]
    server_words: tuple[str, ...]

    def hook(self, agent: str, event: str = "", *, can_refuse: bool = True) -> str:
        """Return the shell command of a hook.

        Where it can refuse, its own failure refuses too. Elsewhere a failure must not: it would keep a human
        from asking, or an agent from ending its turn.
        """
        words = (*self.hook_words, agent, *([event] if event else ()))
        return f"{shlex.join(words)} || exit {2 if can_refuse else 0}"

    @property
    def server(self) -> tuple[str, ...]:
        """The words that start the MCP server."""
        return (*self.server_words, "mcp")


def commands(*, shared: bool = False) -> Commands:
    """Return the commands of this installation, or with ``shared`` those that a PATH finds."""
    if shared:
        return Commands(("dibs", "hook"), ("dibs",))
    package = os.path.dirname(os.path.abspath(str(dibs.__file__)))
    script = os.path.join(package, "guard", "run.py")
    for place in (sys.executable, script):
        if not place.isprintable():
            raise BadInput(
                "the path of this installation has characters that no settings file can carry",
                code="SETTINGS_INVALID",
                hint="install Dibs at another place, or use dibs init --shared",
            )
    return Commands((sys.executable, "-I", "-S", script), (sys.executable, "-P", "-m", "dibs"))


def is_our_hook(value: Any) -> bool:
    """Tell whether a handler in a file of an agent is one of ours, of this or another installation.

    One that somebody wrote around a hook of ours is theirs.
    """
    if isinstance(value, dict):
        return any(is_our_hook(value.get(key)) for key in _RUNS)
    try:
        words = shlex.split(value) if isinstance(value, str) else []
    except ValueError:  # a quote is open
        return False
    if words[-3:-1] == ["||", "exit"]:
        del words[-3:]
    if [os.path.basename(word) for word in words[:2]] == ["dibs", "hook"]:
        return _NAMES.fullmatch(" ".join(words[2:])) is not None
    installed = words[1:3] == ["-I", "-S"] and words[3:4] and words[3].endswith(_SCRIPT)
    return bool(installed) and _NAMES.fullmatch(" ".join(words[4:])) is not None


def is_our_server(value: Any) -> bool:
    """Tell whether an entry for an MCP server starts ours."""
    if not isinstance(value, dict):
        return False
    words: list[Any] = []
    for part in (value.get("command"), value.get("args")):
        words += part if isinstance(part, list) else [part]
    told = [word for word in words if isinstance(word, str)]
    return told[-1:] == ["mcp"] and (
        told[-3:-1] == ["-m", "dibs"] or os.path.basename(told[0]) == "dibs"
    )
