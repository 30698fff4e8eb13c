"""Redis engine URLs.

- ``redis://user:password@host:6379/0``, ``rediss://…`` with TLS
- ``unix:///run/redis.sock?db=0``
- ``redis+sentinel://host:26379,host:26379/service/0``: the primary, found through sentinels
- ``redis+cluster://host:7000,host:7001``: the node with the project's slot

``rediss+sentinel`` and ``rediss+cluster`` are the same with TLS. Options after ``?``: ``db``; ``ca``,
``cert``, and ``key`` (files, for TLS); ``sentinel_user`` and ``sentinel_password``. The password of a URL
without one comes from ``DIBS_REDIS_PASSWORD`` or ``DIBS_REDIS_PASSWORD_FILE``.
"""

from __future__ import annotations

from dibs.errors import Misconfigured
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

KINDS = (
    "redis",
    "rediss",
    "unix",
    *(f"redis{s}+{k}" for s in ("", "s") for k in ("sentinel", "cluster")),
)
#: Other names for the same options in Redis clients.
ALIASES = {"ssl_ca_certs": "ca", "ssl_certfile": "cert", "ssl_keyfile": "key"}
OPTIONS = ("db", "ca", "cert", "key", "sentinel_user", "sentinel_password")
#: Variables with the password of a URL that has none.
PASSWORD, PASSWORD_FILE = "DIBS_REDIS_PASSWORD", "DIBS_REDIS_PASSWORD_FILE"
_LONGEST = 4_096
_PORTS = {"sentinel": 26379}
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

    nodes: tuple[RedisNode, ...]
    #: ``""`` for one server, ``sentinel``, or ``cluster``.
    kind: str
    tls: bool
    user: str
    password: str
    db: int
    service: str
    options: dict[str, str]

    def __str__(self) -> str:
        """Return the address without the password."""
        nodes = ",".join(map(str, self.nodes))
        service = f" ({self.kind} {self.service})".replace("  ", " ") if self.kind else ""
        return f"{nodes}{service}, db {self.db}" if self.db else f"{nodes}{service}"


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
    base, _, kind = scheme.partition("+")
    login, at, place = rest.rpartition("@")
    user, _, password = login.partition(":")
    if scheme == "unix":
        path = _plain(place if at else rest)
        if not path.startswith("/"):
            raise _wrong("its socket path is not absolute", "use unix:///run/redis.sock")
        nodes: tuple[RedisNode, ...] = (RedisNode("", 0, path),)
        parts: list[str] = []
    else:
        hosts, _, path = place.partition("/")
        nodes = tuple(_node(text, _PORTS.get(kind, 6379)) for text in hosts.split(","))
        parts = [_plain(part) for part in path.split("/") if part]
    service = ""
    if kind == "sentinel":
        if not parts:
            raise _wrong("it does not name a service", "use redis+sentinel://host:26379/service/0")
        service = parts.pop(0)
    if len(parts) > 1:
        raise _wrong("unexpected text after the database number", "use redis://host:6379/0")
    db = _number(options.pop("db", parts[0] if parts else "0"), 1_000_000, "database")
    if db and kind == "cluster":
        raise _wrong("a cluster has only database 0", "leave the database out")
    return RedisTarget(
        nodes, kind, base == "rediss", _plain(user), _plain(password), db, service, options
    )


def _options(query: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for pair in filter(None, query.split("&")):
        name, _, value = pair.partition("=")
        name = ALIASES.get(name, name)
        if name not in OPTIONS:
            known = ", ".join(OPTIONS)
            raise _wrong(f"unknown option {name[:40]!r}", f"valid options: {known}")
        options[name] = _plain(value)
    return options


def _node(text: str, port: int) -> RedisNode:
    if text.startswith("["):
        host, closed, rest = text[1:].partition("]")
        if not closed or (rest and not rest.startswith(":")):
            raise _wrong("the brackets in its address do not match", "use redis://[::1]:6379")
        digits = rest[1:]
    else:
        host, _, digits = text.partition(":")
    if host.startswith("-") or any(c.isspace() for c in host):
        raise _wrong(f"{host[:40]!r} is not a valid host name", "use redis://host:6379/0")
    found = _number(digits, _MOST_PORTS, "port") if digits else port
    return RedisNode(_plain(host) or "127.0.0.1", found)


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
