"""What a Redis store promises as its server is configured."""

from __future__ import annotations

import time

from dibs.core.text.findings import Finding, Level
from dibs.engines.redis import server
from dibs.engines.redis.errors import RedisError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.engines.redis.connection import RedisConnection
    from dibs.engines.redis.server import Facts

#: Addresses that only this machine reaches.
_LOCAL = ("127.", "::1")


def inspect(link: RedisConnection, replicas: int, until: float) -> list[Finding]:
    """Say what the store promises."""
    wire = link.wire
    found = server.facts(wire, until)
    held = wire.call("HLEN", link.key("values"), until=until)
    started = time.perf_counter()
    link.look((), (), until)
    trip = (time.perf_counter() - started) * 1e3
    return [
        Finding(Level.OK, "store", f"Redis {found.redis_version} at {wire.node}, {held} rows"),
        Finding(Level.OK, "reach", "all machines that reach this server"),
        Finding(Level.OK, "round trip", f"{trip:.2f} ms for a transaction"),
        Finding(
            Level.OK, "clock", "the server's; a jump is noticed by those who watch, and ends all claims"
        ),
        Finding(Level.OK, "memory", "nothing is thrown away (maxmemory-policy noeviction)"),
        _durability(link, found, until),
        _failover(found, replicas),
        _access(link, until),
    ]  # fmt: skip


def _durability(link: RedisConnection, found: Facts, until: float) -> Finding:
    if server.forgets_nothing(link.wire, found, until):
        return Finding(Level.OK, "durability", "a change that was answered survives a restart")
    if found.aof_enabled == "1" and not server.fsync(link.wire, until):
        text = (
            "whether a crash of the server can lose changes is not to be seen (CONFIG is not allowed); each"
            " restart begins a new life, and all claims are void"
        )
    elif found.aof_enabled == "1":
        text = (
            "a crash of the server can lose the newest changes (appendfsync is not always); then a new"
            " life begins and all claims are void"
        )
    else:
        text = (
            "a restart of the server loses changes (appendonly is off); then a new life begins and all"
            " claims are void"
        )
    return Finding(Level.WARN, "durability", text)


def _failover(found: Facts, replicas: int) -> Finding:
    count = int(found.connected_slaves or 0)
    if not count:
        return Finding(
            Level.OK, "failover", "no replica; while the server is down nobody can claim"
        )
    if replicas:
        text = (
            f"a change is answered when {replicas} of {count} replicas have it, else it is unknown"
        )
        return Finding(Level.OK, "failover", text)
    text = (
        f"{count} replicas follow without being waited for: a failover can lose the newest changes, and"
        " ends all claims (redis.replicas waits for some)"
    )
    return Finding(Level.WARN, "failover", text)


def _access(link: RedisConnection, until: float) -> Finding:
    node = link.wire.node
    local = bool(node.path) or node.host == "localhost" or node.host.startswith(_LOCAL)
    try:
        user = link.wire.call("ACL", "GETUSER", "default", until=until)
    except RedisError:
        return Finding(Level.OK, "access", "our user has limited rights")
    flags = user[1] if user else []
    if "nopass" in flags and "on" in flags and not local:
        return Finding(Level.WARN, "access", "the server asks for no password, and others reach it")
    return Finding(Level.OK, "access", "only this machine" if local else "by password")
