"""Dibs: many coding agents, one codebase, no collisions.

Public names load on first use, so that a command imports only what it needs.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.api.attempts import Attempt
    from dibs.api.client import CommitRefused, Dibs, Hold, Refused
    from dibs.api.talk import Briefing
    from dibs.core.tasks.rules import Handoff
    from dibs.errors import (
        BadInput,
        BadUsage,
        DibsError,
        Fenced,
        Misconfigured,
        NotAllowed,
        NotFound,
        Unavailable,
        Unknown,
    )

__version__ = "0.1.0"

_HOMES = {
    "Attempt": "dibs.api.attempts",
    "Briefing": "dibs.api.talk",
    "CommitRefused": "dibs.api.client",
    "Dibs": "dibs.api.client",
    "Handoff": "dibs.core.tasks.rules",
    "Hold": "dibs.api.client",
    "Refused": "dibs.api.client",
}

__all__ = [
    "Attempt",
    "BadInput",
    "BadUsage",
    "Briefing",
    "CommitRefused",
    "Dibs",
    "DibsError",
    "Fenced",
    "Handoff",
    "Hold",
    "Misconfigured",
    "NotAllowed",
    "NotFound",
    "Refused",
    "Unavailable",
    "Unknown",
    "__version__",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'dibs' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES.get(name, "dibs.errors")), name)


def __dir__() -> list[str]:
    return __all__
