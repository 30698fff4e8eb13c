"""How to start the agents that Dibs knows, by driver.

Pure. ``{prompt}`` in an argument is replaced by the prompt; without it, the prompt is on standard input. An
argument with ``{model}`` and the option before it are left out if the role names no model.
"""

from __future__ import annotations

from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class DriverName(metaclass=TextEnum):
    """How the runner talks to an agent."""

    ACP = "acp"
    HEADLESS = "headless"


class AgentPreset(Record):
    """An agent that Dibs knows: its usual driver, and the command for each."""

    driver: str
    commands: Mapping[str, tuple[str, ...]]

    def command_for(self, driver: str) -> tuple[str, ...]:
        """Return the command for a driver; empty if the role has to name one."""
        return self.commands.get(driver, ())


_ACP, _HEADLESS = DriverName.ACP, DriverName.HEADLESS

PRESETS: Mapping[str, AgentPreset] = {
    "claude": AgentPreset(_HEADLESS, {
        _HEADLESS: ("claude", "-p", "{prompt}", "--model", "{model}", "--permission-mode", "acceptEdits",
                    "--allowedTools", "Bash(dibs *)"),
        _ACP: ("claude-agent-acp",),
    }),
    "codex": AgentPreset(_HEADLESS, {
        _HEADLESS: ("codex", "exec", "--sandbox", "workspace-write", "--model", "{model}", "{prompt}"),
        _ACP: ("codex-acp",),
    }),
    "gemini": AgentPreset(_ACP, {
        _ACP: ("gemini", "--acp", "--model", "{model}"),
        _HEADLESS: ("gemini", "--model", "{model}", "--approval-mode", "auto_edit",
                    "--allowed-tools", "run_shell_command(dibs)", "-p", "{prompt}"),
    }),
    "copilot": AgentPreset(_ACP, {
        _ACP: ("copilot", "--acp", "--model", "{model}"),
        _HEADLESS: ("copilot", "--model", "{model}", "--allow-all-tools", "-p", "{prompt}"),
    }),
    "opencode": AgentPreset(_ACP, {
        _ACP: ("opencode", "acp"),
        _HEADLESS: ("opencode", "run", "--model", "{model}", "{prompt}"),
    }),
    "aider": AgentPreset(_HEADLESS, {
        _HEADLESS: ("aider", "--yes-always", "--no-check-update", "--model", "{model}", "--message",
                    "{prompt}"),
    }),
    "acp": AgentPreset(_ACP, {}),
    "command": AgentPreset(_HEADLESS, {}),
}  # fmt: skip


def fill(command: Sequence[str], *, model: str, prompt: str = "") -> tuple[list[str], bool]:
    """Return the words of a command, and whether the prompt is one of them.

    A word is replaced as a whole text, never by a shell.
    """
    words: list[str] = []
    has_prompt = False
    for word in command:
        if "{model}" in word and not model:
            if words and word == "{model}" and words[-1].startswith("-"):
                words.pop()
            continue
        if "{prompt}" in word:
            has_prompt = True
        words.append(word.replace("{model}", model).replace("{prompt}", prompt))
    return words, has_prompt
