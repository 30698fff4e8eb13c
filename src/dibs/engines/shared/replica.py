"""What a handle knows of a store: rows at one version, updated with the server's changes."""

from __future__ import annotations

from bisect import bisect_left, insort

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Key = tuple[str, str]

#: The most ranges and keys that are kept; beyond that, everything is dropped and read again.
MOST = 4096


class KnownRange:
    """The rows of one range, in order."""

    __slots__ = ("keys", "values")

    def __init__(self, flat: Sequence[str] = ()) -> None:
        #: Sorted by code point, as the server sorts their bytes.
        self.keys = list(flat[::2])
        self.values = dict(zip(self.keys, flat[1::2], strict=True))

    def set(self, key: str, value: str | None) -> None:
        """Record the new value of a key."""
        if value is None:
            if self.values.pop(key, None) is not None:
                del self.keys[bisect_left(self.keys, key)]
            return
        if key not in self.values:
            insort(self.keys, key)
        self.values[key] = value


class Replica:
    """Keys and ranges that were read, all at ``version``; nothing else is known."""

    __slots__ = ("_by_prefix", "_lengths", "nonce", "points", "ranges", "version")

    def __init__(self) -> None:
        self.version, self.nonce = -1, ""
        self.points: dict[str, str | None] = {}
        self.ranges: dict[Key, KnownRange] = {}
        #: The ranges by prefix, and the lengths of prefixes, to find the ranges that contain a key.
        self._by_prefix: dict[str, list[tuple[str, KnownRange]]] = {}
        self._lengths: list[int] = []

    def forget(self) -> None:
        """Drop all knowledge."""
        self.__init__()  # type: ignore[misc]

    def bound(self) -> None:
        """Drop all knowledge if it has grown too large."""
        if len(self.ranges) > MOST or len(self.points) > MOST:
            at = self.version, self.nonce
            self.forget()
            self.version, self.nonce = at

    def learn_range(self, key: Key, flat: Sequence[str]) -> None:
        """Record the rows of a range."""
        prefix, containing = key
        rows = self.ranges[key] = KnownRange(flat)
        beside = self._by_prefix.setdefault(prefix, [])
        beside[:] = [one for one in beside if one[0] != containing]
        beside.append((containing, rows))
        if len(prefix) not in self._lengths:
            insort(self._lengths, len(prefix))

    def known(self, key: str) -> str | None:
        """Return the value of a key, as far as it was read."""
        if key in self.points:
            return self.points[key]
        for length in reversed(self._lengths):  # an exact range is probably the one that was read
            for _, rows in self._by_prefix.get(key[:length], ()):
                if key in rows.values:
                    return rows.values[key]
        return None

    def change(self, key: str, value: str | None) -> None:
        """Record the new value of a key, wherever it is known."""
        if key in self.points:
            self.points[key] = value
        by_prefix, size = self._by_prefix, len(key)
        for length in self._lengths:
            if length > size:
                break
            for containing, rows in by_prefix.get(key[:length], ()):
                if containing in key:
                    rows.set(key, value)
