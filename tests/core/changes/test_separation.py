"""Whose lines remain when one author's lines are taken out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.core.changes.separation import without

LAST = b"one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("copy", "disk", "own"),
    [
        (b"one\ntwo\nthree\nA\n", b"one\ntwo\nthree\nA\nB\n", b"one\ntwo\nthree\nB\n"),
        (b"one\ntwo\nthree\nA\n", b"one\ntwo\nthree\nB\nA\n", b"one\ntwo\nthree\nB\n"),
        (b"A\none\ntwo\nthree\n", b"A\none\nB\nthree\n", b"one\nB\nthree\n"),
        (b"one\nthree\n", b"one\nthree\nB\n", b"one\ntwo\nthree\nB\n"),
        (b"one\nA\nthree\n", b"one\nA\nB\nthree\n", b"one\ntwo\nB\nthree\n"),
        (b"one\ntwo\nthree\nA\n", b"one\ntwo\nthree\n", LAST),
        (b"A\n", b"A\nB\n", b"one\ntwo\nthree\nB\n"),
        (b"", b"B\n", b"one\ntwo\nthree\nB\n"),
        (LAST, b"one\nB\n", b"one\nB\n"),
    ],
)
def test_only_later_changes_remain(copy, disk, own):
    assert without(LAST, copy, disk) == own


def test_a_file_without_a_final_newline_is_separated():
    assert without(b"one", b"one\nA\n", b"one\nA\nB\n") == b"one\nB"


@pytest.mark.parametrize(
    ("copy", "disk"),
    [
        (b"one\nA\nthree\n", b"one\nAB\nthree\n"),
        (b"one\ntwo\nthree\nA\n", b"one\ntwo\nthree and B\nAB\n"),
        (b"one\0", b"one\0\n"),
    ],
)
def test_a_rewritten_line_or_a_binary_file_cannot_be_separated(copy, disk):
    assert without(LAST, copy, disk) is None


def test_files_that_take_too_long_are_not_separated():
    long = b"\n".join(b"%d" % number for number in range(6000))
    assert without(b"", long[::-1], long) is None


def text(lines):
    return b"".join(line + b"\n" for line in lines)


@given(st.lists(st.tuples(st.sampled_from("lab"), st.booleans()), max_size=30))
def test_lines_that_nobody_rewrites_are_always_separated(script):
    # A line is in the last commit, added to the copy, or added later; the author of the copy removes some.
    lines = [(author, gone, f"{author}{n}".encode()) for n, (author, gone) in enumerate(script)]
    last = [line for author, _, line in lines if author == "l"]
    copy = [line for author, gone, line in lines if author == "a" or (author == "l" and not gone)]
    disk = [line for author, _, line in lines if author == "b" or line in copy]

    own = without(text(last), text(copy), text(disk))

    assert own is not None
    found = own.split(b"\n")[:-1]
    assert sorted(found) == sorted(line for author, _, line in lines if author in "lb")
    for author in b"lb":
        assert [f for f in found if f[0] == author] == [x for _, _, x in lines if x[0] == author]
