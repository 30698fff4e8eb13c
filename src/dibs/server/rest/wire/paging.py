"""Pages of a listing; a cursor names the last item of a page, so changes in between skip nothing.

It is signed, because a client could otherwise ask for any position of any listing.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import cache
from typing import TYPE_CHECKING, Any

from dibs.errors import BadInput
from dibs.local.files import write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_FILE = "cursor.key"
_TAG, _KEY = 12, 32


def cut(
    items: Iterable[Any],
    key: Callable[[Any], Any],
    after: Any,
    limit: int,
    *,
    newest_first: bool = False,
) -> tuple[list[Any], Any]:
    """Return the next ``limit`` items after a key, and the key of the last one if more follow."""
    keyed = sorted(((_tuple(key(one)), one) for one in items), key=lambda pair: pair[0])
    if newest_first:
        keyed.reverse()
    if after is not None:
        last = _tuple(after)
        try:
            keyed = [p for p in keyed if (p[0] < last if newest_first else p[0] > last)]
        except TypeError:  # from another version of this listing
            raise forged() from None
    chosen = keyed[:limit]
    return [one for _, one in chosen], chosen[-1][0] if len(keyed) > limit else None


class Seal:
    """Signs the cursors of one listing."""

    def __init__(self, folder: str, *about: str) -> None:
        self._key = _key(folder)
        self._about = "\0".join(about).encode()

    def close(self, last: Any) -> str:
        """Return the cursor for the page after an item."""
        body = json.dumps(last, separators=(",", ":")).encode()
        return urlsafe_b64encode(self._tag(body) + body).decode().rstrip("=")

    def open(self, cursor: str) -> Any:
        """Return the key in a cursor; raise unless this server made it for this listing."""
        try:
            raw = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        except ValueError:
            raise forged() from None
        tag, body = raw[:_TAG], raw[_TAG:]
        if not hmac.compare_digest(tag, self._tag(body)) or self.close_raw(raw) != cursor:
            raise forged()
        return json.loads(body)

    @staticmethod
    def close_raw(raw: bytes) -> str:
        """Return the only spelling of a cursor; base64 would accept others."""
        return urlsafe_b64encode(raw).decode().rstrip("=")

    def _tag(self, body: bytes) -> bytes:
        return hmac.digest(self._key, self._about + b"\0" + body, hashlib.sha256)[:_TAG]


@cache
def _key(folder: str) -> bytes:
    """Return this server's key; it is kept, so that cursors survive a restart."""
    path = os.path.join(folder, _FILE)
    try:
        with open(path, "rb") as file:
            found = file.read(64)
    except OSError:
        found = b""
    if len(found) != _KEY:
        found = secrets.token_bytes(_KEY)
        write_file(path, found, mode=0o600)
    return found


def _tuple(key: Any) -> tuple[Any, ...]:
    return tuple(key) if isinstance(key, (list, tuple)) else (key,)


def forged() -> BadInput:
    """Return the error for a cursor that is not ours."""
    return BadInput(
        "the cursor does not belong to this listing",
        code="CURSOR",
        field="cursor",
        hint="use next_cursor of the page before, or omit it to start at the first page",
    )
