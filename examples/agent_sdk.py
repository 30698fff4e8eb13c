"""Guard an agent built with the Claude Agent SDK: writes to files that another agent holds are blocked.

With the SDK installed, pass the hooks to it: ClaudeAgentOptions(hooks=guard.claude_hooks()). This example
calls them as the SDK does, so that it runs without the SDK: python agent_sdk.py
"""

from __future__ import annotations

import asyncio
import sys

from dibs import Dibs
from dibs.guard import Guard


async def write(hooks: dict, session: str, path: str) -> str:
    """Call the hooks for a write, as the SDK does before each tool call."""
    matcher = hooks["PreToolUse"][0]
    callback = matcher["hooks"][0] if isinstance(matcher, dict) else matcher.hooks[0]
    event = {
        "hook_event_name": "PreToolUse",
        "session_id": session,
        "tool_name": "Write",
        "tool_input": {"file_path": path, "content": "x = 1\n"},
        "tool_use_id": "toolu_1",
    }
    reply = await callback(event, "toolu_1", {"signal": None})
    decision = reply.get("hookSpecificOutput", {})
    if decision.get("permissionDecision") == "deny":
        return f"{path}: blocked: {decision['permissionDecisionReason']}"
    return f"{path}: allowed"


async def main() -> int:
    """Let one agent claim a file and another one try to write it."""
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
