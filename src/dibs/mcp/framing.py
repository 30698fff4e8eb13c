"""Check that a message is valid JSON-RPC. Pure."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

PARSE_ERROR, INVALID_REQUEST = -32700, -32600
#: The most bytes a message may have.
MOST_BYTES = 4 * 1024 * 1024
_NOTIFICATIONS = "notifications/"


class Fault(NamedTuple):
    """Why a message is rejected, and the request's id if known."""

    code: int
    message: str
    id: str | int | None = None

    def shape(self) -> dict[str, Any]:
        """Return it as a JSON-RPC response."""
        error = {"code": self.code, "message": self.message}
        return {"jsonrpc": "2.0", "id": self.id, "error": error}


TOO_LONG = Fault(INVALID_REQUEST, f"the message is longer than {MOST_BYTES} bytes")


def parse(raw: bytes) -> Any | Fault:
    """Return the message in ``raw``, or a fault."""
    if len(raw) > MOST_BYTES:
        return TOO_LONG
    try:
        message = json.loads(raw)
    except (ValueError, RecursionError):
        return Fault(PARSE_ERROR, "not JSON, or not on one line")
    return _fault(message) or message


def _fault(message: Any) -> Fault | None:
    if isinstance(message, list):
        return Fault(INVALID_REQUEST, "batches are not supported; send one message at a time")
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return Fault(INVALID_REQUEST, "a message must be an object with jsonrpc 2.0")
    id_ = message.get("id")
    if "id" in message and (isinstance(id_, bool) or not isinstance(id_, str | int)):
        return Fault(INVALID_REQUEST, "an id must be a string or an integer")
    wrong = _wrong_request(message) if "method" in message else ""
    return Fault(INVALID_REQUEST, wrong, id_) if wrong else None


def _wrong_request(message: dict[str, Any]) -> str:
    method, params = message["method"], message.get("params")
    if not isinstance(method, str):
        return "a method must be a string"
    if "id" not in message and not method.startswith(_NOTIFICATIONS):
        return f"{method[:80]} is a request and needs an id"
    if params is not None and not isinstance(params, dict):
        return "params must be an object"
    return ""


class Flight:
    """The ids of open requests, which cannot be reused."""

    def __init__(self) -> None:
        self._open: set[tuple[str, str]] = set()

    def begin(self, message: Any, session: str = "") -> Fault | None:
        """Record a request, or return a fault if its id is in use. A canceled request gets no answer."""
        if message.get("method") == "notifications/cancelled":
            params = message.get("params") or {}
            self._open.discard((session, str(params.get("requestId"))))
        if "method" not in message or "id" not in message:
            return None
        key = (session, str(message["id"]))
        if key in self._open:
            return Fault(INVALID_REQUEST, "a request with this id is still open", None)
        self._open.add(key)
        return None

    def end(self, id_: object, session: str = "") -> None:
        """Record that a request was answered."""
        self._open.discard((session, str(id_)))
