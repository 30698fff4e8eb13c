"""Finding the server of a Redis store, and refusing one on which claims are not safe."""

from __future__ import annotations

from dibs.engines.redis.errors import RedisError, misconfigured
from dibs.engines.redis.url import RedisNode
from dibs.engines.redis.wire import connect
from dibs.engines.shared.failures import Cut, NotSent
from dibs.errors import Misconfigured
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.engines.redis.url import RedisTarget
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


def find(target: RedisTarget, moved: RedisNode | None, until: float) -> Wire:
    """Connect to the project's server; raise ``NotSent`` if none is reachable."""
    if moved is not None:
        return connect(target, moved, until)
    if target.kind == "sentinel":
        return connect(target, _primary(target, until), until)
    problem: NotSent | None = None
    for node in target.nodes:
        try:
            return connect(target, node, until)
        except NotSent as error:
            problem = error
    assert problem is not None
    raise problem


def _primary(target: RedisTarget, until: float) -> RedisNode:
    """Ask the sentinels in turn for the primary."""
    problem: Exception = NotSent("no sentinel was reachable")
    options = target.options
    for node in target.nodes:
        try:
            wire = connect(target, node, until, login=False)
        except NotSent as error:
            problem = error
            continue
        try:
            if options.get("sentinel_password"):
                user = (options["sentinel_user"],) if options.get("sentinel_user") else ()
                wire.call("AUTH", *user, options["sentinel_password"], until=until)
            found = wire.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", target.service, until=until)
        except (RedisError, Cut) as error:
            problem = error
            continue
        finally:
            wire.close()
        if found:
            return RedisNode(str(found[0]), int(found[1]))
        problem = NotSent(f"{node} does not know the service {target.service}")
    raise NotSent(str(problem)) from problem


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


def check(found: Facts, node: RedisNode, *, by_sentinel: bool) -> None:
    """Refuse an unsafe server, with the reason; raise ``NotSent`` for a temporary condition."""
    if found.version < OLDEST:
        needed = ".".join(map(str, OLDEST))
        raise Misconfigured(
            f"the Redis server at {node} is version {found.redis_version or 'unknown'}: Dibs needs {needed}",
            code="REDIS_VERSION",
            field="engine",
        )
    if found.role != "master":
        if by_sentinel:
            raise NotSent(f"{node} is no longer the primary")
        raise Misconfigured(
            f"the Redis server at {node} is a read-only replica",
            code="REDIS_REPLICA",
            field="engine",
            hint="use the URL of the primary or its sentinels: redis+sentinel://host:26379/service/0",
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
