"""The coding agents that Dibs knows: by what each is found, and what goes into which of its files."""

from __future__ import annotations

from dibs.wiring.agents.claude import CLAUDE, VSCODE
from dibs.wiring.agents.codex import CODEX
from dibs.wiring.agents.copilot import COPILOT
from dibs.wiring.agents.cursor import CURSOR
from dibs.wiring.agents.gemini import GEMINI
from dibs.wiring.agents.opencode import OPENCODE
from dibs.wiring.agents.windsurf import WINDSURF

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.wiring.agents.base import Agent

AGENTS: dict[str, Agent] = {
    agent.name: agent
    for agent in (CLAUDE, CODEX, GEMINI, COPILOT, OPENCODE, CURSOR, WINDSURF, VSCODE)
}
