"""What ``make test`` runs a part of, and ``make soak`` all of: seeds, kill points, rounds.

``make soak`` runs the test files that import this module.
"""

from __future__ import annotations

import os
from typing import TypeVar

from hypothesis import HealthCheck, settings

SOAK = os.environ.get("DIBS_SOAK") == "1"
#: The seeds that ``make test`` runs.
FEW = 5

T = TypeVar("T")


def seeds(count: int) -> range:
    """Return the seeds to run, out of ``count``."""
    return range(count if SOAK else min(count, FEW))


def effort(test: T, soak: T) -> T:
    """Return how much to do: the first in ``make test``, the second in ``make soak``."""
    return soak if SOAK else test


#: Settings of a test whose examples are histories: the same ones in every run of ``make test``.
HISTORIES = settings(
    max_examples=effort(50, 5_000),
    derandomize=not SOAK,
    deadline=None,
    print_blob=True,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
    ],
)
