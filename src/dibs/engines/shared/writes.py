"""Writes of a step: held back until the step succeeds, or refused in a view."""

from __future__ import annotations

from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from typing import Any, NoReturn

    from dibs.core.claims.ledger import Entry

#: Up to this many keys are checked one by one; a claim writes fewer.
FEW = 256


class Pending(dict[str, str | None]):
    """Values written by a step, by key; None for a deleted key.

    Beyond a few keys, they are kept in order: a step that writes ten thousand rows and scans for
    each must not check all of them every time.
    """

    __slots__ = ("_sorted",)

    def __init__(self, rows: Iterable[tuple[str, str | None]] = ()) -> None:
        super().__init__(rows)
        #: The keys up to the last query, in order.
        self._sorted: list[str] = []

    def under(self, prefix: str, containing: str = "") -> list[str]:
        """Return the keys that start with ``prefix`` and contain ``containing``, in order."""
        return sorted(key for key in self._beginning(prefix) if containing in key)

    def touches(self, prefixes: tuple[str, ...]) -> bool:
        """Return whether a key starts with one of ``prefixes``."""
        if len(self) <= FEW:
            return any(key.startswith(prefixes) for key in self)
        return any(self._beginning(prefix) for prefix in prefixes)

    def _beginning(self, prefix: str) -> list[str]:
        if len(self) <= FEW:
            return [key for key in self if key.startswith(prefix)]
        from bisect import bisect_left, insort

        keys, newest = self._sorted, list(islice(reversed(self), len(self) - len(self._sorted)))
        if len(newest) > FEW:
            keys += newest
            keys.sort()
        else:
            for key in newest:
                insort(keys, key)
        end = start = bisect_left(keys, prefix)
        while end < len(keys) and keys[end].startswith(prefix):
            end += 1
        return keys[start:end]


def filter_entries(
    entries: Iterable[Entry], agents: Collection[str], kinds: Collection[str]
) -> Iterator[Entry]:
    """Yield the entries of these agents and kinds; of all if none are named."""
    if not agents and not kinds:
        return iter(entries)
    return (
        entry
        for entry in entries
        if (not agents or entry.agent in agents) and (not kinds or entry.kind in kinds)
    )


class RefusesWrites:
    """Base class, listed before an engine's ``Txn``, that makes writing in a view an error."""

    __slots__ = ()

    def put(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse, like every other write."""
        raise RuntimeError("a view cannot write")

    delete = emit = restore = trim = put


def not_above(number: int, newest: int) -> ValueError:
    """Return the error for an entry that cannot be appended to the ledger."""
    return ValueError(f"entry {number} is not greater than {newest}, the newest in this ledger")
