"""One connection to a Redis server, which knows what was sent.

hiredis encodes and parses; the sockets are ours. redis-py takes longer to import than a whole Dibs
command, and does not say whether a failed command was sent.
"""

from __future__ import annotations

import select
import socket
import time

import hiredis

from dibs.engines.redis.errors import RedisError, misconfigured
from dibs.engines.shared.failures import Cut, NotSent
from dibs.errors import Misconfigured

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.engines.redis.url import RedisNode, RedisTarget


_monotonic = time.monotonic
#: Idle seconds after which it is worth checking whether the server is still there.
_IDLE = 0.001


class Wire:
    """An open connection. Its owner ensures that one thread uses it at a time."""

    __slots__ = ("_idle_since", "_reader", "_sock", "_tls", "node", "usable")

    def __init__(self, node: RedisNode, sock: socket.socket, *, tls: bool) -> None:
        self.node = node
        self._sock = sock
        self._reader = hiredis.Reader(encoding="utf-8", errors="surrogateescape")
        #: Whether every reply was read; otherwise the next one would belong to an earlier command.
        self.usable = True
        self._tls = tls
        self._idle_since = _monotonic()

    def call(self, *words: Any, until: float) -> Any:
        """Send a command and return its reply; ``until`` is a monotonic time."""
        packed: bytes = hiredis.pack_command(words)
        sent = self.usable = False
        try:
            self._sock.settimeout(_left(until))
            if _monotonic() - self._idle_since > _IDLE:
                self._check_open()
            gone = self._sock.send(packed)
            # Once the first byte is sent, the server may have all of it.
            sent = True
            if gone < len(packed):
                self._sock.sendall(memoryview(packed)[gone:])
            reply = self._read(until)
        except OSError as error:
            raise (Cut if sent else NotSent)(str(error) or type(error).__name__) from error
        except hiredis.ProtocolError as error:
            raise Cut(f"no Redis server is listening there: {error}") from error
        self.usable = True
        self._idle_since = _monotonic()
        if isinstance(reply, hiredis.ReplyError):
            raise RedisError(str(reply))
        return reply

    def close(self) -> None:
        """Close the connection."""
        self._sock.close()

    def _read(self, until: float) -> Any:
        while (reply := self._reader.gets()) is False:
            self._sock.settimeout(_left(until))
            data = self._sock.recv(65_536)
            if not data:
                raise ConnectionResetError("the server closed the connection")
            self._reader.feed(data)
        return reply

    def _check_open(self) -> None:
        """Detect that the server closed an idle connection, while it is certain that nothing was sent."""
        # Before a command, nothing can arrive except TLS session tickets.
        if self._tls:
            return
        look = select.poll()
        look.register(self._sock, select.POLLIN)
        if look.poll(0):
            raise ConnectionResetError("the server closed the connection")


def connect(target: RedisTarget, until: float) -> Wire:
    """Open a connection and log in; raise ``NotSent`` if that fails."""
    node = target.node
    try:
        wire = Wire(node, _open_socket(target, until), tls=target.tls)
    except (OSError, UnicodeError) as error:
        raise NotSent(f"{node}: {_why(error)}") from error
    commands: list[tuple[str | int, ...]] = []
    if target.password or target.user:
        user = (target.user,) if target.user else ()
        commands.append(("AUTH", *user, target.password))
    if target.db:
        commands.append(("SELECT", target.db))
    try:
        for command in commands:
            wire.call(*command, until=until)
    except RedisError as error:
        wire.close()
        raise misconfigured(error, node) or error from None
    except Cut as error:
        wire.close()
        raise NotSent(f"{node}: {error}") from error
    return wire


def _open_socket(target: RedisTarget, until: float) -> socket.socket:
    node = target.node
    if node.path:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    else:
        sock = socket.create_connection((node.host, node.port), _left(until))
    try:
        if node.path:
            sock.settimeout(_left(until))
            sock.connect(node.path)
            return sock
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return _wrapped(target, node, sock) if target.tls else sock
    except (OSError, ValueError, Misconfigured):
        sock.close()
        raise


def _wrapped(target: RedisTarget, node: RedisNode, sock: socket.socket) -> socket.socket:
    import ssl

    options = target.options
    try:
        context = ssl.create_default_context(cafile=options.get("ca") or None)
        if options.get("cert"):
            context.load_cert_chain(options["cert"], options.get("key") or None)
        return context.wrap_socket(sock, server_hostname=node.host)
    except ssl.SSLCertVerificationError as error:
        raise Misconfigured(
            f"the certificate of {node} is not trusted: {error.verify_message}",
            code="REDIS_TLS",
            hint="add the CA file to the URL: rediss://host:6379/0?ca=/path/ca.pem",
        ) from error
    except FileNotFoundError as error:
        raise Misconfigured(
            f"TLS file not found: {error.filename or 'ca, cert or key'}", code="REDIS_TLS"
        ) from error


def _left(until: float) -> float:
    left = until - _monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
