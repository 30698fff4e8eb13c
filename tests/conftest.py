"""Fixtures with real servers (``tests.servers``). If a server cannot start, its tests fail."""

from __future__ import annotations

import itertools
import os
import shutil

import pytest
from hypothesis import HealthCheck, settings
from tests.signals import keep_ignored_signals_from_children

# Run this before any test, in each xdist worker: tests send signals to child processes.
keep_ignored_signals_from_children()

# Examples must pass on busy machines, too.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")


#: A folder in memory, and the free bytes that a run needs there.
MEMORY, ROOM = "/dev/shm", 4 << 30


def pytest_configure():
    """Keep the tests' files in memory if there is room: on a disk, they wait for it half of the time."""
    if "PYTEST_DEBUG_TEMPROOT" in os.environ or not os.access(MEMORY, os.W_OK):
        return
    found = os.statvfs(MEMORY)
    if found.f_bavail * found.f_frsize > ROOM and not found.f_flag & os.ST_NOEXEC:
        os.environ["PYTEST_DEBUG_TEMPROOT"] = MEMORY


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """Start more workers than there are cores: half of the time, tests wait for processes."""
    return (os.cpu_count() or 1) * 2


@pytest.fixture(scope="session", autouse=True)
def state_of_this_run(tmp_path_factory):
    """Keep state out of the home of the user who runs the tests."""
    from dibs.local.identity import MARKERS

    with pytest.MonkeyPatch.context() as patch:
        for name in MARKERS:  # an agent may run the tests, and most of them act as a human
            patch.delenv(name, raising=False)
        for name in [name for name in os.environ if name.startswith("PG")]:  # libpq's defaults
            patch.delenv(name)
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(autouse=True)
def agents_of_this_test():
    """Forget the projects of other tests, whose agents may still run: this process can be one of them."""
    from dibs.local.server_files import GUARDED, server_folder

    shutil.rmtree(os.path.join(server_folder(), GUARDED), ignore_errors=True)


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory):
    """A redis-server for the whole run; tests that break servers start their own."""
    from tests.servers import RedisServer

    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        server.fresh = itertools.cycle(range(1, 1024))
        yield server


@pytest.fixture
def redis_url(redis_server):
    """The URL of an empty database on the shared redis-server."""
    url = redis_server.url_of(next(redis_server.fresh))
    yield url
    with redis_server.client(url) as client:
        client.flushdb()


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory):
    """A PostgreSQL server for the whole run; tests that break servers start their own."""
    from tests.servers import PostgresServer

    with PostgresServer(tmp_path_factory.mktemp("postgres")) as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server):
    """The URL of an empty database on the shared PostgreSQL server."""
    url = postgres_server.database()
    yield url
    postgres_server.drop(url)


@pytest.fixture
def git_remote(tmp_path):
    """A bare repository; its servers start when their URL is first used."""
    from tests.servers import GitRemote

    with GitRemote(tmp_path / "remote") as remote:
        yield remote


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """The folder with the ``dibs`` that users install, shared by all test processes."""
    from scripts import bare

    own = tmp_path_factory.getbasetemp()
    return bare.installed(own.parent if own.name.startswith("popen-") else own)
