"""An environment without the tester's own git configuration."""

from __future__ import annotations

import os

import pytest
from tests.git.hostile import Hostile


@pytest.fixture(autouse=True)
def clean_environment(tmp_path_factory, monkeypatch):
    for name in list(os.environ):
        if name.startswith(("DIBS_", "GIT_")):
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    (home / "gitconfig").write_text("[user]\n\tname = T\n\temail = t@example.org\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """A repository with nothing planted yet, as the current folder."""
    repo = Hostile(tmp_path / "hostile repo", tmp_path / "canaries")
    monkeypatch.chdir(repo.root)
    return repo
