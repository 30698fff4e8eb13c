"""Follow a server's events over a WebSocket; an interruption is bridged with the last sequence number."""

from __future__ import annotations

import base64
import http.client
import json
import os
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from dibs.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import BinaryIO

    from dibs.client.connection import ServerAddress

#: The server sends something at least this often, in seconds; after a longer silence, reconnect.
SILENCE = 45.0
#: Seconds between attempts to reconnect: at first, and at most.
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0
_SWITCHED = 101
_FIRST_SERVER_ERROR = 500
#: The first bytes of frames, all of which are whole messages.
_TEXT, _CLOSE, _PING, _PONG = 0x81, 0x88, 0x89, 0x8A


def follow(
    address: ServerAddress, after: int | None, filters: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield events, forever; raise an error that a repeated attempt would not solve."""
    last, pause = after, FIRST_PAUSE
    while True:
        link = address.connect(SILENCE)
        try:
            for event in _stream(link, address, last, filters):
                last = event.get("seq", last)
                pause = FIRST_PAUSE
                yield event
        except (OSError, http.client.HTTPException, _Again):
            pass
        finally:
            link.close()
        time.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)


class _Again(Exception):
    """The server cannot answer now."""


def _stream(
    link: http.client.HTTPConnection,
    address: ServerAddress,
    last: int | None,
    filters: Mapping[str, str],
) -> Iterator[dict[str, Any]]:
    response = _asked(link, address, last, filters)
    for kind, content in _frames(response.fp):
        if kind == _TEXT:
            yield json.loads(content)
        elif kind == _PING:
            link.sock.sendall(_masked(_PONG, content))
        elif kind == _CLOSE:
            raise _Again


def _asked(
    link: http.client.HTTPConnection,
    address: ServerAddress,
    last: int | None,
    filters: Mapping[str, str],
) -> http.client.HTTPResponse:
    """Begin a WebSocket; raise the error of a refusal."""
    query = dict(filters)
    if address.project:
        query["project"] = address.project
    if last is not None:
        query["after"] = str(last)
    headers = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
    }
    if address.token:
        headers["Authorization"] = f"Bearer {address.token}"
    link.request("GET", f"/ws?{urlencode(query)}", headers=headers)
    response = link.getresponse()
    if response.status == _SWITCHED:
        return response
    if response.status >= _FIRST_SERVER_ERROR:
        raise _Again
    from dibs.client.client import error_of

    try:
        raise error_of(json.loads(response.read()), response.status)
    except ValueError:
        raise Unavailable("the answer is not from a Dibs server", code="SERVER_URL") from None


def _frames(source: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield the first byte and the content of each frame, until the connection ends."""
    while len(head := source.read(2)) == 2:  # noqa: PLR2004
        size = head[1]
        if size >= 126:  # noqa: PLR2004 - the size follows, in 2 or 8 bytes
            size = int.from_bytes(source.read(2 if size == 126 else 8))  # noqa: PLR2004
        content = source.read(size)
        if len(content) == size:
            yield head[0], content


def _masked(kind: int, content: bytes) -> bytes:
    """Return a short frame of a client, whose content must be masked."""
    mask = os.urandom(4)
    hidden = bytes(byte ^ mask[place % 4] for place, byte in enumerate(content))
    return bytes([kind, 0x80 | len(content)]) + mask + hidden
