"""The tool calls that a guard test sends to a hook, in the format of its agent."""

from __future__ import annotations

import shlex

from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.install.inspect.settings import InstalledHook

WRITE, SHELL = "write", "shell"


class Trial(Record):
    """One tool call; names in braces are placeholders."""

    #: The label for people: write or shell.
    what: str
    #: The tool's name, as matchers see it; empty for an event that has only one tool.
    tool: str
    payload: dict[str, Any]


def _calls(
    common: dict[str, Any], write: tuple[str, Any], shell: tuple[str, Any],
    names: tuple[str, str] = ("tool_name", "tool_input"),
) -> tuple[Trial, ...]:  # fmt: skip
    """Return a write with the agent's tool, and one with its shell."""
    return tuple(
        Trial(what, tool, {**common, names[0]: tool, names[1]: given})
        for what, (tool, given) in ((WRITE, write), (SHELL, shell))
    )


_CLAUDE = {
    "session_id": "{session}", "transcript_path": "", "cwd": "{root}", "hook_event_name": "{event}",
    "permission_mode": "default", "tool_use_id": "prove",
}  # fmt: skip
_CURSOR = {
    "conversation_id": "{session}", "generation_id": "1", "model": "none", "hook_event_name": "{event}",
    "cursor_version": "0", "workspace_roots": ["{root}"], "cwd": "{root}",
}  # fmt: skip
_FILE = {"file_path": "{path}", "content": "proof"}
_COMMAND = {"command": "{command}"}
_PATCH = {"command": "*** Begin Patch\n*** Add File: {path}\n+proof\n*** End Patch\n"}
_COPILOT_FILE = {"path": "{path}", "file_text": "proof"}
_COPILOT_COMMAND = {**_COMMAND, "description": "prove", "mode": "sync"}
#: By agent, or by agent and event where they differ.
_TRIALS: dict[str, tuple[Trial, ...]] = {
    "claude": _calls(_CLAUDE, ("Write", _FILE), ("Bash", _COMMAND)),
    "gemini": _calls(
        {**_CLAUDE, "timestamp": "2026-01-01T00:00:00Z"},
        ("write_file", _FILE),
        ("run_shell_command", _COMMAND),
    ),
    "codex": _calls(
        {**_CLAUDE, "turn_id": "1", "model": "none"}, ("apply_patch", _PATCH), ("Bash", _COMMAND)
    ),
    "copilot": _calls(
        {"sessionId": "{session}", "timestamp": 0, "cwd": "{root}"},
        ("create", _COPILOT_FILE),
        ("bash", _COPILOT_COMMAND),
        ("toolName", "toolArgs"),
    ),
    "copilot PreToolUse": _calls(_CLAUDE, ("Write", _COPILOT_FILE), ("Bash", _COPILOT_COMMAND)),
    "cursor": _calls(_CURSOR, ("Write", _FILE), ("Shell", _COMMAND)),
    "cursor beforeShellExecution": (Trial(SHELL, "", {**_CURSOR, **_COMMAND}),),
}


def trials(hook: InstalledHook, path: str, session: str, root: str) -> list[Trial]:
    """Return the calls for a hook: a write to ``path`` with the agent's tool, and one with its shell."""
    given = {
        "path": path, "session": session, "root": root, "event": hook.event,
        "command": f"echo proof > {shlex.quote(path)}",
    }  # fmt: skip
    known = _TRIALS.get(hook.agent, _TRIALS["claude"])
    found = _TRIALS.get(f"{hook.agent} {hook.event}", known)
    return [trial._replace(payload=_filled(trial.payload, given)) for trial in found]


def _filled(value: Any, given: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(inner, given) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, given) for inner in value]
    return value.format_map(given) if isinstance(value, str) else value
