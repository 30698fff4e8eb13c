"""Where a claim is filed, and where to look for those that overlap it.

A literal is filed under its key, a glob under the directory in which all its matches are, and
under the extension that they all have. Two patterns overlap only if the directory of one is an
ancestor of that of the other, or the same: so a few ranges of keys hold all that can overlap.

Keys fold case in full (``ß`` as ``ss``). Two names that match in either form of ``core.overlap``
have the same key, and a text that all matches start with, end in or contain is so in their keys
as well: what the ranges find is a superset for both forms.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from itertools import takewhile

from dibs.core.overlap import overlap
from dibs.core.tokens import part_key, token_key
from dibs.core.values import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypeVar

    from dibs.core.patterns import Pattern
    from dibs.core.tokens import Row

    Key = TypeVar("Key", str, list[str])


#: So many keys are looked through without asking for a better way.
_FEW = 40


class Range(Record):
    """The keys that start with ``prefix`` and, where it is given, have ``containing`` in them."""

    prefix: str
    containing: str = ""


def entry_prefix(pattern: Pattern) -> str:
    """Return where a claim on ``pattern`` is filed; what tells claims apart comes behind it."""
    if pattern.literal:
        return f"at/{pattern.key}//"
    return f"in/{_directory(pattern)[0]}//{_tail(pattern)}//"


def ranges(pattern: Pattern) -> list[tuple[str, str]]:
    """Return ranges of which one has each pattern that overlaps; no key is in two of them.

    They are plain pairs: every claim makes several, and a named tuple costs ten times as much.
    """
    if pattern.literal:
        key = pattern.key
        found = [(f"at/{key}//", ""), (f"in/{key}//", "")]
        found += [(f"in/{above}//", "") for above in _ancestors(key, pattern)]
        return found
    (directory, depth), tail = _directory(pattern), _tail(pattern)
    within = f"{directory}/" if directory else ""
    tails = ("",) if tail == "*" else (f"{tail}//", "*//")
    return [
        (f"at/{within}", _required(pattern, depth)),
        *((f"in/{within}", t and f"//{t}") for t in tails),
        *((f"in/{above}//{t}", "") for above in _ancestors(directory, pattern) for t in tails),
    ]


def _ancestors(key: str, pattern: Pattern) -> list[str]:
    """Return the directories above ``key``; those of a resource end with its scheme."""
    above = []
    end = key.rfind("/")
    while end > 0:
        above.append(key[:end])
        end = key.rfind("/", 0, end)
    if key and not pattern.scheme:
        above.append("")
    return above


def _directory(pattern: Pattern) -> tuple[str, int]:
    """Return the key of the deepest directory that each match is or is in, and how deep it is."""
    common: list[str] | None = None
    for row in pattern.rows:
        plain = takewhile(lambda part: isinstance(part, str), row)
        names = [part_key(part, folded=pattern.folded) for part in plain]
        common = names if common is None else _shared_start(common, names)
    names = common or []
    directory = "/".join(names)
    if pattern.scheme:
        directory = "/".join([f":{pattern.scheme}", *names])
    elif directory.startswith(":"):
        directory = f"\\{directory}"
    return directory, len(names)


def _tail(pattern: Pattern) -> str:
    """Return the extension that each match has, or ``*``."""
    tails = set()
    for row in pattern.rows:
        last = row[-1]
        text = last[-1] if isinstance(last, tuple) else last
        if not isinstance(text, str) or "." not in text:
            return "*"
        tails.add(token_key("." + text.rpartition(".")[2], folded=pattern.folded))
    return tails.pop() if len(tails) == 1 else "*"


def _required(pattern: Pattern, depth: int) -> str:
    """Return a text that the key of each matching literal has below its first ``depth`` names."""
    runs = [_runs(row[depth:], folded=pattern.folded) for row in pattern.rows]
    in_all = runs[0].intersection(*runs[1:])
    if not in_all:
        longest = [max(sorted(of_row), key=len, default="") for of_row in runs]
        return _shared_start(min(longest), max(longest))
    # An extension says little, because many files have it.
    return max(sorted(in_all), key=lambda run: (run[0] != ".", len(run)))


def _shared_start(a: Key, b: Key) -> Key:
    """Return what both start with. What the least and the greatest of a set share, all share."""
    same = [x == y for x, y in zip(a, b, strict=False)]
    return a[: same.index(False) if False in same else len(same)]


def _runs(row: Row, *, folded: bool) -> set[str]:
    """Return the texts between wildcards as keys have them: "/" after a name, two after the last."""
    runs = [""]
    for index, part in enumerate(row, 1):
        for token in part if isinstance(part, tuple) else (part,):
            if isinstance(token, str):
                runs[-1] += token_key(token, folded=folded)
            else:
                runs.append("")
        if part is not None:
            runs[-1] += "/" if index < len(row) else "//"
    return {run for run in runs if run.strip("/")}


def _head(pattern: Pattern) -> str:
    """Return what the last name of each match starts with, as keys have it."""
    heads = []
    for row in pattern.rows:
        last = row[-1]
        text = last[0] if isinstance(last, tuple) else last
        heads.append(token_key(text, folded=pattern.folded) if isinstance(text, str) else "")
    return _shared_start(min(heads), max(heads))


class PatternIndex:
    """Patterns under ids of the caller's, found by what they overlap; the keys are the engines'.

    A glob's key has its head behind it. What a wide glob overlaps is found by the head or the tail
    of the last name, because its directory says little.
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
        """File ``pattern`` under ``id_``, in place of what is there."""
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
        """Forget what is filed under ``id_``; do nothing if nothing is."""
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
        """Yield the id, the pattern and a witness of everything that ``pattern`` overlaps."""
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
        elif end - start > _FEW and (tail := _tail(pattern)) != "*":
            keys = (*self._groups.get(tail, ()), *self._groups.get("*", ()))
        else:
            keys = self._sorted[start:end]
        return [key for key in keys if key.startswith(prefix) and containing in key]

    def _with_head(self, head: str) -> Iterator[str]:
        """Yield the keys of the patterns whose heads start with ``head``, or it with theirs."""
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
    """Return the key, the head and the groups of ``pattern``."""
    key, head, tail = entry_prefix(pattern), _head(pattern), _tail(pattern)
    if pattern.literal:
        return key, head, (tail,)
    directory = key[: key.index("//", len("in/")) + len("//")]
    return key + head, head, (tail, directory, key)
