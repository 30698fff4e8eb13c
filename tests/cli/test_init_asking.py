"""``dibs init``: the optional packages of the MCP server, and what a user is asked on a terminal."""

import contextlib
import json
import os
import pty
import subprocess
import sys

import pytest


@pytest.fixture
def no_extra(repo, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("dibs.cli.commands.mcp.has_extra", lambda: False)
    return repo


def test_a_server_that_could_not_start_is_not_registered_and_a_note_says_why(no_extra, dibs):
    answer = dibs("init", "--agents", "claude,codex,gemini,opencode,cursor,vscode")

    assert "note: no MCP server; to add it, install dibs[mcp] and run `dibs init`" in answer.out
    assert dibs("doctor", "--json").json["agents"]
    assert all(not agent["mcp"] for agent in dibs("doctor", "--json").json["agents"])
    assert not (no_extra / ".mcp.json").exists()


@pytest.mark.parametrize("agent", ["claude", "codex", "cursor", "vscode"])
def test_without_the_server_no_text_but_the_note_mentions_mcp(no_extra, dibs, agent):
    out = dibs("init", "--agents", agent).out

    assert [line for line in out.splitlines() if "MCP" in line] == [
        "note: no MCP server; to add it, install dibs[mcp] and run `dibs init` again"
    ]
    for page in ("AGENTS.md", ".claude/skills/dibs/SKILL.md", ".agents/skills/dibs/SKILL.md"):
        path = no_extra / page
        assert not path.exists() or "MCP" not in path.read_text()


def test_a_later_init_with_the_extra_registers_the_server(no_extra, dibs, monkeypatch):
    dibs("init", "--agents", "claude")
    monkeypatch.setattr("dibs.cli.commands.mcp.has_extra", lambda: True)

    answer = dibs("init", "--agents", "claude")

    assert "note" not in answer.out
    assert "dibs" in json.loads((no_extra / ".mcp.json").read_text())["mcpServers"]


@pytest.fixture
def terminal(repo, tmp_path):
    """Return a function that runs ``dibs init`` on a terminal, and returns its status and what it says."""
    home = {
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.environ["PYTHONPATH"],
    }

    def run(*words, typed):
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "dibs", "init", *words]
        asked = subprocess.Popen(command, env=home, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        os.write(ours, typed)
        said = b""
        with contextlib.suppress(OSError):  # the process closed its terminal
            while part := os.read(ours, 4096):
                said += part
        os.close(ours)
        return asked.wait(), said.decode()

    return run


def test_the_question_before_uninstall_mentions_the_git_hooks(repo, dibs, terminal):
    dibs("init", "--agents", "claude")

    status, said = terminal("--uninstall", typed=b"no\n")

    assert status == 3
    assert "git hooks" in said.partition("remove this?")[0]
    assert (repo / ".git" / "hooks" / "pre-commit").exists()


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_init_asks_whether_what_dibs_toml_starts_by_itself_may_run(repo, dibs, terminal, answer):
    dibs("init", "--agents", "none")
    (repo / "dibs.toml").write_text('[merge]\ntest = "make test"\n')
    said = dibs("init", "--agents", "none")
    assert "  merge.test: make test\n" in said.err
    assert "a human can accept it: dibs init" in said.err

    status, told = terminal("--agents", "none", typed=f"{answer}\n".encode())

    assert status == 0
    assert "merge.test: make test" in told.partition("let it run? [y/N]")[0]
    waits = "make test" in dibs("init", "--agents", "none").err
    assert waits == (answer == "no")


def test_an_agent_cannot_accept_what_dibs_toml_starts_by_itself(repo, dibs):
    (repo / "dibs.toml").write_text('[merge]\ntest = "make test"\n')

    dibs("init", "--agents", "none", "--yes", agent="mallory")

    assert "make test" in dibs("init", "--agents", "none").err
