"""Lines by how often they occur: what a commit must keep, and whose lines have not landed."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from dibs.core.changes.lines import (
    counted,
    dropped,
    in_order,
    lines_of,
    unlanded_added,
    unlanded_removed,
)

some_lines = st.lists(st.sampled_from([b"a", b"b", b"c", b"", b"}"]), max_size=8).map(Counter)


def test_a_newline_at_the_end_does_not_begin_another_line():
    assert lines_of(b"") == []
    assert lines_of(b"a\n\nb") == lines_of(b"a\n\nb\n") == [b"a", b"", b"b"]


def test_wanted_lines_are_shown_in_order_and_only_so_many():
    text = [b"x", b"a", b"x", b"b", b"x"]
    assert in_order(text, Counter({b"x": 2, b"b": 1}), 20) == [b"x", b"x", b"b"]
    assert in_order(text, Counter({b"x": 3}), 2) == [b"x", b"x"]


def test_lines_count_and_their_places_do_not():
    head, source = counted(b"a\nb\nb\n"), counted(b"b\nnew\na\nb\n")
    assert dropped(head, source, counted(b"b\nb\na\n")) == Counter()
    assert dropped(head, source, counted(b"a\nb\n")) == Counter({b"b": 1})


@given(some_lines, some_lines, some_lines)
def test_a_commit_of_the_source_or_of_the_last_commit_drops_nothing(head, source, more):
    assert not dropped(head, source, source)
    assert not dropped(head, source, head)
    assert not dropped(head, source, (head & source) + more)


@given(some_lines, some_lines, some_lines)
def test_every_line_that_the_last_commit_and_the_source_have_is_missed(head, source, commit):
    missing = dropped(head, source, commit)
    for line in head | source | commit:
        want = min(head[line], source[line])
        assert missing[line] == max(0, want - commit[line])


#: Where a line is: in what the author found, in its copy, in the last commit now, and in the source.
Places = tuple[bool, bool, bool, bool]


@given(st.lists(st.tuples(*[st.booleans()] * 4), max_size=30))
def test_distinct_lines_are_judged_each_by_itself(lines: list[Places]):
    before, copy, head, source = (
        Counter(b"%d" % n for n, there in enumerate(lines) if there[place]) for place in range(4)
    )
    added = unlanded_added(copy, before, head, source)
    removed = unlanded_removed(copy, before, head, source)
    for n, (found, left, landed, new) in enumerate(lines):
        line = b"%d" % n
        assert added[line] == (left and not found and new and not landed)
        assert removed[line] == (found and not left and landed and not new)


@given(some_lines, some_lines, some_lines, some_lines)
def test_nothing_is_unlanded_once_it_landed_or_is_gone(copy, before, head, source):
    assert not unlanded_added(copy, before, head, head)
    assert not unlanded_removed(copy, before, head, head)
    assert not unlanded_added(copy, before, head, before & head)
    assert not unlanded_added(before, before, head, source)
    assert not unlanded_removed(before, before, head, source)


@given(some_lines, some_lines, some_lines, some_lines)
def test_what_a_commit_lands_is_between_the_last_one_and_the_source(copy, before, head, source):
    assert unlanded_added(copy, before, head, source) <= source - head
    assert unlanded_removed(copy, before, head, source) <= head - source
    assert unlanded_added(copy, before, head, source) <= copy - before


@given(st.lists(st.sampled_from("hoab"), max_size=30))
def test_authors_that_build_on_each_other_have_only_their_own_lines(owners):
    lines = [(who, b"%d" % n) for n, who in enumerate(owners)]
    versions = [Counter(line for who, line in lines if who in some) for some in ("h", "ho", "hoa")]
    head, one, two = versions
    source = Counter(line for _, line in lines)
    assert unlanded_added(one, head, head, source) == one - head
    assert unlanded_added(two, one, head, source) == two - one
    assert not unlanded_added(two, one, two, source)
