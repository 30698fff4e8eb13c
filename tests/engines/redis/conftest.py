"""Fixtures: a Redis server of the test's own."""

from __future__ import annotations

import pytest
from tests.servers import RedisServer


@pytest.fixture
def server(tmp_path):
    with RedisServer(tmp_path / "server") as server:
        yield server
