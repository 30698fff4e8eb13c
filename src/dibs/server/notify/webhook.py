"""Send signed webhooks: one POST per event, to HTTPS or loopback addresses only.

The signature is an HMAC with SHA-256 over the timestamp, a period, and the body, byte for byte as sent. A
receiver compares it in constant time, refuses old timestamps, and ignores ids that it has seen.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import ipaddress
import os
import socket
import ssl
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from dibs import __version__
from dibs.core.text.names import printable
from dibs.errors import Misconfigured
from dibs.local.files import write_file
from dibs.services.pipeline.handlers import HandlerFailed
from dibs.startup.quickjson import dumps

if TYPE_CHECKING:
    from dibs.core.alerts.notices import Notice
    from dibs.core.claims.ledger import Entry

#: How long one delivery may take in total, in seconds.
TIMEOUT = 10.0
#: The variable with the secret, and the file with it in the server's folder.
VARIABLE, FILE = "DIBS_NOTIFY_SECRET", "webhook-secret"
#: The shortest secret that is accepted, in characters.
SHORTEST = 16
_OWN = 0o077


class Target(NamedTuple):
    """Where to send."""

    scheme: str
    host: str
    port: int | None
    #: The path with its query.
    path: str

    @property
    def shown(self) -> str:
        """The address without its path, which may contain a secret."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return printable(f"{self.scheme}://{host}{f':{self.port}' if self.port else ''}")


def target_of(url: str) -> Target:
    """Return the parts of a webhook's URL; refuse one that would send in the clear."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _wrong("it is not a URL") from None
    host = parts.hostname or ""
    if parts.scheme not in {"http", "https"} or not host:
        raise _wrong("it must start with https://")
    if parts.username is not None or parts.password is not None:
        raise _wrong("it must not contain a password; the body is signed instead")
    if parts.fragment or not url.isprintable() or " " in url or not url.isascii():
        raise _wrong("it contains a fragment, spaces, or other characters that URLs do not have")
    if parts.scheme == "http" and not is_loopback(host):
        raise _wrong("it must start with https://, except for this machine (127.0.0.1)")
    query = f"?{parts.query}" if parts.query else ""
    return Target(parts.scheme, host, port, (parts.path or "/") + query)


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, without asking a name server."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _wrong(why: str) -> Misconfigured:
    return Misconfigured(f"invalid webhook under [notify]: {why}", field="notify_webhook")


def secret(folder: str) -> bytes:
    """Return the secret: from the variable, or from the file, which is created if it does not exist."""
    given = os.environ.get(VARIABLE, "").strip()
    path = os.path.join(folder, FILE)
    if not given:
        try:
            with open(path, encoding="ascii") as file:
                if os.fstat(file.fileno()).st_mode & _OWN:
                    raise Misconfigured(
                        f"other users can read {path}", hint=f"run: chmod 600 {path}"
                    )
                given = file.read().strip()
        except FileNotFoundError:
            given = os.urandom(32).hex()
            write_file(path, f"{given}\n".encode(), mode=0o600)
        except UnicodeDecodeError:
            given = ""
    if len(given) < SHORTEST:
        raise Misconfigured(f"the secret of webhooks is shorter than {SHORTEST} characters")
    return given.encode("utf-8", "surrogateescape")


def sign(key: bytes, timestamp: int, body: bytes) -> str:
    """Return the signature header of a body."""
    return "v1=" + hmac.new(key, b"%d." % timestamp + body, hashlib.sha256).hexdigest()


def event_id(entry: Entry) -> str:
    """Return an id that is the same for every delivery of an entry, from every server."""
    told = f"{entry.seq}\n{entry.at!r}\n{entry.kind}\n{entry.agent}\n{entry.summary}"
    return f"{entry.seq}-{hashlib.sha256(told.encode('utf-8', 'replace')).hexdigest()[:16]}"


def body_of(project: str, name: str, entry: Entry, notice: Notice) -> bytes:
    """Return the body of a webhook."""
    told = {
        "id": event_id(entry), "type": name, "project": project, "seq": entry.seq, "at": entry.at,
        "agent": entry.agent, **notice._asdict(), "entry": entry._asdict(),
    }  # fmt: skip
    return dumps(told).encode("utf-8", "replace")


def post(target: Target, body: bytes, headers: dict[str, str], timeout: float = TIMEOUT) -> None:
    """Send a body; raise ``HandlerFailed`` unless the answer is a success. Redirects are not followed."""
    link, late = _connection(target, timeout), threading.Event()
    timer = threading.Timer(timeout, _cut, (link, late))
    timer.daemon = True
    timer.start()
    status, why = 0, ""
    try:
        link.request("POST", target.path, body, headers)
        status = link.getresponse().status
    except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
        why = _said(error)  # a socket that the timer closes can fail in any of these ways
    finally:
        timer.cancel()
        link.close()
    if late.is_set() or why:
        why = "it did not answer in time" if late.is_set() else why
        raise HandlerFailed(f"{target.shown}: {why}")
    if not http.client.OK <= status < http.client.MULTIPLE_CHOICES:
        raise HandlerFailed(f"{target.shown} answered with status {status}")


def _connection(target: Target, timeout: float) -> http.client.HTTPConnection:
    if target.scheme == "https":
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(
            target.host, target.port, timeout=timeout, context=context
        )
    return http.client.HTTPConnection(target.host, target.port, timeout=timeout)


def _cut(link: http.client.HTTPConnection, late: threading.Event) -> None:
    """End a delivery that takes too long, even if bytes arrive all the time."""
    late.set()
    if link.sock is not None:
        with suppress(OSError):
            link.sock.shutdown(socket.SHUT_RDWR)


def _said(error: Exception) -> str:
    return printable(" ".join(str(error).split()) or type(error).__name__)[:200]


def headers_of(key: bytes, entry: Entry, name: str, body: bytes, now: float) -> dict[str, str]:
    """Return the headers of a delivery that starts now."""
    timestamp = int(now)
    return {
        "Content-Type": "application/json",
        "User-Agent": f"dibs/{__version__}",
        "Dibs-Event": name,
        "Dibs-Event-Id": event_id(entry),
        "Dibs-Timestamp": str(timestamp),
        "Dibs-Signature": sign(key, timestamp, body),
    }
