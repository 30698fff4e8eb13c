"""Google's generateContent API."""

from __future__ import annotations

from typing import Any

from tests.e2e.model.script import Call, Say
from tests.e2e.model.sse import plain, stream, text_of

USAGE = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}


def opening(body: dict[str, Any]) -> str:
    """Return the first message of the conversation."""
    users = [c["parts"] for c in body["contents"] if c.get("role") == "user"]
    return "\n".join(text_of(part.get("text")) for parts in users for part in parts)


def results(body: dict[str, Any]) -> list[str]:
    """Return the tool results."""
    parts = [part for content in body["contents"] for part in content.get("parts", [])]
    given = [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]
    return [text_of(answer.get("output", answer.get("error", answer))) for answer in given]


def say(step: Call | Say, number: int, *, streams: bool) -> tuple[str, bytes]:
    """Return ``step`` as a response."""
    parts: list[dict[str, Any]]
    if isinstance(step, Call):
        parts = [
            {"functionCall": {"id": f"call_{number + at}", "name": call.tool, "args": call.input}}
            for at, call in enumerate(step.message)
        ]
    else:
        parts = [{"text": step.text}]
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    answer = {"candidates": [candidate], "usageMetadata": USAGE, "modelVersion": "stub"}
    return stream([answer]) if streams else plain(answer)
