"""What a runner does with an agent's output: log it, collect its text commands, and decide its writes."""

from __future__ import annotations

import threading
from collections import deque

from dibs.core.claims.rules import Denied, Granted
from dibs.core.crew.text_commands import CommandReader
from dibs.core.text.names import few, printable
from dibs.errors import DibsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dibs.core.claims.agents import Caller
    from dibs.core.crew.text_commands import CommandError, TextCommand
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
        self._commands: deque[TextCommand | CommandError] = deque(maxlen=_MOST_COMMANDS)
        self._context, self._tokens = -1.0, 0

    def heard(self, text: str) -> None:
        """Log what the agent printed, and collect its text commands."""
        self._log.write(text)
        with self._lock:
            self._commands.extend(self._reader.feed(text))

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
            patterns = [self._project.tree.resolve(path, literal=True) for path in paths]
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

    def commands(self) -> list[TextCommand | CommandError]:
        """Return the text commands since the last call."""
        with self._lock:
            found = list(self._commands)
            self._commands.clear()
        return found

    def usage(self) -> tuple[int, float]:
        """Return the tokens since the last call, and the share of the context in use."""
        with self._lock:
            used, self._tokens = self._tokens, 0
            return used, self._context
