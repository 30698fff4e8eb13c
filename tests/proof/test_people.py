"""A person's uncommitted work survives what one guarded agent ordinarily does."""

from __future__ import annotations

import os
import shutil

import pytest
from tests.proof.proof_people import RUNS, Lair
from tests.soak import effort


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A lair, and a copy of it: each test gets the copy at the place of the first, which git has recorded."""
    base = tmp_path_factory.mktemp("people")
    found = Lair(base / "lair")
    found.person_works()
    assert found.missing() == {}
    shutil.copytree(base / "lair", base / "copy", symlinks=True)
    return found


@pytest.fixture
def lair(kept, monkeypatch):
    for variable in list(os.environ):
        if variable.startswith(("DIBS_", "CLAUDE", "COPILOT")):
            monkeypatch.delenv(variable)
    monkeypatch.setenv("DIBS_GUARD_DEADLINE", "8s")
    shutil.rmtree(kept.folder)
    shutil.copytree(kept.folder.with_name("copy"), kept.folder, symlinks=True)
    return kept


@pytest.mark.parametrize(
    "call", effort(RUNS[::3], RUNS), ids=lambda call: call.command or f"{call.tool} {call.path}"
)
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
