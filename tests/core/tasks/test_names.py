"""Ids of new tasks, from time, agent, and title; and the patterns of their claims."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.core.patterns.pattern import parse
from dibs.core.tasks.names import follows_rule, new_id, task_pattern
from dibs.core.tasks.rules import check_task_id
from dibs.core.text.names import AGENT_ID_CHARACTERS, slug

NOON = 1_763_908_200.0  # 2025-11-23T14:30:00Z


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Review and polish ADR-006", "review-and-polish-adr-006"),
        ("Größe prüfen!", "groe-prufen"),
        ("../../etc/passwd", "etc-passwd"),
        ("\x1b[31m", "31m"),
        ("日本", "task"),
        ("", "task"),
        ("w" * 300, "w" * 50),
        ("one " * 60, "one-" * 11 + "one"),
    ],
)
def test_a_slug_is_lower_case_letters_digits_and_hyphens_cut_between_words(text, expected):
    assert slug(text) == expected


@pytest.mark.parametrize(
    ("id_", "follows"),
    [
        ("2025-11-23T1430-structural-repomap", True),
        ("2025-11-23T1545-writer-editor-adr-review", True),
        ("audit-docs", False),
        ("2025-11-23T1430-audit", False),
        ("2025-13-23T1430-curator-audit", False),
        ("2025-11-23T2460-curator-audit", False),
        ("2025-11-23-curator-audit", False),
        ("2025-11-23T1430-curator-", False),
        ("2025-11-3T14300-curator-audit", False),
    ],
)
def test_the_naming_rule_is_a_minute_an_agent_and_a_slug(id_, follows):
    assert follows_rule(id_) == follows


@given(st.floats(0, 1e12), st.text(max_size=80), st.text(max_size=300))
def test_every_generated_id_follows_the_naming_rule(moment, agent, title):
    assert follows_rule(new_id(moment, agent, title))


def test_an_id_has_the_documented_form_of_file_names():
    assert new_id(NOON, "structural", "repomap") == "2025-11-23T1430-structural-repomap"
    assert new_id(NOON, "", "x") == "2025-11-23T1430-any-x"


@given(st.floats(0, 1e12), st.text(max_size=80), st.text(max_size=300))
def test_every_generated_id_is_valid(moment, agent, title):
    check_task_id(new_id(moment, agent, title))


#: Dots alone are not a valid name either way.
NAMES = st.text(sorted(AGENT_ID_CHARACTERS), min_size=1, max_size=140).filter(
    lambda n: n.strip(".")
)


@given(NAMES, st.booleans())
def test_the_shortcut_to_a_pattern_agrees_with_the_parser(name, fold):
    quick, slow = (
        task_pattern(name, fold_case=fold),
        parse(f"task:{name}", literal=True, fold_case=fold),
    )

    facts = ("text", "key", "scheme", "literal", "folded", "rows", "path", "expanding")
    assert [getattr(quick, f) for f in facts] == [getattr(slow, f) for f in facts]
