"""The table of runs with real agents is complete."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from tests.e2e.agents import KINDS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "e2e.md"
TESTS = [
    test
    for name in ("test_agents.py", "test_scenes.py", "test_crew.py")
    for test in re.findall(r"(?m)^def (test_\w+)\(", (ROOT / "tests" / "e2e" / name).read_text())
]


def test_runs_with_real_agents_are_counted():
    runs = len(TESTS) * len(KINDS)
    if not os.environ.get("DIBS_E2E_RESULTS"):
        pytest.skip(f"0 of {runs} runs with real agents (run: make e2e; needs a large download)")


def test_the_table_has_a_row_for_each_test_and_a_column_for_each_agent():
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]

    assert len(rows) == 1 + len(TESTS)
    assert all(kind.title in rows[0] for kind in KINDS.values())
    assert {row.count("|") for row in rows} == {len(KINDS) + 2}


def test_each_package_is_pinned_to_one_version():
    wanted = json.loads((ROOT / "tests" / "e2e" / "package.json").read_text())["dependencies"]

    assert {kind.package for kind in KINDS.values()} == set(wanted)
    assert all(re.fullmatch(r"[0-9.]+", version) for version in wanted.values())
