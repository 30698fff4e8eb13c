"""What each agent says to its hooks, and what it understands: one module for each dialect.

``parse(payload, event)`` returns a ``HookEvent``, or raises ``BadInput`` for what nobody can judge;
``answer(verdict, heard)`` says a verdict in the words of the agent; ``can_tell(heard)`` tells whether the
model would hear what is told then. A failure of ours is said by ``failed(line, heard)``.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from dibs.core.toolcalls.values import HookEvent, HookReply, Verdict

    class Dialect(Protocol):
        """What a module of this package has."""

        def parse(self, payload: dict[str, Any], event: str) -> HookEvent:
            """Return what was heard."""

        def can_tell(self, heard: HookEvent) -> bool:
            """Tell whether the model hears what is told now."""

        def answer(self, verdict: Verdict, heard: HookEvent) -> HookReply:
            """Say a verdict."""

        def failed(self, line: str, heard: HookEvent | None) -> HookReply:
            """Refuse, because nobody could be asked."""


#: The names that ``dibs hook`` takes.
NAMES = ("claude", "codex", "gemini", "copilot", "cursor", "windsurf", "opencode", "vscode")


def dialect(name: str) -> Dialect:
    """Load the module of a dialect; importlib itself would cost more than it does."""
    module = f"dibs.guard.dialects.{name}"
    __import__(module)
    found: Any = sys.modules[module]
    loaded: Dialect = found
    return loaded
