"""The messages that a WebSocket client may send: subscribe, unsubscribe, resume, and ping."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dibs.core.claims.event_filters import EventFilter, event_filter
from dibs.core.text.names import closest, quote
from dibs.errors import BadInput, NotAllowed
from dibs.server.events.messages import Note
from dibs.server.events.request import number, texts

if TYPE_CHECKING:
    from dibs.server.events.websocket import SocketClient

#: How many subscriptions one client has.
MOST_SUBSCRIPTIONS = 64
LONGEST_ID = 64
#: The fields of each type of message.
_FIELDS = {
    "subscribe": {"id", "project", "types", "agents", "paths"},
    "unsubscribe": {"id"},
    "resume": {"after"},
    "ping": {"id"},
}
#: What clients of other servers declare about themselves; only the token counts.
_IGNORED = {"type", "scope", "scopes", "role", "roles", "agent", "identity", "token"}
_decode = msgspec.json.Decoder().decode


class Inbox:
    """Carries out the messages of one client."""

    def __init__(self, client: SocketClient) -> None:
        self._client = client
        #: By the client's names for them; at first, what the URL asks for.
        self._subscriptions: dict[str, EventFilter] = {"": client.stream.wishes[0]}

    def handle(self, text: str | None) -> Note:
        """Carry out a message and return the answer; raise ``BadInput`` or ``NotAllowed``."""
        message = _message(text)
        type_ = message["type"]
        extra = sorted(set(message) - _FIELDS[type_] - _IGNORED)
        if extra:
            known = ", ".join(sorted(_FIELDS[type_]))
            unknown = f"unknown field {quote(extra[0][:80])}"
            raise BadInput(
                unknown, code="UNKNOWN_FIELD", field=extra[0][:80], hint=f"fields: {known}"
            )
        answer: Note = getattr(self, f"_{type_}")(message)
        return answer

    def _subscribe(self, message: dict[str, Any]) -> Note:
        id_ = _id(message)
        project = self._client.stream.hub.feed.served
        if message.get("project", project.id) not in {project.id, project.name, project.root}:
            raise NotAllowed(
                "this connection is for another project",
                code="NOT_YOU",
                field="project",
                hint="connect again with the parameter project",
            )
        chosen = event_filter(*(texts(message, field) for field in ("types", "agents", "paths")))
        kept = {
            name: one for name, one in self._subscriptions.items() if name or one != EventFilter()
        }
        if id_ not in kept and len(kept) >= MOST_SUBSCRIPTIONS:
            raise BadInput(
                f"more than {MOST_SUBSCRIPTIONS} subscriptions", code="LIMIT", field="id"
            )
        self._subscriptions = {**kept, id_: chosen}
        return self._chosen("subscribed", id_)

    def _unsubscribe(self, message: dict[str, Any]) -> Note:
        id_ = _id(message)
        self._subscriptions.pop(id_, None)
        return self._chosen("unsubscribed", id_)

    def _chosen(self, type_: str, id_: str) -> Note:
        self._client.choose(tuple(dict.fromkeys(self._subscriptions.values())))
        return Note(type_, id=id_, subscriptions=sorted(self._subscriptions))

    def _resume(self, message: dict[str, Any]) -> Note:
        after = number(message.get("after"))
        self._client.resume(after)
        return Note("resuming", after=after)

    def _ping(self, message: dict[str, Any]) -> Note:
        return Note("pong", id=_id(message))


def first_token(text: str | None) -> str:
    """Return the token in the first message of a connection, or nothing."""
    found = _decoded(text)
    token = found.get("token") if isinstance(found, dict) and found.get("type") == "auth" else ""
    return token if isinstance(token, str) else ""


def _decoded(text: str | None) -> Any:
    try:
        return None if text is None else _decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def _message(text: str | None) -> dict[str, Any]:
    """Return a message whose type is known."""
    found = _decoded(text)
    type_ = found.get("type") if isinstance(found, dict) else None
    if not isinstance(found, dict) or not isinstance(type_, str) or type_ not in _FIELDS:
        known = ", ".join(_FIELDS)
        meant = closest(type_, list(_FIELDS)) if isinstance(type_, str) else ""
        hint = f"did you mean {meant}?" if meant else f"types: {known}"
        what = f"unknown type {quote(type_[:80])}" if isinstance(type_, str) else "no known type"
        raise BadInput(f"{what} of message", code="UNKNOWN_TYPE", field="type", hint=hint)
    return found


def _id(message: dict[str, Any]) -> str:
    """Return the client's name for a subscription or a ping."""
    id_ = message.get("id", "")
    if not isinstance(id_, str) or len(id_) > LONGEST_ID:
        raise BadInput(
            f"id is not a text of at most {LONGEST_ID} characters", code="BAD_INPUT", field="id"
        )
    return id_
