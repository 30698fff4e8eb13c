"""Distinguish random text from names, paths, and hashes.

Pure. Random text has short runs of letters and digits, and few of the letter pairs that are common in words.
"""

from __future__ import annotations

#: Shorter random text is not masked, because many names look like it.
RANDOM_MIN = 24

_SEPARATORS = "+/_-"
#: The most common letter pairs of names and words. Of the pairs in random text, one in five is among them.
_COMMON_PAIRS = frozenset(
    """
    ac ad ag al am an ap ar as at bl bu ca ce ch ck cl co cr ct da de di do ea ec ed eg ej el em
    en er es et ev ex fi fo ge gi ha he ho hu ib ic id ig il im in io ip is it ke la le li ll lo
    ls lu ma me mi mm mo mp na nc nd ne nf ng ni no ns nt nu oc od ol om on op or ou pa pe pl po
    pr pt pu py ra rc re ri rm ro rr rs rt ry sa se sh si sl sr ss st su ta te th ti tl to tr ts
    tt ty ub ud ul un ur us ut ve xt yp
    """.split()  # noqa: SIM905 - a literal would take sixty lines
)
_HEX = frozenset("0123456789abcdefABCDEF-")
_CROCKFORD = frozenset("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
_ULID_LENGTH = 26


def is_random(token: str) -> bool:
    """Return whether a text is random, not a name, a path, or a hash."""
    if (
        len(token) < RANDOM_MIN
        or _HEX.issuperset(token.removeprefix("0x"))
        or token[:3].lower() == "sha"
        or ":" in token
    ):
        return False
    if len(token) == _ULID_LENGTH and _CROCKFORD.issuperset(token):
        return False
    bare = token.rstrip("=")
    separators = sum(map(bare.count, _SEPARATORS))
    digits = sum(map(bare.count, "0123456789"))
    mixed = bare != bare.lower() and bare != bare.upper()
    if separators * 8 > len(bare) + 8:
        return False
    if not mixed and (separators or digits * 8 < len(bare)):
        return False
    return regularity(bare) < (4.2 if digits else 3.8)


def regularity(token: str) -> float:
    """Return a score that is low for random text: the length of its runs, and its share of common pairs.

    A run is a word, a number or an acronym, as in ``get|HTTP|Response|2``.
    """
    runs = pairs = common = letters = 0
    before, before_that = "", ""
    for character in token:
        if character in _SEPARATORS:
            before = before_that = ""
            continue
        letters += 1
        kind = "9" if character.isdigit() else "a" if character.islower() else "A"
        last = _kind_of(before)
        joins = kind == last or (last == "A" and kind == "a" and _kind_of(before_that) != "A")
        runs += not joins
        if kind != "9" and last in ("a", "A"):
            pairs += 1
            common += (before + character).lower() in _COMMON_PAIRS
        before, before_that = character, before
    return letters / max(runs, 1) + 3 * common / max(pairs, 1)


def _kind_of(character: str) -> str:
    if not character:
        return ""
    return "9" if character.isdigit() else "a" if character.islower() else "A"
