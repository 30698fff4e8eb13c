"""Overlap is exact: checked against a table, against automata, and against itself."""

from __future__ import annotations

import re
from itertools import product
from random import Random
from unicodedata import is_normalized

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.patterns.glob_oracle import TooBig, automaton, random_pattern, share_a_path

from dibs.core.patterns.pattern import matches, overlap, parse
from dibs.errors import BadInput

APART = [
    ("src/a.py", "src/b.py"),
    ("src/*", "src/a/b.py"),
    ("src/*", "src"),
    ("src/*.py", "src/*.rs"),
    ("src/**", "tests/**"),
    ("src/**", "srcs"),
    ("src/", "src.py"),
    ("a?c", "ac"),
    ("a?c", "a[d-f]d"),
    ("a[!bB]c", "a[b]c"),
    ("a[b-d]c", "a[e-z]c"),
    ("?", "??"),
    ("*a", "*b"),
    ("a*", "b*"),
    ("a*b", "a"),
    ("ab*ba", "aba"),
    ("*.py", "*.pyi"),
    ("**/x", "**/y"),
    ("a/**/b", "a"),
    ("a/**/b", "b/**"),
    ("a/*/b", "a/b"),
    ("a/*/b", "a/x/y/b"),
    ("a/**/b/**/c", "a/c/b"),
    ("{a,b}", "{c,d}"),
    ("{a,b}/x", "{a,b}/y"),
    ("a{/b,}", "a/c"),
    ("[.a]", "[.b]"),
    ("[.a]?", "[.b]?b[a]"),
    ("[.a][.a]", ".[.b]"),
    ("?.", "[.a]b"),
    ("*", "*/*"),
    ("**/*/a", "a"),
    ("x/**/y", "x/**/z"),
    (r"a\*", "ab"),
    (r"\[x\]", "x"),
    ("[!a-zA-Z]", "q"),
    ("[!qQ]", "q"),
    ("[!kK]", "k"),
    ("src/[!a].py", "src/a.py"),
    ("src/[!a].py", "src/A.py"),
    ("src/[!A].py", "src/a.py"),
    ("[!b]x", "bX"),
    ("[!A-C]", "b"),
    ("[!a-c]", "B"),
    ("[!a-c]", "[A-C]"),
    ("[!A-C]", "[a-c]"),
    ("[!Z-b]", "A"),
    ("[!Z-b]", "z"),
    ("[!s]", "\u017f"),
    ("[!\u017f]", "S"),
    ("[!k]", "\u212a"),
    ("[!\u212a]", "k"),
    ("[!ß]", "ẞ"),
    ("[!\u03c3]", "ς"),
    ("[!ς]", "Σ"),
    ("[!µ]", "μ"),
    ("[!é]", "E\u0301"),
    ("[!\u03b1-ω]", "Ω"),
    ("[!I]", "i"),
    ("[!İ]", "İ"),
    ("x[ßŉ]*s", "x*ß"),
    ("[\u2129-\u212c]", "k"),
    ("task:*", "*"),
    ("task:42", "**"),
    ("task:42", "./task:42"),
    ("task:*", "port:*"),
    ("task:1", "task:2"),
    ("@git/index", "git/index"),
    ("@git/index", "**/index"),
    ("@git/*", "@svn/*"),
    ("port:80??", "port:800"),
    ("straße", "strase"),
    ("stra?e", "STRASSE"),
    ("[!.aA]", "a"),
    ("a/**/b/c*", "a/*/c/**/b"),
    (r"\xff", "?x"),
    (r"\xff", r"\xfe"),
]

TOGETHER = [
    ("src/*", "src/a.py"),
    ("src/**", "src/"),
    ("src/", "src"),
    ("src/", "src/a/b/c.py"),
    ("a?c", "a[b-d]c"),
    ("README", "readme"),
    ("é", "e\u0301"),
    ("*", ".hidden"),
    ("?", "*"),
    ("**", "**"),
    ("**", "a/b/c"),
    ("**/x", "x"),
    ("a/**/b", "a/b"),
    ("a/**/b", "a/x/y/b"),
    ("a**b", "a*b"),
    ("a**b", "axxb"),
    ("*a", "a*"),
    ("a*b", "a*c*b"),
    ("ab*ba", "abba"),
    ("*/b/**", "a/**/c"),
    ("**/*.py", "src/**"),
    ("{a,b}", "{b,c}"),
    ("{a,b/c}/d", "*/c/d"),
    ("{src,lib}/{a,{b,c}}.py", "lib/c.*"),
    ("{a}", "a"),
    ("a{,.py}", "a"),
    ("a{,.py}", "a.py"),
    ("a[!b]c", "axc"),
    ("[!a]", "b"),
    ("[^a]", "[!b]"),
    ("[]a]", "]"),
    ("[a-]", "-"),
    ("[!a-y]", "z"),
    ("[A-C]x", "bX"),
    ("[!b]x", "cX"),
    ("[!i]", "İ"),
    ("[!i]", "\u0131"),
    ("[!s]*", "ß"),
    ("[!A-C]", "[a-d]"),
    ("[.a]", "?"),
    ("[.a][.]", "*.*"),
    ("[.a]?", ".[.b]"),
    (r"a\*", "a[*]"),
    (r"\{a,b\}", r"\{*"),
    ("a/b", "a//./b"),
    ("a/../b", "b"),
    ("x/**/y/**", "x/y"),
    ("*/**", "a"),
    ("**/a/**", "a"),
    ("**/a*/**/*b", "ab/**"),
    ("task:*", "task:42"),
    ("task:**", "task:a/b"),
    ("port:80??", "port:8?80"),
    ("@git/*", "@git/index"),
    ("task:{1,2}", "task:2"),
    ("./ab:c", "*"),
    ("./@x", "**"),
    ("straße", "STRASSE"),
    ("stra?e", "straße"),
    ("straß*", "strass?"),
    ("*ße", "?{x,*sse}"),
    ("[ab]ß*", "ASST"),
    ("*sse", "Straße"),
    ("straß*", "STRASSEN"),
    ("{ss*,ß*}", "?x"),
    ("{[a-z],[A-z]}", "_"),
    ("ǰ", "J\u030c"),
    ("İ*", "i\u0307x"),
    ("\u0130", "İ"),
    (r"\xff", "?"),
    (r"\xff", r"[\x80-\xff]"),
    (r"\xff", "[!a]"),
    ("*\u0308", "?\u0308"),
    ("Σ*", "ς*"),
    ("a/" * 30 + "**/b", "**/" + "a/" * 30 + "b"),
]


@pytest.mark.parametrize(("a", "b"), APART)
def test_patterns_without_a_common_path_do_not_overlap(a, b):
    assert overlap(parse(a), parse(b)) is None
    assert overlap(parse(b), parse(a)) is None


@pytest.mark.parametrize(("a", "b"), TOGETHER)
def test_patterns_with_a_common_path_overlap_and_both_match_the_witness(a, b):
    for one, other in ((parse(a), parse(b)), (parse(b), parse(a))):
        witness = overlap(one, other)

        assert witness is not None
        assert matches(one, witness)
        assert matches(other, witness)
        assert parse(witness, literal=True).path == witness


@pytest.mark.parametrize(
    ("a", "b", "witness"),
    [
        ("src/**", "**/*.py", "src/q.py"),
        ("Src/*", "src/A.py", "src/A.py"),
        ("**", "**", "q"),
        ("*", "./ab:c", "./ab:c"),
        ("task:*", "task:4?", "task:4q"),
        ("[!-~]", "[.-0]", "0"),
        (".*", ".?", ".q"),
    ],
)
def test_a_witness_is_easy_to_read(a, b, witness):
    assert overlap(parse(a), parse(b)) == witness


def test_case_is_distinguished_if_the_project_says_so():
    def meet(a, b):
        return overlap(parse(a, fold_case=False), parse(b, fold_case=False))

    assert meet("README", "readme") is None
    assert meet("[A-C]x", "bx") is None
    assert meet("R*", "*e") == "Re"
    assert meet("straße", "STRASSE") is None
    assert meet("é", "e\u0301") == "é"


def pool_of(seed: int, size: int):
    """Return random valid patterns with their automata."""
    random = Random(seed)
    folded = seed % 3 != 0
    pool = []
    while len(pool) < size:
        text = random_pattern(random)
        try:
            pattern = parse(text, fold_case=folded)
            pool.append((text, pattern, automaton(text, folded)))
        except BadInput as refusal:
            assert refusal.code in {"PATH_EMPTY", "PATH_ESCAPE", "PATH_ABSOLUTE"}  # noqa: PT017
        except TooBig:
            continue
    return pool


@pytest.mark.parametrize("seed", range(40))
def test_overlap_answers_as_the_product_of_automata_does(seed):
    """5,050 pairs for each seed, 202,000 in all, each in both directions."""
    pool = pool_of(seed, 100)
    for index, (text, one, machine) in enumerate(pool):
        for other_text, other, other_machine in pool[index:]:
            expected = share_a_path(machine, other_machine)

            witness, reverse = overlap(one, other), overlap(other, one)

            assert (witness is not None) is expected, (text, other_text)
            assert (reverse is not None) is expected, (text, other_text)
            for path in {witness, reverse} - {None}:
                assert matches(one, path), (text, other_text, path)
                assert matches(other, path), (text, other_text, path)
                assert machine.accepts(path), (text, other_text, path)
                assert other_machine.accepts(path), (text, other_text, path)


@pytest.mark.parametrize("seed", range(10))
def test_matching_answers_as_the_automaton_does(seed):
    random = Random(seed)
    for text, pattern, machine in pool_of(seed + 100, 60):
        for _ in range(25):
            names = (
                "".join(random.choices("aAbBc.-x*,", k=random.randint(1, 4))) for _ in range(9)
            )
            real = [name for name in names if name.strip(".")]
            path = "/".join(real[: random.randint(1, 4)])

            assert matches(pattern, path) is machine.accepts(path), (text, path)


@pytest.mark.parametrize("seed", range(10))
def test_overlap_is_symmetric_and_consistent(seed):
    """1,000 pairs for each seed: laws that hold for any two patterns."""
    random = Random(seed + 1000)
    pool = [(text, pattern) for text, pattern, _ in pool_of(seed + 1000, 100)]
    folded = pool[0][1].folded

    def read(text):
        return parse(text, fold_case=folded)

    for text, pattern in pool:
        assert overlap(pattern, pattern) is not None, text
        assert overlap(pattern, read("**")) is not None, text
    for _ in range(1000):
        (text, one), (other_text, other), (third, _) = random.choices(pool, k=3)
        witness = overlap(one, other)
        wider = read(f"{{{_in_braces(text)},{_in_braces(third)}}}")
        if witness is None:
            assert overlap(read(f"q/{text}"), read(f"q/{other_text}")) is None
            continue
        assert overlap(wider, other) is not None, (text, third, other_text)
        assert overlap(read(f"q/{text}"), read(f"q/{other_text}")) is not None
        assert overlap(read(f"**/{text}"), other) is not None
        if not any(t.endswith("/") or "{" in t for t in (text, other_text)):
            assert overlap(read(f"{text}/"), read(f"{other_text}/x")) is not None
            assert overlap(read(f"{text}/x"), read(f"{other_text}/x")) is not None
        assert overlap(one, parse(witness, literal=True, fold_case=folded)) is not None


def _in_braces(text: str) -> str:
    """Escape commas outside braces and classes."""
    out, depth, at = "", 0, 0
    while at < len(text):
        size = 2 if text[at] == "\\" else 1
        depth += (text[at] == "{") - (text[at] == "}")
        out += "\\," if text[at] == "," and not depth else text[at : at + size]
        at += size
    return out


def test_many_alternatives_on_both_sides_take_no_exponential_time():
    a = parse("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}*x")
    b = parse("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}*y")

    assert overlap(a, b) is None


#: All characters that a name can contain, by the character that they fold to.
_FOLDS = {
    c: next((f for f in (c.casefold(), c.lower()) if len(f) == 1), c)
    for c in map(chr, range(1, 0x5000))
    if c != "/" and is_normalized("NFC", c)
}
_LETTERS = "aAbBsS\u017fkKßẞ\u03c3ςΣ\u0131éÉqİ"
#: Each letter, and a character between any two of them.
_SAMPLES = sorted(
    {_FOLDS[c] for c in (*_LETTERS, *"0[{÷ж中", *(chr(ord(c) + 1) for c in _LETTERS))}
)


#: Letters that fold to several.
_LONG = {c for c in _FOLDS if len(c.casefold()) > 1}


class Oracle:
    """A pattern of one name as two regular expressions over folded names, plain and full."""

    def __init__(self, atoms: list[tuple[str, str, str]]) -> None:
        texts, plain, full = zip(*atoms, strict=True)
        self.text = "".join(texts)
        self.expanding = not _LONG.isdisjoint(text.strip("[]") for text in texts)
        self.plain = re.compile("".join(plain), re.DOTALL)
        self.full = re.compile("".join(full), re.DOTALL)

    def accepts(self, name: str) -> bool:
        plain = "".join(_FOLDS[c] for c in name)
        return bool(self.plain.fullmatch(plain) or self.full.fullmatch(name.casefold()))


def _class(members: set[str], *, negated: bool) -> str:
    inside = re.escape("".join(sorted(members)))
    return f"[{'^' * negated}{inside}]" if members else "(?!)"


@st.composite
def _classes(draw: st.DrawFn) -> tuple[str, str, str]:
    bounds = st.sampled_from(_LETTERS)
    spans = draw(st.lists(st.tuples(bounds, bounds).map(sorted), min_size=1, max_size=2))
    negated = draw(st.booleans())
    members = {f for c, f in _FOLDS.items() if any(low <= c <= high for low, high in spans)}
    if not negated and len(only := {*spans[0], *spans[-1]}) == 1:
        (letter,) = only
        return f"[{letter}]", _FOLDS[letter], letter.casefold()
    text = "".join(low if low == high else f"{low}-{high}" for low, high in spans)
    full = members | _LONG if negated else members - _LONG
    return (
        f"[{'!' * negated}{text}]",
        _class(members, negated=negated),
        _class(full, negated=negated),
    )


_ATOMS = st.one_of(
    st.just(("?", ".", ".")),
    st.sampled_from(_LETTERS.replace("İ", "")).map(lambda c: (c, _FOLDS[c], c.casefold())),
    _classes(),
    _classes(),
)


@st.composite
def _oracles(draw: st.DrawFn, most: int) -> Oracle:
    atoms = draw(st.lists(_ATOMS, min_size=1, max_size=most))
    if draw(st.booleans()):
        atoms.insert(draw(st.integers(0, len(atoms))), ("*", ".*", ".*"))
    return Oracle(atoms)


#: Short names, and longer ones for two ``ß`` and one other character.
_SHORT = ["".join(n) for size in (1, 2, 3) for n in product(_SAMPLES, repeat=size)]
_LONGER = ["".join(n) for c in _SAMPLES for size in (4, 5) for n in product({c, "s"}, repeat=size)]


def _meet(a: re.Pattern[str], b: re.Pattern[str]) -> bool:
    """Return whether some name matches both: try all that these patterns can distinguish."""
    return any(a.fullmatch(name) and b.fullmatch(name) for name in (*_SHORT, *_LONGER))


@settings(max_examples=100, deadline=None)
@given(_oracles(2), _oracles(1))
def test_with_folding_two_patterns_overlap_if_some_name_in_any_case_matches_both(a, b):
    expected = _meet(a.plain, b.plain) or ((a.expanding or b.expanding) and _meet(a.full, b.full))

    for one, other in ((a, b), (b, a)):
        witness = overlap(parse(one.text), parse(other.text))

        assert (witness is not None) is expected, (one.text, other.text, witness)
        if witness is not None:
            assert one.accepts(witness), (one.text, other.text, witness)
            assert other.accepts(witness), (one.text, other.text, witness)
            assert matches(parse(one.text), witness)


@settings(max_examples=100, deadline=None)
@given(_oracles(2), st.text(_LETTERS, min_size=1, max_size=4))
def test_with_folding_a_name_matches_in_every_case_or_in_none(pattern, name):
    for spelled in (name, name.upper(), name.lower(), name.swapcase()):
        if len(spelled) == len(name):
            assert matches(parse(pattern.text), spelled) is pattern.accepts(spelled), pattern.text
