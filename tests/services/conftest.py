"""Fixtures of the services' tests."""

import os

import pytest
from tests.services.merge_yard import Yard
from tests.services.several_agents import Crew


@pytest.fixture
def crew():
    return Crew()


@pytest.fixture
def own_git(monkeypatch, tmp_path):
    """Surroundings in which nothing of the tester's own configuration counts."""
    for name in [name for name in os.environ if name.startswith(("GIT_", "DIBS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def yard(tmp_path):
    """A clone with agents in worktrees of their own."""
    made = Yard(tmp_path / "yard")
    yield made
    made.close()
