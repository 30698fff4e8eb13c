"""Hooks for the Claude Agent SDK: its in-process events, each answered by a guard."""

from __future__ import annotations

from dibs.core.toolcalls.values import EventKind, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Any

    from dibs.core.toolcalls.values import HookEvent, Verdict
    from dibs.guard.library import Guard

    Callback = Callable[[Mapping[str, object], str | None, object], Awaitable[dict[str, object]]]

#: The SDK's events; it has none for the start and end of a session.
EVENTS = (
    *("PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop"),
    *("SubagentStart", "SubagentStop"),
)


def hooks(guard: Guard, *, timeout: float) -> dict[str, list[Any]]:
    """Return a matcher for each event as the SDK expects; plain dicts if it is not installed."""
    answer = _callback(guard)
    matcher = _matcher()
    return {event: [matcher(matcher=None, hooks=[answer], timeout=timeout)] for event in EVENTS}


def _matcher() -> Callable[..., Any]:
    from importlib import import_module

    try:
        made: Callable[..., Any] = import_module("claude_agent_sdk").HookMatcher
    except ImportError:
        return dict
    return made


def _callback(guard: Guard) -> Callback:
    begun: set[str] = set()

    def judge(given: Mapping[str, object]) -> dict[str, object]:
        session = str(given.get("session_id", ""))
        if given.get("hook_event_name") == "UserPromptSubmit" and session not in begun:
            begun.add(session)
            return _begin(guard, given)
        verdict, heard = guard.hear(given)
        return shaped(verdict, heard)

    async def answer(
        given: Mapping[str, object], _call: str | None = None, _context: object = None
    ) -> dict[str, object]:
        return await _aside(judge, given)

    return answer


def _begin(guard: Guard, given: Mapping[str, object]) -> dict[str, object]:
    """Treat the first prompt of a session as its start, which delivers the full briefing."""
    from dibs.guard.dialects import dialect

    spoken = dialect("claude")
    heard = spoken.parse(dict(given), "")._replace(moment=EventKind.STARTED, source="startup")
    return shaped(guard.judge(heard), heard)


def shaped(verdict: Verdict, heard: HookEvent | None) -> dict[str, object]:
    """Return a verdict as the SDK expects it; an empty answer leaves the SDK's own rules in force."""
    from dibs.guard.dialects import dialect

    if heard is None:
        if verdict.word != Word.DENY:
            return {}
        return {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": verdict.text,
            }
        }
    found = dialect("claude").shape(verdict, heard)
    return {**found, "systemMessage": verdict.note} if verdict.note else found


async def _aside(
    judge: Callable[[Mapping[str, object]], dict[str, object]], given: Mapping[str, object]
) -> dict[str, object]:
    """Judge in a thread, so that the agent's event loop keeps running."""
    from importlib import import_module

    try:
        to_thread: Any = import_module("anyio").to_thread.run_sync
    except ImportError:
        from asyncio import to_thread
    answer: dict[str, object] = await to_thread(judge, given)
    return answer
