"""Answers to git hooks: who blocks whom, for few paths and for many."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.services.several_agents import Crew, caller

from dibs.core.claims import plain_commits
from dibs.core.claims.coverage import BlockReason
from dibs.core.claims.plain_commits import PlainCommit, only_new, pattern_of
from dibs.core.patterns.overlap import overlap
from dibs.core.patterns.pattern import parse
from dibs.services.guard import git_hooks
from dibs.services.guard.git_hooks import Gating

NAMES = st.sampled_from(["a", "b", "src", "x.py", "y.py", "Ä", "sp ace", "[id]", "new\nline", "ß"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
PATTERNS = st.one_of(
    st.sampled_from(["src/**", "*.py", "**/x.py", "a/*", "?*", "src/{x,y}.py"]),
    st.sampled_from(["a", "src/x.py", "Ä/b", "b/"]),
)


def stopped(crew, agent, *paths):
    found = Gating(crew.store).judge(caller(agent), [PlainCommit(tuple(paths))])
    return {stop.path: stop.holder for stop in found}


@given(st.lists(PATHS, max_size=8, unique=True), st.lists(PATTERNS, max_size=4, unique=True))
def test_many_paths_are_checked_like_few(paths, patterns):
    crew = Crew()
    for number, pattern in enumerate(patterns):
        crew.claim(f"agent{number}", pattern)
    few = stopped(crew, "bob", *paths)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(git_hooks, "_FEW", 0)
        many = stopped(crew, "bob", *paths)

    held = [parse(pattern) for _, pattern in crew.held()]
    assert few.keys() == many.keys()
    assert set(few) == {
        path
        for path in paths
        if any(overlap(pattern_of(path, fold_case=True), one) is not None for one in held)
    }


def test_a_refusal_names_the_owner_pattern_reason_and_time_left(crew):
    crew.claim("alice", "src/**", reason="rename", task="t1")
    crew.clock.advance(100.0)

    (stop,) = Gating(crew.store).judge(caller("bob"), [PlainCommit(("src/a.py", "b.py"))])

    assert (stop.path, stop.why, stop.holder) == ("src/a.py", BlockReason.HELD, "alice")
    assert (stop.pattern, stop.expires_in) == ("src/**", 200.0)
    assert (stop.reason, stop.task) == ("rename", "t1")


def test_an_expired_claim_blocks_no_one(crew):
    crew.claim("alice", "a")
    crew.clock.advance(300.0)

    assert stopped(crew, "bob", "a") == {}


def test_a_commit_belongs_to_the_agent_that_the_store_names(crew):
    crew.claim("alice", "a")
    crew.claim("bob", "b")
    crew.store.apply(lambda rows: rows.txn.put("commit/c1", '{"agent":"alice"}'))
    judge = Gating(crew.store).judge

    assert judge(caller("bob"), [PlainCommit(("a", "b"), "c1")]) == []
    assert [stop.path for stop in judge(caller("carol"), [PlainCommit(("a", "b"), "c1")])] == ["b"]
    assert [stop.path for stop in judge(caller("bob"), [PlainCommit(("a", "b"), "c2")])] == ["a"]


@pytest.mark.parametrize(
    ("path", "held"),
    [
        ("a\tb/c", "a?b/**"),
        ("x" * 300, "*"),
        ("/".join("d" * 70), "d/**"),
        ("src/" + "y" * 300, "src/**"),
        ("@git/index", "./@git/*"),
        ("task:1", "./task:1"),
        ("~x", "./~x"),
        ("*", "\\*"),
    ],
)
def test_a_name_that_cannot_be_claimed_is_still_covered_by_a_folder_claim(path, held):
    assert overlap(pattern_of(path, fold_case=True), parse(held)) is not None


def test_an_extremely_deep_path_is_checked_in_few_steps(monkeypatch):
    steps = []
    monkeypatch.setattr(plain_commits, "parse", lambda *a, **k: steps.append(1) or parse(*a, **k))

    found = pattern_of("d/" * 2_000 + "x", fold_case=True)

    assert overlap(found, parse("/".join("d" * 60) + "/**")) is not None
    assert len(steps) < 5


def test_a_named_resource_is_not_a_file_of_that_name(crew):
    crew.claim("alice", "task:1", "@x")

    assert stopped(crew, "bob", "task:1", "@x") == {}


def test_only_changes_that_no_replaced_commit_had_are_new():
    changes = [("a", "0", "1"), ("b", "0", "2"), ("c", "0", "")]

    assert only_new(changes, [[("a", "0", "1")], [("b", "0", "3"), ("c", "0", "")]]) == ("b",)


def test_replaced_commits_may_be_squashed_but_must_not_undo_others_work():
    replaced = [[("a", "0", "1")], [("a", "1", "2")]]

    assert only_new([("a", "0", "2")], replaced) == ()
    assert only_new([("a", "other", "2")], replaced) == ("a",)
