"""The writes of a step: held back until it has succeeded, or refused in a view."""

from __future__ import annotations

from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, NoReturn

#: So many keys are gone through one by one; a claim writes fewer.
FEW = 256


class Pending(dict[str, str | None]):
    """What a step has written: values by key, None where the key is deleted. A key that was written stays.

    A step that writes ten thousand rows and scans for each must not go through all of them each time: beyond
    a few, keys are kept in order.
    """

    __slots__ = ("_sorted",)

    def __init__(self, rows: Iterable[tuple[str, str | None]] = ()) -> None:
        super().__init__(rows)
        #: The keys up to the last question, in order.
        self._sorted: list[str] = []

    def under(self, prefix: str, containing: str = "") -> list[str]:
        """Return the keys that begin with ``prefix`` and contain ``containing``, in order."""
        return sorted(key for key in self._beginning(prefix) if containing in key)

    def touches(self, prefixes: tuple[str, ...]) -> bool:
        """Tell whether a key begins with one of ``prefixes``."""
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


class RefusesWrites:
    """Goes before an engine's own ``Txn`` among the bases: a step that writes in a view is a mistake."""

    __slots__ = ()

    def put(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse, as all other ways to write do."""
        raise RuntimeError("a view cannot write")

    delete = emit = restore = trim = put


def not_above(number: int, newest: int) -> ValueError:
    """Return the error for an entry that cannot be at the end of the ledger."""
    return ValueError(f"entry {number} is not greater than {newest}, the newest in this ledger")
