"""One HTTP request and its answer, on ASGI itself, which takes less time than a framework."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from dibs.errors import BadInput, DibsError, Unavailable
from dibs.errors.codes import CODES
from dibs.shapes import claims as shapes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from starlette.types import Receive, Send
    from starlette.types import Scope as HttpScope

#: The most digits of a version.
MOST_DIGITS = 15
#: The id of a request in an ASGI scope; ``RequestIds`` sets it.
REQUEST_ID = "dibs.request_id"
#: The name of the route that answers, for the metrics.
ROUTE = "dibs.route"
JSON = b"application/json"
#: Headers that a request may have once only.
_SINGLE = frozenset({b"if-match", b"idempotency-key", b"dibs-agent"})
_STATUSES = {name: code.http for name, code in CODES.items() if code.http}

_encode = msgspec.json.Encoder(enc_hook=str).encode


def encode(shape: Any) -> bytes:
    """Return a shape as JSON; bytes of paths that are not UTF-8 are escaped, as in the commands' output."""
    try:
        return _encode(shape)
    except UnicodeEncodeError:
        return json.dumps(shape, default=str, separators=(",", ":")).encode()


class Gone(Exception):
    """The client disconnected before its request was complete."""


def headers_of(scope: HttpScope) -> Mapping[bytes, bytes]:
    """Return the headers; one that must be unique is refused if it is not."""
    given: list[tuple[bytes, bytes]] = scope["headers"]
    found = dict(given)
    if len(found) != len(given):
        for name in _SINGLE & found.keys():
            if sum(1 for key, _ in given if key == name) > 1:
                raise BadInput(f"the header {name.decode()} is repeated", field=name.decode())
    return found


def text_header(headers: Mapping[bytes, bytes], name: bytes) -> str:
    """Return a header; empty if it is missing."""
    raw = headers.get(name, b"")
    try:
        return raw.decode("ascii")
    except UnicodeDecodeError:
        field = name.decode()
        raise BadInput(f"the header {field} is not ASCII", field=field) from None


def version_in(headers: Mapping[bytes, bytes], *, versioned: bool) -> int | None:
    """Return the version in ``If-Match``, None without one; a path without versions must not ignore it."""
    given = text_header(headers, b"if-match")
    if given in {"", "*"}:
        return None
    digits = given[1:-1] if len(given) > 1 and given[0] == given[-1] == '"' else given
    if not versioned or not digits.isdigit() or len(digits) > MOST_DIGITS:
        why = f"{given[:40]!r} is not the version of a task" if versioned else "no versions here"
        raise BadInput(f"the header If-Match: {why}", field="If-Match")
    return int(digits)


async def body_of(receive: Receive) -> bytes:
    """Return the whole body; the checks in front limit it."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


async def send_answer(
    send: Send,
    status: int,
    body: bytes,
    *,
    kind: bytes = JSON,
    extra: Iterable[tuple[bytes, bytes]] = (),
    head: bool = False,
) -> None:
    """Send a complete answer; one to HEAD has no body."""
    headers = [
        (b"content-type", kind), (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"), *extra,
    ]  # fmt: skip
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head else body})


def status_of(error: DibsError) -> int:
    """Return the HTTP status of an error: that of its code, or else that of its class."""
    return _STATUSES.get(error.code, error.http_status)


async def send_error(scope: HttpScope, send: Send, error: DibsError) -> None:
    """Send an error in the usual envelope."""
    status = status_of(error)
    extra: list[tuple[bytes, bytes]] = [*getattr(error, "headers", ())]
    if isinstance(error, Unavailable):
        extra.append((b"retry-after", b"1"))
    body = encode(shapes.error(error, scope.get(REQUEST_ID, "")))
    await send_answer(send, status, body, extra=extra, head=scope["method"] == "HEAD")
