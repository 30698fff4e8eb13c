"""Which sides can conflict at all, their common ancestors, and which lines conflict."""

from random import Random

import pytest
from tests.soak import seeds

from dibs.core.changes.forecasts import Ancestry, ForecastConflict, Pair, can_meet, touched
from dibs.core.changes.hunks import conflicting


def side(*changes):
    """Return one side's changes; a path that ends in a slash is a deleted folder."""
    vanished = [path[:-1] for _, path in changes if path.endswith("/")]
    return touched([(path, how) for how, path in changes if not path.endswith("/")], vanished)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([("M", "a.py")], [("M", "a.py")]),
        ([("M", "a.py")], [("D", "a.py")]),
        ([("A", "lib")], [("M", "lib/x.py")]),
        ([("D", "old/"), ("D", "old/x.py"), ("A", "new/x.py")], [("A", "old/y.py")]),
        ([("D", "a/"), ("D", "a/b/x.py"), ("A", "c/b/x.py")], [("A", "a/y.py")]),
        ([("A", "old/y.py")], [("D", "old/"), ("D", "old/x.py"), ("A", "new/x.py")]),
    ],
)
def test_sides_can_conflict_at_a_path_a_folder_or_a_renamed_folder(one, other):
    assert can_meet(side(*one), side(*other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([("M", "a.py")], [("M", "b.py")]),
        ([("M", "lib/x.py")], [("A", "lib/y.py")]),
        ([("D", "old/x.py"), ("A", "new/x.py")], [("A", "old/y.py")]),
        ([("M", "lib")], [("M", "library/x.py")]),
        ([("D", "x.py")], [("A", "y.py")]),
        ([], [("M", "a.py")]),
    ],
)
def test_sides_without_common_paths_cannot_conflict(one, other):
    assert not can_meet(side(*one), side(*other))


def bases_by_definition(parents, one, other):
    def above(commit):
        found, rest = set(), [commit]
        while rest:
            commit = rest.pop()
            if commit not in found:
                found.add(commit)
                rest += parents[commit]
        return found

    common = above(one) & above(other)
    return sorted(c for c in common if not any(c in above(d) for d in common - {c}))


@pytest.mark.parametrize("seed", seeds(150))
def test_common_ancestors_match_their_definition(seed):
    random = Random(seed)
    parents = {}
    for number in range(random.randrange(2, 14)):
        known = sorted(parents)
        count = random.choice([0, 1, 1, 1, 2]) if number else 0
        parents[f"{number:02}"] = random.sample(known, min(count, len(known)))
    heads = random.sample(sorted(parents), min(5, len(parents)))
    newest_first = dict(sorted(parents.items(), reverse=True))

    ancestry = Ancestry(heads, newest_first)

    for one in heads:
        for other in heads:
            assert ancestry.bases(one, other) == bases_by_definition(parents, one, other)


def test_common_history_need_not_be_listed():
    ancestry = Ancestry(["b", "c"], {"b": ["a"], "c": ["m"], "m": ["a"]}, common=["a"])

    assert ancestry.bases("b", "c") == ["a"]
    assert not ancestry.holds("b", "c")


def test_a_conflict_has_the_lines_of_both_sides():
    ours = b"new\nnew\n1\n2\nours\n4\n5\n"
    theirs = b"1\n2\ntheirs\ntheirs\n4\n5\nend\n"
    merged = (
        b"new\nnew\n1\n2\n<<<<<<< AAAA\nours\n=======\ntheirs\ntheirs\n>>>>>>> BBBB\n4\n5\nend\n"
    )

    assert conflicting(merged, ours, theirs, (b"AAAA", b"BBBB")) == ((5, 1, 3, 2),)


def test_a_line_of_equals_signs_in_the_text_is_not_a_marker():
    ours, theirs = b"T\n=======\nours\n", b"T\n=======\ntheirs\n"
    merged = b"<<<<<<< AAAA\nT\n=======\nours\n=======\nT\n=======\ntheirs\n>>>>>>> BBBB\n"

    assert conflicting(merged, ours, theirs, (b"AAAA", b"BBBB")) == ((1, 3, 1, 3),)


def test_a_side_without_lines_has_a_position():
    merged = b"1\n<<<<<<< AAAA\n=======\nx\n>>>>>>> BBBB\n3\n"

    assert conflicting(merged, b"1\n3\n", b"1\nx\n3\n", (b"AAAA", b"BBBB")) == ((2, 0, 2, 1),)


def test_a_pair_with_more_conflicts_has_another_digest():
    old = Pair("a", "b", (ForecastConflict("x", "content", "", ()),))
    more = old._replace(clashes=(*old.clashes, ForecastConflict("y", "content", "", ())))

    assert old.digest != more.digest
