"""The dialects of agents: what each sends to its hooks, and the answers it understands.

The dialect of Claude Code, which others have taken over, is ``base.Dialect``; each other agent has a class
that says where it differs.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.guard.dialects.base import Dialect

#: The names that ``dibs hook`` takes.
NAMES = ("claude", "codex", "gemini", "copilot", "cursor", "windsurf", "opencode", "vscode")


def dialect(name: str) -> Dialect:
    """Return the dialect of an agent; the common one is loaded without the others."""
    from dibs.guard.dialects import base

    if name in {"claude", "codex"}:
        return base.Dialect(name)
    from dibs.guard.dialects import variants

    return variants.DIALECTS[name](name)
