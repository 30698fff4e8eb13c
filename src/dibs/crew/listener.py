"""What a runner does with an agent's output: log it, collect its text commands, and decide its writes."""

from __future__ import annotations

import os
import threading

from dibs.core.claims.rules import Denied, Granted
from dibs.core.crew.text_commands import CommandError, CommandReader
from dibs.core.text.names import few, printable
from dibs.errors import DibsError
from dibs.local.paths import is_beneath
from dibs.local.repository import main_tree, trees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dibs.core.claims.agents import Caller
    from dibs.core.crew.text_commands import TextCommand
    from dibs.crew.logs import AgentLog
    from dibs.project.project import Project

#: How many commands wait to be executed; more in one turn are refused.
_MOST_COMMANDS = 200


class RunnerListener:
    """Receives what an agent says and does; its calls come from the driver's threads."""

    def __init__(self, project: Project, caller: Caller, log: AgentLog, nonce: str = "") -> None:
        self._project = project
        self._caller = caller
        self._log = log
        self._reader = CommandReader(nonce=nonce)
        self._lock = threading.Lock()
        self._commands: list[TextCommand | CommandError] = []
        self._context, self._tokens = -1.0, 0

    def heard(self, text: str) -> None:
        """Log what the agent printed, and collect its text commands."""
        self._log.write(text)
        with self._lock:
            self._add(self._reader.feed(text))

    def ended(self) -> None:
        """End a turn: a code block or a command that it left open does not hide the next turn's commands."""
        with self._lock:
            self._add(self._reader.close())

    def _add(self, found: Sequence[TextCommand | CommandError]) -> None:
        room = _MOST_COMMANDS - len(self._commands)
        self._commands += found[:room]
        if 0 <= room < len(found):
            self._commands.append(CommandError(f"more than {_MOST_COMMANDS} commands wait already"))

    def noted(self, line: str) -> None:
        """Log one line about a tool call or a plan."""
        self._log.note(line)

    def used(self, *, context: float = -1.0, tokens: int = 0) -> None:
        """Add up the tokens, and remember the share of the context in use."""
        with self._lock:
            self._tokens += tokens
            self._context = context if context >= 0 else self._context

    def may_write(self, paths: Sequence[str], tool: str, arguments: Mapping[str, object]) -> str:  # noqa: ARG002
        """Claim what a tool call would write; return why it must not run, empty if it may."""
        try:
            patterns = [
                self._project.tree.resolve(path, literal=True)
                for path in paths
                if self._is_ours(path)
            ]
            if not patterns:
                return ""
            answer = self._project.claims.claim(self._caller, patterns, reason=f"tool {tool}")
        except DibsError as error:
            return printable(error.message)
        if isinstance(answer, Granted):
            return ""
        holders = (
            sorted({one.holder for one in answer.conflicts}) if isinstance(answer, Denied) else []
        )
        return f"{few(list(paths))}: held by {few(holders) or 'another agent'}"

    def _is_ours(self, path: str) -> bool:
        """Return whether a path is in this repository, in any of its working trees; others need no claim."""
        repository = self._project.place.repository
        roots = (repository.root, main_tree(repository), repository.common, *trees(repository))
        real = os.path.realpath(os.path.join(repository.root, path))
        return any(is_beneath(real, os.path.realpath(root)) for root in roots if root)

    def commands(self) -> list[TextCommand | CommandError]:
        """Return the text commands since the last call."""
        with self._lock:
            found, self._commands = self._commands, []
        return found

    def usage(self) -> tuple[int, float]:
        """Return the tokens since the last call, and the share of the context in use."""
        with self._lock:
            used, self._tokens = self._tokens, 0
            return used, self._context
