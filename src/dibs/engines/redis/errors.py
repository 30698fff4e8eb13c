"""How a call to Redis fails, and the error that a caller sees."""

from __future__ import annotations

from dibs.engines.shared.failures import NotSent
from dibs.engines.shared.format import other_format
from dibs.errors import DibsError, Misconfigured, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.engines.redis.url import RedisTarget

#: Server states that are temporary.
_PASSING = ("BUSY", "LOADING", "MASTERDOWN", "READONLY")
_NO_ROOM = ("MISCONF", "OOM")
_NO_RIGHTS = ("NOAUTH", "WRONGPASS", "NOPERM")
_NO_RIGHTS_TOLD = ("invalid password", "user executing the script can't")


class RedisError(NotSent):
    """The server returned an error; its text is the first argument."""

    @property
    def kind(self) -> str:
        """The word with which Redis names the error."""
        return str(self).partition(" ")[0]


def passes(problem: Exception) -> bool:
    """Return whether a retry makes sense."""
    return not isinstance(problem, RedisError) or problem.kind in _PASSING


def misconfigured(problem: RedisError, place: object) -> Misconfigured | None:
    """Return the configuration error behind a server's refusal; None if there is none."""
    text = str(problem)
    if problem.kind in _NO_RIGHTS or any(words in text for words in _NO_RIGHTS_TOLD):
        return Misconfigured(
            f"the Redis server at {place} denied access: {text}", code="REDIS_AUTH", field="engine",
            hint="check the user, password, and permissions of the engine URL",
        )  # fmt: skip
    if problem.kind == "FORMAT":
        return other_format(f"the store at {place}", text.partition(" ")[2])
    if "DB index is out of range" in text:
        return Misconfigured(
            f"the Redis server at {place}: {text}", code="REDIS_URL", field="engine"
        )
    return None


def unavailable(target: RedisTarget, problem: Exception) -> DibsError:
    """Return the Dibs error for a call that had no effect."""
    place = f"the Redis server at {target}"
    if isinstance(problem, RedisError) and problem.kind not in _PASSING:
        wrong = misconfigured(problem, target)
        if wrong is not None:
            return wrong
        if problem.kind in _NO_ROOM:
            return Unavailable(
                f"{place} cannot accept writes: {problem}",
                code="STORAGE_FULL",
                hint="free some memory or disk space, then try again",
            )
        if problem.kind == "NOREPLICAS":
            return Unavailable(f"{place}: {problem}", code="REDIS_REPLICAS")
        return Unavailable(f"{place} reported: {problem}", code="REDIS_ERROR")
    detail = str(problem).removeprefix(f"{target.node}: ")
    return Unavailable(
        f"cannot reach {place}: {detail}",
        code="REDIS_UNREACHABLE",
        hint="nothing was changed; try again when the server is back",
    )
