"""Fixtures for runs with real agents (``make e2e``), which need a download of hundreds of megabytes.

Each cell of the table in ``docs/reference/e2e.md`` is one test with one agent. The run records the outcomes,
and ``scripts/e2e.py`` writes the table.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.agents import KINDS

if TYPE_CHECKING:
    from tests.e2e.crew import CrewStory
    from tests.e2e.scenes import Scenes
    from tests.e2e.story import Family, Story

#: The file for the results, set by ``scripts/e2e.py``.
RESULTS = os.environ.get("DIBS_E2E_RESULTS", "")

if not RESULTS:
    collect_ignore = ["test_agents.py", "test_scenes.py", "test_crew.py"]


@pytest.fixture(params=list(KINDS))
def name(request: pytest.FixtureRequest) -> str:
    """Return an installed agent."""
    if not KINDS[request.param].version:
        pytest.skip("not installed")
    return request.param


@pytest.fixture(scope="session")
def stories() -> dict[str, object]:
    """Cache stories: each one runs once, and all tests check its result."""
    return {}


@pytest.fixture
def story(name: str, stories: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Return the story in which another agent holds what this one wants."""
    from tests.e2e.story import tell

    names = [each for each in KINDS if KINDS[each].version]
    other = names[names.index(name) - 1]
    return _once(
        stories, f"{other}-{name}", lambda at: tell(at, KINDS[other], KINDS[name]), tmp_path_factory
    )


@pytest.fixture
def twins(name: str, stories: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Return the story of two sessions of one agent."""
    from tests.e2e.story import tell

    return _once(
        stories, f"{name}-{name}", lambda at: tell(at, KINDS[name], KINDS[name]), tmp_path_factory
    )


@pytest.fixture
def unguarded(
    name: str, stories: dict[str, object], tmp_path_factory: pytest.TempPathFactory
) -> Story:
    """Return the story without Dibs."""
    from tests.e2e.story import tell_without_dibs

    return _once(
        stories, f"{name}-alone", lambda at: tell_without_dibs(at, KINDS[name]), tmp_path_factory
    )


@pytest.fixture
def family(
    name: str, stories: dict[str, object], tmp_path_factory: pytest.TempPathFactory
) -> Family:
    """Return the story of an agent and its subagent."""
    from tests.e2e.story import tell_family

    return _once(
        stories, f"{name}-family", lambda at: tell_family(at, KINDS[name]), tmp_path_factory
    )


@pytest.fixture
def scenes(
    name: str, stories: dict[str, object], tmp_path_factory: pytest.TempPathFactory
) -> Scenes:
    """Return the scenes of this agent with one that waits."""
    from tests.e2e.scenes import tell_scenes

    names = [each for each in KINDS if KINDS[each].version]
    other = names[names.index(name) - 1]
    return _once(
        stories,
        f"{name}-scenes",
        lambda at: tell_scenes(at, KINDS[other], KINDS[name]),
        tmp_path_factory,
    )


@pytest.fixture
def crew(
    name: str, stories: dict[str, object], tmp_path_factory: pytest.TempPathFactory
) -> CrewStory:
    """Return the story of a crew of one kind of agent."""
    from tests.e2e.crew import tell_crew

    return _once(stories, f"{name}-crew", lambda at: tell_crew(at, KINDS[name]), tmp_path_factory)


def _once(stories, key, run, folders):
    """Run a story, or raise its failure again."""
    if key not in stories:
        try:
            stories[key] = run(folders.mktemp(key) / "world")
        except Exception as error:  # noqa: BLE001  each test of it fails for this reason
            stories[key] = error
    if isinstance(stories[key], Exception):
        pytest.fail(f"the story failed: {stories[key]!r}")
    return stories[key]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Record the outcome of a cell."""
    decides = report.when == "call" or report.outcome != "passed"
    if not RESULTS or not decides or "[" not in report.nodeid:
        return
    test, _, agent = report.nodeid.rpartition("::")[2].removesuffix("]").partition("[")
    why = report.longrepr[2] if report.skipped else ""
    with Path(RESULTS).open("a", encoding="utf-8") as file:
        cell = {"test": test, "agent": agent, "outcome": report.outcome, "why": why}
        file.write(json.dumps(cell) + "\n")
