"""Server-sent events in the formats of the three APIs."""

from __future__ import annotations

import json
from typing import Any

STREAM = "text/event-stream"
JSON = "application/json"


def stream(
    events: list[dict[str, Any]], *, named: bool = False, done: bool = False
) -> tuple[str, bytes]:
    """Return ``events`` as a stream: ``named`` adds each type, ``done`` adds an end marker."""
    lines = []
    for event in events:
        name = f"event: {event['type']}\n" if named else ""
        lines.append(f"{name}data: {json.dumps(event)}\n\n")
    if done:
        lines.append("data: [DONE]\n\n")
    return STREAM, "".join(lines).encode()


def plain(value: dict[str, Any]) -> tuple[str, bytes]:
    """Return ``value`` as JSON."""
    return JSON, json.dumps(value).encode()


def text_of(content: Any) -> str:
    """Return the text of a message's content, in any of its forms."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        inner = content.get("text", content.get("content", content.get("output")))
        return text_of(inner) if inner is not None else json.dumps(content, ensure_ascii=False)
    if isinstance(content, list):
        return "\n".join(text_of(part) for part in content)
    return "" if content is None else str(content)
