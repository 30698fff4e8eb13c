"""A repository that an earlier version initialized keeps working.

``data/set-up-by-0.1.0.json`` contains the files that ``dibs init --agents claude`` of 0.1.0 wrote, and a
store in use. Placeholders replace paths of the installation; times are shifted so that the store is recent.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

import dibs

RECORDED = json.loads((Path(__file__).parent / "data" / "set-up-by-0.1.0.json").read_text("utf-8"))
#: A time shortly before the store was recorded.
RECORDED_AT = 1794814970.0
TASK = "2026-11-16T0742-any-write-docs"


@pytest.fixture
def repo(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith(("GIT_", "DIBS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    root = tmp_path / "repo"
    run(tmp_path, "git", "init", "-q", "-b", "main", str(root))
    run(root, "git", "config", "user.name", "a")
    run(root, "git", "config", "user.email", "a@example.com")
    for name in ("src/a.py", "src/b.py"):
        write(root / name, "1\n")
    run(root, "git", "add", "src")
    run(root, "git", "commit", "-q", "-m", "one")
    restore_files(root)
    restore_store(root / ".git" / "dibs" / "dibs.db")
    return root


def restore_files(root: Path) -> None:
    """Write the recorded files for this installation, with matching digests."""
    source = str(Path(dibs.__file__).parents[1])
    sites = [path for path in sys.path if path.endswith("site-packages")]
    known = {
        "@PYTHON@": sys.executable,
        "@SOURCE@": source,
        "@SITE@": sites[0],
        "@ROOT@": str(root),
    }
    for name, lines in RECORDED["files"].items():
        text = re.sub("@[A-Z]+@", lambda found: known[found[0]], "\n".join(lines))
        if name.startswith(".git/hooks/"):
            head, mark, body = text.split("\n", 2)
            digest = hashlib.sha256(body.encode()).hexdigest()[:16]
            text = "\n".join((head, re.sub(r"\(\w+\)$", f"({digest})", mark), body))
        write(root / name, text)
        (root / name).chmod(0o755 if name.startswith(".git/hooks/") else 0o644)
    manifest = root / ".git" / "dibs" / "wiring" / "manifest.json"
    record = json.loads(manifest.read_text())
    for name, entry in record["files"].items():
        entry[1] = hashlib.sha256((root / name).read_bytes()).hexdigest()
    manifest.write_text(json.dumps(record, indent=1))


def restore_store(path: Path) -> None:
    shift = time.time() - RECORDED_AT
    sql = re.sub(
        r"17948\d{5}(\.\d+)?", lambda at: repr(float(at[0]) + shift), "\n".join(RECORDED["store"])
    )
    with sqlite3.connect(path) as store:
        store.executescript(sql)
    path.chmod(0o600)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def run(root, *words, agent="bob", given="", status=0):
    people = {"DIBS_AGENT": agent, "PYTHONPATH": str(Path(dibs.__file__).parents[1])}
    done = subprocess.run(
        words, cwd=root, input=given, capture_output=True, text=True, check=False,
        env={**os.environ, **people},
    )  # fmt: skip
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def dibs_json(root, *words, agent="bob"):
    return json.loads(run(root, sys.executable, "-m", "dibs", *words, "--json", agent=agent))


def call_hook(root, path, session):
    """Run the command that the recorded Claude Code settings contain for an edit."""
    settings = json.loads((root / ".claude" / "settings.local.json").read_text())
    command = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    call = {
        "session_id": session, "cwd": str(root), "hook_event_name": "PreToolUse",
        "tool_name": "Write", "tool_input": {"file_path": str(root / path), "content": "x"},
    }  # fmt: skip
    return run(root, *shlex.split(command.removesuffix(" || exit 2")), given=json.dumps(call))


def test_claims_tasks_messages_and_decisions_are_still_there(repo):
    status = dibs_json(repo, "status")
    held = {claim["pattern"]: claim["agent"] for claim in status["claims"]}

    assert held == {"src/a.py": "alice", "docs/**": "carol", f"task:{TASK}": "alice"}
    assert [task["id"] for task in dibs_json(repo, "task", "ls")["tasks"]] == [TASK]
    assert "hello" in json.dumps(dibs_json(repo, "inbox", agent="alice"))
    assert "snake_case" in json.dumps(dibs_json(repo, "decide", "ls"))


def test_a_task_taken_before_the_upgrade_can_be_finished(repo):
    run(repo, sys.executable, "-m", "dibs", "task", "done", TASK, agent="alice")

    assert dibs_json(repo, "task", "show", TASK)["task"]["state"] == "done"


def test_the_recorded_agent_hook_blocks_an_edit_of_a_claimed_file(repo):
    assert '"deny"' in call_hook(repo, "src/a.py", "session-of-bob")
    assert '"deny"' not in call_hook(repo, "src/b.py", "session-of-bob")


def test_the_recorded_git_hooks_refuse_a_commit_of_a_claimed_file(repo):
    write(repo / "src" / "a.py", "2\n")
    write(repo / "src" / "b.py", "2\n")

    run(repo, "git", "commit", "-q", "-m", "theirs", "src/a.py", status=1)
    run(repo, "git", "commit", "-q", "-m", "free", "src/b.py")

    assert run(repo, "git", "log", "--format=%s").split() == ["free", "one"]


def test_a_second_init_recognizes_the_recorded_files(repo):
    run(repo, sys.executable, "-m", "dibs", "init", "--agents", "claude", "--yes", agent="")

    settings = (repo / ".claude" / "settings.local.json").read_text()
    assert settings.count("guard/run.py claude || eval ") == 1
    assert settings.count("guard/run.py claude || exit 2") == 0


def test_uninstall_removes_the_recorded_files(repo):
    run(repo, sys.executable, "-m", "dibs", "init", "--uninstall", "--yes", agent="")

    assert not (repo / ".claude").exists()
    assert not (repo / ".mcp.json").exists()
    assert not (repo / "AGENTS.md").exists()
    hooks = (repo / ".git" / "hooks").iterdir()
    assert [hook.name for hook in hooks if hook.suffix != ".sample"] == []
