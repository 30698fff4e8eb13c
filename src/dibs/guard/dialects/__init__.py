"""Agents' dialects: what each sends to its hooks, and the answers it understands.

``base.Dialect`` is Claude Code's dialect, which others have adopted; other agents have a subclass with the
differences.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.guard.dialects.base import Dialect

#: The names that ``dibs hook`` takes.
NAMES = ("claude", "codex", "gemini", "copilot", "cursor", "opencode", "vscode")


def dialect(name: str) -> Dialect:
    """Return an agent's dialect; the common one loads without the others."""
    from dibs.guard.dialects import base

    if name in {"claude", "codex"}:
        return base.Dialect(name)
    from dibs.guard.dialects import variants

    return variants.DIALECTS[name](name)
