"""Two real agents share a repository, and the second wants what the first holds.

Each test is a row of the table in ``docs/reference/e2e.md``; its docstring is the title of the row.
"""

from __future__ import annotations

import pytest

#: What an agent does not support, and why.
CANNOT = {
    ("gemini", "subagent"): "a subagent's calls do not contain its ID",
}


def held_by(story):
    """Return the first owner of src/a.py."""
    taken = [
        e for e in story.world.ledger() if e["kind"] == "lock_acquired" and "src/a.py" in str(e)
    ]
    assert taken, story.holder.told()
    return taken[0]["agent"]


def test_without_dibs_the_edit_succeeds(unguarded):
    """Control: without Dibs, the second agent overwrites the first agent's file."""
    assert unguarded.world.text("src/a.py") == "a = 'stolen'\n"


def test_an_edit_of_a_claimed_file_is_blocked(story):
    """An edit of another agent's file is blocked, and the file is unchanged."""
    assert story.looks["after edit"] == "a = 'held'\n"
    assert any(e["kind"] == "write_refused" for e in story.world.ledger())


def test_the_model_reads_the_reason(story):
    """The model reads who holds the file and what it can do."""
    answer = story.second.result("edit")

    assert held_by(story) in answer
    assert "src/a.py" in answer


def test_the_model_reads_the_briefing(story):
    """The briefing arrives when the session starts."""
    first = story.second.model.work[0].text

    missing = [word for word in (held_by(story), "src/a.py") if word not in first]
    assert not missing


def test_a_shell_write_to_a_claimed_file_is_blocked(story):
    """A shell command that writes another agent's file is blocked."""
    assert story.looks["after redirect"] == "a = 'held'\n"
    assert held_by(story) in story.second.result("redirect")


def test_a_hidden_write_is_detected(story):
    """A hidden write is detected, recorded in the ledger, and reported to the model."""
    found = [e for e in story.world.ledger() if e["kind"] == "foreign_write"]

    assert [e for e in found if "src/c.py" in str(e)], story.second.result("sly")
    learned = story.second.model.learned("sly")
    assert any("src/c.py" in text for text in learned), learned


def test_the_owner_learns_of_a_hidden_write(story):
    """The owner learns who made the hidden write."""
    (writer,) = {e["agent"] for e in story.world.ledger() if e["kind"] == "foreign_write"}
    learned = story.holder.model.learned("commit")

    assert any(writer in text and "src/c.py" in text for text in learned), learned


def test_overwritten_content_is_saved(story):
    """The old content is saved in a salvage ref."""
    refs = story.world.git("for-each-ref", "--format=%(refname)", "refs/salvage").split()

    assert any(story.world.git("show", f"{ref}:src/c.py") == "c = 'held'" for ref in refs), refs


def test_a_commit_of_a_claimed_file_is_refused(story):
    """A commit of another agent's file is refused."""
    assert story.looks["head"].splitlines() == ["files"]
    assert "src/a.py" in story.second.result("wrong commit")


def test_the_mcp_tools_work(story):
    """MCP tools work: a claim on another agent's file is denied, which is not an error."""
    answer = story.second.result("ask")

    assert held_by(story) in answer
    assert "denied" in answer


def test_the_agent_does_other_work(story):
    """The agent does other work in the meantime."""
    assert "src/b.py" in story.world.git("show", "--stat", "--format=", "HEAD")
    assert story.world.text("src/b.py") == "b = 'second'\n"


def test_the_agent_waits_and_continues(story):
    """The agent waits in the queue and continues when the owner has finished."""
    assert "granted" in story.second.result("wait")
    assert story.world.text("src/a.py") == "a = 'second'\n"
    assert story.world.git("log", "--format=%s").splitlines() == ["mine", "held", "files"]


def test_the_end_of_a_session_releases_claims(story):
    """When its session ends, the agent holds nothing and has left."""
    assert story.world.claims() == {}
    assert all(one["ended"] for one in story.world.agents().values()), story.world.agents()


def test_the_agent_is_guarded(story):
    """The agent's hooks report it as guarded."""
    guarded = {e["agent"] for e in story.world.ledger() if e["kind"] == "agent_guarded"}

    assert any(name.startswith(story.second.kind.name) for name in guarded), guarded


def test_two_sessions_of_one_kind_are_two_agents(twins):
    """Two sessions of the same agent are separate agents."""
    guarded = {e["agent"] for e in twins.world.ledger() if e["kind"] == "agent_guarded"}

    assert twins.looks["after edit"] == "a = 'held'\n"
    assert len(guarded) == 2


def test_a_subagent_is_a_separate_agent_with_a_parent(family, name):
    """A subagent is a separate agent with a parent."""
    if (name, "subagent") in CANNOT:
        pytest.skip(CANNOT[name, "subagent"])
    agents = family.world.agents()
    children = [one for one in agents.values() if one["parent"]]

    assert [one["parent"] in agents for one in children] == [True], agents
    taken = [
        e for e in family.world.ledger() if e["kind"] == "lock_acquired" and "src/d.py" in str(e)
    ]
    assert taken[0]["agent"] == children[0]["id"]


def test_the_parent_can_commit_the_subagents_work(family):
    """A subagent can work, and its parent can commit the subagent's work."""
    assert family.world.git("log", "--format=%s").splitlines() == ["both", "files"], (
        family.run.model.results()
    )
    assert family.world.text("src/d.py") == "d = 'sub'\n"
