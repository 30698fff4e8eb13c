"""A project whose store is missing or was restored from a copy: everything refuses, or a new life starts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest
from tests.guard.hooking import call, environment, hook, project

from dibs.engines.shared.mark import LIFE


def dibs(folder, *words):
    return subprocess.run(
        [sys.executable, "-m", "dibs", *words],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def run_git(folder, *words):
    subprocess.run(["git", "-C", folder, *words], check=True)


@pytest.fixture
def clone(tmp_path):
    folder = project(tmp_path / "clone")
    os.unlink(folder / "dibs.toml")  # nothing but what Dibs remembers shows that it was used
    return folder


def lose_database(state):
    for name in ("dibs.db", "dibs.db-wal", "dibs.db-shm"):
        os.unlink(state / name)


def lose_marker(state):
    lose_database(state)
    os.unlink(state / "project.json")


def empty_database(state):
    lose_database(state)
    (state / "dibs.db").write_bytes(b"")


LOSSES = [lose_database, lose_marker, empty_database, shutil.rmtree]


@pytest.mark.parametrize("lose", LOSSES)
def test_a_hook_refuses_while_the_store_is_missing(clone, lose):
    lose(clone / ".git" / "dibs")

    said = hook(clone, call(clone, "held.py", "s1"))

    assert said.returncode == 2 or b'"deny"' in said.stdout
    assert b"state is missing" in said.stdout + said.stderr
    assert b"`dibs init`" in said.stdout + said.stderr
    assert not (clone / ".git" / "dibs" / "dibs.db-wal").exists()


@pytest.mark.parametrize("lose", LOSSES)
@pytest.mark.parametrize(
    "words",
    [
        ("claim", "held.py", "--agent", "eve"),
        ("commit", "-m", "x", "--agent", "eve"),
        ("status",),
        ("engine", "check"),
    ],
    ids=lambda words: words[0],
)
def test_every_command_refuses_while_the_store_is_missing(clone, lose, words):
    lose(clone / ".git" / "dibs")

    said = dibs(clone, *words)

    assert said.returncode == 78
    assert "state is missing" in said.stderr
    assert "`dibs init`" in said.stderr


@pytest.mark.parametrize("lose", LOSSES)
def test_init_starts_over_above_the_old_numbers(clone, lose):
    lose(clone / ".git" / "dibs")

    assert dibs(clone, "init", "--agents", "none", "--yes").returncode == 0
    said = dibs(clone, "claim", "held.py", "--agent", "eve", "--json")

    assert json.loads(said.stdout)["token"] > LIFE


def test_a_state_folder_restored_from_a_copy_starts_a_new_life(clone, tmp_path):
    state = clone / ".git" / "dibs"
    shutil.copytree(state, tmp_path / "copy")
    dibs(clone, "release", "held.py", "--agent", "bob")
    last = json.loads(dibs(clone, "claim", "held.py", "--agent", "eve", "--json").stdout)["token"]

    shutil.rmtree(state)
    shutil.copytree(tmp_path / "copy", state)

    assert "nothing is claimed" in dibs(clone, "status").stdout
    token = json.loads(dibs(clone, "claim", "held.py", "--agent", "ann", "--json").stdout)["token"]
    assert token > LIFE > last
    assert "new life" in dibs(clone, "log").stdout


def test_the_first_use_of_a_clone_stays_automatic(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path / "new"], check=True)

    said = dibs(tmp_path / "new", "claim", "a.py", "--agent", "eve")

    assert said.returncode == 0
    assert "granted" in said.stdout


def test_a_copy_of_the_working_tree_without_its_state_is_a_new_clone(clone, tmp_path):
    subprocess.run(["git", "clone", "-q", clone, tmp_path / "other"], check=True)

    assert dibs(tmp_path / "other", "claim", "held.py", "--agent", "eve").returncode == 0


def test_a_purge_forgets_the_mark(clone):
    dibs(clone, "release", "held.py", "--agent", "bob")

    assert dibs(clone, "init", "--uninstall", "--purge", "--yes").returncode == 0

    assert not (clone / ".git" / "dibs.mark").exists()
    assert dibs(clone, "claim", "held.py", "--agent", "eve").returncode == 0


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.symlink(f"{path}.gone", path)])
@pytest.mark.parametrize("words", [["doctor"], ["claim", "a.txt", "--new"], ["commit", "-m", "x"]])
def test_a_fifo_or_a_link_in_place_of_the_store_is_refused(tmp_path, words, make):
    root = tmp_path / "fresh"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / ".git" / "dibs").mkdir(mode=0o700)
    make(str(root / ".git" / "dibs" / "dibs.db"))

    done = dibs(root, *words)

    assert (done.returncode, done.stdout) == (78, ""), done.stderr


def test_a_claim_is_refused_if_git_works_in_another_folder(clone, tmp_path):
    run_git(clone, "config", "core.worktree", str(tmp_path))

    done = dibs(clone, "claim", "a.txt", "--new")

    assert done.returncode == 78
    assert "core.worktree points to" in done.stderr
