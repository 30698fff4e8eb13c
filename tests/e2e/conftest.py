"""Runs with the real agents belong to ``make e2e``: they need a download of hundreds of megabytes.

Each cell of the table in ``docs/reference/e2e.md`` is one test with one agent; the run writes down how each
ended, and ``scripts/e2e.py`` makes the table of it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.agents import KINDS

if TYPE_CHECKING:
    from tests.e2e.story import Family, Story

#: Set by ``scripts/e2e.py``: where the results go.
RESULTS = os.environ.get("DIBS_E2E_RESULTS", "")

if not RESULTS:
    collect_ignore = ["test_agents.py"]


@pytest.fixture(params=list(KINDS))
def name(request: pytest.FixtureRequest) -> str:
    """Return an agent that is installed."""
    if not KINDS[request.param].version:
        pytest.skip("not installed")
    return request.param


@pytest.fixture(scope="session")
def stories() -> dict[str, object]:
    """Keep what was told: each story is told once, and each test looks at it."""
    return {}


@pytest.fixture
def story(name: str, stories: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Return what happened when another agent held what this one wanted."""
    from tests.e2e.story import tell

    names = [each for each in KINDS if KINDS[each].version]
    other = names[names.index(name) - 1]
    return _once(
        stories, f"{other}-{name}", lambda at: tell(at, KINDS[other], KINDS[name]), tmp_path_factory
    )


@pytest.fixture
def twins(name: str, stories: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Return what happened when two of one kind were at work."""
    from tests.e2e.story import tell

    return _once(
        stories, f"{name}-{name}", lambda at: tell(at, KINDS[name], KINDS[name]), tmp_path_factory
    )


@pytest.fixture
def unguarded(
    name: str, stories: dict[str, object], tmp_path_factory: pytest.TempPathFactory
) -> Story:
    """Return what happened where Dibs was not."""
    from tests.e2e.story import tell_without_dibs

    return _once(
        stories, f"{name}-alone", lambda at: tell_without_dibs(at, KINDS[name]), tmp_path_factory
    )


@pytest.fixture
def family(
    name: str, stories: dict[str, object], tmp_path_factory: pytest.TempPathFactory
) -> Family:
    """Return what happened when an agent started a subagent."""
    from tests.e2e.story import tell_family

    return _once(
        stories, f"{name}-family", lambda at: tell_family(at, KINDS[name]), tmp_path_factory
    )


def _once(stories, key, told, folders):
    """Tell a story, or say again how it failed."""
    if key not in stories:
        try:
            stories[key] = told(folders.mktemp(key) / "world")
        except Exception as error:  # noqa: BLE001  each test of it fails for this reason
            stories[key] = error
    if isinstance(stories[key], Exception):
        pytest.fail(f"the story could not be told: {stories[key]!r}")
    return stories[key]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write down how a cell of the table ended."""
    decides = report.when == "call" or report.outcome != "passed"
    if not RESULTS or not decides or "[" not in report.nodeid:
        return
    test, _, agent = report.nodeid.rpartition("::")[2].removesuffix("]").partition("[")
    why = report.longrepr[2] if report.skipped else ""
    with Path(RESULTS).open("a", encoding="utf-8") as file:
        cell = {"test": test, "agent": agent, "outcome": report.outcome, "why": why}
        file.write(json.dumps(cell) + "\n")
