"""The progress line of long commands: on a terminal only, one line, and erased at the end."""

from __future__ import annotations

import os
import pty
import subprocess
import termios

import pytest


def git(*words, cwd=None):
    subprocess.run(["git", *words], cwd=cwd, check=True, capture_output=True)


@pytest.fixture
def branch(repo, dibs, monkeypatch):
    """A repository in which zoe has a commit to merge."""
    monkeypatch.setenv("HOME", str(repo.parent))
    git("symbolic-ref", "HEAD", "refs/heads/main")
    git("config", "user.name", "Ann")
    git("config", "user.email", "ann@example.org")
    git("commit", "-q", "--allow-empty", "-m", "first")
    dibs("worktree", "new", "zoe")
    folder = dibs("worktree", "env", "zoe", "--json").json["DIBS_WORKTREE"]
    dibs("claim", "z.py", agent="zoe")
    with open(f"{folder}/z.py", "w") as file:
        file.write("1\n")
    git("add", "-A", cwd=folder)
    git("commit", "-qm", "z", cwd=folder)
    return repo


def on_terminal(start, *words, columns=40):
    """Return what a command writes to a terminal that is its standard error."""
    reader, writer = pty.openpty()
    termios.tcsetwinsize(writer, (24, columns))
    done = start(*words, stderr=writer)
    done.communicate(timeout=60)
    os.close(writer)
    shown = b""
    try:
        while piece := os.read(reader, 65536):
            shown += piece
    except OSError:  # all was read
        pass
    os.close(reader)
    return done.returncode, shown.decode()


def test_a_long_merge_shows_what_it_does_on_one_line_and_erases_it(branch, start):
    status, shown = on_terminal(start, "merge", "agent/zoe", "--test", "sleep 1.5")

    lines = shown.split("\r\x1b[K")
    assert status == 0
    assert lines[0] == "", "each line replaces the one before"
    assert lines[-1] == "", "the last one is erased"
    assert any(line.startswith("testing agent/zoe: sleep 1.5 (") for line in lines)
    assert max(map(len, lines)) < 40
    assert "\n" not in shown


@pytest.mark.parametrize("option", ["--json", "piped", "dumb"])
def test_programs_see_no_progress_line(branch, start, monkeypatch, option):
    words = ["merge", "agent/zoe", "--test", "sleep 1"]
    if option == "piped":
        done = start(*words, stderr=subprocess.PIPE)
        assert done.communicate(timeout=60)[1] in {b"", ""}
        return
    if option == "dumb":
        monkeypatch.setenv("TERM", "dumb")
    else:
        words.append(option)

    assert on_terminal(start, *words) == (0, "")


def test_the_setup_command_is_announced_before_its_output(branch, start):
    status, shown = on_terminal(start, "worktree", "new", "yan", "--setup", "echo ready")

    assert status == 0
    assert shown.replace("\r\x1b[K", "").split() == ["running", "setup:", "echo", "ready", "ready"]
