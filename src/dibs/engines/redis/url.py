"""Redis engine URLs.

- ``redis://user:password@host:6379/0``, ``rediss://…`` with TLS
- ``unix:///run/redis.sock?db=0``

Options after ``?``: ``db``; ``ca``, ``cert``, and ``key`` (files, for TLS). The password of a URL without one
comes from ``DIBS_REDIS_PASSWORD`` or ``DIBS_REDIS_PASSWORD_FILE``.
"""

from __future__ import annotations

from dibs.errors import Misconfigured
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

KINDS = ("redis", "rediss", "unix")
OPTIONS = ("db", "ca", "cert", "key")
#: Variables with the password of a URL that has none.
PASSWORD, PASSWORD_FILE = "DIBS_REDIS_PASSWORD", "DIBS_REDIS_PASSWORD_FILE"
_LONGEST = 4_096
_PORT = 6379
_MOST_PORTS = 65_535


class RedisNode(Record):
    """One address: host and port, or the path of a socket."""

    host: str
    port: int = 0
    path: str = ""

    def __str__(self) -> str:
        """Return it in the usual notation."""
        return self.path or (f"[{self.host}]" if ":" in self.host else self.host) + f":{self.port}"


class RedisTarget(Record):
    """Where the store is, and how to log in."""

    node: RedisNode
    tls: bool
    user: str
    password: str
    db: int
    options: dict[str, str]

    def __str__(self) -> str:
        """Return the address without the password."""
        return f"{self.node}, db {self.db}" if self.db else str(self.node)


def parse(url: str) -> RedisTarget:
    """Parse a URL; raise an error that explains what is wrong."""
    try:
        return _parse(url)
    except Misconfigured as error:
        # An unescaped special character in a password breaks the URL apart; no part of it may be shown.
        if "@" not in url or "'" not in error.message:
            raise
        raise _wrong(
            "it cannot be parsed", "write / ? # @ : % in a password as %2F %3F %23 %40 %3A %25"
        ) from None


def outside_password(environ: Mapping[str, str]) -> str:
    """Return the password from ``DIBS_REDIS_PASSWORD`` or the file ``DIBS_REDIS_PASSWORD_FILE``, if any.

    Only variables can name them: a cloned repository's settings must not choose a file to send to a server.
    """
    password, path = environ.get(PASSWORD, ""), environ.get(PASSWORD_FILE, "")
    if password or not path:
        return password
    try:
        with open(path, encoding="utf-8") as file:
            found = file.read(_LONGEST).partition("\n")[0].rstrip("\r")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise Misconfigured(
            f"cannot read the password file {path} ({PASSWORD_FILE}): {why}",
            code="REDIS_AUTH",
            hint=f"fix the path, or set {PASSWORD}",
        ) from None
    if not found:
        raise Misconfigured(
            f"the password file {path} ({PASSWORD_FILE}) has an empty first line",
            code="REDIS_AUTH",
            hint=f"write the password in its first line, or set {PASSWORD}",
        )
    return found


def _parse(url: str) -> RedisTarget:
    scheme, mark, rest = url.partition("://")
    if not mark or scheme not in KINDS:
        raise _wrong(f"{scheme or 'it'} is not a Redis URL scheme", "use redis://host:6379/0")
    rest, _, query = rest.partition("?")
    options = _options(query)
    login, at, place = rest.rpartition("@")
    user, _, password = login.partition(":")
    if scheme == "unix":
        path = _plain(place if at else rest)
        if not path.startswith("/"):
            raise _wrong("its socket path is not absolute", "use unix:///run/redis.sock")
        node = RedisNode("", 0, path)
        parts: list[str] = []
    else:
        host, _, path = place.partition("/")
        node = _node(host)
        parts = [_plain(part) for part in path.split("/") if part]
    if len(parts) > 1:
        raise _wrong("unexpected text after the database number", "use redis://host:6379/0")
    db = _number(options.pop("db", parts[0] if parts else "0"), 1_000_000, "database")
    return RedisTarget(node, scheme == "rediss", _plain(user), _plain(password), db, options)


def _options(query: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for pair in filter(None, query.split("&")):
        name, _, value = pair.partition("=")
        if name not in OPTIONS:
            known = ", ".join(OPTIONS)
            raise _wrong(f"unknown option {name[:40]!r}", f"valid options: {known}")
        options[name] = _plain(value)
    return options


def _node(text: str) -> RedisNode:
    if text.startswith("["):
        host, closed, rest = text[1:].partition("]")
        if not closed or (rest and not rest.startswith(":")):
            raise _wrong("the brackets in its address do not match", "use redis://[::1]:6379")
        digits = rest[1:]
    else:
        host, _, digits = text.partition(":")
    if host.startswith("-") or any(c.isspace() for c in host):
        raise _wrong(f"{host[:40]!r} is not a valid host name", "use redis://host:6379/0")
    port = _number(digits, _MOST_PORTS, "port") if digits else _PORT
    return RedisNode(_plain(host) or "127.0.0.1", port)


def _number(text: str, most: int, what: str) -> int:
    if text.isascii() and text.isdigit() and int(text[:10]) <= most:
        return int(text)
    raise _wrong(f"{text[:40]!r} is not a valid {what}", f"use a number from 0 to {most}")


def _plain(text: str) -> str:
    if "%" not in text:
        return text
    from urllib.parse import unquote

    return unquote(text)


def _wrong(why: str, hint: str) -> Misconfigured:
    # The URL itself is not repeated: it may contain a password.
    return Misconfigured(
        f"invalid Redis engine URL: {why}", code="REDIS_URL", field="engine", hint=hint
    )
