"""Take one author's lines out of a file that another author changed afterwards. Pure.

A three-way merge does not do: it reports a conflict where the two authors' lines are next to each other, as
when both append to a file.
"""

from __future__ import annotations

from difflib import SequenceMatcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: The most comparisons of lines; beyond that, the time would be noticeable.
_MOST = 25_000_000


def without(before: bytes, copy: bytes, disk: bytes) -> bytes | None:
    """Return ``disk`` without the changes from ``before`` to ``copy``; None if they cannot be separated.

    That is the case if a later change rewrites a line that ``copy`` added, or a file is binary.
    """
    if b"\0" in before + copy + disk:
        return None
    versions = [text.split(b"\n") for text in (before, copy, disk)]
    lines = _separated(*versions)
    return None if lines is None else b"\n".join(lines)


def _separated(
    before: Sequence[bytes], copy: Sequence[bytes], disk: Sequence[bytes]
) -> list[bytes] | None:
    older, newer = _changes(before, copy), _changes(copy, disk)
    if older is None or newer is None:
        return None
    added = [True] * len(copy)
    #: The lines of ``before`` that ``copy`` does not have, by their position in ``copy``.
    removed: dict[int, list[bytes]] = {}
    for what, from_, to, begin, end in older:
        if what == "equal":
            added[begin:end] = [False] * (end - begin)
        elif to > from_:
            removed.setdefault(begin, []).extend(before[from_:to])
    found: list[bytes] = []
    for what, begin, end, from_, to in newer:
        if what == "replace" and any(added[begin:end]):
            return None
        for at in range(begin, end):
            found += removed.pop(at, ())
            if what == "equal" and not added[at]:
                found.append(copy[at])
        if what in {"insert", "replace"}:
            found += removed.pop(begin, ()) if what == "insert" else ()
            found += disk[from_:to]
    return found + removed.pop(len(copy), [])


def _changes(
    one: Sequence[bytes], other: Sequence[bytes]
) -> list[tuple[str, int, int, int, int]] | None:
    """Return how to turn ``one`` into ``other``; None if that takes too long."""
    shared = min(len(one), len(other))
    head = next((i for i in range(shared) if one[i] != other[i]), shared)
    left = shared - head
    tail = next((i for i in range(left) if one[-1 - i] != other[-1 - i]), left)
    middle, changed = one[head : len(one) - tail], other[head : len(other) - tail]
    if len(middle) * len(changed) > _MOST:
        return None
    return list(_with_ends(middle, changed, head, tail))


def _with_ends(
    middle: Sequence[bytes], changed: Sequence[bytes], head: int, tail: int
) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield the changes of the middle of two texts, between their equal ends."""
    if head:
        yield "equal", 0, head, 0, head
    for what, a, b, c, d in SequenceMatcher(None, middle, changed, autojunk=False).get_opcodes():
        yield what, a + head, b + head, c + head, d + head
    if tail:
        a, c = head + len(middle), head + len(changed)
        yield "equal", a, a + tail, c, c + tail
