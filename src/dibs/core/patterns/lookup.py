"""An in-memory index of patterns by overlap, for a process that asks often."""

from __future__ import annotations

from bisect import bisect_left, insort

from dibs.core.patterns.filing import entry_prefix, ranges, shared_start, tail_of
from dibs.core.patterns.overlap import overlap
from dibs.core.patterns.tokens import token_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dibs.core.patterns.pattern import Pattern

#: Up to this many keys are scanned without a better index.
_FEW = 40


class PatternIndex:
    """Patterns by id, found by overlap; the keys are the same as in engines.

    A glob's key is followed by its head. Candidates for a wide glob are found by the head or tail of the last
    name, because its folder narrows little.
    """

    def __init__(self) -> None:
        self._held: dict[str, Pattern] = {}
        self._filed: dict[str, dict[str, Pattern]] = {}
        self._sorted: list[str] = []
        self._heads: list[tuple[str, str]] = []
        #: Keys by the tail of the last name, and those of globs by directory, with and without tail.
        self._groups: dict[str, set[str]] = {}

    def __len__(self) -> int:
        return len(self._held)

    def add(self, id_: str, pattern: Pattern) -> None:
        """Store ``pattern`` under ``id_``, replacing an earlier one."""
        self.remove(id_)
        self._held[id_] = pattern
        key, head, groups = _place(pattern)
        if key not in self._filed:
            self._filed[key] = {}
            insort(self._sorted, key)
            insort(self._heads, (head, key))
            for group in groups:
                self._groups.setdefault(group, set()).add(key)
        self._filed[key][id_] = pattern

    def remove(self, id_: str) -> None:
        """Remove ``id_`` if it is there."""
        pattern = self._held.pop(id_, None)
        if pattern is None:
            return
        key, head, groups = _place(pattern)
        del self._filed[key][id_]
        if not self._filed[key]:
            del self._filed[key]
            del self._sorted[bisect_left(self._sorted, key)]
            del self._heads[bisect_left(self._heads, (head, key))]
            for group in groups:
                self._groups[group].remove(key)
                if not self._groups[group]:
                    del self._groups[group]

    def overlapping(self, pattern: Pattern) -> Iterator[tuple[str, Pattern, str]]:
        """Yield the id, the pattern, and a witness of every overlapping pattern."""
        for wanted in ranges(pattern):
            for key in self._keys(wanted, pattern):
                for id_, held in self._filed[key].items():
                    witness = overlap(held, pattern)
                    if witness is not None:
                        yield id_, held, witness

    def _keys(self, wanted: tuple[str, str], pattern: Pattern) -> Iterable[str]:
        prefix, containing = wanted
        if prefix.startswith("at/") and prefix.endswith("//"):
            return (prefix,) if prefix in self._filed else ()
        if prefix.endswith("//"):
            return self._groups.get(prefix, ())
        start = bisect_left(self._sorted, prefix)
        # The prefix ends in "/", and "0" is the next character.
        end = bisect_left(self._sorted, prefix[:-1] + "0", start)
        keys: Iterable[str]
        if end - start > _FEW and (head := _head(pattern)):
            keys = self._with_head(head)
        elif end - start > _FEW and (tail := tail_of(pattern)) != "*":
            keys = (*self._groups.get(tail, ()), *self._groups.get("*", ()))
        else:
            keys = self._sorted[start:end]
        return [key for key in keys if key.startswith(prefix) and containing in key]

    def _with_head(self, head: str) -> Iterator[str]:
        """Yield the keys of the patterns whose head is a prefix of ``head``, or the reverse."""
        for size in range(len(head)):
            at = bisect_left(self._heads, (head[:size],))
            while at < len(self._heads) and self._heads[at][0] == head[:size]:
                yield self._heads[at][1]
                at += 1
        at = bisect_left(self._heads, (head,))
        while at < len(self._heads) and self._heads[at][0].startswith(head):
            yield self._heads[at][1]
            at += 1


def _place(pattern: Pattern) -> tuple[str, str, tuple[str, ...]]:
    """Return the key, the head, and the groups of ``pattern``."""
    key, head, tail = entry_prefix(pattern), _head(pattern), tail_of(pattern)
    if pattern.literal:
        return key, head, (tail,)
    directory = key[: key.index("//", len("in/")) + len("//")]
    return key + head, head, (tail, directory, key)


def _head(pattern: Pattern) -> str:
    """Return the common start of the last name of every match, as in keys."""
    heads = []
    for row in pattern.rows:
        last = row[-1]
        text = last[0] if isinstance(last, tuple) else last
        heads.append(token_key(text, folded=pattern.folded) if isinstance(text, str) else "")
    return shared_start(min(heads), max(heads))
