"""Texts and lists that are too long for a line are cut, and the rest is counted."""

from __future__ import annotations

import pytest

from dibs.core.text.names import cut, few


@pytest.mark.parametrize(
    ("text", "shown"), [("", ""), ("abc", "abc"), ("abcd", "abcd"), ("abcde", "abc…")]
)
def test_a_cut_text_has_a_limited_length_including_the_ellipsis(text, shown):
    assert cut(text, 4) == shown


@pytest.mark.parametrize(
    ("names", "shown"),
    [([], ""), (["a"], "a"), (["a", "b"], "a, b"), (["a", "b", "c", "d"], "a, b and 2 more")],
)
def test_the_names_that_are_not_shown_are_counted(names, shown):
    assert few(names, 2) == shown
