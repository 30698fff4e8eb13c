"""One store on each engine, opened as one more process would: for stories that all of them share."""

from contextlib import contextmanager

import pytest
from tests.engines.optimistic import OptimisticEngine

from dibs.engines.memory import MemoryEngine
from dibs.engines.sqlite.engine import SqliteEngine


def memory(_):
    engine = MemoryEngine()
    return lambda _: engine.connect()


def optimistic(_):
    engine = OptimisticEngine()
    return lambda _: engine.connect()


def sqlite(request):
    path = str(request.getfixturevalue("tmp_path") / "state.db")
    return lambda _: SqliteEngine(path)


def redis(request):
    from dibs.engines.redis.engine import RedisEngine

    url = request.getfixturevalue("redis_url")
    return lambda machine: RedisEngine(url, project="common", memory=str(machine / "memory"))


def git(request):
    from dibs.engines.git.engine import GitEngine

    remote = request.getfixturevalue("git_remote")
    return lambda machine: GitEngine(remote.path, state=machine / "state", poll=0.2)


def on(*makers):
    """Make a fixture that is there once for each of these engines."""
    return pytest.fixture(params=makers, ids=lambda make: make.__name__)


on_every_engine = on(memory, optimistic, sqlite, redis, git)
on_lasting_engines = on(sqlite, redis, git)


@contextmanager
def common_store(request, *, apart=False):
    """Give a way to open the store of a fixture's engine, by processes of one machine or of several."""
    make, opened = request.param(request), []
    here = request.getfixturevalue("tmp_path")

    def another():
        machine = here / f"machine-{len(opened)}" if apart else here
        machine.mkdir(exist_ok=True)
        opened.append(make(machine))
        return opened[-1]

    yield another
    for engine in opened:
        engine.close()
