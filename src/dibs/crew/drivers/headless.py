"""Drive an agent by its headless mode: one process for each turn, which ends with it."""

from __future__ import annotations

import signal

from dibs.core.crew.presets import fill
from dibs.crew.drivers.base import TurnEnd, TurnOutcome
from dibs.crew.pipes import PipedProcess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.crew.roles import CrewRole
    from dibs.crew.drivers.base import AgentListener, Spawn


class HeadlessDriver:
    """Starts the role's command for each prompt."""

    def __init__(self, role: CrewRole, spawn: Spawn, listener: AgentListener) -> None:
        self._role = role
        self._spawn = spawn
        self._listener = listener
        self._running: PipedProcess | None = None
        self._cancelled = False

    def start(self) -> None:
        """Do nothing: a process starts with its prompt."""

    def prompt(self, text: str) -> None:
        """Start the command; the prompt is one of its arguments, or on its standard input."""
        self.close()
        words, has_prompt = fill(self._role.command, model=self._role.model, prompt=text)
        self._cancelled = False
        self._running = PipedProcess(self._spawn(words), self._listener.heard)
        if not has_prompt:
            self._running.send(text)
        self._running.end_input()

    def wait(self, timeout: float) -> TurnEnd | None:
        """Return how the process ended; a turn that ends with status 0 has ended as it should."""
        assert self._running is not None
        status = self._running.wait(timeout)
        if status is None:
            return None
        if self._cancelled:
            return TurnEnd(TurnOutcome.CANCELLED, status)
        return TurnEnd(TurnOutcome.EXITED if status else TurnOutcome.ENDED, status)

    def cancel(self) -> None:
        """Ask the process to end."""
        self._cancelled = True
        if self._running is not None and self._running.process.poll() is None:
            self._running.process.send_signal(signal.SIGINT)

    def close(self) -> None:
        """Close the pipes of the last turn."""
        if self._running is not None:
            self._running.close()
            self._running = None
