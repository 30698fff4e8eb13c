"""The checks of a request's address and headers. They decide on the raw request, not on a parsed URL.

Pure. Each check raises ``RequestRefused``; ``security.front`` calls them in order, for HTTP and WebSocket.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote_to_bytes

from dibs.server.security.refusals import RequestRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import Scope

#: The most bytes of a request's body.
MOST_BODY = 1 << 20
#: The names of this machine for itself, as a Host header has them.
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
#: Names over the Unix socket, where no name is resolved.
_LOCAL = frozenset({b"localhost", b"dibs", b"127.0.0.1", b"[::1]"})
_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_JSON = re.compile(rb'application/json(?:\s*;\s*charset="?utf-8"?)?', re.IGNORECASE)
_TOKEN = re.compile(rb"dibs_[0-9a-f]{40,}", re.IGNORECASE)
_CREDENTIALS = frozenset({
    "token", "access_token", "auth_token", "bearer_token", "dibs_token", "id_token", "api_key", "apikey",
    "authorization", "bearer", "auth",
})  # fmt: skip
#: Below these, a path in the repository is one segment, so that its slashes may be encoded.
_PATHS_BELOW = (b"/api/coordination/locks/", b"/api/v1/")
_ENCODED_SLASH = re.compile(rb"%2f", re.IGNORECASE)
_BAD_PATH = re.compile(
    rb"//|[;\\\x00-\x20\x7f-\xff]|%(?![0-9a-f]{2})|%25[0-9a-f]{2}|%5c", re.IGNORECASE
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_HTTP_PORT = 80


def values(scope: Scope, name: bytes) -> list[bytes]:
    """Return the values of all headers with this name."""
    return [value for key, value in scope["headers"] if key == name]


def check_host(scope: Scope, names: Sequence[str]) -> None:
    """Require exactly one Host header, with an address of this server."""
    given = values(scope, b"host")
    if len(given) != 1 or given[0].lower() not in _authorities(scope, names):
        raise RequestRefused(
            "the Host header does not name this server",
            code="HOST",
            field="Host",
            hint="use its address, such as http://127.0.0.1:7341; dibs serve --allow-host adds a name",
            closes=True,
        )


def check_origin(scope: Scope, names: Sequence[str]) -> None:
    """Refuse a request that a page of another origin sent."""
    origins = values(scope, b"origin")
    if origins and (len(origins) > 1 or origins[0].lower() not in _origins(scope, names)):
        raise RequestRefused(
            "a web page of another origin sent this request",
            code="ORIGIN",
            field="Origin",
        )
    sites = values(scope, b"sec-fetch-site")
    if any(site.lower() not in {b"same-origin", b"none"} for site in sites):
        raise RequestRefused(
            "a web page of another site sent this request",
            code="CSRF",
            field="Sec-Fetch-Site",
        )


def accepts_pages(scope: Scope) -> bool:
    """Return whether a browser asks for a page to show, not a program for data."""
    return any(b"text/html" in value for value in values(scope, b"accept"))


def cookie_name(scope: Scope) -> str:
    """Return the name of the session's cookie; a browser sends cookies to all ports of a host."""
    server = scope.get("server") or ("", None)
    return f"dibs_session_{server[1]}"


def session_of(scope: Scope) -> str:
    """Return the session's cookie; empty if there is none, or more than one."""
    name = cookie_name(scope).encode()
    pairs = [
        pair.strip().partition(b"=")
        for line in values(scope, b"cookie")
        for pair in line.split(b";")
    ]
    found = [value for key, _, value in pairs if key == name]
    return found[0].decode("latin-1") if len(found) == 1 else ""


def is_same_origin(scope: Scope) -> bool:
    """Return whether a browser confirms that our own page sent this request; its Origin is checked before."""
    return bool(values(scope, b"origin")) or values(scope, b"sec-fetch-site") == [b"same-origin"]


def check_url(scope: Scope) -> None:
    """Refuse paths that two programs would understand differently, and tokens in the URL."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    query: bytes = scope["query_string"]
    if _has_token(query) or _TOKEN.search(unquote_to_bytes(raw)):
        raise RequestRefused(
            "a token must not be in the URL, where logs and histories keep it",
            code="TOKEN_IN_URL",
            hint="send it in the header Authorization: Bearer, and revoke it: dibs token revoke ID",
        )
    whole = raw.startswith(_PATHS_BELOW)
    if _BAD_PATH.search(raw) or (not whole and _ENCODED_SLASH.search(raw)) or not _is_plain(raw):
        raise not_plain()


def check_content(scope: Scope) -> None:
    """Require JSON that is not compressed and not too long for requests that change something."""
    has_body = values(scope, b"transfer-encoding") or values(scope, b"content-length") not in (
        [],
        [b"0"],
    )
    method = scope["method"]
    if method in _WRITES and (has_body or method != "DELETE"):
        types = values(scope, b"content-type")
        if len(types) != 1 or not _JSON.fullmatch(types[0].strip()):
            raise RequestRefused(
                "a request that changes something has the content type application/json",
                code="CONTENT_TYPE",
                status=415,
                field="Content-Type",
                hint="send the header Content-Type: application/json, and a JSON body such as {}",
            )
    if any(value.strip().lower() != b"identity" for value in values(scope, b"content-encoding")):
        raise RequestRefused(
            "the body must not be compressed",
            code="CONTENT_ENCODING",
            field="Content-Encoding",
            closes=True,
        )
    lengths = values(scope, b"content-length")
    if lengths and (not lengths[0].isdigit() or int(lengths[0][:19]) > MOST_BODY):
        raise too_long()


def too_long() -> RequestRefused:
    """Return the refusal of a body that is too long."""
    return RequestRefused(
        f"the body is longer than {MOST_BODY} bytes", code="BODY_SIZE", closes=True
    )


def too_slow() -> RequestRefused:
    """Return the refusal of a request that does not arrive in time."""
    return RequestRefused("the request did not arrive in time", code="REQUEST_TIMEOUT", closes=True)


def not_plain() -> RequestRefused:
    """Return the refusal of a path that two programs would understand differently."""
    return RequestRefused(
        "the path of the URL is not in its plain form", code="URL_PATH", field="path", closes=True
    )


def _authorities(scope: Scope, names: Sequence[str]) -> frozenset[bytes]:
    """Return the values that a Host header may have; an IP address cannot be rebound by a DNS server."""
    host, port = scope.get("server") or ("", None)
    return _LOCAL if port is None else _known(host, port, tuple(names))


@lru_cache(maxsize=64)
def _known(host: str, port: int, names: tuple[str, ...]) -> frozenset[bytes]:
    own = f"[{host}]" if ":" in host else host
    known = [f"{name}:{port}" for name in (*LOOPBACK, own)]
    if port == _HTTP_PORT:
        known += [*LOOPBACK, own]
    for name in names:
        known += [name] if _has_port(name) else [name, f"{name}:{port}"]
    return frozenset(name.lower().encode("utf-8", "replace") for name in known)


def _origins(scope: Scope, names: Sequence[str]) -> frozenset[bytes]:
    found = {b"http://" + name for name in _authorities(scope, names)}
    for name in names:  # a proxy in front of the server may add TLS
        found.add(b"https://" + name.lower().encode("utf-8", "replace"))
    return frozenset(found)


def _has_port(name: str) -> bool:
    return bool(re.search(r":\d+$", name)) and not name.endswith("]")


def _has_token(query: bytes) -> bool:
    if not query:
        return False
    text = query.decode("latin-1")
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=100)
    except ValueError:
        return True
    # A fencing token is a number, and may be in a query.
    named = any(k.lower() in _CREDENTIALS and not v.isdigit() for k, v in pairs)
    return named or bool(_TOKEN.search(unquote_to_bytes(query)))


def _is_plain(raw: bytes) -> bool:
    try:
        text = unquote_to_bytes(raw).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return not _CONTROL.search(text) and not {".", ".."} & set(text.split("/"))
