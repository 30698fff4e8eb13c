"""Profiles and repositories for the proofs: fixed in every run, larger with ``DIBS_PROOF=long``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

from proof_crew import Repo

LONG = os.environ.get("DIBS_PROOF") == "long"

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]

settings.register_profile(
    "proof",
    max_examples=5_000 if LONG else 300,
    derandomize=not LONG,
    deadline=None,
    print_blob=True,
    suppress_health_check=_QUIET,
)


@pytest.fixture
def proof() -> settings:
    """Return the settings of a proof."""
    return settings.get_profile("proof")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Return a fresh git repository with a few files."""
    return Repo.make(tmp_path / "repo")
