"""Liveness on every engine: the facts come from this machine, the time from the engine."""

import subprocess
import sys

import pytest
from tests.services.engines import common_store, on_every_engine
from tests.services.guards import Guarded

from dibs.core.claims.rules import Denied, Granted
from dibs.core.toolcalls.values import EventKind
from dibs.local.processes import running

A = "11111111-a"
ONE = "claude-11111111"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


class LaterTxn:
    """A transaction of an engine whose clock is ahead."""

    def __init__(self, txn, by):
        self._txn = txn
        self.now = txn.now + by

    def __getattr__(self, name):
        return getattr(self._txn, name)


class LaterEngine:
    """A real engine whose clock a test can advance."""

    def __init__(self, engine):
        self._engine = engine
        self.by = 0.0

    def transact(self, step):
        return self._engine.transact(lambda txn: step(LaterTxn(txn, self.by)))

    def view(self, step):
        return self._engine.view(lambda txn: step(LaterTxn(txn, self.by)))

    def __getattr__(self, name):
        return getattr(self._engine, name)


@on_every_engine
def store(request):
    with common_store(request) as another:
        yield another


def test_uncommitted_changes_keep_their_owner_on_every_engine(store, tmp_path, own_git):
    process = subprocess.Popen(["sleep", "600"])
    engine = LaterEngine(store())
    guarded = Guarded(tmp_path / "repo", engine)
    guarded.processes[A] = running(process.pid)
    guarded.edit(A, "a.py", "README.md")
    guarded.write("a.py", "half")
    guarded.hear(A, EventKind.AFTER, "a.py", tool="Write")
    engine.by += 3_600.0

    assert guarded.held() == {(ONE, "a.py")}
    assert isinstance(guarded.claim("bob", "a.py"), Denied)
    assert isinstance(guarded.claim("bob", "README.md"), Granted)
    process.kill()
    process.wait()
    assert isinstance(guarded.claim("bob", "a.py"), Granted)
    assert guarded.held() == {("bob", "a.py"), ("bob", "README.md")}
