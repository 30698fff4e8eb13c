"""A resident process without sockets, with one project."""

from __future__ import annotations

import pytest
from tests.server.callers import repository

from dibs.server.resident import Resident
from dibs.testing import ManualClock


@pytest.fixture
def clock():
    return ManualClock(1_000_000.0)


@pytest.fixture
def resident(tmp_path):
    one = Resident(str(tmp_path / "server"))
    yield one
    one.stop()


@pytest.fixture
def served(resident, tmp_path):
    return resident.projects.add(repository(tmp_path / "app"))
