"""What Redis's failures mean to a caller: one clear line each."""

from __future__ import annotations

from dibs.engines.redis.wire import RedisError, refusal
from dibs.errors import DibsError, Unavailable, Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.engines.redis.url import RedisTarget

#: States of a server that pass by themselves, or by asking another one.
_PASSING = ("ASK", "BUSY", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "MOVED", "READONLY", "TRYAGAIN")
_NO_ROOM = ("MISCONF", "OOM")


def passes(problem: Exception) -> bool:
    """Tell whether it is worth trying again."""
    return not isinstance(problem, RedisError) or _kind(problem) in _PASSING


def unavailable(target: RedisTarget, problem: Exception) -> DibsError:
    """Return our error for a call that had no effect."""
    if isinstance(problem, RedisError):
        meaning = refusal(str(problem), str(target))
        if isinstance(meaning, DibsError):
            return meaning
        if _kind(problem) in _NO_ROOM:
            return Unavailable(
                f"the Redis server at {target} cannot take writes: {problem}",
                code="STORAGE_FULL",
                hint="free some memory or disk, then try again",
            )
        if _kind(problem) == "NOREPLICAS":
            return Unavailable(f"the Redis server at {target}: {problem}", code="REDIS_REPLICAS")
        if _kind(problem) not in _PASSING:
            return Unavailable(f"the Redis server at {target} says: {problem}", code="REDIS_ERROR")
    return Unavailable(
        f"the Redis server at {target} cannot be reached: {problem}",
        code="REDIS_UNREACHABLE",
        hint="nothing was changed; try again when it is back",
    )


def busy(target: RedisTarget) -> Unavailable:
    """Return the error for a store that others kept changing for the whole timeout."""
    return Unavailable(
        f"others kept the store at {target} busy for too long", code="STORE_BUSY", hint="try again"
    )


def unknown(target: RedisTarget, why: str) -> Unknown:
    """Return the error for a write that nobody can tell the outcome of."""
    return Unknown(
        f"the change may or may not be on Redis at {target}: {why}",
        hint="ask again, with the same request id if you gave one",
    )


def _kind(problem: Exception) -> str:
    return str(problem).partition(" ")[0]
