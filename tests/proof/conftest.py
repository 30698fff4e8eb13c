"""A repository for the proofs, and their helpers on the path."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from proof_crew import Repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Return a fresh git repository with a few files."""
    return Repo.make(tmp_path / "repo")
