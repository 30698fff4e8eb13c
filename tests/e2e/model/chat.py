"""OpenAI's Chat Completions API, which many others implement."""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.model.script import Call, Say
from tests.e2e.model.sse import plain, stream, text_of

USAGE = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}


def opening(body: dict[str, Any]) -> str:
    """Return the first message of the conversation."""
    return text_of(next((m["content"] for m in body["messages"] if m["role"] == "user"), ""))


def results(body: dict[str, Any]) -> list[str]:
    """Return the tool results."""
    return [text_of(m.get("content")) for m in body["messages"] if m["role"] == "tool"]


def say(step: Call | Say, number: int, *, streams: bool) -> tuple[str, bytes]:
    """Return ``step`` as a response."""
    message: dict[str, Any] = {"role": "assistant", "content": None}
    if isinstance(step, Call):
        calls = [_use(call, at, number + at) for at, call in enumerate(step.message)]
        message["tool_calls"], reason = calls, "tool_calls"
    else:
        message["content"], reason = step.text, "stop"
    head = {"id": f"chat_{number}", "created": 1, "model": "stub"}
    if not streams:
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return plain(head | {"object": "chat.completion", "choices": [choice], "usage": USAGE})
    head["object"] = "chat.completion.chunk"
    first = {"index": 0, "delta": message, "finish_reason": None}
    last = {"index": 0, "delta": {}, "finish_reason": reason}
    return stream(
        [head | {"choices": [first]}, head | {"choices": [last], "usage": USAGE}], done=True
    )


def _use(call: Call, index: int, number: int) -> dict[str, Any]:
    function = {"name": call.tool, "arguments": json.dumps(call.input)}
    return {"index": index, "id": f"call_{number}", "type": "function", "function": function}
