"""No call of another MCP server's tool changes another agent's file unnoticed, and no read is blocked."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from proof_mcp_calls import BLOCKED, DETECTED, HARMLESS, filled

from dibs.guard.agents.program import answer
from dibs.project.project import create, open_project

GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgSign=false")
WORK = "half done by the owner\n"


class Tree:
    """A repository in which alice holds ``src/a.py`` and ``src/n.ipynb``, half done."""

    def __init__(self, root) -> None:
        self.root = root
        self.calls = 0
        subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
        for path in ("src/a.py", "src/n.ipynb", "docs/guide.md", "free.py", "writer.py"):
            self.write(path, "old\n")
        os.symlink("src/a.py", root / "link.py")
        self.commit()
        self.git("branch", "older")
        self.git("switch", "-q", "-c", "side")
        self.write("src/a.py", "side\n")
        self.commit()
        self.git("switch", "-q", "main")
        self.write("src/a.py", "new\n")
        self.commit()
        create(str(root))[0].close()
        for path in ("src/a.py", "src/n.ipynb"):
            assert not self.before("alice", "Write", {"file_path": str(root / path)}, "a")
            self.write(path, WORK)
            self.hook("PostToolUse", "alice", "Write", {"file_path": str(root / path)}, "a")

    def git(self, *words):
        subprocess.run([*GIT, *words], cwd=self.root, check=True, capture_output=True)

    def write(self, path, text):
        (self.root / path).parent.mkdir(exist_ok=True)
        (self.root / path).write_text(text)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x")

    def hook(self, event, session, tool, given, call, agent="claude", **more):
        sent = {
            "session_id": session, "cwd": str(self.root), "hook_event_name": event, "tool_name": tool,
            "tool_input": given, "tool_use_id": call, **more,
        }  # fmt: skip
        words, given = (agent,), json.dumps({k: v for k, v in sent.items() if v}).encode()
        said, confirm = answer(words, given, os.environ, str(self.root), os.getpid())
        if confirm is not None:
            confirm()
        assert said.status == 0, (tool, said)
        return said.stdout

    def before(self, session, tool, given, call, **more):
        """Return why a call is blocked; empty if it is not."""
        said = self.hook("PreToolUse", session, tool, given, call, **more)
        return said if '"deny"' in said else ""

    def after(self, session, tool, given, call, **more):
        return self.hook("PostToolUse", session, tool, given, call, **more)

    def claims(self):
        """Return what bob holds."""
        project = open_project(str(self.root))
        try:
            found = project.overview("claude-bob").claims
            return [held.claim.pattern for held in found if held.claim.agent == "claude-bob"]
        finally:
            project.close()

    def entries(self, kind):
        project = open_project(str(self.root))
        try:
            return [one for one in project.history.entries() if one.kind == kind]
        finally:
            project.close()


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        for variable in list(os.environ):
            if variable.startswith(("DIBS_", "CLAUDE", "COPILOT")):
                patch.delenv(variable)
        yield Tree(tmp_path_factory.mktemp("mcp").resolve() / "repo")


def test_there_are_at_least_fifty_writes_and_sixty_harmless_calls():
    assert len({repr(call) for call in (*BLOCKED, *DETECTED)}) >= 90
    assert len({repr(call) for call in HARMLESS}) >= 80


def test_every_write_that_shows_its_file_is_blocked(tree):
    passed = []
    for number, (tool, given) in enumerate(BLOCKED):
        said = tree.before("bob", tool, filled(given, str(tree.root)), f"b{number}")
        if "claude-alice" not in said:
            passed.append(f"{tool} {given}: {said or 'passed'}")
        tree.after("bob", tool, filled(given, str(tree.root)), f"b{number}")
    if passed:
        pytest.fail("\n".join(passed))
    assert tree.claims() == []


@pytest.mark.parametrize("call", DETECTED, ids=lambda call: call[0])
def test_every_other_write_is_detected_reported_to_both_and_the_old_content_saved(tree, call):
    tool, given = call
    given = filled(given, str(tree.root))
    tree.calls += 1
    work = f"{WORK}{tree.calls}\n"
    tree.before("alice", "Write", {"file_path": str(tree.root / "src/a.py")}, "a")
    tree.write("src/a.py", work)
    tree.after("alice", "Write", {"file_path": str(tree.root / "src/a.py")}, "a")
    assert not tree.before("bob", tool, given, f"d{tree.calls}")

    tree.write("src/a.py", f"stolen {tree.calls}\n")
    told = tree.after("bob", tool, given, f"d{tree.calls}")

    assert "src/a.py, which claude-alice holds" in told
    refs = subprocess.run(
        ["git", "for-each-ref", "--format=%(refname)", "refs/salvage/claude-alice/"],
        cwd=tree.root, check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    kept = [
        subprocess.run(["git", "show", f"{ref}:src/a.py"], cwd=tree.root, capture_output=True, text=True,
                       check=False).stdout
        for ref in refs
    ]  # fmt: skip
    assert work in kept
    heard = tree.hook("UserPromptSubmit", "alice", "", {}, "", prompt="go on")
    assert "claude-bob" in heard
    assert "src/a.py" in heard
    assert tree.claims() == []
    tree.write("src/a.py", WORK)


def test_no_harmless_call_is_blocked_or_claims_anything(tree):
    wrong = []
    for number, (tool, given) in enumerate(HARMLESS):
        filled_in = filled(given, str(tree.root))
        said = tree.before("bob", tool, filled_in, f"h{number}")
        told = tree.after("bob", tool, filled_in, f"h{number}")
        taken = tree.claims()
        if said or "holds" in told or taken:
            wrong.append(f"{tool} {given}: {said or told or taken}")
    if wrong:
        pytest.fail("\n".join(wrong))
