"""Plain keys that mirror rows for people: one key for each name that someone holds, with a ttl.

The engine knows no rules: ``changes`` says what changed rows mean. The script writes the keys in the same
call as the rows. Nothing reads them back, so whatever others do to them changes nothing.

Keys start with ``prefix``. On a server, the first project that uses a prefix has it to itself; the keys of
others start with the prefix and the project in braces: ``claim:{shop}:``.
"""

from __future__ import annotations

from dibs.core.text.findings import Finding, Level
from dibs.engines.redis.errors import RedisError
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dibs.engines.base import Mirrored
    from dibs.engines.redis.wire import Wire

    Old = Callable[[str], str | None]


#: The prefix that the script returns if it may not write the keys.
_REFUSED = "-"


class Mirror(Record):
    """Which keys mirror rows, and how to derive them."""

    prefix: str
    #: Returns what changed rows mean (a deleted row has no value), given a function that returns old values
    #: and how many seconds the engine's clock is ahead of the server's.
    changes: Callable[[Mapping[str, str | None], Old, float], Mirrored]


class MirrorKeys:
    """The keys that mirror a project's rows, as one connection knows them."""

    __slots__ = ("_changes", "_project", "_settled", "_wanted", "offset")

    def __init__(self, mirror: Mirror, project: str) -> None:
        self._changes = mirror.changes
        self._project = project
        self._wanted = mirror.prefix
        #: The prefix in use; empty until the server has said which project has it to itself.
        self._settled = ""
        #: Microseconds by which the engine's clock is ahead of the server's.
        self.offset = 0

    def words(self, rows: Mapping[str, str | None], old: Old, *, always: bool) -> list[str | int]:
        """Return changes in the script's format; ``always`` for a script that deletes all of the keys."""
        if self._settled == _REFUSED:
            return [""]
        ended, heard, begun = self._changes(rows, old, self.offset / 1e6)
        if not (ended or heard or begun or always):
            return [""]
        use = (self._settled, "") if self._settled else (self._wanted, self._project)
        return [*use, len(ended) // 3, *ended, len(heard) // 2, *heard, len(begun) // 4, *begun]

    def settle(self, prefix: str) -> None:
        """Record which prefix the server told us to use, or that this user may not write the keys."""
        self._settled = prefix or self._settled

    def inspect(self, wire: Wire, last: str, until: float) -> Finding:
        """Say where people can read the keys, which last had this prefix; that needs a test key."""
        tagged, owner = _tagged(self._wanted, self._project), ""
        try:
            owner = str(wire.call("GET", f"dibs:{self._wanted}owner", until=until) or "")
            owner = "" if owner == self._project else owner
            start = last or (tagged if owner else self._wanted)
            wire.call("SET", f"{start}{{}}", "test of Dibs", "PX", 1000, until=until)
            wire.call("DEL", f"{start}{{}}", until=until)
        except RedisError as error:
            why = str(error).partition("\n")[0][:200]
            hint = f"let this user write the keys dibs:* and {self._wanted}*"
            return Finding(Level.WARN, "claim keys", f"not written: {why} ({hint})")
        text = f"to list claimed files: redis-cli --scan --pattern '{start}*' (read-only)"
        if owner and start == tagged:
            text += f"; {self._wanted} without a project belongs to {owner}"
        return Finding(Level.OK, "claim keys", text)


def _tagged(prefix: str, project: str) -> str:
    return f"{prefix}{{{project}}}:"
