"""The coding agents that Dibs knows: by what each is found, and what goes into which of its files."""

from __future__ import annotations

from dibs.install.agents.claude import CLAUDE, VSCODE
from dibs.install.agents.codex import CODEX
from dibs.install.agents.copilot import COPILOT
from dibs.install.agents.cursor import CURSOR
from dibs.install.agents.gemini import GEMINI
from dibs.install.agents.opencode import OPENCODE
from dibs.install.agents.windsurf import WINDSURF

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.install.agents.base import AgentInstaller

AGENTS: dict[str, AgentInstaller] = {
    agent.name: agent
    for agent in (CLAUDE, CODEX, GEMINI, COPILOT, OPENCODE, CURSOR, WINDSURF, VSCODE)
}
