"""An agent waits with its files, and another one starts in every way: each test is a row of the table."""

from __future__ import annotations

import json

import pytest
from tests.e2e.scenes import HELD

#: What an agent does not support, and why.
CANNOT = {
    ("gemini", "subfolder"): "it reads a repository's hooks only where it starts; see the next row",
    ("claude", "user"): "not needed: it finds the repository's hooks",
    ("codex", "user"): "not needed: it finds the repository's hooks",
    ("opencode", "user"): "not needed: it finds the repository's hooks",
    ("claude", "consent"): "not needed: it runs hooks without consent if it has no terminal",
    ("opencode", "consent"): "not needed: it asks for no consent",
    ("claude", "sandbox"): "its sandbox is off by default",
    ("gemini", "sandbox"): "its sandbox is off by default",
    ("copilot", "sandbox"): "it has no sandbox",
    ("opencode", "sandbox"): "it has no sandbox",
} | {
    (name, what): why
    for name in ("claude", "gemini", "copilot", "opencode")
    for what, why in {
        "nested": "its model cannot call tools from a program",
        "typing": "it cannot type into a running command",
    }.items()
}


@pytest.fixture
def supports(name):
    """Return what skips a cell that an agent cannot support."""

    def skip(what):
        if (name, what) in CANNOT:
            pytest.skip(CANNOT[name, what])

    return skip


def owner(scenes):
    """Return the agent that holds src/a.py."""
    taken = [
        e for e in scenes.world.ledger() if e["kind"] == "lock_acquired" and "src/a.py" in str(e)
    ]
    return min(taken, key=lambda e: e["seq"])["agent"]


def test_an_idle_agent_keeps_its_changed_files(scenes):
    """An agent that waits longer than the ttl keeps the files that it has changed."""
    claims = json.loads(scenes.looks["claims"])

    assert claims.get("src/a.py") == owner(scenes)


def test_reading_claims_nothing(scenes):
    """Reading another agent's file is allowed and claims nothing."""
    run = scenes.scene("work")

    assert "held" in run.result("read")
    assert "held" in run.result("cat")
    assert set(json.loads(scenes.looks["after reads"]).values()) == {owner(scenes)}


def test_one_of_several_calls_is_blocked(scenes):
    """Of several calls in one message, only the one that writes another agent's file is blocked."""
    run = scenes.scene("work")

    assert scenes.looks["after together"] == f"{HELD}\n"
    assert owner(scenes) in run.result("together held")
    assert "b = 0" in run.result("together read")
    assert scenes.world.text("src/new.py") == "new = 1\n"


def test_a_third_party_tool_is_blocked(scenes):
    """A third-party MCP tool may read another agent's file, and may not write it."""
    run = scenes.scene("work")

    assert "held" in run.result("note read")
    assert scenes.looks["after note"] == f"{HELD}\n"
    assert owner(scenes) in run.result("note held")


def test_a_hidden_write_of_a_third_party_tool_is_detected(scenes):
    """A third-party MCP tool's write to a file that its call does not name is detected."""
    assert scenes.scene("work").result("note hidden")
    found = [e for e in scenes.world.ledger() if e["kind"] == "foreign_write"]

    assert [e for e in found if "src/a.py" in str(e)]


def test_a_file_in_a_submodule_is_protected(scenes):
    """Another agent's file in a submodule cannot be edited."""
    assert owner(scenes) in scenes.scene("work").result("submodule")
    assert scenes.looks["submodule"] == "m = 'held'\n"


def test_a_resumed_session_is_guarded(scenes):
    """A resumed session is guarded."""
    assert owner(scenes) in scenes.scene("resume").result("again")
    assert scenes.looks["resume"] == f"{HELD}\n"


def test_a_session_in_a_subfolder_is_guarded(scenes, supports):
    """A session that starts in a subfolder of a trusted repository is guarded."""
    supports("subfolder")
    assert owner(scenes) in scenes.scene("subfolder").result("below")
    assert scenes.looks["subfolder"] == f"{HELD}\n"


def test_user_hooks_guard_every_session(scenes, supports):
    """With `dibs init --user`, a session in a subfolder that is not trusted is guarded."""
    supports("user")
    assert owner(scenes) in scenes.scene("user").result("untrusted")
    assert scenes.looks["user"] == f"{HELD}\n"


def test_doctor_reports_hooks_that_are_not_accepted(scenes, supports):
    """`dibs doctor --prove` fails until the agent's own settings accept the hooks."""
    supports("consent")
    assert scenes.looks["prove before"] == "NOT active until trusted"
    assert scenes.looks["prove after"] == ""


def test_a_sandboxed_command_names_the_tools_that_work(scenes, supports):
    """In the agent's sandbox, a `dibs` command that cannot write names the MCP tools, which can."""
    supports("sandbox")
    run = scenes.scene("ordinary")

    assert "use the MCP tools" in run.result("command")
    assert '"granted"' in run.result("tool").replace("\\", "")


def test_a_program_of_the_model_is_guarded(scenes, supports):
    """An edit by a program that the model writes is blocked."""
    supports("nested")
    assert owner(scenes) in scenes.scene("nested").result("nested")
    assert scenes.looks["nested"] == f"{HELD}\n"


def test_a_shell_for_typing_is_blocked(scenes, supports):
    """A shell that the agent could type into is blocked, because no hook checks that input."""
    supports("typing")
    assert "would wait for input" in scenes.scene("nested").result("typed")


def test_the_default_modes_are_guarded(scenes):
    """With the agent's own sandbox and approvals, edits of claimed files are blocked and others are not."""
    assert owner(scenes) in scenes.scene("ordinary").result("asked")
    assert scenes.looks["ordinary"] == f"{HELD}\n"
    assert scenes.world.text("src/f.py") == "f = 1\n"


def test_a_hook_that_dies_blocks(scenes):
    """A hook that is killed, or fails silently, blocks the write."""
    run = scenes.scene("dead hook")
    written = [name for name in ("killed", "silent", "shell") if is_written(scenes, name)]

    assert run.result("silent shell")
    assert not written


def is_written(scenes, name):
    """Return whether a file exists that only an unchecked call could have written."""
    return (scenes.world.repo / "src" / f"{name}.py").exists()
