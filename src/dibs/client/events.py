"""Follow a server's events over SSE; an interruption is bridged with the last sequence number."""

from __future__ import annotations

import http.client
import json
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from dibs.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dibs.client.connection import ServerAddress

#: The server sends something at least this often, in seconds; after a longer silence, reconnect.
SILENCE = 45.0
#: Seconds between attempts to reconnect: at first, and at most.
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0
_OK = 200
_FIRST_SERVER_ERROR = 500


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
    query = dict(filters)
    if address.project:
        query["project"] = address.project
    headers = {"Accept": "text/event-stream"}
    if last is not None:
        headers["Last-Event-ID"] = str(last)
    if address.token:
        headers["Authorization"] = f"Bearer {address.token}"
    link.request("GET", f"/events?{urlencode(query)}", headers=headers)
    response = link.getresponse()
    if response.status >= _FIRST_SERVER_ERROR:
        raise _Again
    if response.status != _OK:
        from dibs.client.client import error_of

        try:
            raise error_of(json.loads(response.read()), response.status)
        except ValueError:
            raise Unavailable("the answer is not from a Dibs server", code="SERVER_URL") from None
    for line in response:
        if line.startswith(b"data:"):
            yield json.loads(line[5:])
