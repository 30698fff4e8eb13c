"""Both sides of a forecast conflict are notified once."""

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


def test_both_agents_are_notified_once_for_each_set_of_files(clone):
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


def test_both_agents_get_a_message_if_they_work_here(clone):
    Agents(clone.store).join(Agent("alice"))
    clone.edit("alice")
    clone.edit("bob")
    for _ in range(2):
        clone.warn()
    mail = Mail(clone.store)

    texts = [letter.message.text for letter in mail.inbox(Caller("alice"))]

    assert texts == ["your work and bob's work would conflict in a.txt"]
    assert mail.inbox(Caller("bob")) == []


def test_a_conflict_that_returns_is_announced_again(clone):
    clone.edit("alice")
    bob = clone.edit("bob")
    clone.warn()
    mine = bob.read_text()
    bob.write_text(LINES)
    clone.warn()
    bob.write_text(mine)
    clone.warn()

    assert len(clone.told()) == 2


def test_an_unreadable_side_does_not_count_as_cleared(clone):
    clone.edit("alice")
    clone.edit("bob")
    clone.warn()
    bob, away = clone.tree("bob"), clone.root.parent / "away"
    bob.rename(away)
    clone.warn()
    away.rename(bob)
    clone.warn()

    assert len(clone.told()) == 1


def test_warnings_are_dropped_with_a_removed_worktree(clone):
    clone.edit("alice")
    clone.edit("bob")
    clone.warn()
    git(clone.root, "worktree", "remove", "--force", str(clone.tree("bob")))
    git(clone.root, "branch", "-D", "agent/bob")
    clone.warn()

    assert clone.store.look(lambda rows: list(rows.txn.scan(Range("warned/")))) == []


def test_a_partial_forecast_keeps_other_agents_warnings(clone):
    for agent in ("alice", "bob", "carol"):
        clone.edit(agent)
    clone.warn()
    git(clone.root, "branch", "other", "main")
    clone.forecasts.warn(Caller("carol"), clone.look("alice"))
    clone.forecasts.warn(Caller("carol"), clone.look(base="other"))
    clone.warn()

    assert len(clone.told()) == 3


def test_clones_on_a_shared_store_keep_each_others_warnings(clone, tmp_path):
    second = Clone(tmp_path / "two" / "repo")
    second.store = clone.store
    for agent in ("alice", "bob"):
        clone.edit(agent)
        second.tree(agent)
    clone.warn()
    second.warn()

    assert clone.warn() == []
