"""No history of claims breaks a guarantee: each result and each listing is compared with an oracle."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from proof_judge import Judge
from proof_oracle import POOL, overlap
from proof_world import Step, World, histories
from tests.soak import HISTORIES

from dibs.core.patterns import pattern
from dibs.engines.memory import MemoryEngine
from dibs.testing import ManualClock


def play(history: list[Step]) -> Judge:
    clock = ManualClock(1_000_000.0)
    judge = Judge(World(MemoryEngine(clock), clock))
    for step in history:
        judge.follow(step)
    return judge


def test_the_universe_has_a_witness_for_every_overlap_in_the_pool():
    for one in POOL:
        for other in POOL:
            exact = pattern.overlap(pattern.parse(one), pattern.parse(other)) is not None

            assert exact == overlap(one, other), f"{one} and {other}"


@pytest.mark.timeout(1_200)  # a failing history is shrunk before it is shown
@settings(HISTORIES)
@given(histories)
def test_no_history_breaks_a_guarantee(history: list[Step]):
    play(history)
