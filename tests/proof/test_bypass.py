"""No way in the matrix gets past a claim without being stopped or caught."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
from tests.proof.proof_bypass import AFTER, BEFORE, GATE, MATRIX, WAYS, table

from dibs.cli import main
from dibs.guard.agents.program import answer
from dibs.project.project import create

DOCS = Path(__file__).parents[2] / "docs" / "explanation" / "enforcement.md"
WORK = "half done by the holder\n"
GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgSign=false")


class World:
    """A repository with another worktree and another clone; one agent holds ``src/a.py``, half done.

    All of them have the engine from the committed ``dibs.toml``: git hooks ignore an agent's own variables.
    """

    def __init__(self, folder: Path, engine: str) -> None:
        self.hub = folder / "hub.git"
        self.root, self.other, self.clone = folder / "repo", folder / "other", folder / "clone"
        self.git("init", "-q", "-b", "main", str(self.root), cwd=folder)
        self.write("dibs.toml", f'engine = "{engine}"\n')
        self.write("src/a.py", "old\n")
        self.write("src/n.ipynb", "{}")
        self.write("free.py", "a\n")
        self.commit("first")
        self.git("branch", "older")
        self.write("src/a.py", "new\n")
        self.commit("second")
        self.git("switch", "-q", "-c", "side")
        self.write("src/a.py", "side\n")
        self.commit("third")
        self.git("switch", "-q", "main")
        self.write("writer.py", "open(''.join(['src/', 'a.py']), 'w').write('x')\n")
        self.write("script", "echo x > src/a.py\n")
        self.write("script2", "git checkout -q -- src/a.py\n")
        self.write("script3", f"echo x >> src/a.py; {' '.join(GIT)} commit -qm x src/a.py\n")
        for name in ("test", "bin/date"):
            self.write(name, '#!/bin/sh\necho x >> "$1"\n')
            os.chmod(self.root / name, 0o755)
        self.write("list.txt", "src/a.py\n")
        self.write("fix.patch", "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-a\n+b\n")
        with tarfile.open(self.root / "pack.tar", "w") as packed:
            packed.add(self.root / "src/a.py", "src/a.py")
        with zipfile.ZipFile(self.root / "pack.zip", "w") as zipped:
            zipped.write(self.root / "src/a.py", "src/a.py")
        os.symlink("src/a.py", self.root / "link.py")
        self.commit("fourth")
        self.git("worktree", "add", "-q", str(self.other))
        self.git("clone", "-q", "--bare", str(self.root), str(self.hub), cwd=folder)
        self.git("remote", "add", "origin", str(self.hub))
        self.git("clone", "-q", str(self.hub), str(self.clone), cwd=folder)
        opened, _ = create(str(self.root))
        opened.close()
        os.link(self.root / "src/a.py", self.root / "hard.py")
        self.before("holder", "Edit", {"file_path": str(self.root / "src/a.py")}, passes=True)
        self.before(
            "holder", "NotebookEdit", {"notebook_path": str(self.root / "src/n.ipynb")}, passes=True
        )
        self.write("src/a.py", WORK)

    def git(self, *words: str, cwd: Path | None = None) -> str:
        done = subprocess.run([*GIT, *words], cwd=cwd or self.root, check=True, capture_output=True)
        return done.stdout.decode()

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(exist_ok=True)
        (self.root / path).write_text(text)

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def fill(self, text: str) -> str:
        """Insert this world's folders into a text."""
        for name in ("root", "other", "clone"):
            text = text.replace(f"{{{name}}}", str(getattr(self, name)))
        return text

    def hook(self, event, session, tool, given, cwd="", dialect="claude", **environ):
        """Send an event to the hook of a session; return its reply. The tests' process is not an agent's."""
        payload = {
            "session_id": session, "cwd": cwd or str(self.root), "hook_event_name": event,
            "tool_name": tool, "tool_input": given, "tool_use_id": "t1", "tool_response": {},
        }  # fmt: skip
        sent = json.dumps(payload).encode()
        said, confirm = answer((dialect,), sent, {**os.environ, **environ}, str(self.root), 0)
        if confirm is not None:
            confirm()
        assert said.status == 0, said.stderr
        return said.stdout

    def before(self, session, tool, given, *, passes, **more):
        said = self.hook("PreToolUse", session, tool, given, **more)
        assert ('"deny"' not in said) == passes, (tool, given, said)
        return said


@pytest.fixture
def world(tmp_path, monkeypatch):
    for variable in list(os.environ):
        if variable.startswith(("DIBS_", "CLAUDE", "COPILOT")):
            monkeypatch.delenv(variable)
    return World(tmp_path, f"sqlite://{tmp_path}/shared.db")


STOPPED = [way for way in WAYS if way.where.startswith(BEFORE)]
CAUGHT = [way for way in WAYS if way.where == AFTER]


def calls(way, world):
    """Yield the calls of a way, as tool and input."""
    for tool, given in way.calls:
        yield tool, {key: world.fill(value) for key, value in given.items()}
    for command in way.commands:
        yield "Bash", {"command": world.fill(command)}


@pytest.mark.parametrize("way", STOPPED, ids=lambda way: way.says)
def test_it_is_stopped_before_it_happens(world, way):
    more = {"cwd": world.fill(way.cwd), "dialect": way.dialect}
    if "same name" in way.says:
        more["DIBS_AGENT"] = "holder"
        world.before("first", "Edit", {"file_path": "x"}, passes=True, **more)
    for tool, given in calls(way, world):
        said = world.before("rival", tool, given, passes=False, **more)
        assert "claude-holder holds" in said
    assert (world.root / "src/a.py").read_text() == WORK


@pytest.mark.parametrize("way", CAUGHT, ids=lambda way: way.says)
def test_it_is_caught_after_it_happened(world, way):
    for number, (tool, given) in enumerate(calls(way, world), 1):
        work = f"{WORK}{number // 2}\n"  # some replace the same content, some do not
        with open(world.root / "src/a.py", "r+") as file:  # the same file under other names
            file.truncate()
            file.write(work)
        world.before("rival", tool, given, passes=True)
        if tool == "Bash":
            subprocess.run(["bash", "-c", given["command"]], cwd=world.root, check=True)
        else:
            Path(given.get("file_path", world.root / "src/a.py")).write_text("x")
        said = world.hook("PostToolUse", "rival", tool, given)

        assert "which claude-holder holds" in said, (given, said)
        saved = world.git("for-each-ref", "--format=%(refname)", "refs/salvage/claude-holder/")
        refs = saved.split()
        kept = [world.git("show", f"{ref}:src/a.py") for ref in refs]
        assert sorted(kept) == [f"{WORK}{one}\n" for one in range(number // 2 + 1)]


def test_a_plain_commit_is_stopped_at_the_gate(world, capfd, monkeypatch):
    monkeypatch.chdir(world.root)
    assert main(["git", "install"]) == 0
    for words in (["-am", "x"], ["--no-verify", "-am", "x"]):
        done = subprocess.run(
            [*GIT, "commit", *words], cwd=world.root, env={**os.environ, "DIBS_AGENT": "rival"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode != 0
        assert "claude-holder holds it" in done.stderr


def test_a_landed_commit_is_kept_before_the_call_and_at_the_gate(world, monkeypatch):
    monkeypatch.chdir(world.root)
    assert main(["git", "install"]) == 0
    environ = {**os.environ, "DIBS_AGENT": "rival"}
    world.git("push", "-q", "origin", "main")
    assert main(["commit", "--agent", "claude-holder", "-m", "landed"]) == 0
    assert main(["release", "--all", "--agent", "claude-holder"]) == 0
    tip = world.git("rev-parse", "main").strip()
    subprocess.run([*GIT, "push", "-q", "origin", "main"], cwd=world.root, check=True)
    for command in (
        "git reset --soft HEAD~1", "git reset -q --hard HEAD~1", "git commit --amend -m x",
        "git update-ref refs/heads/main HEAD~1", "git rebase --onto HEAD~1 HEAD",
        "git push -f origin HEAD~1:main",
    ):  # fmt: skip
        said = world.before("rival", "Bash", {"command": command}, passes=False)
        assert f"{tip[:10]} by claude-holder" in said
        done = subprocess.run(
            ["sh", "-c", f"sh -c '{command}'"], cwd=world.root, env=environ, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert f"{tip[:10]} by claude-holder" in done.stderr, (command, done)
        assert world.git("rev-parse", "main", "origin/main").split() == [tip, tip]
        world.git("reset", "-q", "--hard")  # git resets files before it asks the hook


def test_head_stays_at_the_gate_and_commits_go_to_their_branch(world, monkeypatch, capsys):
    monkeypatch.chdir(world.root)
    assert main(["git", "install"]) == 0
    environ = {**os.environ, "DIBS_AGENT": "rival"}
    for command in ("git checkout -q --detach", "git rebase -qf --autostash HEAD~1"):
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=world.root,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "claude-holder holds src/a.py" in done.stderr, done
        subprocess.run(
            [*GIT, "rebase", "--abort"], cwd=world.root, check=False, capture_output=True
        )
        assert world.git("symbolic-ref", "HEAD").strip() == "refs/heads/main"
        assert (world.root / "src/a.py").read_text() == WORK

    subprocess.run(["sh", "-c", "git switch -q -c new"], cwd=world.root, env=environ, check=False)
    capsys.readouterr()
    if world.git("symbolic-ref", "HEAD").strip() != "refs/heads/main":  # a git before 2.46
        assert main(["commit", "--agent", "claude-holder", "-m", "x"]) != 0
        said = capsys.readouterr().err
        assert "you claimed src/a.py on main, and rival checked out new since" in said
        assert main(["inbox", "--agent", "claude-holder"]) == 0
        assert "rival checked out new" in capsys.readouterr().out


def test_another_clone_is_guarded_through_git_too(tmp_path, monkeypatch):
    for variable in list(os.environ):
        if variable.startswith(("DIBS_", "CLAUDE", "COPILOT")):
            monkeypatch.delenv(variable)
    world = World(tmp_path, "git:origin")

    for tool, given in (
        ("Edit", {"file_path": str(world.clone / "src/a.py")}),
        ("Bash", {"command": "rm src/a.py"}),
    ):
        assert "claude-holder holds" in world.before(
            "rival", tool, given, passes=False, cwd=str(world.clone)
        )


def test_every_way_is_tried():
    gate = [way for way in WAYS if way.where == GATE]

    assert len(STOPPED) + len(CAUGHT) + len(gate) == len(WAYS)
    assert all(way.calls or way.commands for way in (*STOPPED, *CAUGHT))


def test_the_docs_show_the_same_rows():
    text = DOCS.read_text(encoding="utf-8")
    begin, end = (text.index(mark) for mark in MATRIX)

    assert text[begin + len(MATRIX[0]) : end].strip() == table()
