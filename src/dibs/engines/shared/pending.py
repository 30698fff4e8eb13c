"""What a step has written and its engine has not yet: found by key, and by how keys begin."""

from __future__ import annotations

from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

#: So many keys are gone through one by one; a claim writes fewer.
FEW = 256


class Pending(dict[str, str | None]):
    """Values by key, None where the key is deleted. A key that was written once stays in it.

    A step that writes ten thousand rows and scans for each must not go through all of them each time: beyond
    a few, keys are filed by kind, which is what stands before their first slash.
    """

    __slots__ = ("_filed", "_kinds")

    def __init__(self, rows: Iterable[tuple[str, str | None]] = ()) -> None:
        super().__init__(rows)
        self._kinds: dict[str, _Kind] = {}
        #: How many keys are filed by kind: the first ones that were written.
        self._filed = 0

    def under(self, prefix: str, containing: str = "") -> list[str]:
        """Return the keys that begin with ``prefix`` and contain ``containing``, in order."""
        return sorted(key for key in self._beginning(prefix) if containing in key)

    def touches(self, prefixes: tuple[str, ...]) -> bool:
        """Tell whether a key begins with one of ``prefixes``."""
        if len(self) <= FEW:
            return any(key.startswith(prefixes) for key in self)
        return any(self._beginning(prefix) for prefix in prefixes)

    def _beginning(self, prefix: str) -> list[str]:
        kind, slash, _ = prefix.partition("/")
        if len(self) <= FEW or not slash:
            return [key for key in self if key.startswith(prefix)]
        for key in islice(reversed(self), len(self) - self._filed):
            self._kinds.setdefault(key.partition("/")[0], _Kind()).keys.append(key)
        self._filed = len(self)
        filed = self._kinds.get(kind)
        return filed.beginning(prefix) if filed is not None else []


class _Kind:
    """The keys of one kind, in order but for the last few."""

    __slots__ = ("_in_order", "keys")

    def __init__(self) -> None:
        self.keys: list[str] = []
        self._in_order = 0

    def beginning(self, prefix: str) -> list[str]:
        """Return the keys that begin with ``prefix``."""
        from bisect import bisect_left

        keys = self.keys
        if len(keys) - self._in_order > FEW:
            keys.sort()
            self._in_order = len(keys)
        found = [key for key in keys[self._in_order :] if key.startswith(prefix)]
        for place in range(bisect_left(keys, prefix, 0, self._in_order), self._in_order):
            if not keys[place].startswith(prefix):
                break
            found.append(keys[place])
        return found
