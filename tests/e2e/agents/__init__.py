"""The real agents: how to start each with a local model, and the names of its tools."""

from __future__ import annotations

from tests.e2e.agents.base import Kind
from tests.e2e.agents.claude import Claude
from tests.e2e.agents.codex import Codex
from tests.e2e.agents.copilot import Copilot
from tests.e2e.agents.gemini import Gemini
from tests.e2e.agents.opencode import Opencode

KINDS: dict[str, Kind] = {
    kind.name: kind for kind in (Claude(), Codex(), Gemini(), Copilot(), Opencode())
}

__all__ = ["KINDS", "Kind"]
