"""Real servers for all tests; see ``tests.servers``. A server that cannot start fails its tests."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, settings
from tests.signals import keep_ignored_signals_from_children

# Before any test, and in each xdist worker: tests send signals to the processes that they start.
keep_ignored_signals_from_children()

# Whether an example is right does not depend on how busy the machine is.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")


@pytest.fixture(scope="session", autouse=True)
def state_of_this_run(tmp_path_factory):
    """Keep what this machine knows of remotes out of the home of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory):
    """A redis-server for the whole run; a test that harms it starts one of its own."""
    from tests.servers import RedisServer

    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        server.fresh = itertools.cycle(range(1, 1024))
        yield server


@pytest.fixture
def redis_url(redis_server):
    """The address of an empty database of the common redis-server."""
    url = redis_server.url_of(next(redis_server.fresh))
    yield url
    with redis_server.client(url) as client:
        client.flushdb()


@pytest.fixture
def git_remote(tmp_path):
    """A bare repository; its servers start when their address is asked for."""
    from tests.servers import GitRemote

    with GitRemote(tmp_path / "remote") as remote:
        yield remote
