"""A person's uncommitted work survives what one guarded agent ordinarily does."""

from __future__ import annotations

import os

import pytest
from tests.proof.proof_people import RUNS, Lair


@pytest.fixture
def lair(tmp_path, monkeypatch):
    for variable in list(os.environ):
        if variable.startswith(("DIBS_", "CLAUDE", "COPILOT")):
            monkeypatch.delenv(variable)
    monkeypatch.setenv("DIBS_GUARD_DEADLINE", "8s")
    found = Lair(tmp_path)
    found.person_works()
    assert found.missing() == {}
    return found


@pytest.mark.parametrize("call", RUNS, ids=lambda call: call.command or f"{call.tool} {call.path}")
def test_a_persons_uncommitted_work_survives_and_the_agent_knows(lair, call):
    before, after = lair.run(call)

    assert '"deny"' not in before
    assert lair.lost() == []
    taken = lair.missing()
    if call.takes:
        assert taken, "this command takes nothing away"
        assert "saved a copy of" in before + after
        assert "dibs salvage show" in before + after
    else:
        assert "saved a copy of" not in before + after
        assert lair.entries() == []
