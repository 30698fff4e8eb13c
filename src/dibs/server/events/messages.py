"""Encode events, each of them once: as JSON in a WebSocket frame."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import msgspec

from dibs.core.claims.event_names import event_name
from dibs.shapes import claims as shapes

if TYPE_CHECKING:
    from dibs.core.claims.ledger import Entry

_encode = msgspec.json.Encoder(enc_hook=str).encode
#: The first byte of a WebSocket frame with a whole text.
_TEXT = 0x81
_SMALL, _MEDIUM = 126, 65536


def encode(value: Any) -> bytes:
    """Return a value as JSON on one line."""
    try:
        return _encode(value)
    except (UnicodeEncodeError, OverflowError):  # a lone surrogate, or a very large number
        return json.dumps(value, default=str).encode()


def frame(text: bytes) -> bytes:
    """Return a text as an unmasked WebSocket frame."""
    size = len(text)
    if size < _SMALL:
        return struct.pack("!BB", _TEXT, size) + text
    if size < _MEDIUM:
        return struct.pack("!BBH", _TEXT, 126, size) + text
    return struct.pack("!BBQ", _TEXT, 127, size) + text


class Note:
    """A message about the stream itself; one with a number sets the client's place."""

    __slots__ = ("frame",)

    def __init__(self, type_: str, seq: int | None = None, **fields: Any) -> None:
        number = {} if seq is None else {"seq": seq}
        self.frame = frame(encode({"type": type_, **number, **fields}))


class EncodedEvent:
    """A ledger entry, ready to be sent to any client."""

    __slots__ = ("entry", "frame", "seq")

    def __init__(self, entry: Entry, project: str) -> None:
        self.entry = entry
        self.seq = entry.seq
        text = encode({
            "type": event_name(entry.kind), "seq": entry.seq, "at": entry.at, "project": project,
            "agent": entry.agent, "entry": shapes.entry(entry),
        })  # fmt: skip
        self.frame = frame(text)
