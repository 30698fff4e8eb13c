"""Where a server is, and one connection to it."""

from __future__ import annotations

import http.client
import os
import socket
import stat
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from dibs.core.text.names import printable
from dibs.errors import Misconfigured
from dibs.local.files import regular

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The variables that name the server, its token, a file with the token, and the project.
SERVER, TOKEN, TOKEN_FILE, PROJECT = (
    "DIBS_SERVER",
    "DIBS_TOKEN",
    "DIBS_TOKEN_FILE",
    "DIBS_SERVER_PROJECT",
)
#: Allows a token over plain HTTP to another machine.
INSECURE = "DIBS_INSECURE"
DEFAULT_PORT = 7341
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class ServerAddress(NamedTuple):
    """A server's address, and what a request to it needs."""

    #: ``http``, ``https``, or ``unix``.
    scheme: str
    #: A host name, or the path of the Unix socket.
    host: str
    port: int
    #: Never shown.
    token: str
    #: The project's id, name, or folder on the server; empty for the token's, or the only one.
    project: str = ""

    def __repr__(self) -> str:
        """Return the address without its token."""
        return f"ServerAddress({self.url})"

    @property
    def url(self) -> str:
        """The address, as a person writes it."""
        if self.scheme == "unix":
            return f"unix://{self.host}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def connect(self, timeout: float | None) -> http.client.HTTPConnection:
        """Return a connection, which opens with its first request."""
        if self.scheme == "unix":
            return _UnixConnection(self.host, timeout)
        if self.scheme == "https":
            import ssl

            context = ssl.create_default_context()
            return http.client.HTTPSConnection(
                self.host, self.port, timeout=timeout, context=context
            )
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket; the server knows this process by its credentials."""

    def __init__(self, path: str, timeout: float | None) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def read_address(
    url: str, environ: Mapping[str, str], *, token: str = "", project: str = ""
) -> ServerAddress:
    """Return the address that a URL and the environment name."""
    project = project or environ.get(PROJECT, "")
    if url.startswith("unix://"):
        path = url.removeprefix("unix://")
        if not path.startswith("/"):
            raise _wrong(url, "use unix:///path/of/the/socket")
        return ServerAddress("unix", path, 0, "", project)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise _wrong(url, "use https://host:port") from None
    plain = parts.path in {"", "/"} and not parts.query and not parts.fragment
    if parts.scheme not in {"http", "https"} or not host or not plain:
        raise _wrong(url, "use https://host:port")
    if parts.username is not None or parts.password is not None:
        raise _wrong("the address", f"put the token into {TOKEN}, not into the address")
    if parts.scheme == "http" and host not in LOOPBACK and environ.get(INSECURE) != "1":
        raise Misconfigured(
            f"{printable(host)} is another machine, and http would send the token unencrypted",
            code="TLS_NEEDED",
            field=SERVER,
            hint=f"use https, an ssh tunnel, or set {INSECURE}=1",
        )
    return ServerAddress(
        parts.scheme, host, port or DEFAULT_PORT, token or read_token(environ), project
    )


def read_token(environ: Mapping[str, str]) -> str:
    """Return the token that the environment names; empty if there is none."""
    token, path = environ.get(TOKEN, ""), environ.get(TOKEN_FILE, "")
    if token or not path:
        return _checked(token, TOKEN) if token else ""
    try:
        with open(path, encoding="ascii", errors="replace", opener=regular) as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise Misconfigured(
                    f"other users can read {printable(path)}",
                    code="TOKEN_FILE",
                    hint=f"run: chmod 600 {printable(path)}",
                )
            return _checked(file.read(4096).strip(), TOKEN_FILE)
    except OSError as error:
        raise Misconfigured(
            f"{printable(path)}: {error.strerror}",
            code="TOKEN_FILE",
            hint="use a file that you can read",
        ) from error


def _checked(token: str, name: str) -> str:
    if not token.isascii() or not token.isprintable() or " " in token:
        raise Misconfigured(
            f"{name} does not contain a token", code="TOKEN_FILE", hint="run: dibs token new"
        )
    return token


def _wrong(url: str, hint: str) -> Misconfigured:
    return Misconfigured(
        f"{printable(url[:200])} is not the address of a Dibs server",
        code="SERVER_URL",
        field=SERVER,
        hint=hint,
    )
