"""Roles as one word, as tasks name them."""

import pytest

from dibs.core.text.names import AGENT_ID_MAX, is_agent_id, role_word


@pytest.mark.parametrize(
    ("role", "word"),
    [
        ("tester", "tester"),
        ("QA", "QA"),
        ("Code Reviewer", "code-reviewer"),
        ("  QA / Ops  ", "qa-ops"),
        ("Pr\u00fcfer 2", "prufer-2"),
        ("../../etc", "etc"),
        ("\u5be9\u67fb", "\u5be9\u67fb"),
        ("", ""),
    ],
)
def test_a_role_of_several_words_is_one_word_to_a_task(role, word):
    assert role_word(role) == word
    assert role_word(word) == word


@pytest.mark.parametrize("role", ["x" * 300, "reviewer of code " * 30, "- -" + "y" * 200])
def test_a_long_role_gives_a_valid_word(role):
    assert is_agent_id(role_word(role))
    assert len(role_word(role)) <= AGENT_ID_MAX
