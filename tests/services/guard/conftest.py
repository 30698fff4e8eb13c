"""The repository with guarded sessions, and a process that a session runs in."""

from __future__ import annotations

import subprocess

import pytest
from tests.services.guards import Guarded


@pytest.fixture
def guarded(tmp_path, own_git):
    return Guarded(tmp_path / "repo")


@pytest.fixture
def process():
    """A process that a session runs in."""
    child = subprocess.Popen(["sleep", "600"])
    yield child
    child.kill()
    child.wait()
