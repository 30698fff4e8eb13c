"""Codex CLI: Claude's names on the way in; on the way out it refuses every key that it does not know.

A call is only ever denied or left alone: ``allow`` and ``ask`` are not supported, and the call runs.
"""

from __future__ import annotations

from dibs.guard.dialects import claude
from dibs.guard.dialects.base import failed, spoken

__all__ = ["answer", "can_tell", "failed", "parse"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.core.toolcalls.values import HookEvent, HookReply, Verdict


def parse(payload: dict[str, Any], event: str) -> HookEvent:
    """Return what was heard."""
    return claude.parse(payload, event, "codex")


def can_tell(heard: HookEvent) -> bool:
    """Tell whether the model hears what is told at this event."""
    return claude.can_tell(heard)


def answer(verdict: Verdict, heard: HookEvent) -> HookReply:
    """Say a verdict, without a word to the human: its place is not in every event."""
    return spoken(claude.shape(verdict, heard))
