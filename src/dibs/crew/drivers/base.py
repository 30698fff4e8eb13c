"""What the runner expects of a driver, and what a driver tells the runner."""

from __future__ import annotations

from dibs.errors import Misconfigured
from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from subprocess import Popen
    from typing import Protocol

    class AgentListener(Protocol):
        """Receives what an agent says and does. Its calls may come from any thread and return quickly."""

        def heard(self, text: str) -> None:
            """Take a part of what the agent printed or said; parts may be split anywhere."""

        def noted(self, line: str) -> None:
            """Take one line for the log about something that is not text, such as a tool call."""

        def used(self, *, context: float = -1.0, tokens: int = 0) -> None:
            """Take the share of the context window in use (0 to 1), and tokens used since the last call."""

        def may_write(
            self, paths: Sequence[str], tool: str, arguments: Mapping[str, object]
        ) -> str:
            """Claim what a tool call would write; return why it must not run, empty if it may."""

    class Driver(Protocol):
        """Drives one agent, one turn at a time. Only the runner's thread calls it."""

        def start(self) -> None:
            """Start what lives between turns; raise ``AgentCommandError`` if that is not possible."""

        def prompt(self, text: str) -> None:
            """Begin a turn."""

        def wait(self, timeout: float) -> TurnEnd | None:
            """Wait for the end of the turn; return None if it has not ended after ``timeout`` seconds."""

        def cancel(self) -> None:
            """Ask the agent to end its turn; the runner kills its processes if it does not."""

        def close(self) -> None:
            """Close files and connections after the agent's processes have ended."""

    #: Starts a process of the agent with pipes, in its own group; see ``crew/processes.py``.
    Spawn = Callable[[Sequence[str]], Popen[bytes]]


class TurnOutcome(metaclass=TextEnum):
    """How a turn ended: the agent ended it, its process exited, or it was cancelled."""

    ENDED = "ended"
    EXITED = "exited"
    CANCELLED = "cancelled"


class TurnEnd(Record):
    """The end of a turn."""

    outcome: str
    #: The exit status of the agent's process, negative for a signal; None while it runs.
    status: int | None = None
    #: Why, if the agent says so: a stop reason or an error.
    why: str = ""


class AgentCommandError(Misconfigured):
    """The agent's program cannot be started."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, code="AGENT_COMMAND", field="command", hint=hint)
