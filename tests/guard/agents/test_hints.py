"""Every command that a hook suggests works when an agent pastes it in that situation."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys

import pytest

from dibs.guard.agents.program import answer

GIT = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


class Crew:
    """Guarded sessions in one repository; each can run commands under its own name.

    They have no process: with that of the tests, all commands would belong to the session that came last.
    """

    def __init__(self, root):
        self.root = root

    def hook(self, session, event, **fields):
        """Run a hook of a session; return what it prints."""
        sent = {"session_id": session, "cwd": str(self.root), "hook_event_name": event, **fields}
        environ = {**os.environ, "DIBS_AGENT": session}
        given = json.dumps(sent).encode()
        return answer(("claude",), given, environ, str(self.root), process=0)[0].stdout

    def codex(self, session, command):
        """Return why a command of a Codex session is blocked; empty if it is not."""
        shell = {"tool_name": "Bash", "tool_input": {"command": command}}
        said = self.hook(session, "PreToolUse", turn_id="1", model="m", **shell)
        return (
            json.loads(said)["hookSpecificOutput"].get("permissionDecisionReason", "")
            if said
            else ""
        )

    def edit(self, session, path):
        """Return why an edit is blocked, empty if it is not; write the file if it is not."""
        path = self.root / path
        said = self.hook(
            session, "PreToolUse", tool_name="Write", tool_input={"file_path": str(path)}
        )
        if said:
            return json.loads(said)["hookSpecificOutput"].get("permissionDecisionReason", "")
        path.parent.mkdir(exist_ok=True)
        path.write_text(session)
        return ""

    def start(self, agent, command):
        environ = {
            **os.environ,
            **GIT,
            "DIBS_AGENT": agent,
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        words = [sys.executable, "-m", "dibs", *shlex.split(command)[1:]]
        return subprocess.Popen(
            words, cwd=self.root, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )  # fmt: skip

    def run(self, agent, command):
        return finished(self.start(agent, command))


@pytest.fixture
def crew(tmp_path, monkeypatch):
    root = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for variable in list(os.environ):
        if variable.startswith(("DIBS_", "CLAUDE", "COPILOT")):
            monkeypatch.delenv(variable)
    found = Crew(root)
    found.run("bob", "dibs init")
    return found


def finished(process):
    """Return what a process printed; it must succeed."""
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 0, said
    return said


def commands(text):
    return re.findall("`(dibs [^`]*)`", text)


def test_an_agent_whose_edit_is_blocked_can_paste_the_request_and_the_wait(crew):
    crew.edit("bob", "held.txt")

    request, wait = commands(crew.edit("alice", "held.txt"))

    assert "bob" in crew.run("alice", request)
    waiting = crew.start("alice", wait)
    crew.run("bob", "dibs release held.txt")
    finished(waiting)
    assert crew.edit("alice", "held.txt") == ""


def test_a_glob_in_a_hint_is_quoted_for_the_shell(crew):
    crew.run("bob", "dibs claim 'src/**'")
    (crew.root / "src").mkdir()

    request, _ = commands(crew.hook(
        "alice", "PreToolUse", tool_name="Bash", tool_input={"command": "rm -rf ."}
    ))  # fmt: skip

    assert request == "dibs ask 'src/**'"
    assert "bob" in crew.run("alice", request)


def test_a_path_that_is_only_waited_for_is_not_requested(crew):
    crew.edit("bob", "a.txt")
    crew.edit("carol", "b.txt")
    waiting = crew.start("alice", "dibs claim a.txt b.txt --wait 60")
    while waiting.poll() is None and "alice" not in crew.run("bob", "dibs status"):
        pass
    crew.run("bob", "dibs release a.txt")

    blocked = crew.edit("dave", "a.txt")

    assert "- a.txt: alice is ahead of you in the queue\n" in blocked
    assert commands(blocked) == ["dibs claim a.txt --wait 5m"]
    later = crew.start("dave", commands(blocked)[0])
    crew.run("carol", "dibs release b.txt")
    finished(waiting)
    crew.run("alice", "dibs release --all")
    finished(later)


def test_an_agent_that_must_claim_first_can_paste_the_claim(crew):
    (crew.root / "dibs.toml").write_text('[guard]\nauto_claim = "off"\n')

    (claim,) = commands(crew.edit("alice", "a.txt"))
    crew.run("alice", claim)

    assert crew.edit("alice", "a.txt") == ""


def test_an_agent_with_uncommitted_files_can_paste_the_commit_and_the_release(crew):
    crew.edit("alice", "a.txt")
    crew.edit("alice", "b.txt")

    commit, release = commands(json.loads(crew.hook("alice", "Stop"))["reason"])

    crew.run("alice", release.replace("PATH", "b.txt"))
    assert "a.txt" in crew.run("alice", commit)


def test_the_welcome_names_commands_that_work(crew):
    crew.edit("bob", "held.txt")

    ask, wait = commands(crew.hook("alice", "SessionStart", source="startup"))[:2]

    assert "bob" in crew.run("alice", ask.replace("PATH", "held.txt"))
    crew.run("alice", wait.replace("PATH", "other.txt"))


def test_a_human_can_paste_the_command_that_readmits_a_stopped_agent(crew):
    crew.edit("alice", "a.txt")
    crew.run("", "dibs agent stop alice --reason enough")
    assert "you were stopped" in crew.edit("alice", "a.txt")

    refused = crew.start("alice", "dibs claim a.txt")
    (join,) = commands(refused.communicate(timeout=60)[0])
    crew.run("", join)

    assert crew.edit("alice", "a.txt") == ""


def test_the_owner_can_paste_each_reply_to_a_release_request(crew):
    crew.edit("bob", "a.txt")
    for reply in ("no", "later --in 10m", "yes"):
        crew.run("alice", "dibs ask a.txt")

        (answer,) = commands(crew.run("bob", "dibs brief"))

        crew.run("bob", answer.replace("yes", reply))
    assert crew.edit("alice", "a.txt") == ""


def test_the_decider_can_paste_both_answers(crew):
    crew.edit("bob", "a.txt")
    for chosen in (0, 1):
        crew.run("alice", f"dibs decide new 'plan {chosen}' --confirm --by bob")

        both = commands(crew.run("bob", "dibs brief"))

        assert len(both) == 2
        crew.run("bob", both[chosen])


def test_lines_that_do_not_fit_can_be_shown_with_the_command_below_them(crew):
    for number in range(30):
        crew.run("bob", f"dibs claim docs/{number}.md")

    (peek,) = commands(crew.run("bob", "dibs brief --full --tokens 200"))

    assert "docs/9.md" in crew.run("bob", peek)


def test_codex_may_not_open_a_shell_that_it_can_type_into(crew):
    """Codex runs no hook for what it types into a running command."""
    assert "bash would wait for input" in crew.codex("alice", "bash --norc -i")
    assert crew.codex("alice", "bash -c 'ls'") == ""
    shell = {"tool_name": "Bash", "tool_input": {"command": "bash --norc -i"}}
    assert crew.hook("bob", "PreToolUse", **shell) == ""


def test_the_codex_welcome_names_the_mcp_tools(crew):
    about = {"source": "startup", "turn_id": "1", "model": "m"}

    assert "use the MCP tools of the `dibs` server" in crew.hook("alice", "SessionStart", **about)
    assert "MCP" not in crew.hook("bob", "SessionStart", source="startup")


def test_in_the_codex_sandbox_a_failed_command_names_the_mcp_tools(crew):
    """The sandbox makes the git directory read-only."""
    script = 'mount --bind .git .git && mount -o remount,bind,ro .git && exec "$@"'
    alone = ["unshare", "--mount", "sh", "-c", script, "sh"]
    if subprocess.run([*alone, "true"], check=False, cwd=crew.root, capture_output=True).returncode:
        pytest.skip("needs the right to mount")
    environ = {**os.environ, "DIBS_AGENT": "alice", "PYTHONPATH": os.pathsep.join(sys.path)}

    def claim(**more):
        words = [*alone, sys.executable, "-m", "dibs", "claim", "a.txt"]
        env = environ | more
        done = subprocess.run(
            words, check=False, cwd=crew.root, env=env, capture_output=True, text=True
        )
        assert done.returncode == 69
        return done.stderr

    assert "use the MCP tools" in claim(CODEX_SANDBOX_NETWORK_DISABLED="1")
    assert "MCP" not in claim()
