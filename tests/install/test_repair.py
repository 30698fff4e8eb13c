"""``dibs init`` repairs every entry that it wrote, whatever was done to the file."""

from __future__ import annotations

import os
import subprocess

import pytest

from dibs.cli import main
from dibs.guard.git.install import GitHooks
from dibs.install.agents.table import AGENTS
from dibs.local.repository import find

INIT = ["init", "--yes", "--agents", ",".join(AGENTS)]


@pytest.fixture
def ready(tmp_path, monkeypatch):
    """A repository that is set up for all agents; returns each file that guards them, with its content."""
    for name in list(os.environ):
        if name.startswith(("DIBS_", "GIT_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    root = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    monkeypatch.chdir(root)
    assert main(INIT) == 0
    places = [path for path in root.rglob("*") if path.is_file() and ".git/" not in str(path)]
    hooks = [path for path in root.glob(".git/hooks/*") if path.suffix != ".sample"]
    return {path: path.read_bytes() for path in (*places, *hooks) if path.name != "dibs.toml"}


def emptied(path):
    path.write_text("{}\n" if path.suffix == ".json" else "")


@pytest.mark.parametrize("damage", [os.unlink, emptied], ids=["deleted", "emptied"])
def test_init_repairs_every_file_that_it_wrote(ready, damage):
    for path in ready:
        damage(path)

    assert main(INIT) == 0

    assert {path: path.read_bytes() for path in ready if path.exists()} == ready


@pytest.mark.parametrize(
    "words", ["config core.hooksPath /dev/null", "config core.hooksPath .husky"]
)
def test_init_repairs_the_git_hooks_after_a_change_of_their_path(ready, words):
    subprocess.run(["git", *words.split()], check=True)

    assert main(INIT) == 0

    repository = find("", {})
    hooks = GitHooks(repository.common, repository.state)
    assert all(hook.installed and hook.current for hook in hooks.look())


def test_init_makes_git_hooks_executable_again(ready):
    for path in ready:
        if path.parent.name == "hooks" and ".git/" in str(path):
            path.chmod(0o644)

    assert main(INIT) == 0

    repository = find("", {})
    assert all(hook.installed for hook in GitHooks(repository.common, repository.state).look())
