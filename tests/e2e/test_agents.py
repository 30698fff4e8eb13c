"""Two real agents on one repository; the second wants what the first holds.

Each test is a row of the table in ``docs/reference/e2e.md``, which its docstring names.
"""

from __future__ import annotations

import pytest

#: What an agent cannot do, and why: a cell of the table that no test can fill.
CANNOT = {
    ("gemini", "subagent"): "calls of a subagent carry no id of it",
}


def held_by(story):
    """Return who held src/a.py first."""
    taken = [
        e for e in story.world.ledger() if e["kind"] == "lock_acquired" and "src/a.py" in str(e)
    ]
    assert taken, story.holder.told()
    return taken[0]["agent"]


def test_without_dibs_the_edit_goes_through(unguarded):
    """The control: without Dibs the second overwrites the file of the first."""
    assert unguarded.world.text("src/a.py") == "a = 'stolen'\n"


def test_its_edit_of_a_held_file_is_refused(story):
    """An edit of another's file is refused, and the file is unchanged."""
    assert story.looks["after edit"] == "a = 'held'\n"
    assert any(e["kind"] == "write_refused" for e in story.world.ledger())


def test_the_reason_reaches_its_model(story):
    """The model reads who holds the file, and what it can do."""
    answer = story.second.result("edit")

    assert held_by(story) in answer
    assert "src/a.py" in answer


def test_the_briefing_reaches_its_model(story):
    """The briefing arrives at the start of a session."""
    first = story.second.model.work[0].text

    missing = [word for word in (held_by(story), "src/a.py") if word not in first]
    assert not missing


def test_its_shell_write_is_refused(story):
    """A shell command that writes another's file is refused."""
    assert story.looks["after redirect"] == "a = 'held'\n"
    assert held_by(story) in story.second.result("redirect")


def test_a_write_that_nobody_can_foresee_is_found(story):
    """A write that no command shows is found, kept in the ledger, and told to its model."""
    found = [e for e in story.world.ledger() if e["kind"] == "foreign_write"]

    assert [e for e in found if "src/c.py" in str(e)], story.second.result("sly")
    learned = story.second.model.learned("sly")
    assert any("src/c.py" in text for text in learned), learned


def test_the_holder_is_told_of_such_a_write(story):
    """The holder of such a file is told who wrote it."""
    (writer,) = {e["agent"] for e in story.world.ledger() if e["kind"] == "foreign_write"}
    learned = story.holder.model.learned("commit")

    assert any(writer in text and "src/c.py" in text for text in learned), learned


def test_what_was_overwritten_is_kept(story):
    """The old content of such a file lies in a salvage ref."""
    refs = story.world.git("for-each-ref", "--format=%(refname)", "refs/salvage").split()

    assert any(story.world.git("show", f"{ref}:src/c.py") == "c = 'held'" for ref in refs), refs


def test_its_commit_of_a_held_file_is_refused(story):
    """A commit of another's file is refused."""
    assert story.looks["head"].splitlines() == ["files"]
    assert "src/a.py" in story.second.result("wrong commit")


def test_the_mcp_server_answers_it(story):
    """The MCP tools work: a claim of another's file is a refusal, not an error."""
    answer = story.second.result("ask")

    assert held_by(story) in answer
    assert "denied" in answer


def test_it_takes_other_work(story):
    """It takes other work meanwhile."""
    assert "src/b.py" in story.world.git("show", "--stat", "--format=", "HEAD")
    assert story.world.text("src/b.py") == "b = 'second'\n"


def test_it_waits_and_goes_on(story):
    """It waits in the queue, and goes on when the holder has ended."""
    assert "granted" in story.second.result("wait")
    assert story.world.text("src/a.py") == "a = 'second'\n"
    assert story.world.git("log", "--format=%s").splitlines() == ["mine", "held", "files"]


def test_an_end_gives_back(story):
    """At its end it has given back what it held, and has left."""
    assert story.world.claims() == {}
    assert all(one["ended"] for one in story.world.agents().values()), story.world.agents()


def test_it_is_seen_as_guarded(story):
    """Its hooks have reported in."""
    guarded = {e["agent"] for e in story.world.ledger() if e["kind"] == "agent_guarded"}

    assert any(name.startswith(story.second.kind.name) for name in guarded), guarded


def test_two_sessions_of_one_kind_are_two(twins):
    """Two sessions of the same agent are told apart, and refused alike."""
    guarded = {e["agent"] for e in twins.world.ledger() if e["kind"] == "agent_guarded"}

    assert twins.looks["after edit"] == "a = 'held'\n"
    assert len(guarded) == 2


def test_a_subagent_is_names_and_patterns(family, name):
    """A subagent is told apart, and has its parent in the roster."""
    if (name, "subagent") in CANNOT:
        pytest.skip(CANNOT[name, "subagent"])
    agents = family.world.agents()
    children = [one for one in agents.values() if one["parent"]]

    assert [one["parent"] in agents for one in children] == [True], agents
    taken = [
        e for e in family.world.ledger() if e["kind"] == "lock_acquired" and "src/d.py" in str(e)
    ]
    assert taken[0]["agent"] == children[0]["id"]


def test_what_a_subagent_writes_is_in_the_tree(family):
    """A subagent can work, and its parent can commit what it did."""
    assert family.world.git("log", "--format=%s").splitlines() == ["both", "files"], (
        family.run.model.results()
    )
    assert family.world.text("src/d.py") == "d = 'sub'\n"
