"""Guard an agent of the Claude Agent SDK: a file that another agent holds is refused before it is written.

With the SDK installed, hand the hooks over: ClaudeAgentOptions(hooks=guard.claude_hooks()). Here they are
called as the SDK calls them, so that this runs without it: python agent_sdk.py
"""

from __future__ import annotations

import asyncio
import sys

from dibs import Dibs
from dibs.guard import Guard


async def write(hooks: dict, session: str, path: str) -> str:
    """Ask the hooks about a write, as the SDK does before each tool call."""
    matcher = hooks["PreToolUse"][0]
    callback = matcher["hooks"][0] if isinstance(matcher, dict) else matcher.hooks[0]
    event = {
        "hook_event_name": "PreToolUse",
        "session_id": session,
        "tool_name": "Write",
        "tool_input": {"file_path": path, "content": "x = 1\n"},
        "tool_use_id": "toolu_1",
    }
    answer = await callback(event, "toolu_1", {"signal": None})
    said = answer.get("hookSpecificOutput", {})
    if said.get("permissionDecision") == "deny":
        return f"{path}: refused: {said['permissionDecisionReason']}"
    return f"{path}: may be written"


async def main() -> int:
    """Let one agent claim a file, and another try to write it."""
    with Dibs.open(agent="alice") as alice, Guard() as guard:
        alice.claim("parser.py", reason="rework the grammar")
        hooks = guard.claude_hooks()
        print(await write(hooks, "b0b-session", "parser.py"))
        print(await write(hooks, "b0b-session", "lexer.py"))
        print(await write(hooks, "ca401-session", "lexer.py"))
        guard.ended()
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
