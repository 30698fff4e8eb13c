"""Real repositories with real hooks and git commands."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import dibs as dibs_package
from dibs.cli import main


class Clone:
    """A working tree, in which git runs as an agent or as a human."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def run(self, *words: str, agent: str = "", given: str | None = None, **variables: str):
        """Run git and return the result, whether it succeeded or not."""
        environ = {**os.environ, **variables}
        if agent:
            environ["DIBS_AGENT"] = agent
        return subprocess.run(
            ["git", *words],
            cwd=self.root,
            env=environ,
            input=given,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            check=False,
        )

    def git(self, *words: str, agent: str = "", **options: str) -> str:
        """Run git, which must succeed."""
        done = self.run(*words, agent=agent, **options)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def refused(self, *words: str, agent: str = "", **options: str) -> str:
        """Run git, which must be refused without moving a branch; return its error output."""
        before = self.refs()
        done = self.run(*words, agent=agent, **options)
        assert done.returncode != 0, done.stdout + done.stderr
        assert "dibs:" in done.stderr
        assert self.refs() == before
        return done.stderr

    def refs(self) -> str:
        return self.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads")

    def write(self, path: str, text: str = "") -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text or os.urandom(8).hex())

    def edit(self, *paths: str) -> None:
        """Change files and stage them."""
        for path in paths:
            self.write(path)
        self.git("add", "--all")

    def commit(self, *paths: str, agent: str = "") -> str:
        """Change files and commit them, which must be allowed."""
        self.edit(*paths)
        self.git("commit", "-q", "-m", "work", agent=agent)
        return self.git("rev-parse", "HEAD")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch, tmp_path):
    for name in list(os.environ):
        if name.startswith(("DIBS_", "GIT_")) or name in {"NO_COLOR", "COLUMNS"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv("PYTHONPATH", str(Path(dibs_package.__file__).parents[1]))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    (tmp_path / "gitconfig").write_text(
        "[user]\n\tname = Someone\n\temail = someone@example.com\n"
        '[init]\n\tdefaultBranch = main\n[protocol "file"]\n\tallow = always\n'
    )


@pytest.fixture
def plain(tmp_path, monkeypatch):
    """A repository with two files, without our hooks, as the current folder."""
    root = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    clone = Clone(root)
    monkeypatch.chdir(root)
    clone.commit("a.txt", "b.txt")
    return clone


@pytest.fixture
def dibs(plain, capsys):
    """Run a command in this process, as an agent or as a human; it must succeed."""

    def call(*words: str, agent: str = "", status: int = 0) -> str:
        capsys.readouterr()
        found = main([*words, *(["--agent", agent] if agent else [])])
        out, err = capsys.readouterr()
        assert found == status, out + err
        return out

    return call


@pytest.fixture
def repo(plain, dibs):
    """The same with our hooks; alice holds ``a.txt``."""
    dibs("git", "install")
    dibs("claim", "a.txt", "--reason", "rework it", agent="alice")
    return plain


@pytest.fixture
def apart(plain, dibs, tmp_path, monkeypatch):
    """The same with our hooks; alice claims files in another worktree."""
    dibs("git", "install")
    other = tmp_path / "alice"
    plain.git("worktree", "add", "-q", "--detach", str(other))

    def claim(*paths: str) -> None:
        monkeypatch.chdir(other)
        dibs("claim", *paths, agent="alice")
        monkeypatch.chdir(plain.root)

    plain.claim = claim
    return plain
