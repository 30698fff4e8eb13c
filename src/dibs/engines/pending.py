"""What a step has written and its engine has not yet: found by key, and by how keys begin."""

from __future__ import annotations

from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: So many keys are gone through one by one; a claim writes fewer.
FEW = 256


class Pending(dict[str, str | None]):
    """Values by key, None where the key is deleted. A key that was written once stays in it.

    A step that writes ten thousand rows and scans for each must not go through all of them each time: keys
    are kept in order, but for the last few.
    """

    __slots__ = ("_ordered",)

    def __init__(self, rows: Iterable[tuple[str, str | None]] = ()) -> None:
        super().__init__(rows)
        self._ordered: list[str] = []

    def under(self, prefix: str, containing: str = "") -> list[str]:
        """Return the keys that begin with ``prefix`` and contain ``containing``, in order."""
        recent = len(self) - len(self._ordered)
        if recent > FEW:
            self._ordered = sorted(self)
            recent = 0
        found = [key for key in islice(reversed(self), recent) if key.startswith(prefix)]
        if self._ordered:
            found += self._in_order(prefix)
        return sorted(key for key in found if containing in key)

    def _in_order(self, prefix: str) -> Iterator[str]:
        from bisect import bisect_left

        keys = self._ordered
        for place in range(bisect_left(keys, prefix), len(keys)):
            if not keys[place].startswith(prefix):
                return
            yield keys[place]
