"""Drive an agent by its standard input and output: one process that reads prompts and prints text commands.

Such an agent does not say when its turn ends. It ends when the agent is silent for a while, or exits.
"""

from __future__ import annotations

import time

from dibs.core.crew.presets import fill
from dibs.core.text.durations import show_span
from dibs.crew.drivers.base import TurnEnd, TurnOutcome
from dibs.crew.pipes import PipedProcess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.core.crew.roles import CrewRole
    from dibs.crew.drivers.base import AgentListener, Spawn

#: How often silence is checked, in seconds.
_LOOK = 0.2


class StdioDriver:
    """Keeps one process of the role's command, and writes prompts to it."""

    def __init__(
        self,
        role: CrewRole,
        spawn: Spawn,
        listener: AgentListener,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._role = role
        self._spawn = spawn
        self._listener = listener
        self._clock = clock
        self._running: PipedProcess | None = None
        self._prompted = 0.0
        self._cancelled = False

    def start(self) -> None:
        """Start the process, unless it runs."""
        if self._running is None or self._running.process.poll() is not None:
            self.close()
            words, _ = fill(self._role.command, model=self._role.model)
            self._running = PipedProcess(self._spawn(words), self._listener.heard)

    def prompt(self, text: str) -> None:
        """Write the prompt to the process."""
        self.start()
        self._cancelled = False
        self._prompted = self._clock()
        self.reply(text)

    def wait(self, timeout: float) -> TurnEnd | None:
        """Return the end of the turn: the process exited, or was silent for the role's ``quiet`` time."""
        assert self._running is not None
        until = self._clock() + timeout
        while True:
            left = max(0.0, until - self._clock())
            status = self._running.wait(min(left, _LOOK))
            if status is not None:
                cancelled = TurnOutcome.CANCELLED if self._cancelled else TurnOutcome.EXITED
                return TurnEnd(cancelled, status)
            silent = self._clock() - max(self._prompted, self._running.last_output)
            if self._cancelled or silent >= self._role.quiet:
                outcome = TurnOutcome.CANCELLED if self._cancelled else TurnOutcome.ENDED
                return TurnEnd(outcome, why=f"silent for {show_span(silent)}")
            if not left:
                return None

    def reply(self, text: str) -> bool:
        """Write a reply to the process."""
        assert self._running is not None
        return self._running.send(text if text.endswith("\n") else f"{text}\n")

    def cancel(self) -> None:
        """End the turn; the process is not told, because it has no way to hear it."""
        self._cancelled = True

    def close(self) -> None:
        """Close the pipes."""
        if self._running is not None:
            self._running.close()
            self._running = None
