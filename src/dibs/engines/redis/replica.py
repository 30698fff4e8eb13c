"""What a handle knows of a Redis store: rows as of one version, kept true by what the server says changed."""

from __future__ import annotations

from bisect import bisect_left, insort

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Key = tuple[str, str]

#: Ranges and points that are kept; beyond them everything is forgotten and read anew.
MOST = 4096


class KnownRange:
    """The rows of one range, in order."""

    __slots__ = ("keys", "values")

    def __init__(self, flat: Sequence[str] = ()) -> None:
        #: Sorted by code points, as the server sorts their bytes.
        self.keys = list(flat[::2])
        self.values = dict(zip(self.keys, flat[1::2], strict=True))

    def set(self, key: str, value: str | None) -> None:
        """Note what became of one key."""
        if value is None:
            if self.values.pop(key, None) is not None:
                del self.keys[bisect_left(self.keys, key)]
            return
        if key not in self.values:
            insort(self.keys, key)
        self.values[key] = value


class Replica:
    """Points and ranges that were read, all as of ``version``; nothing else is known."""

    __slots__ = ("_by_prefix", "_lengths", "nonce", "points", "ranges", "version")

    def __init__(self) -> None:
        self.version, self.nonce = -1, ""
        self.points: dict[str, str | None] = {}
        self.ranges: dict[Key, KnownRange] = {}
        #: The ranges again, by their prefix, and how long prefixes are: to find those that a key is in.
        self._by_prefix: dict[str, list[tuple[str, KnownRange]]] = {}
        self._lengths: list[int] = []

    def forget(self) -> None:
        """Know nothing."""
        self.__init__()  # type: ignore[misc]

    def bound(self) -> None:
        """Forget everything if it has become much."""
        if len(self.ranges) > MOST or len(self.points) > MOST:
            at = self.version, self.nonce
            self.forget()
            self.version, self.nonce = at

    def learn_range(self, key: Key, flat: Sequence[str]) -> None:
        """Note the rows of a range."""
        prefix, containing = key
        rows = self.ranges[key] = KnownRange(flat)
        beside = self._by_prefix.setdefault(prefix, [])
        beside[:] = [one for one in beside if one[0] != containing]
        beside.append((containing, rows))
        if len(prefix) not in self._lengths:
            insort(self._lengths, len(prefix))

    def change(self, key: str, value: str | None) -> None:
        """Note what became of one key, wherever it is known."""
        if key in self.points:
            self.points[key] = value
        by_prefix, size = self._by_prefix, len(key)
        for length in self._lengths:
            if length > size:
                break
            for containing, rows in by_prefix.get(key[:length], ()):
                if containing in key:
                    rows.set(key, value)
