"""Special files where Dibs or git expects regular ones: every command ends soon, with one line."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.soak import effort

PROGRAM = Path(sys.executable).with_name("dibs")
#: Long enough for a busy machine, and much shorter than waiting for a FIFO: that never ends.
LIMIT = 60.0

IN_GIT = (
    *("config", "HEAD", "index", "packed-refs", "info/exclude", "info/attributes", "FETCH_HEAD"),
    *("refs/heads/main", "config.worktree", "commondir", "logs/refs/stash", "hooks/pre-commit"),
    *("MERGE_HEAD", "CHERRY_PICK_HEAD", "ORIG_HEAD", "refs/stash", "info/grafts"),
)
IN_STATE = (
    "clone",
    "committed-settings.json",
    "dibs.db",
    "dibs.db.gate",
    "engine.json",
    "project.json",
    "wiring/manifest.json",
)
IN_TREE = (
    *(
        "dibs.toml",
        ".gitignore",
        ".gitattributes",
        "AGENTS.md",
        "CLAUDE.md",
        "GEMINI.md",
        ".mcp.json",
    ),
    *(".claude/settings.json", ".claude/settings.local.json", ".codex/hooks.json", "opencode.json"),
    *(".opencode/plugin/dibs.js", ".gemini/settings.json", "crew.toml", "package.json", "a.txt"),
    *("work/backlog/a.yml", "work/agents.yml"),
)
PLACES = (
    *(f".git/{name}" for name in IN_GIT),
    *(f".git/dibs/{name}" for name in IN_STATE),
    *IN_TREE,
)
COMMANDS = (
    ("init", "--yes", "--agents", "claude,codex,opencode"),
    ("doctor",),
    ("claim", "a.txt", "--agent", "ann"),
    ("commit", "-m", "mine", "--agent", "ann"),
    ("hook", "claude"),
    ("status",),
    ("changes",),
    ("git", "install"),
)
#: Done, held, nothing there, input, unavailable, not allowed, settings; a hook blocks with 2.
STATUSES = {0, 2, 3, 6, 65, 69, 75, 77, 78}


def _fifo(path):
    os.mkfifo(path)


def _device(path):
    path.symlink_to("/dev/zero")


def _loop(path):
    path.symlink_to(path.name)


def _socket(path):
    here = os.getcwd()
    os.chdir(path.parent)  # the name of a socket must be short
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    finally:
        os.chdir(here)


def _folder(path):
    path.mkdir()


KINDS = {"fifo": _fifo, "device": _device, "loop": _loop, "socket": _socket, "folder": _folder}


@pytest.fixture
def ready(hostile, tmp_path, monkeypatch):
    """The repository after init, with a claim and a change."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert run(hostile.root, *COMMANDS[0]).returncode == 0
    assert run(hostile.root, *COMMANDS[2]).returncode == 0
    hostile.write("a.txt", "changed\n")
    return hostile


def run(root, *words):
    call = {
        "session_id": "s", "cwd": str(root), "hook_event_name": "PreToolUse", "tool_name": "Write",
        "tool_input": {"file_path": str(root / "a.txt"), "content": "x"},
    }  # fmt: skip
    return subprocess.run(
        [PROGRAM, *words], cwd=root, input=json.dumps(call), capture_output=True, text=True,
        timeout=LIMIT, check=False,
    )  # fmt: skip


def plant(root, place, kind):
    path = root / place
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    KINDS[kind](path)


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        *(("fifo", place) for place in effort(PLACES[::4], PLACES)),
        *(("device", place) for place in effort(("dibs.toml",), PLACES[:2] + IN_TREE[:1])),
    ],
)
def test_no_command_waits_for_a_file_that_never_ends(ready, tmp_path, place, kind):
    plant(ready.root, place, kind)

    for words in COMMANDS:
        done = run(ready.root, *words)
        assert done.returncode in STATUSES, (words, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        if done.returncode not in {0, 3} and words[0] not in {"hook", "doctor"}:
            assert len(done.stderr.splitlines()) <= 1 or words[0] == "git", done.stderr


@pytest.mark.parametrize("kind", ["loop", "socket", "folder"])
@pytest.mark.parametrize("words", effort(COMMANDS[1::3], COMMANDS), ids=" ".join)
def test_a_loop_a_socket_or_a_folder_in_place_of_a_file_gives_no_traceback(ready, kind, words):
    for place in ("dibs.toml", ".gitignore", ".claude/settings.json", "AGENTS.md", ".mcp.json"):
        plant(ready.root, place, kind)

    done = run(ready.root, *words)

    assert done.returncode in STATUSES, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "name", effort(["", "dibs.db"], ["", "wiring", "hooks", "sessions", "dibs.db", "engine.json"])
)
@pytest.mark.parametrize("words", [COMMANDS[0], ("git", "install"), ("doctor",)], ids=" ".join)
def test_a_link_in_place_of_the_state_or_in_it_is_refused_before_a_write(
    ready, tmp_path, name, words
):
    outside = tmp_path / "outside"
    place = ready.root / ".git" / "dibs" / name
    if place.exists():
        shutil.move(place, outside)
    else:
        outside.mkdir()
    before = {path: path.stat().st_mtime_ns for path in (outside, *outside.rglob("*"))}
    place.symlink_to(outside)

    done = run(ready.root, *words)

    assert done.returncode == 78, (done.stdout, done.stderr)
    assert {path: path.stat().st_mtime_ns for path in (outside, *outside.rglob("*"))} == before


@pytest.mark.parametrize("how", ["link", "file"])
def test_a_git_directory_of_another_working_tree_is_refused(ready, tmp_path, how, monkeypatch):
    thief = tmp_path / "thief"
    thief.mkdir()
    if how == "link":
        (thief / ".git").symlink_to(ready.root / ".git")
    else:
        (thief / ".git").write_text(f"gitdir: {ready.root / '.git'}\n")

    for words in (
        ("claim", "b.txt", "--agent", "ann"),
        ("init", "--yes"),
        ("status",),
        ("doctor",),
    ):
        done = run(thief, *words)
        assert done.returncode == 78, (words, done.stdout, done.stderr)
        assert "points to the git directory of" in done.stderr
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("where", ["local", "worktree"])
@pytest.mark.parametrize(
    "words",
    [
        COMMANDS[0],
        ("claim", "b.txt"),
        ("git", "install"),
        COMMANDS[3],
        ("changes",),
        ("diff",),
        ("doctor",),
    ],
    ids=" ".join,
)
def test_a_core_worktree_elsewhere_is_refused(ready, tmp_path, where, words):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if where == "worktree":
        ready.git("config", "extensions.worktreeConfig", "true")
    ready.git("config", f"--{where}", "core.worktree", str(elsewhere))

    done = run(ready.root, *words)

    problem = 65 if words == ("doctor",) else 78  # the doctor reports it with everything else
    assert done.returncode == problem, (done.stdout, done.stderr)
    assert "core.worktree points to" in done.stdout + done.stderr
    assert os.listdir(elsewhere) == []


@pytest.mark.parametrize("words", [COMMANDS[0], ("changes",)], ids=" ".join)
def test_a_core_worktree_above_the_repository_is_refused(ready, words):
    ready.git("config", "core.worktree", str(ready.root.parent))

    done = run(ready.root, *words)

    assert done.returncode == 78, (done.stdout, done.stderr)
    assert "core.worktree points to" in done.stdout + done.stderr
