"""Similar tasks are found by the words of their titles and by overlapping artefacts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.core.tasks.rules import FINISHED, Task
from dibs.core.tasks.similarity import STOP_WORDS, Active, overlap_of, words


def similar(new, active, **options):
    return Active(active, **options).like(new)


def test_words_are_lower_case_with_three_characters_or_more_and_no_stop_words():
    found = words("Fix the LOGIN-page: it is in src/login_page.py, ÜBER all, and e2e CI")

    assert found == {"fix", "login", "page", "src", "über", "e2e"}


def test_no_stop_word_is_too_short_to_be_a_word():
    assert all(len(word) > 2 and word == word.casefold() for word in STOP_WORDS)


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        ("Fix login page", "fix the Login page", 1.0),
        ("Fix login", "Fix logout", 0.5),
        ("Fix login page", "Fix login form", 2 / 3),
        ("Tests", "Write tests for parser and lexer", 2 / 5),
        ("", "", 0.0),
        ("the", "the", 0.0),
    ],
)
def test_the_share_counts_the_words_of_both_titles(one, other, share):
    assert overlap_of(words(one), words(other)) == pytest.approx(share)


@given(st.text(), st.text())
def test_the_share_is_symmetric_and_between_zero_and_one(one, other):
    share = overlap_of(words(one), words(other))

    assert share == overlap_of(words(other), words(one))
    assert 0.0 <= share <= 1.0
    assert overlap_of(words(one), words(one)) == (1.0 if words(one) else 0.0)


def test_tasks_that_share_more_than_half_of_their_words_are_similar_most_similar_first():
    active = [
        Task("half", title="Fix logout"),
        Task("more", title="Fix login now please"),
        Task("same", title="Login: fix"),
    ]

    found = similar(Task("new", title="Fix login"), active)

    assert [(like.id, like.title) for like in found] == [
        ("same", "Login: fix"),
        ("more", "Fix login now please"),
    ]
    assert found[0].share == 1.0


def test_overlapping_artefacts_are_reported_whatever_the_titles():
    active = [
        Task("a", title="Other things", artefacts=("docs/x.md", "src/login.py")),
        Task("b", title="Unrelated", artefacts=("tests/**",)),
    ]

    found = similar(Task("new", title="Fix login", artefacts=("src/*.py",)), active)

    assert [(like.id, like.paths) for like in found] == [("a", ("src/login.py",))]


@pytest.mark.parametrize("fold_case", [True, False])
def test_case_in_paths_matters_if_the_project_says_so(fold_case):
    active = [Task("a", artefacts=("SRC/a.py",))]

    found = similar(Task("new", artefacts=("src/a.py",)), active, fold_case=fold_case)

    assert bool(found) is fold_case


@pytest.mark.parametrize("status", sorted(FINISHED))
def test_a_finished_task_is_not_a_duplicate(status):
    assert similar(Task("new", title="Fix login"), [Task("a", status, title="Fix login")]) == []


def test_a_task_is_not_a_duplicate_of_itself_or_of_its_dependencies():
    active = [Task("new", title="Fix login"), Task("before", title="Fix login")]

    assert similar(Task("new", title="Fix login", dependencies=("before",)), active) == []


def test_an_artefact_that_is_not_a_pattern_overlaps_with_none():
    active = [Task("a", artefacts=("../out", "src/a.py"))]

    found = similar(Task("new", artefacts=("[", "src/a.py")), active)

    assert [like.paths for like in found] == [("src/a.py",)]
