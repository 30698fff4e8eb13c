"""Both sides of a coming conflict are told of it once, through the ledger."""

import os

import pytest
from tests.services.forecast_clone import LINES, Clone, git

from dibs.core.claims.agents import Agent, Caller
from dibs.core.patterns.filing import Range
from dibs.services.claims.agents import Agents
from dibs.services.talk.mail import Mail


@pytest.fixture
def clone(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith(("GIT_", "DIBS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    return Clone(tmp_path / "repo")


def test_both_are_warned_once_for_each_set_of_files(clone):
    clone.edit("alice")
    clone.edit("bob")

    assert [pair.names for pair in clone.warn()] == [("alice", "bob")]
    assert clone.warn() == []
    clone.edit("alice", "b.txt")
    clone.edit("bob", "b.txt")
    clone.warn()

    assert [(e["agents"], e["files"], e["base"]) for e in clone.told()] == [
        (["alice", "bob"], ["a.txt"], "main"),
        (["alice", "bob"], ["a.txt", "b.txt"], "main"),
    ]


def test_both_sides_get_a_message_if_they_work_here(clone):
    Agents(clone.store).join(Agent("alice"))
    clone.edit("alice")
    clone.edit("bob")
    for _ in range(2):
        clone.warn()
    mail = Mail(clone.store)

    texts = [letter.message.text for letter in mail.inbox(Caller("alice"))]

    assert texts == ["your work and that of bob would conflict in a.txt"]
    assert mail.inbox(Caller("bob")) == []


def test_a_conflict_that_went_away_and_came_back_is_told_again(clone):
    clone.edit("alice")
    bob = clone.edit("bob")
    clone.warn()
    mine = bob.read_text()
    bob.write_text(LINES)
    clone.warn()
    bob.write_text(mine)
    clone.warn()

    assert len(clone.told()) == 2


def test_a_side_that_cannot_be_read_just_now_is_not_taken_for_clear(clone):
    clone.edit("alice")
    clone.edit("bob")
    clone.warn()
    bob, away = clone.tree("bob"), clone.root.parent / "away"
    bob.rename(away)
    clone.warn()
    away.rename(bob)
    clone.warn()

    assert len(clone.told()) == 1


def test_what_was_warned_of_goes_with_a_removed_tree(clone):
    clone.edit("alice")
    clone.edit("bob")
    clone.warn()
    git(clone.root, "worktree", "remove", "--force", str(clone.tree("bob")))
    git(clone.root, "branch", "-D", "agent/bob")
    clone.warn()

    assert clone.store.look(lambda rows: list(rows.txn.scan(Range("warned/")))) == []


def test_a_forecast_of_some_leaves_the_warnings_of_others(clone):
    for agent in ("alice", "bob", "carol"):
        clone.edit(agent)
    clone.warn()
    git(clone.root, "branch", "other", "main")
    clone.forecasts.warn(Caller("carol"), clone.look("alice"))
    clone.forecasts.warn(Caller("carol"), clone.look(base="other"))
    clone.warn()

    assert len(clone.told()) == 3


def test_clones_on_a_common_store_do_not_undo_each_others_warnings(clone, tmp_path):
    second = Clone(tmp_path / "two" / "repo")
    second.store = clone.store
    for agent in ("alice", "bob"):
        clone.edit(agent)
        second.tree(agent)
    clone.warn()
    second.warn()

    assert clone.warn() == []
