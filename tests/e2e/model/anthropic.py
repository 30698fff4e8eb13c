"""Anthropic's Messages API."""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.model.script import Call, Say
from tests.e2e.model.sse import plain, stream, text_of

USAGE = {"input_tokens": 10, "output_tokens": 10}


def opening(body: dict[str, Any]) -> str:
    """Return the first message of the conversation."""
    return text_of(next((m["content"] for m in body["messages"] if m["role"] == "user"), ""))


def results(body: dict[str, Any]) -> list[str]:
    """Return the tool results."""
    parts = [p for m in body["messages"] if isinstance(m["content"], list) for p in m["content"]]
    return [text_of(part.get("content")) for part in parts if part.get("type") == "tool_result"]


def say(step: Call | Say, number: int, *, streams: bool) -> tuple[str, bytes]:
    """Return ``step`` as a response."""
    if isinstance(step, Call):
        blocks = [_use(call, number + at) for at, call in enumerate(step.message)]
        reason = "tool_use"
    else:
        whole, empty = {"type": "text", "text": step.text}, {"type": "text", "text": ""}
        blocks = [(whole, empty, {"type": "text_delta", "text": step.text})]
        reason = "end_turn"
    message = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "stub",
        "usage": USAGE,
    }
    if not streams:
        return plain(
            message
            | {
                "content": [block[0] for block in blocks],
                "stop_reason": reason,
                "stop_sequence": None,
            }
        )
    end = {"stop_reason": reason, "stop_sequence": None}
    start = message | {"content": [], "stop_reason": None, "stop_sequence": None}
    return stream(
        [
            {"type": "message_start", "message": start},
            *(event for at, block in enumerate(blocks) for event in _events(at, block)),
            {"type": "message_delta", "delta": end, "usage": {"output_tokens": 10}},
            {"type": "message_stop"},
        ],
        named=True,
    )


def _use(call: Call, number: int) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return a call as a whole block, as the start of one, and as the rest."""
    block = {"type": "tool_use", "id": f"toolu_{number:04}", "name": call.tool}
    delta = {"type": "input_json_delta", "partial_json": json.dumps(call.input)}
    return block | {"input": call.input}, block | {"input": {}}, delta


def _events(
    index: int, block: tuple[dict[str, Any], dict[str, Any], dict[str, Any]]
) -> list[dict[str, Any]]:
    _, empty, delta = block
    return [
        {"type": "content_block_start", "index": index, "content_block": empty},
        {"type": "content_block_delta", "index": index, "delta": delta},
        {"type": "content_block_stop", "index": index},
    ]
