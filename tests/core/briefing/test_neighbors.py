"""A briefing predicts exactly the conflicts that a claim would have, for patterns of any shape."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.core.briefing.neighbors import ConflictFinder, Neighborhood
from dibs.core.claims.rules import compatible
from dibs.core.patterns.pattern import overlap, parse

NAMES = ("a", "A", "b", "src", "SRC", "a.py", "é", "É", "ß", "ss", "x y")
WILD = ("*", "**", "*.py", "{a,b}", "[ab]", "?", r"\*", "a*")
MODES = st.sampled_from(("exclusive", "shared"))
PATTERNS = st.builds(
    lambda scheme, parts, end: parse(scheme + "/".join(parts) + end).text,
    st.sampled_from(("", "", "", "task:", "db:")),
    st.lists(st.sampled_from(NAMES + WILD), min_size=1, max_size=3),
    st.sampled_from(("", "", "/")),
)


@given(
    st.lists(st.tuples(PATTERNS, MODES), min_size=1, max_size=5),
    st.lists(PATTERNS, min_size=1, max_size=2),
    MODES,
)
def test_the_predicted_conflicts_are_exactly_those_of_a_claim(filed, wanted, mode):
    numbered = [(number, *one) for number, one in enumerate(filed)]
    conflicts = [
        number
        for number, pattern, held in numbered
        if not compatible(mode, held)
        and any(overlap(parse(pattern), parse(text)) is not None for text in wanted)
    ]

    assert ConflictFinder(numbered).of(wanted, mode) == conflicts


@pytest.mark.parametrize(
    ("mine", "theirs", "near"),
    [
        ("src/", "src/x/b.py", True),
        ("src/x/b.py", "src/", True),
        ("src/", "src/*.py", True),
        ("src/", "srcs/a.py", False),
    ],
)
def test_a_claim_on_a_folder_is_near_everything_below_it(mine, theirs, near):
    assert Neighborhood([mine]).near(theirs) is near
