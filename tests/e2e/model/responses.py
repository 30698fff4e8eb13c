"""OpenAI's Responses API."""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.model.script import Call, Say
from tests.e2e.model.sse import plain, stream, text_of

_RESULTS = ("function_call_output", "custom_tool_call_output")
_DETAILS = {
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 0},
}
USAGE = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20, **_DETAILS}


def opening(body: dict[str, Any]) -> str:
    """Return the first message of the conversation."""
    given = (
        body["input"]
        if isinstance(body["input"], list)
        else [{"role": "user", "content": body["input"]}]
    )
    return "\n".join(text_of(item.get("content")) for item in given if item.get("role") == "user")


def results(body: dict[str, Any]) -> list[str]:
    """Return the tool results."""
    given = body["input"] if isinstance(body["input"], list) else []
    return [text_of(item.get("output")) for item in given if item.get("type") in _RESULTS]


def say(step: Call | Say, number: int, *, streams: bool) -> tuple[str, bytes]:
    """Return ``step`` as a response."""
    steps = step.message if isinstance(step, Call) else (step,)
    items = [_item(each, number + at) for at, each in enumerate(steps)]
    response = {"id": f"resp_{number}", "object": "response", "status": "completed", "usage": USAGE}
    response |= {"output": items, "model": "stub", "error": None}
    if not streams:
        return plain(response)
    return stream(
        [
            {"type": "response.created", "response": {"id": f"resp_{number}"}},
            *(
                {"type": f"response.output_item.{word}", "output_index": at, "item": item}
                for at, item in enumerate(items)
                for word in ("added", "done")
            ),
            {"type": "response.completed", "response": response},
        ],
        named=True,
    )


def _item(step: Call | Say, number: int) -> dict[str, Any]:
    if isinstance(step, Say):
        content = [{"type": "output_text", "text": step.text, "annotations": []}]
        return {"type": "message", "role": "assistant", "id": f"msg_{number}", "content": content}
    call = {
        "id": f"fc_{number}",
        "call_id": f"call_{number}",
        "name": step.tool,
        "status": "completed",
    }
    if step.custom:
        return call | {"type": "custom_tool_call", "input": step.input}
    call |= {"type": "function_call", "arguments": json.dumps(step.input)}
    return call | ({"namespace": step.namespace} if step.namespace else {})
