"""Tools of other MCP servers: what their calls name, and how they are judged."""

from __future__ import annotations

import json
import os
import subprocess
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dibs.core.toolcalls.path_candidates import candidate_paths
from dibs.core.toolcalls.values import How, Watch
from dibs.errors import BadInput
from dibs.guard.agents.program import answer
from dibs.guard.dialects import dialect
from dibs.guard.dialects.tools import OWN_TOOLS, target
from dibs.mcp.registry import TOOLS
from dibs.project.project import create, open_project


def named(tool, arguments, server=""):
    """Return what a call touches, and the texts that may be paths."""
    found = target(tool, arguments, server)
    return {touch.path: touch.how for touch in found.touches}, set(found.mentions)


# -- our own tools


def test_the_names_of_our_own_tools_are_those_of_the_server():
    assert set(TOOLS) == OWN_TOOLS


@pytest.mark.parametrize(
    ("tool", "server"),
    [
        ("mcp__dibs__claim", ""), ("mcp__dibs__claim_file", "dibs"), ("dibs-claim", ""), ("dibs_commit", ""),
        ("mcp__plugin_dibs_dibs__claim", "plugin:dibs:dibs"), ("mcp_dibs_release", ""), ("claim", "dibs"),
    ],
)  # fmt: skip
def test_our_own_tools_are_not_checked(tool, server):
    found = target(tool, {"paths": ["a.py"]}, server)

    assert (found.touches, found.mentions, found.watch) == ((), (), Watch.KNOWN)


@pytest.mark.parametrize(
    ("tool", "server"),
    [
        ("mcp__dibs-evil__write", ""), ("mcp__dibs_notes__write", ""), ("mcp__dibs__evil__write", ""),
        ("mcp_dibs_notes_write", "dibs_notes"), ("mcp_dibs_notes_write", ""), ("dibs-notes-write", ""),
        ("dibs_notes_write", ""), ("dibs-write", ""), ("write", "dibs2"), ("mcp__dibs__write", "evil"),
    ],
)  # fmt: skip
def test_a_server_whose_name_only_starts_like_ours_is_checked(tool, server):
    assert named(tool, {"path": "a.py"}, server)[0] == {"a.py": How.WRITE}


def test_a_servers_tool_with_the_name_of_an_agents_own_is_judged_as_the_servers():
    assert target("task", {"path": "a.py"}, "files").watch == Watch.ALWAYS
    assert target("create", {"title": "no path"}, "notes").watch == Watch.ALWAYS
    assert target("read_file", {"path": "a.py"}, "files").watch == Watch.HELD


# -- names


@pytest.mark.parametrize(
    "tool",
    ["hover", "getDiagnostics", "find_references", "get_or_fetch_x", "list_patches", "search_code", "lint",
     "query", "git_status", "browser_click", "create_directory", "get_update_status", "previewEdit"],
)  # fmt: skip
def test_a_tool_whose_name_says_that_it_reads_only_reads(tool):
    found = target(f"mcp__x__{tool}", {"path": "a.py", "name": "b.py"})

    assert found.watch == Watch.HELD
    assert {touch.how for touch in found.touches} <= {How.READ}


@pytest.mark.parametrize(
    ("tool", "how"),
    [
        ("write", How.WRITE), ("replace_symbol_body", How.WRITE), ("frobnicate", How.MAYBE),
        ("find_and_replace", How.MAYBE), ("get_or_create_file", How.MAYBE), ("resolve_conflict", How.MAYBE),
        ("textDocument/formatting", How.WRITE), ("applyWorkspaceEdit", How.WRITE),
    ],
)  # fmt: skip
def test_any_other_tool_may_write_but_claims_only_if_its_name_says_so(tool, how):
    found = target(f"mcp__x__{tool}", {"path": "a.py"})

    assert found.watch == Watch.ALWAYS
    assert [touch.how for touch in found.touches] == [how]


@pytest.mark.parametrize(
    "more",
    [
        {"fix": True},
        {"output_path": "b.py"},
        {"content": "x"},
        {"command": "rm a.py"},
        {"saveTo": "b.py"},
    ],
)
def test_arguments_can_show_that_a_tool_that_reads_by_its_name_writes(more):
    assert target("mcp__x__check", {"path": "a.py", **more}).watch == Watch.ALWAYS


# -- arguments


def test_free_text_names_no_file():
    prose = dict.fromkeys(
        ("content", "text", "body", "message", "prompt", "query", "old_string", "newText"),
        "src/a.py",
    )

    assert named("mcp__x__update", {**prose, "items": [{"description": "src/a.py"}]}) == ({}, set())


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("src/a.py:12", "src/a.py"), ("src/a.py:12:3", "src/a.py"), ("src/a.py#L1-L3", "src/a.py"),
        ("src/a.py(3,4)", "src/a.py"), ("src\\a.py", "src/a.py"), ("'src/a.py'", "src/a.py"),
        ("file:///r/src/a.py#L3", "/r/src/a.py"), ("file://localhost/r/%61.py", "/r/a.py"),
        ("vscode-remote:/r/a.py", "/r/a.py"), ("project://src/a.py", "src/a.py"), ("/src/a.py", "src/a.py"),
        ("b.py, src/a.py", "src/a.py"), ("b.py\nsrc/a.py\n", "src/a.py"), ("src%2Fa.py", "src/a.py"),
        ("$PWD/src/a.py", "src/a.py"), ("@src/a.py", "src/a.py"),
    ],
)  # fmt: skip
def test_a_path_is_found_in_other_spellings(text, path):
    assert path in set(candidate_paths(text))


def test_a_sentence_is_not_a_list_of_paths():
    assert list(candidate_paths("see src/a.py for it")) == ["see src/a.py for it"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30)
    | st.sampled_from(["src/a.py", "file://", "file:///%00", "\ud800", "*** Begin Patch", "--- a\n+++ b\n"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12)
    | st.sampled_from(["path", "files", "command", "args", "code", "diff", "source", "uri", "cwd"]), inner,
    max_size=4), max_leaves=25,
)  # fmt: skip


@settings(
    max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(st.sampled_from(["run", "git_checkout", "write", "move", "x", "apply", "read", ""]), JSON)
def test_no_argument_breaks_the_check(tool, arguments):
    try:
        found = target(f"mcp__s__{tool}", arguments)
    except BadInput:
        assert not isinstance(arguments, dict)
        return
    for text in found.mentions:
        list(candidate_paths(text))


def test_huge_and_deep_arguments_take_little_time():
    deep = "src/a.py"
    for _ in range(900):
        deep = {"x": [deep]}
    wide = {"names": [f"n{n}" for n in range(100_000)], "text": "x" * 5_000_000, "deep": deep}
    begun = time.process_time()

    found = target("mcp__x__frobnicate", {**wide, "patch": "--- a/x\n+++ b/x\n" * 50_000})

    assert found.watch == Watch.ALWAYS
    assert time.process_time() - begun < 2.0


# -- calls of agents


@pytest.fixture
def repo(tmp_path, monkeypatch):
    """A project in which alice holds ``held.py``."""
    for variable in list(os.environ):
        if variable.startswith(("DIBS_", "CLAUDE", "COPILOT")):
            monkeypatch.delenv(variable)
    root = tmp_path.resolve() / "repo"
    (root / "sub").mkdir(parents=True)
    for name in ("held.py", "free.py", "other.py"):
        (root / name).write_text("x\n")
    git = ("git", "-C", str(root), "-c", "user.name=x", "-c", "user.email=x@y")
    for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "x")):
        subprocess.run([*git, *words], check=True)
    create(str(root))[0].close()
    say(root, "claude", "PreToolUse", "Write", {"file_path": "held.py"}, session="alice")
    return root


def say(root, agent, event, tool, arguments, *, session="bob", call="", cwd=""):
    """Send an event in an agent's format; return the reply."""
    if agent == "copilot":
        sent = {"sessionId": session, "toolName": tool, "toolArgs": arguments, "timestamp": 1}
    else:
        sent = {
            "session_id": session,
            "hook_event_name": event,
            "tool_name": tool,
            "tool_input": arguments,
        }
        sent |= {"tool_use_id": call} if call else {}
    sent |= {"conversation_id": session, "generation_id": "g"} if agent == "cursor" else {}
    given = json.dumps({**sent, "cwd": cwd or str(root)}).encode()
    said, _ = answer((agent, event), given, {"PATH": os.environ["PATH"]}, str(root), os.getpid())
    assert said.status == 0, said
    return said.stdout


def claims(root, name):
    project = open_project(str(root))
    try:
        return sorted(
            h.claim.pattern for h in project.claims.all()[0] if h.claim.agent.endswith(name)
        )
    finally:
        project.close()


EVENTS = {
    "claude": ("PreToolUse", "PostToolUse", "mcp__x__frobnicate"),
    "codex": ("PreToolUse", "PostToolUse", "mcp__x__frobnicate"),
    "gemini": ("BeforeTool", "AfterTool", "mcp_x_frobnicate"),
    "copilot": ("preToolUse", "postToolUse", "x-frobnicate"),
    "cursor": ("preToolUse", "postToolUse", "MCP:frobnicate"),
}


@pytest.mark.parametrize("agent", EVENTS)
def test_calls_in_parallel_are_compared_in_every_agent(repo, agent):
    before, after, tool = EVENTS[agent]
    for number in (1, 2, 3):
        assert "deny" not in say(repo, agent, before, tool, {"number": number})

    say(repo, agent, after, tool, {"number": 3})
    (repo / "held.py").write_text("stolen\n")
    told = say(repo, agent, after, tool, {"number": 1})
    (repo / "free.py").write_text("mine\n")
    again = say(repo, agent, after, tool, {"number": 2})

    assert "held.py, which claude-alice holds" in told
    assert "held.py" not in again
    assert claims(repo, "bob") == ["free.py"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("$HOME/none/q.py", []), ("$HOME/../w/zz/q.py", []), ("${HOME}/q.py", []), ("~/q.py", []),
        ("free.py::main", ["free.py"]), ("sub/new.py::A::b", ["sub/new.py"]),
        ("$HERE/sub/q.py", ["sub/q.py"]),
        ("${workspaceFolder}/sub/q.py", ["sub/q.py"]), ("odd::name.py", ["./odd::name.py"]),
    ],
)  # fmt: skip
def test_a_path_is_claimed_as_the_file_that_it_means(repo, monkeypatch, text, wanted):
    monkeypatch.setenv("HOME", "/nowhere/else")
    monkeypatch.setenv("HERE", str(repo))
    (repo / "odd::name.py").write_text("x")

    said = say(repo, "claude", "PreToolUse", "mcp__x__write", {"path": text})
    assert "deny" not in said
    assert claims(repo, "bob") == wanted


def test_a_path_with_a_test_or_a_variable_is_checked(repo, monkeypatch):
    monkeypatch.setenv("HERE", str(repo))
    for text in ("held.py::main", "$HERE/held.py", "${workspaceFolder}/held.py"):
        for key in ("path", "location"):
            assert "deny" in say(repo, "claude", "PreToolUse", "mcp__x__write", {key: text})


def test_a_call_that_says_that_it_writes_claims_and_an_unclear_one_only_what_it_changed(repo):
    say(repo, "claude", "PreToolUse", "mcp__x__write", {"path": "free.py"}, call="1")
    say(repo, "claude", "PreToolUse", "mcp__x__frobnicate", {"path": "other.py"}, call="2")
    assert claims(repo, "bob") == ["free.py"]

    (repo / "other.py").write_text("changed\n")
    say(repo, "claude", "PostToolUse", "mcp__x__frobnicate", {"path": "other.py"}, call="2")

    assert claims(repo, "bob") == ["free.py", "other.py"]


@pytest.mark.parametrize("path", ["held.py", "../held.py", "@/held.py", "/held.py"])
def test_a_relative_path_is_tried_from_the_agents_folder_and_from_the_root(repo, path):
    path = path.replace("@", str(repo))

    for tool in ("write", "frobnicate"):
        arguments = {"relative_path": path}
        said = say(
            repo, "claude", "PreToolUse", f"mcp__x__{tool}", arguments, cwd=str(repo / "sub")
        )
        assert "claude-alice holds" in said


def test_a_call_that_may_write_is_blocked_if_it_cannot_be_checked(repo):
    for file in (repo / ".git" / "dibs").glob("dibs.db*"):
        file.unlink()
    (repo / "dibs.toml").write_text("")

    for tool, blocked in (("frobnicate", True), ("hover", False)):
        sent = {
            "hook_event_name": "PreToolUse",
            "tool_name": f"mcp__x__{tool}",
            "tool_input": {"id": 1},
        }
        given = json.dumps({**sent, "session_id": "bob", "cwd": str(repo)}).encode()
        said, _ = answer(("claude",), given, {}, str(repo), os.getpid())
        assert (said.status == 2) == blocked, said


def test_each_agents_call_has_the_same_id_before_and_after():
    for agent, (before, after, tool) in EVENTS.items():
        ids = set()
        for event in (before, after):
            sent = {"hook_event_name": event, "tool_name": tool, "tool_input": {"a": [1, "x"]}}
            sent |= {"generation_id": "g", "conversation_id": "c"} if agent == "cursor" else {}
            ids.add(dialect(agent).parse(sent, event).call)
        assert len(ids) == 1, agent
        assert ids != {""}, agent
