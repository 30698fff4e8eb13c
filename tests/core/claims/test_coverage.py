"""Which claim covers a path."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.core.claims.coverage import Cover, OwnedPattern, guarded, sort, uncovered
from dibs.core.claims.rules import Claim
from dibs.core.patterns.pattern import matches, parse


def held(text, agent="alice", mode="exclusive", *, fold=True):
    return OwnedPattern(
        Claim(text, text, mode, agent, 1, 300.0, 0.0), parse(text, fold_case=fold), 60.0
    )


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("a", "a", True), ("a", "A", True), ("a", "a/b", False), ("a/", "a/b/c", True), ("a/", "a", True),
        ("a/", "ab", False),
        ("*.py", "x.py", True), ("*.py", "d/x.py", False), ("**/*.py", "d/x.py", True), ("a b", "a b", True),
        ("./@x", "@x", True), ("port:1", "port:1", False), ("d/**", "D/x", True), ("straße", "STRASSE", True),
        ("\\*", "*", True), ("\\*", "x", False), ("d/", "d/\udcff", True), ("d/", "d/a\nb", True),
    ],
)  # fmt: skip
def test_a_claim_covers_the_paths_that_its_pattern_matches(pattern, path, covered):
    assert (Cover([held(pattern)]).exclusive("alice", path) is not None) == covered


def test_case_matters_if_the_project_says_so():
    cover = Cover([held("Src/a", fold=False), held("b", fold=False)])
    assert cover.exclusive("alice", "Src/a")
    assert not cover.exclusive("alice", "src/a")
    assert not cover.exclusive("alice", "B")


@given(
    st.lists(
        st.sampled_from(["a", "a/", "b/*", "*.x", "**/y", "É", "b/[cd].x", "{a,b}/z"]), max_size=5
    ),
    st.text(alphabet="abcxyzAÉ./", min_size=1, max_size=8),
)
def test_the_index_of_claims_finds_the_same_as_a_full_scan(texts, path):
    claims = [held(text) for text in texts]
    expected = {h.claim.id for h in claims if matches(h.pattern, f"./{path}")}
    assert {h.claim.id for h in Cover(claims).of(path)} == expected


def test_changed_paths_are_sorted_by_owner():
    cover = Cover([held("mine/"), held("theirs", "bob"), held("read", mode="shared")])
    found = sort("alice", ["mine/a", "theirs", "read", "free"], cover, guards=True)
    assert list(found.mine) == ["mine/a"]
    assert [(b.path, b.why, b.holder) for b in found.others] == [
        ("theirs", "held", "bob"), ("read", "shared", "alice"),
    ]  # fmt: skip
    assert found.nobody == ("free",)


@pytest.mark.parametrize(
    "path", ["dibs.toml", ".MCP.json", ".codex/config.toml", ".claude/settings.local.json"]
)
def test_files_that_configure_tools_are_protected_in_any_spelling(path):
    assert guarded(path)
    assert [b.why for b in uncovered("alice", [path], Cover([held("**")]), guards=True)] == [
        "guarded"
    ]
    assert uncovered("alice", [path], Cover([held("**")]), guards=False) == []
