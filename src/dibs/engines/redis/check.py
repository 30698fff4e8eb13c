"""What a Redis store promises as its server is configured."""

from __future__ import annotations

from dibs.core.text.findings import Finding, Level
from dibs.engines.redis import server
from dibs.engines.redis.errors import RedisError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.engines.redis.connection import RedisConnection
    from dibs.engines.redis.server import Facts

#: Addresses that only this machine reaches.
_LOCAL = ("127.", "::1")


def inspect(link: RedisConnection, until: float) -> list[Finding]:
    """Say what the store promises."""
    wire = link.wire
    found = server.facts(wire, until)
    held = wire.call("HLEN", link.key("values"), until=until)
    header = link.look((), (), until)
    return [
        Finding(Level.OK, "store", f"Redis {found.redis_version} at {wire.node}, {held} rows"),
        Finding(Level.OK, "memory", "the server evicts nothing (maxmemory-policy noeviction)"),
        _durability(link, found, until),
        _failover(found),
        _access(link, until),
        *([link.mirror.inspect(wire, header.prefix, until)] if link.mirror is not None else ()),
    ]  # fmt: skip


def _durability(link: RedisConnection, found: Facts, until: float) -> Finding:
    if server.is_durable(link.wire, found, until):
        return Finding(Level.OK, "durability", "a confirmed change survives a restart")
    if found.aof_enabled == "1" and not server.fsync(link.wire, until):
        text = (
            "cannot tell whether a server crash can lose changes (CONFIG is not permitted), so each"
            " restart starts a new life and voids all claims"
        )
    elif found.aof_enabled == "1":
        text = (
            "a server crash can lose the newest changes, which voids all claims"
            " (to prevent that, set appendfsync always)"
        )
    else:
        text = (
            "a server restart loses changes, which voids all claims"
            " (to prevent that, set appendonly yes and appendfsync always)"
        )
    return Finding(Level.WARN, "durability", text)


def _failover(found: Facts) -> Finding:
    count = int(found.connected_slaves or 0)
    if not count:
        return Finding(
            Level.OK, "failover", "no replica: while the server is down, no one can claim"
        )
    following = "1 asynchronous replica" if count == 1 else f"{count} asynchronous replicas"
    text = f"{following}: a failover can lose the newest changes, which voids all claims"
    return Finding(Level.WARN, "failover", text)


def _access(link: RedisConnection, until: float) -> Finding:
    node = link.wire.node
    local = bool(node.path) or node.host == "localhost" or node.host.startswith(_LOCAL)
    try:
        user = link.wire.call("ACL", "GETUSER", "default", until=until)
    except RedisError:
        return Finding(Level.OK, "access", "this user has limited rights")
    flags = user[1] if user else []
    if "nopass" in flags and "on" in flags and not local:
        return Finding(
            Level.WARN, "access", "other machines can reach the server without a password"
        )
    return Finding(Level.OK, "access", "this machine only" if local else "password required")
