"""Find the conflicting lines of two files from the conflict markers in the merged one. Pure."""

from __future__ import annotations

from difflib import SequenceMatcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

#: The first line and the number of lines on each side. Lines count from 1.
Hunk = tuple[int, int, int, int]

#: Files with more lines than this are matched approximately: frequent lines may shift the result.
_EXACT = 2_000


def conflicting(
    merged: bytes, ours: bytes, theirs: bytes, labels: tuple[bytes, bytes]
) -> tuple[Hunk, ...]:
    """Return the conflicting hunks of ``merged``, as line numbers of both sides.

    The labels follow the markers, and must be texts that no file contains by chance.
    """
    our_label, their_label = labels
    our_lines, their_lines = ours.splitlines(), theirs.splitlines()
    our_merged: list[bytes] = []
    their_merged: list[bytes] = []
    spans: list[Hunk] = []
    lines = merged.splitlines()
    at = 0
    while at < len(lines):
        begin = at
        if not _is_mark(lines[begin], b"<", our_label):
            our_merged.append(lines[at])
            their_merged.append(lines[at])
            at += 1
            continue
        end = begin + 1
        while end < len(lines) and not _is_mark(lines[end], b">", their_label):
            end += 1
        left, right = _sides(lines[begin + 1 : end], lines[begin], our_lines, their_lines)
        spans.append((len(our_merged), len(left), len(their_merged), len(right)))
        our_merged += left
        their_merged += right
        at = end + 1
    if not spans:
        return ()
    ours_at, theirs_at = _Map(our_merged, our_lines), _Map(their_merged, their_lines)
    return tuple((ours_at[a] + 1, n, theirs_at[b] + 1, m) for a, n, b, m in spans)


def _is_mark(line: bytes, sign: bytes, label: bytes) -> bool:
    return line.startswith(sign) and line.lstrip(sign).startswith(b" " + label)


def _sides(
    body: list[bytes], first: bytes, ours: list[bytes], theirs: list[bytes]
) -> tuple[list[bytes], list[bytes]]:
    """Split a conflict at its separator; the text may contain similar lines."""
    width = len(first) - len(first.lstrip(b"<"))
    base = next((at for at, line in enumerate(body) if line.startswith(b"|" * width + b" ")), -1)
    places = [at for at, line in enumerate(body) if line == b"=" * width and at > base]
    halves = [(body[: base if base >= 0 else at], body[at + 1 :]) for at in places]
    for left, right in halves:
        if len(halves) == 1 or (_within(left, ours) and _within(right, theirs)):
            return left, right
    return halves[0] if halves else (body, [])


def _within(part: Sequence[bytes], whole: Sequence[bytes]) -> bool:
    if not part:
        return True
    starts = (at for at, line in enumerate(whole) if line == part[0])
    return any(list(whole[at : at + len(part)]) == list(part) for at in starts)


class _Map:
    """Maps line numbers of one text to another that differs a little."""

    def __init__(self, here: list[bytes], there: list[bytes]) -> None:
        head = 0
        while head < min(len(here), len(there)) and here[head] == there[head]:
            head += 1
        self._head = head
        inner = (here[head:], there[head:])
        matcher = SequenceMatcher(None, *inner, autojunk=max(map(len, inner)) > _EXACT)
        self._blocks = [block for block in matcher.get_matching_blocks() if block.size]

    def __getitem__(self, line: int) -> int:
        """Return the position of a line in the other text, or where it would be."""
        if line <= self._head:
            return line
        line -= self._head
        place = 0
        for block in self._blocks:
            if block.a > line:
                break
            place = block.b + min(line - block.a, block.size)
            if line < block.a + block.size:
                break
        return self._head + place
