"""Setting a project's store on a Redis server aside: its keys get another project's name."""

from __future__ import annotations

import time

from dibs.engines.redis.connection import key_of
from dibs.engines.redis.errors import unavailable
from dibs.engines.redis.wire import connect
from dibs.engines.shared.failures import Cut, NotSent, busy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.engines.redis.url import RedisTarget
    from dibs.engines.redis.wire import Wire

#: Rename keys unless the store has changed. KEYS: meta, then each key and its new name; ARGV: meta's state.
_RENAME = """
if (redis.call('HGET', KEYS[1], 'state') or '') ~= ARGV[1] then return 0 end
for i = 2, #KEYS, 2 do redis.call('RENAMENX', KEYS[i], KEYS[i + 1]) end
return 1
"""
_GLOB = str.maketrans({char: f"\\{char}" for char in "*?[]\\"})


def rename_project(
    target: RedisTarget, project: str, stamp: str, timeout: float, check: Callable[[], None]
) -> str:
    """Rename a project's keys if ``check`` allows it; return the new name, or "" if there are none."""
    new = f"{project}-{stamp}"
    until = time.monotonic() + timeout
    try:
        wire = connect(target, until)
        try:
            meta, old = key_of(project, "meta"), key_of(project, "")
            state = wire.call("HGET", meta, "state", until=until) or ""
            check()
            keys = _keys(wire, old, until)
            pairs = [word for key in keys for word in (key, key_of(new, key.removeprefix(old)))]
            done = wire.call("EVAL", _RENAME, 1 + len(pairs), meta, *pairs, state, until=until)
        finally:
            wire.close()
    except (NotSent, Cut) as problem:
        raise unavailable(target, problem) from problem
    if not done:
        raise busy(f"Redis at {target}")
    return f"project {new}" if keys else ""


def _keys(wire: Wire, prefix: str, until: float) -> list[str]:
    """Return all keys with this prefix."""
    found: set[str] = set()
    cursor = "0"
    while True:
        words = ("SCAN", cursor, "MATCH", f"{prefix.translate(_GLOB)}*", "COUNT", 1000)
        cursor, page = wire.call(*words, until=until)
        found.update(page)
        if cursor == "0":
            return sorted(found)
