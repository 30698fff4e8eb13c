"""The index finds every overlapping pattern and scans little else."""

from __future__ import annotations

import time
from random import Random

import pytest
from tests.core.patterns.glob_oracle import random_pattern

from dibs.core.patterns.filing import Range, entry_prefix, ranges
from dibs.core.patterns.lookup import PatternIndex
from dibs.core.patterns.pattern import overlap, parse
from dibs.errors import BadInput

NAMES = ["src", "a", "A", "b", "x.py", "y.rs", "z.tar.gz", "straße", "STRASSE", "é", ":x", "\udcff"]
PIECES = ["*", "**", "*.py", "*.RS", "te*", "a?", "[ab]", "{a,b}", "{x.py,src/y.rs}", "*ß*", "?.py"]
SCHEMES = ["", "", "", "", "", "", "task:", "port:", "@"]


def realistic(random: Random, *, folded: bool):
    """Return a pattern over few names, so that overlaps are common, or one from the oracle."""
    while True:
        if random.random() < 0.3:
            text = random_pattern(random)
        else:
            depth = random.randint(1, 4)
            text = "/".join(
                random.choice(NAMES if random.random() < 0.6 else PIECES) for _ in range(depth)
            )
            text = random.choice(SCHEMES) + text + "/" * (random.random() < 0.15)
        try:
            return parse(text, fold_case=folded)
        except BadInput:
            continue


def found(keys: list[str], wanted: tuple[str, str]) -> set[str]:
    """Do what an engine does with a range."""
    prefix, containing = wanted
    return {key for key in keys if key.startswith(prefix) and containing in key}


@pytest.mark.parametrize("seed", range(12))
def test_the_ranges_find_every_pattern_that_overlaps_and_no_key_twice(seed):
    random = Random(seed)
    folded = seed % 4 != 0
    held = {f"agent-{n}/{n}": realistic(random, folded=folded) for n in range(150)}
    keys = {entry_prefix(pattern) + id_: id_ for id_, pattern in held.items()}
    for _ in range(80):
        query = realistic(random, folded=folded)
        expected = {id_ for id_, pattern in held.items() if overlap(pattern, query) is not None}

        hits = [found(list(keys), wanted) for wanted in ranges(query)]

        union = {key for hit in hits for key in hit}
        missed = [held[id_] for id_ in expected - {keys[key] for key in union}]
        assert not missed, (query, ranges(query), [entry_prefix(p) for p in missed])
        assert sum(map(len, hits)) == len(union), (query, ranges(query))


@pytest.mark.parametrize("seed", range(12))
def test_the_index_answers_as_looking_at_every_pattern_does(seed):
    random = Random(seed + 50)
    folded = seed % 4 != 0
    index = PatternIndex()
    held = {}
    for step in range(400):
        id_ = str(random.randrange(200))
        if random.random() < 0.3:
            index.remove(id_)
            held.pop(id_, None)
        else:
            held[id_] = realistic(random, folded=folded)
            index.add(id_, held[id_])
        if step % 4:
            continue
        query = realistic(random, folded=folded)

        answer = list(index.overlapping(query))

        assert len(index) == len(held)
        assert sorted(id_ for id_, _, _ in answer) == sorted(
            id_ for id_, pattern in held.items() if overlap(pattern, query) is not None
        ), query
        for id_, pattern, witness in answer:
            assert pattern is held[id_]
            assert witness


def test_an_emptied_index_finds_nothing():
    index = PatternIndex()
    for text in ("a/b.py", "a/*.py", "**", "{a,b}/x", "task:1"):
        index.add(text, parse(text))
    for text in ("a/b.py", "a/*.py", "**", "{a,b}/x", "task:1", "never there"):
        index.remove(text)

    assert len(index) == 0
    assert not any((index._filed, index._sorted, index._heads, index._groups))


@pytest.mark.parametrize(
    ("text", "prefix"),
    [
        ("src/A.py", "at/src/a.py//"),
        ("src/*.PY", "in/src//.py//"),
        ("src/**", "in/src//*//"),
        ("src/", "in/src//*//"),
        ("**", "in///*//"),
        ("**/test_*.tar.gz", "in///.gz//"),
        ("src/*/main.rs", "in/src//.rs//"),
        ("src/*/Makefile", "in/src//*//"),
        ("src/{a,b}.py", "in/src//.py//"),
        ("src/{a/x.py,b/y.rs}", "in/src//*//"),
        ("{src/a,lib/b}/*.py", "in///.py//"),
        ("*.p?", "in///*//"),
        ("task:42", "at/:task/42//"),
        ("task:*", "in/:task//*//"),
        ("@git/index", "at/:@/git/index//"),
        ("./task:42", "at/task:42//"),
        ("./:task/42", "at/\\:task/42//"),
        (r"a\*", r"at/a\*//"),
        ("\udcff", r"at/\xff//"),
        ("straße", "at/strasse//"),
    ],
)
def test_a_pattern_is_filed_under_its_directory_and_extension(text, prefix):
    assert entry_prefix(parse(text)) == prefix


def test_a_literal_looks_at_itself_and_at_the_globs_of_each_directory_above():
    assert set(ranges(parse("src/a.py"))) == {
        Range("at/src/a.py//"),
        Range("in///"),
        Range("in/src//"),
        Range("in/src/a.py//"),
    }


def test_a_glob_looks_below_its_directory_for_what_its_matches_contain():
    assert set(ranges(parse("src/core/test_*.py"))) == {
        Range("at/src/core/", "test_"),
        Range("in/src/core/", "//.py//"),
        Range("in/src/core/", "//*//"),
        Range("in/src//.py//"),
        Range("in/src//*//"),
        Range("in///.py//"),
        Range("in///*//"),
    }


@pytest.mark.parametrize(
    ("text", "containing"),
    [
        ("**/*.rs", ".rs//"),
        ("**/foo/**", "foo/"),
        ("**/*_test.py", "_test.py//"),
        ("**/zz*.{py,pyi}", "zz"),
        ("**/*.{ts,tsx}", ".ts"),
        ("**/{a,b}", ""),
        ("src/**", ""),
        ("**/*", ""),
        ("{x,x/y}", ""),
        (r"**/\**", r"\*"),
    ],
)
def test_a_wide_glob_asks_for_a_text_that_its_matches_contain(text, containing):
    assert ranges(parse(text))[0][1] == containing


def test_a_resource_never_looks_among_paths():
    for text in ("task:42", "task:*", "task:a/**", "@git/**"):
        for wanted in ranges(parse(text)):
            assert wanted[0].startswith(("at/:", "in/:"))


def filled(count: int) -> PatternIndex:
    """Fill an index with literals and globs, four to one, all of them Python files."""
    random = Random(count)
    index = PatternIndex()
    for n in range(count):
        directory = f"src/mod{random.randrange(count)}/sub{random.randrange(5)}"
        name = (
            f"file{n}.py"
            if n % 5
            else random.choice(("a{}*.py", "b{}_?.py", "**/c{}*.py")).format(n)
        )
        index.add(str(n), parse(f"{directory}/{name}"))
    return index


def seconds(index: PatternIndex, text: str, times: int) -> float:
    """Return the thread time of one lookup, the best of several runs."""
    pattern = parse(text)
    best = float("inf")
    for _ in range(9):
        start = time.thread_time()
        for _ in range(times):
            list(index.overlapping(pattern))
        best = min(best, (time.thread_time() - start) / times)
    return best


def test_lookups_among_many_are_as_quick_as_among_few():
    few, many = filled(10), filled(10_000)

    literal = seconds(many, "src/mod5/sub2/file77.py", 300)

    assert literal < 2.5 * seconds(few, "src/mod5/sub2/file77.py", 300)
    for wide in ("**/*.rs", "**/test_zz*.py", "**/zz*.{py,pyi}", "src/mod7/**"):
        assert seconds(many, wide, 5) < 0.001, wide
