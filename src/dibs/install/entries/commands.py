"""The commands that ``dibs init`` writes into agents' files, and how it recognizes them.

They name the interpreter and the script of this installation, because an agent may be started with another
PATH. They do not change between releases without need: agents ask their users again when a command changes.
A hook that can block first checks that Dibs is still installed, and says what to do if it is not. If it dies
without a reason, its command gives one: Codex and Gemini allow a call whose hook fails silently.
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
#: Prints its argument and blocks the call. The words are valid in POSIX shells and in fish.
_BLOCK = ("exec", "sh", "-c", 'printf "%s\\n" "$0" >&2; exit 2')
#: Runs if a hook fails; with status 2, the hook has printed a reason. In fish, ``eval`` fails with an error.
_DIED = (
    's=$?; test $s -eq 2 || printf "%s\\n" "Dibs blocked this call, because its hook failed (status $s). '
    'Try again, run dibs doctor, or delete its hooks from {}." >&2; exit 2'
)
_DIED_START, _DIED_END = _DIED.split("{}")
#: Files whose names need no quotes inside a quoted text.
_PLAIN_FILE = re.compile(r"[\w./:@+~ -]+")
_PASS = ("exit", "0")
_MISSING = "Dibs blocked this call, because {what}. {how}, or delete its hooks from {file}."


class Commands(Record):
    """How Dibs is called from the files of agents."""

    #: The words before the agent's name in a hook, and before ``mcp`` in a server.
    hook_words: tuple[str, ...]
    server_words: tuple[str, ...]
    #: Whether the hooks run in all folders: then they must not block calls where Dibs was removed.
    everywhere: bool = False

    def hook(self, agent: str, event: str = "", *, file: str = "", can_refuse: bool = True) -> str:
        """Return the shell command of a hook in ``file``.

        If it can block, its own failure blocks too. Elsewhere a failure must not: it would keep a human from
        sending a prompt, or an agent from ending its turn.
        """
        words = (*self.hook_words, agent, *([event] if event else ()))
        if not can_refuse:
            return f"{shlex.join(words)} || exit 0"
        named = file if _PLAIN_FILE.fullmatch(file) else "this file"
        died = shlex.join(["eval", _DIED.format(named)])
        return f"{self._check(file)} ; {shlex.join(words)} || {died} || exit 2"

    def _check(self, file: str) -> str:
        """Return the command that blocks with one clear line if Dibs is no longer installed."""
        if self.hook_words[0] == "dibs":
            there = "command -v dibs >/dev/null"
            what, how = "dibs is not on the PATH", "Install Dibs"
        else:
            python, script = self.hook_words[0], self.hook_words[-1]
            there = shlex.join(["test", "-x", python, "-a", "-f", script])
            what = f"it is no longer installed in {sys.prefix}"
            how = "Reinstall it and run dibs init"
        if self.everywhere:
            return f"{there} || {shlex.join(_PASS)}"
        said = _MISSING.format(what=what, how=how, file=file or "this file")
        return f"{there} || {shlex.join([*_BLOCK, said])}"

    @property
    def server(self) -> tuple[str, ...]:
        """The words that start the MCP server."""
        return (*self.server_words, "mcp")


def commands(*, shared: bool = False) -> Commands:
    """Return the commands of this installation, or with ``shared`` those found on the PATH."""
    if shared:
        return Commands(("dibs", "hook"), ("dibs",))
    package = os.path.dirname(os.path.abspath(str(dibs.__file__)))
    script = os.path.join(package, "guard", "run.py")
    for place in (sys.executable, script):
        if not place.isprintable():
            raise BadInput(
                "the path of this installation contains characters that settings files cannot store",
                code="SETTINGS_INVALID",
                hint="install Dibs elsewhere, or run: dibs init --shared",
            )
    return Commands((sys.executable, "-I", "-S", script), (sys.executable, "-P", "-m", "dibs"))


def is_our_hook(value: Any) -> bool:
    """Return whether a handler in an agent's file is ours, from this or another installation or release.

    A user's command that contains our hook is the user's.
    """
    if isinstance(value, dict):
        return any(is_our_hook(value.get(key)) for key in _RUNS)
    try:
        words = shlex.split(value) if isinstance(value, str) else []
    except ValueError:  # a quote is not closed
        return False
    words = _without_check(words)
    if words[-3:-1] == ["||", "exit"]:
        del words[-3:]
    if words[-3:-1] == ["||", "eval"] and _is_died(words[-1]):
        del words[-3:]
    if [os.path.basename(word) for word in words[:2]] == ["dibs", "hook"]:
        return _NAMES.fullmatch(" ".join(words[2:])) is not None
    installed = words[1:3] == ["-I", "-S"] and words[3:4] and words[3].endswith(_SCRIPT)
    return bool(installed) and _NAMES.fullmatch(" ".join(words[4:])) is not None


def _is_died(text: str) -> bool:
    """Return whether a script is the one that reports a failed hook."""
    return text.startswith(_DIED_START) and text.endswith(_DIED_END)


def _without_check(words: list[str]) -> list[str]:
    """Return the words of a hook without the check that Dibs is installed."""
    # test -x PYTHON -a -f SCRIPT || …, or command -v dibs >/dev/null || …
    there = {"test": 7, "command": 5}.get(words[0], 0) if words else 0
    for ending in ((*_BLOCK, ""), _PASS):
        end = there + len(ending)
        known = [word for word in ending if word]
        if there and words[end : end + 1] == [";"] and words[there:end][: len(known)] == known:
            return words[end + 1 :]
    return words


def is_our_server(value: Any) -> bool:
    """Return whether an MCP server entry starts ours."""
    if not isinstance(value, dict):
        return False
    words: list[Any] = []
    for part in (value.get("command"), value.get("args")):
        words += part if isinstance(part, list) else [part]
    told = [word for word in words if isinstance(word, str)]
    return told[-1:] == ["mcp"] and (
        told[-3:-1] == ["-m", "dibs"] or os.path.basename(told[0]) == "dibs"
    )
