"""Decide exactly whether some path matches two patterns, and return such a path.

A pattern is a set of routes (its brace alternatives). A route is a row of segments with ``**`` between
some of them, and a segment is a row of characters with ``*`` between some of them, so one lemma serves
both. Two rows with stars overlap if and only if their parts before the first star agree, and their parts
after the last star: each star absorbs the other row's middle. A row without stars overlaps a row with
stars if and only if the latter's chunks fit into it in order, each as far left as possible.

Names are compared after case folding. In the plain form each character becomes one character, so that
``?`` matches one character; in the full form, letters such as ``ß`` become several. Patterns overlap if
they do in either form; the full one matters only for patterns that contain such a letter.
"""

from __future__ import annotations

from dibs.core.patterns.casefold import FEW, Spans, common, fold, fold_spans, has, without

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from dibs.core.patterns.pattern import Pattern
    from dibs.core.patterns.tokens import Row, Token

    T = TypeVar("T")

#: One place in a segment: a folded character, a class, or None for any character.
Item = str | Spans | None
Chunk = str | tuple[Item, ...]


#: Represents any character in a witness. No accent composes with it, so the witness stays in NFC.
FILLER = "q"


class Segment:
    """One segment with wildcards: its chunks, separated by stars."""

    __slots__ = ("chunks", "sample", "size")

    def __init__(self, chunks: tuple[Chunk, ...]) -> None:
        self.chunks = chunks
        self.size = sum(map(len, chunks))
        #: A matching name, computed on demand.
        self.sample = ""


class Route:
    """One alternative of a pattern: chunks of segments, separated by ``**``."""

    __slots__ = ("chunks", "head", "last", "size")

    def __init__(self, chunks: tuple[tuple[str | Segment, ...], ...]) -> None:
        self.chunks = chunks
        self.size = sum(map(len, chunks))
        last = chunks[-1]
        #: The literal names at the start of every match, and the last one if it is literal.
        self.head = _plain_start(chunks[0])
        self.last = last[-1] if last and last[-1].__class__ is str else None


def _plain_start(segments: tuple[str | Segment, ...]) -> str:
    head = ""
    for segment in segments:
        if not isinstance(segment, str):
            break
        head += f"{segment}/"
    return head


def compiled(row: Row, *, folded: bool, full: bool) -> Route | None:
    """Compile an alternative for matching; None if it matches nothing in this form."""
    chunks: list[tuple[str | Segment, ...]] = []
    chunk: list[str | Segment] = []
    for part in row:
        if part is None:
            chunks.append(tuple(chunk))
            chunk = []
        elif isinstance(part, str):
            chunk.append(fold(part, full=full) if folded else part)
        else:
            segment = _compiled_segment(part, folded=folded, full=full)
            if segment is None:
                return None
            chunk.append(segment)
    chunks.append(tuple(chunk))
    return Route(tuple(chunks))


def _compiled_segment(part: tuple[Token, ...], *, folded: bool, full: bool) -> Segment | None:
    chunks: list[Chunk] = []
    items: list[Item] = []
    for token in (*part, 0):
        if token is None:
            items.append(None)
        elif isinstance(token, str):
            items += fold(token, full=full) if folded else token
        elif isinstance(token, int):
            text = [item for item in items if isinstance(item, str)]
            chunks.append("".join(text) if len(text) == len(items) else tuple(items))
            items = []
        else:
            spans = fold_spans(token.spans, full=full) if folded else token.spans
            if not spans:  # in full, ``[ßẞ]`` contains no single character
                return None
            items.append(spans)
    return Segment(tuple(chunks))


def _agree(
    a: Sequence[T], b: Sequence[T], meet: Callable[[T, T], str | None], sample: Callable[[T], str]
) -> Sequence[str] | None:
    """Combine two rows from their starts; the longer one continues alone."""
    if len(a) < len(b):
        a, b = b, a
    if isinstance(a, str) and isinstance(b, str):
        return a if a.startswith(b) else None
    row = []
    for x, y in zip(a, b, strict=False):
        met = meet(x, y)
        if met is None:
            return None
        row.append(met)
    row += map(sample, a[len(b) :])
    return row


def _placed(
    fixed: Sequence[T],
    chunks: Sequence[Sequence[T]],
    meet: Callable[[T, T], str | None],
    sample: Callable[[T], str],
) -> Sequence[str] | None:
    """Fit a row with stars into one without."""
    if len(chunks) == 1:
        return _agree(fixed, chunks[0], meet, sample) if len(fixed) == len(chunks[0]) else None
    if len(fixed) < sum(map(len, chunks)):
        return None
    row: list[str | None] = [None] * len(fixed)

    def lay(chunk: Sequence[T], at: int) -> bool:
        for index, item in enumerate(chunk, at):
            met = meet(fixed[index], item)
            if met is None:
                return False
            row[index] = met
        return True

    at, end = len(chunks[0]), len(fixed) - len(chunks[-1])
    if not (lay(chunks[0], 0) and lay(chunks[-1], end)):
        return None
    for chunk in chunks[1:-1]:
        while at + len(chunk) <= end and not lay(chunk, at):
            at += 1
        at += len(chunk)
        if at > end:
            return None
    return [sample(item) if met is None else met for item, met in zip(fixed, row, strict=True)]


def _woven(
    a: Sequence[Sequence[T]],
    b: Sequence[Sequence[T]],
    meet: Callable[[T, T], str | None],
    sample: Callable[[T], str],
) -> Sequence[str] | None:
    """Return a row that both rows of chunks match: the lemma above."""
    if len(a) == 1:
        return _placed(a[0], b, meet, sample)
    if len(b) == 1:
        return _placed(b[0], a, meet, sample)
    head = _agree(a[0], b[0], meet, sample)
    if head is None:
        return None
    tail = _agree(a[-1][::-1], b[-1][::-1], meet, sample)
    if tail is None:
        return None
    row = [*head]
    for chunk in (*a[1:-1], *b[1:-1]):
        row += chunk if isinstance(chunk, str) else map(sample, chunk)
    row += tail[::-1]
    return row


def _any_of(item: Item) -> str:
    """Return the best character to show for ``item``: letters first, control characters last."""
    if item is None:
        return FILLER
    if isinstance(item, str):
        return item
    if has(item, FILLER):
        return FILLER
    near = [
        chr(code)
        for low, high in item
        for code in range(ord(low), min(ord(high), ord(low) + FEW) + 1)
    ]
    return max(near, key=lambda c: (c.isalnum(), c.isprintable() and c != ".", c.isprintable()))


def _meet_items(a: Item, b: Item) -> str | None:
    if a is None or a == b:
        return _any_of(b)
    if b is None:
        return _any_of(a)
    if isinstance(a, str):
        if isinstance(b, str):
            return None
        return a if has(b, a) else None
    if isinstance(b, str):
        return b if has(a, b) else None
    spans = common(a, b)
    return _any_of(spans) if spans else None


def _meet_segments(a: str | Segment, b: str | Segment) -> str | None:
    """Return a name that both match."""
    if isinstance(a, str):
        if isinstance(b, str):
            return a if a == b else None
        return a if _fits(b, a) else None
    if isinstance(b, str):
        return b if _fits(a, b) else None
    return _blended(a.chunks, b.chunks)


def _blended(a: tuple[Chunk, ...], b: tuple[Chunk, ...]) -> str | None:
    row = _woven(a, b, _meet_items, _any_of)
    if row is None:
        return None
    name = "".join(row)
    if len(a) > 1 and len(b) > 1 and not a[0] and not b[0]:
        return FILLER + name
    if name not in {"", ".", ".."}:
        return name
    if len(a) > 1 and len(b) > 1:
        return _blended((*a[:1], FILLER, *a[1:]), b)
    fixed, other = (a[0], b) if len(a) == 1 else (b[0], a)
    for index, item in enumerate(fixed):
        # No segment is "." or "..", so one character must be something else.
        spans = ((item, item),) if isinstance(item, str) else item or (("\x01", "\U0010ffff"),)
        if rest := without(spans, "."):
            again = _woven(
                ((*fixed[:index], rest, *fixed[index + 1 :]),), other, _meet_items, _any_of
            )
            if again is not None:
                return "".join(again)
    return None


def _sample_segment(segment: str | Segment) -> str:
    if isinstance(segment, str):
        return segment
    if not segment.sample:
        name = "".join([_any_of(item) for chunk in segment.chunks for item in chunk])
        if name in {"", ".", ".."} or not segment.chunks[0]:
            name = _blended(segment.chunks, ("", "")) or name
        segment.sample = name
    return segment.sample


def _fits(segment: Segment, name: str) -> bool:
    """Return whether a folded name matches."""
    chunks = segment.chunks
    if len(name) < segment.size or (len(chunks) == 1 and len(name) != segment.size):
        return False
    first, last = chunks[0], chunks[-1]
    at, end = len(first), len(name) - len(last)
    if not (_stands(first, name, 0) and _stands(last, name, end)):
        return False
    for chunk in chunks[1:-1]:
        if isinstance(chunk, str):
            at = name.find(chunk, at, end)
            if at < 0:
                return False
        else:
            while at + len(chunk) <= end and not _stands(chunk, name, at):
                at += 1
        at += len(chunk)
        if at > end:
            return False
    return True


def _stands(chunk: Chunk, name: str, at: int) -> bool:
    if isinstance(chunk, str):
        return name.startswith(chunk, at)
    for index, item in enumerate(chunk, at):
        character = name[index]
        if item is None or item == character:
            continue
        if isinstance(item, str) or not has(item, character):
            return False
    return True


def _covers(route: Route, names: tuple[str, ...]) -> bool:
    """Return whether a folded path matches."""
    chunks = route.chunks
    if len(names) < route.size or (len(chunks) == 1 and len(names) != route.size):
        return False
    at, end = len(chunks[0]), len(names) - len(chunks[-1])
    if not (_are(chunks[0], names, 0) and _are(chunks[-1], names, end)):
        return False
    for chunk in chunks[1:-1]:
        while at + len(chunk) <= end and not _are(chunk, names, at):
            at += 1
        at += len(chunk)
        if at > end:
            return False
    return True


def _are(segments: tuple[str | Segment, ...], names: tuple[str, ...], at: int) -> bool:
    for segment in segments:
        name = names[at]
        if segment != name and (isinstance(segment, str) or not _fits(segment, name)):
            return False
        at += 1
    return True


def _met(a: tuple[Route, ...], b: tuple[Route, ...]) -> str | None:
    for x in a:
        for y in b:
            if not (x.head.startswith(y.head) or y.head.startswith(x.head)):
                continue
            if x.last != y.last and x.last is not None and y.last is not None:
                continue
            row = _woven(x.chunks, y.chunks, _meet_segments, _sample_segment)
            if row is not None:
                return "/".join(row) or FILLER
    return None


def matches(pattern: Pattern, path: str) -> bool:
    """Return whether ``pattern`` matches a path or a resource, spelled as ``overlap`` does."""
    from dibs.core.patterns.spelling import split_scheme

    scheme, rest = split_scheme(path)
    if scheme != pattern.scheme:
        return False
    if not rest.isascii():
        from unicodedata import normalize

        rest = normalize("NFC", rest)
    if not pattern.folded:
        return _matched(pattern.routes(), rest)
    plain = fold(rest)
    if _matched(pattern.routes(), plain):
        return True
    full = fold(rest, full=True)
    if full == plain and not pattern.expanding:
        return False
    return _matched(pattern.routes(full=True), full)


def _matched(routes: tuple[Route, ...], path: str) -> bool:
    names = tuple(path.split("/"))
    return any(_covers(route, names) for route in routes)


def overlap(a: Pattern, b: Pattern) -> str | None:
    """Return a path that both patterns match, or None if there is none.

    Both are of one project, so that both fold case or neither does. A name that is not UTF-8 keeps
    its bytes as surrogates, as the functions of ``os`` give and take them.
    """
    if a.literal and b.literal:
        return a.path if a.key == b.key else None
    if a.scheme != b.scheme:
        return None
    if a.literal or b.literal:
        fixed, other = (a, b) if a.literal else (b, a)
        return fixed.path if _reaches(other, fixed) else None
    met = _met(a.routes(), b.routes())
    if met is None and (a.expanding or b.expanding):
        met = _met(a.routes(full=True), b.routes(full=True))
    return None if met is None else a.spelled(met)


def _reaches(pattern: Pattern, literal: Pattern) -> bool:
    (only,) = literal.routes()
    names: tuple[str, ...] = only.chunks[0]  # type: ignore[assignment]
    for route in pattern.routes():
        if only.head.startswith(route.head) and _covers(route, names):
            return True
    if not (pattern.expanding or literal.expanding):
        return False
    names = literal.routes(full=True)[0].chunks[0]  # type: ignore[assignment]
    return any(_covers(route, names) for route in pattern.routes(full=True))
