"""Case folding of names and character classes."""

from __future__ import annotations

from dibs.startup.memo import remembered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

#: A character class: pairs of first and last character, sorted, none of which overlap.
Spans = tuple[tuple[str, str], ...]

#: A class of up to this many characters is folded one by one, a wider one through the table.
FEW = 300
#: The ranges of letters that folding changes; a test compares them with all of Unicode.
CASED = (
    *((0x41, 0x600), (0x10A0, 0x1400), (0x1C80, 0x2190), (0x24B0, 0x24F0), (0x2C00, 0x2E00)),
    *((0xA640, 0xAC00), (0xFB00, 0xFB20), (0xFF20, 0xFF60), (0x10400, 0x11000)),
    *((0x11800, 0x11900), (0x16E00, 0x16F00), (0x1E800, 0x1EA00)),
)


def fold(text: str, *, full: bool = False) -> str:
    """Fold case, one character for each character unless ``full``."""
    if text.isascii():
        return text.lower()
    folded = text.casefold()
    if full or len(folded) == len(text):
        return folded
    return "".join(map(_fold_character, text))


def _fold_character(character: str) -> str:
    for folded in (character.casefold(), character.lower()):
        if len(folded) == 1:
            return folded
    return character


@remembered(1)
def _changed_by_folding() -> tuple[tuple[tuple[str, str], ...], str]:
    """Return (character, folded) for all characters that change, and those that unfold to several.

    Characters that no name in NFC has (the Kelvin sign) are left out.
    """
    from unicodedata import is_normalized

    letters = [chr(code) for low, high in CASED for code in range(low, high)]
    letters = [letter for letter in letters if letter.casefold() != letter]
    letters = [letter for letter in letters if is_normalized("NFC", letter)]
    changed = [(letter, _fold_character(letter)) for letter in letters]
    expanding = "".join(letter for letter in letters if len(letter.casefold()) > 1)
    return tuple(pair for pair in changed if pair[0] != pair[1]), expanding


@remembered(256)
def fold_spans(spans: Spans, *, full: bool = False) -> Spans:
    """Return the class of the folded characters to which some character of ``spans`` folds.

    A wide class also keeps its own characters; whatever is folded already is not misled by them.
    """
    if sum(ord(high) - ord(low) + 1 for low, high in spans) > FEW:
        changed, expanding = _changed_by_folding()
        inside = {folded for character, folded in changed if has(spans, character)}
        more = ((folded, folded) for folded in inside if not has(spans, folded))
        spans = tuple(sorted((*spans, *more)))
        return without(spans, expanding) if full else spans
    from unicodedata import is_normalized

    characters = [chr(code) for low, high in spans for code in range(ord(low), ord(high) + 1)]
    folded = {_fold_character(c) for c in characters if is_normalized("NFC", c)}
    return gathered(c for c in folded if not full or len(c.casefold()) == 1)


@remembered(256)
def without_cases(spans: Spans) -> Spans:
    """Return ``spans`` without the letters of which another case is not in it."""
    changed, _ = _changed_by_folding()
    out = {to for letter, to in changed if not (has(spans, letter) and has(spans, to))}
    letters = out.union(letter for letter, to in changed if to in out)
    return without(spans, "".join(letter for letter in letters if has(spans, letter)))


def gathered(characters: Iterable[str]) -> Spans:
    """Return the class of ``characters`` in canonical form."""
    spans: list[tuple[str, str]] = []
    for character in sorted(set(characters)):
        if spans and ord(spans[-1][1]) + 1 == ord(character):
            spans[-1] = (spans[-1][0], character)
        else:
            spans.append((character, character))
    return tuple(spans)


def without(spans: Spans, characters: str) -> Spans:
    """Return ``spans`` without ``characters``."""
    for character in characters:
        rest: list[tuple[str, str]] = []
        for low, high in spans:
            if low <= character <= high:
                if low < character:
                    rest.append((low, chr(ord(character) - 1)))
                if character < high:
                    rest.append((chr(ord(character) + 1), high))
            else:
                rest.append((low, high))
        spans = tuple(rest)
    return spans


def has(spans: Spans, character: str) -> bool:
    """Return whether the class contains ``character``."""
    return any(low <= character <= high for low, high in spans)


def common(a: Spans, b: Spans) -> Spans:
    """Return the intersection of two classes."""
    spans: list[tuple[str, str]] = []
    i = j = 0
    while i < len(a) and j < len(b):
        low, high = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if low <= high:
            spans.append((low, high))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return tuple(spans)
