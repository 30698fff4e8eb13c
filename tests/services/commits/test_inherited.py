"""Uncommitted changes that were in a file before its claim, and what a commit does with them."""

from __future__ import annotations

import os

import pytest
from tests.services.commit_world import ALICE, BOB, World

from dibs.core.changes.trailers import authors_in, read_signed
from dibs.core.claims.plain_commits import pattern_of
from dibs.errors import NotFound
from dibs.services.commits.values import CommitDenied
from dibs.services.salvage.files import keep
from dibs.services.state.sessions import UnfinishedFile, left_in, put_left

pytestmark = pytest.mark.usefixtures("own_git")

LINES = [f"line {number}\n" for number in range(1, 21)]
PATH = "src/long.py"


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path / "tree")
    made.put(PATH, "".join(LINES))
    made.git("add", "-A")
    made.git("commit", "-q", "-m", "long")
    return made


def left_by(world, agent, path=PATH, *, copy=True, at=1.0):
    """Record that the file's uncommitted content is an agent's, or a person's, as if it had left it."""
    repository = world.project.place.repository
    ref = keep(world.root, repository, agent or "human", [path], at=at, about="x") if copy else ""
    left = UnfinishedFile(path, agent, at, ref, world.root)
    fold = world.project.store.fold_case
    world.project.store.apply(lambda rows: put_left(rows, pattern_of(path, fold_case=fold), left))
    return ref


def edited(**changes):
    """Return the text of the file with some lines replaced, by number: ``l3="text"``."""
    lines = list(LINES)
    for name, text in changes.items():
        lines[int(name[1:]) - 1] = f"{text}\n"
    return "".join(lines)


def records(world):
    return [
        (left.path, left.agent)
        for _, left in world.project.store.look(lambda rows: list(left_in(rows, world.root)))
    ]


def committed_text(world, path=PATH):
    return world.git("show", f"HEAD:{path}") + "\n"


def test_a_commit_leaves_out_the_lines_that_another_agent_wrote_before_the_claim(world):
    world.put(PATH, edited(l3="by alice", l4="by alice"))
    world.claim(BOB, PATH)
    ref = left_by(world, "alice")
    both = edited(l3="by alice", l4="by alice", l15="by bob")
    world.put(PATH, both)

    answer = world.committed(BOB)

    assert committed_text(world) == edited(l15="by bob")
    assert world.read(PATH) == both, "the working tree does not change"
    assert [(o.path, o.agent, o.lines, o.copy) for o in answer.excluded] == [
        (PATH, "alice", 2, ref)
    ]
    assert answer.included == ()
    assert records(world) == [(PATH, "alice")], "the lines are still uncommitted"
    assert world.dirty() == {f" M {PATH}"}
    assert world.git("diff", "--cached", "--name-only") == ""
    shown = world.git("diff", "-U0", "--", PATH).splitlines()
    changed = [line for line in shown if line[:1] in "+-" and line[:3] not in {"+++", "---"}]
    assert changed == ["-line 3", "-line 4", "+by alice", "+by alice"]


def test_later_commits_of_the_same_claim_leave_them_out_as_well(world):
    world.put(PATH, edited(l3="by alice"))
    world.claim(BOB, PATH)
    left_by(world, "alice")
    world.put(PATH, edited(l3="by alice", l15="by bob"))
    world.committed(BOB)
    world.put(PATH, edited(l3="by alice", l15="by bob", l18="by bob"))
    world.committed(BOB)
    assert committed_text(world) == edited(l15="by bob", l18="by bob")
    assert world.dirty() == {f" M {PATH}"}


def test_the_agent_that_wrote_the_lines_commits_them_itself(world):
    world.put(PATH, edited(l3="by alice"))
    world.claim(ALICE, PATH)
    left_by(world, "alice")
    answer = world.committed(ALICE)
    assert committed_text(world) == edited(l3="by alice")
    assert answer.excluded == answer.included == ()


def test_inherited_lines_are_committed_on_request_with_their_author_in_a_trailer(world):
    world.put(PATH, edited(l3="by alice"))
    world.claim(BOB, PATH)
    left_by(world, "alice")
    both = edited(l3="by alice", l15="by bob")
    world.put(PATH, both)

    answer = world.committed(BOB, inherited=True)

    assert committed_text(world) == both
    assert [(o.path, o.agent, o.lines) for o in answer.included] == [(PATH, "alice", 1)]
    message = world.git("log", "-1", "--format=%B")
    assert authors_in(message) == ("alice",)
    signed = read_signed(message)
    assert signed is not None
    assert signed.agent == "bob"
    (entry,) = world.ledger()
    assert entry.details["inherited"] == ["alice"]
    assert "with changes of alice" in entry.summary
    assert records(world) == [], "nothing of alice is uncommitted now"
    assert world.dirty() == set()


def test_a_commit_without_changes_of_ones_own_is_refused_and_names_the_author(world):
    world.put(PATH, edited(l3="by alice"))
    world.claim(BOB, PATH)
    ref = left_by(world, "alice")
    before = world.head()
    with pytest.raises(NotFound, match="by alice") as caught:
        world.commit(BOB)
    assert caught.value.code == "NOTHING_CHANGED"
    assert f"git show {ref} -- :/{PATH}" in caught.value.hint
    assert "--inherited" in caught.value.hint
    assert world.head() == before
    assert records(world) == [(PATH, "alice")]


def test_files_with_only_another_agents_changes_stay_out_of_a_larger_commit(world):
    world.put(PATH, edited(l3="by alice"))
    world.claim(BOB, "src/")
    left_by(world, "alice")
    world.put("src/one.py", "by bob\n")
    answer = world.committed(BOB)
    assert world.files() == {"src/one.py"}
    assert [one.path for one in answer.excluded] == [PATH]
    assert world.dirty() == {f" M {PATH}"}


def conflict(world):
    world.put(PATH, edited(l3="by alice"))
    left_by(world, "alice")
    world.put(PATH, edited(l3="by alice and bob"))


def new_file(world):
    world.git("rm", "-q", "--cached", PATH)
    world.git("commit", "-q", "-m", "gone")
    left_by(world, "alice")
    world.put(PATH, edited(l3="by bob"))


def binary(world):
    world.put(PATH, "\0alice\n")
    left_by(world, "alice")
    world.put(PATH, "\0alice and bob\n")


def deleted(world):
    world.put(PATH, edited(l3="by alice"))
    left_by(world, "alice")
    world.remove(PATH)


def link(world):
    world.put(PATH, edited(l3="by alice"))
    left_by(world, "alice")
    world.remove(PATH)
    os.symlink("one.py", os.path.join(world.root, PATH))


def without_copy(world):
    world.put(PATH, edited(l3="by alice"))
    left_by(world, "alice", copy=False)
    world.put(PATH, edited(l3="by alice", l15="by bob"))


@pytest.mark.parametrize("case", [conflict, new_file, binary, deleted, link, without_copy])
def test_a_commit_that_cannot_separate_two_agents_work_is_refused(world, case):
    world.claim(BOB, "src/")
    case(world)
    head, dirty = world.head(), world.dirty()

    answer = world.commit(BOB)

    assert isinstance(answer, CommitDenied)
    assert [(b.path, b.why, b.holder) for b in answer.blocked] == [(PATH, "inherited", "alice")]
    shown = "git diff HEAD" if case is without_copy else "git show refs/salvage/alice/"
    assert shown in answer.blocked[0].hint
    assert "--inherited" in answer.blocked[0].hint
    assert (world.head(), world.dirty()) == (head, dirty), "nothing changes"

    world.committed(BOB, inherited=True)
    assert world.dirty() == set()
    assert authors_in(world.git("log", "-1", "--format=%B")) == ("alice",)


def test_changes_of_unknown_origin_are_included_and_named(world):
    world.put(PATH, edited(l3="by a person", l4="by a person"))
    world.claim(BOB, PATH)
    left_by(world, "")
    both = edited(l3="by a person", l4="by a person", l15="by bob")
    world.put(PATH, both)
    answer = world.committed(BOB)
    assert committed_text(world) == both
    assert [(o.path, o.agent, o.lines) for o in answer.included] == [(PATH, "", 2)]
    assert authors_in(world.git("log", "-1", "--format=%B")) == ()
    assert records(world) == []


def test_a_trial_shows_what_would_be_left_out_and_writes_nothing(world):
    world.put(PATH, edited(l3="by alice"))
    world.claim(BOB, PATH)
    left_by(world, "alice")
    world.put(PATH, edited(l3="by alice", l15="by bob"))
    before = world.git("count-objects")
    answer = world.commit(BOB, "", trial=True)
    assert [(o.agent, o.lines) for o in answer.excluded] == [("alice", 1)]
    assert world.git("count-objects") == before


def test_a_hook_cannot_put_the_lines_back_in(world):
    world.put(PATH, edited(l3="by alice"))
    world.claim(BOB, PATH)
    left_by(world, "alice")
    world.put(PATH, edited(l3="by alice", l15="by bob"))
    hook = os.path.join(world.root, ".git/hooks/pre-commit")
    os.makedirs(os.path.dirname(hook), exist_ok=True)
    with open(hook, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\ngit add {PATH}\n")
    os.chmod(hook, 0o755)
    answer = world.commit(BOB)
    assert isinstance(answer, CommitDenied)
    assert "pre-commit hook staged it" in answer.blocked[0].hint


def test_line_endings_that_git_converts_do_not_hide_whose_lines_they_are(world):
    world.put(".gitattributes", "*.py text eol=crlf\n")
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "attributes")
    crlf = edited(l3="by alice").replace("\n", "\r\n")
    world.put(PATH, crlf)
    world.claim(BOB, PATH)
    left_by(world, "alice")
    world.put(PATH, edited(l3="by alice", l15="by bob").replace("\n", "\r\n"))
    world.committed(BOB)
    assert committed_text(world) == edited(l15="by bob")


def test_after_several_owners_only_other_agents_lines_are_left_out(world):
    world.claim(BOB, PATH)
    world.put(PATH, edited(l3="by bob"))
    left_by(world, "bob", at=1.0)
    world.put(PATH, edited(l3="by bob", l8="by alice"))
    left_by(world, "alice", at=2.0)
    world.put(PATH, edited(l3="by bob", l8="by alice", l12="by a person"))
    left_by(world, "", at=3.0)
    world.put(PATH, edited(l3="by bob", l8="by alice", l12="by a person", l17="by bob"))

    answer = world.committed(BOB)

    assert committed_text(world) == edited(l3="by bob", l12="by a person", l17="by bob")
    assert [(o.agent, o.lines) for o in answer.excluded] == [("alice", 1)]
    assert [(o.agent, o.lines) for o in answer.included] == [("", 1)]
    assert world.dirty() == {f" M {PATH}"}


def test_the_work_of_two_other_agents_is_left_out_and_both_are_named(world):
    world.claim(BOB, PATH)
    world.put(PATH, edited(l3="by alice"))
    left_by(world, "alice", at=1.0)
    world.put(PATH, edited(l3="by alice", l8="by carol", l9="by carol"))
    left_by(world, "carol", at=2.0)
    world.put(PATH, edited(l3="by alice", l8="by carol", l9="by carol", l17="by bob"))
    answer = world.committed(BOB)
    assert committed_text(world) == edited(l17="by bob")
    assert [(o.agent, o.lines) for o in answer.excluded] == [("alice", 1), ("carol", 2)]


def test_lines_next_to_each_other_are_separated_commit_after_commit(world):
    first = world.read(PATH)
    world.put(PATH, f"{first}by alice\n")
    world.claim(BOB, PATH)
    left_by(world, "alice")
    world.put(PATH, f"{first}by alice\nby bob\n")
    world.committed(BOB)
    assert world.git("show", f"HEAD:{PATH}") == f"{first}by bob".strip()
    world.put(PATH, f"{first}by alice\nby bob\nmore by bob\n")

    world.committed(BOB)

    assert world.git("show", f"HEAD:{PATH}") == f"{first}by bob\nmore by bob".strip()
