"""What a Redis server reports about itself, and refusing one on which claims are not safe."""

from __future__ import annotations

from dibs.engines.redis.errors import RedisError, misconfigured
from dibs.engines.shared.failures import Cut, NotSent
from dibs.errors import Misconfigured
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.engines.redis.url import RedisNode
    from dibs.engines.redis.wire import Wire

OLDEST = (6, 2)
_NEVER_A_REPLICA = "0" * 40


class Facts(Record):
    """What a server reports about itself."""

    values: dict[str, str]

    def __getattr__(self, name: str) -> str:
        """Return one value; empty if the server does not report it."""
        return self.values.get(name, "")

    @property
    def version(self) -> tuple[int, ...]:
        """The server's version, as far as it consists of numbers."""
        parts = self.values.get("redis_version", "0").split(".")[:2]
        return tuple(int(part) if part.isdigit() else 0 for part in parts)

    @property
    def was_never_a_replica(self) -> bool:
        """Whether this server did not take over from another one."""
        return self.values.get("master_replid2", "") == _NEVER_A_REPLICA


def facts(wire: Wire, until: float) -> Facts:
    """Read the server's information."""
    try:
        text: str = wire.call("INFO", until=until)
    except RedisError as error:
        raise misconfigured(error, wire.node) or error from None
    except Cut as error:
        raise NotSent(str(error)) from error
    pairs = (line.partition(":") for line in text.splitlines() if line and line[0] != "#")
    return Facts({name: value for name, _, value in pairs})


def check(found: Facts, node: RedisNode) -> None:
    """Refuse an unsafe server, with the reason; raise ``NotSent`` for a temporary condition."""
    if found.version < OLDEST:
        needed = ".".join(map(str, OLDEST))
        raise Misconfigured(
            f"the Redis server at {node} is version {found.redis_version or 'unknown'}: Dibs needs {needed}",
            code="REDIS_VERSION",
            field="engine",
        )
    if found.redis_mode in {"cluster", "sentinel"}:
        raise Misconfigured(
            f"the Redis server at {node} is a {found.redis_mode}, which Dibs does not support",
            code="REDIS_MODE",
            field="engine",
            hint="use the URL of one server, or PostgreSQL for failover",
        )
    if found.role != "master":
        raise Misconfigured(
            f"the Redis server at {node} is a read-only replica",
            code="REDIS_REPLICA",
            field="engine",
            hint="use the URL of the primary",
        )
    if found.maxmemory_policy not in {"", "noeviction"}:
        raise Misconfigured(
            f"the Redis server at {node} may evict keys when memory is low (maxmemory-policy is"
            f" {found.maxmemory_policy}): claims would disappear",
            code="REDIS_EVICTION",
            field="engine",
            hint="run `redis-cli CONFIG SET maxmemory-policy noeviction`, and add it to redis.conf",
        )
    if found.loading == "1":
        raise NotSent(f"{node} is still loading its data")


def is_durable(wire: Wire, found: Facts, until: float) -> bool:
    """Return whether a restart of this server cannot lose a write."""
    return found.aof_enabled == "1" and found.was_never_a_replica and fsync(wire, until) == "always"


def fsync(wire: Wire, until: float) -> str:
    """Return when the server syncs its writes to disk; empty if it does not say."""
    try:
        reply = wire.call("CONFIG", "GET", "appendfsync", until=until)
    except RedisError:
        return ""
    except Cut as error:
        raise NotSent(str(error)) from error
    return str(reply[1]) if len(reply) > 1 else ""
