"""The git engine satisfies the contract: on one machine and on several; and it works over the network."""

from __future__ import annotations

import pytest
from tests.servers import FaultProxy

from dibs.engines.git.engine import GitEngine
from dibs.testing import NewLifeContract, SharedEngineContract
from dibs.testing.steps import in_threads, increment


class TestByPath(SharedEngineContract, NewLifeContract):
    """All handles are processes on one machine."""

    times = 10

    @pytest.fixture
    def connect(self, git_remote, tmp_path):
        url = git_remote.path
        self.elsewhere = (
            "from dibs.engines.git.engine import GitEngine\n"
            f"engine = GitEngine({url!r}, state={str(tmp_path / 'state')!r}, poll=0.2)"
        )
        opened = []

        def connect(**options):
            opened.append(GitEngine(url, state=tmp_path / "state", poll=0.2, **options))
            return opened[-1]

        yield connect
        for engine in opened:
            engine.close()

    @pytest.fixture
    def forget(self, git_remote):
        return lambda: git_remote.git("update-ref", "-d", "refs/heads/dibs")


class Machines:
    """Each handle is a separate machine."""

    @pytest.fixture
    def connect(self, url, tmp_path):
        self.elsewhere = (
            "import tempfile\nfrom dibs.engines.git.engine import GitEngine\n"
            f"state = tempfile.mkdtemp(dir={str(tmp_path)!r})\n"
            f"engine = GitEngine({url!r}, state=state, poll=0.2)"
        )
        opened = []

        def connect():
            state = tmp_path / f"machine-{len(opened)}"
            opened.append(GitEngine(url, state=state, poll=0.2))
            return opened[-1]

        yield connect
        for engine in opened:
            engine.close()


class TestManyMachines(Machines, SharedEngineContract):
    times = 10
    patience = 1.0

    @pytest.fixture
    def url(self, git_remote):
        return git_remote.path


@pytest.mark.parametrize("way", ["git_url", "http_url"])
class TestOverTheNetwork(Machines):
    """Only the way to the remote differs."""

    @pytest.fixture
    def url(self, git_remote, way):
        return getattr(git_remote, way)()

    def test_a_write_is_read_by_another_machine(self, connect):
        ours, theirs = connect(), connect()

        number = ours.transact(increment)

        assert theirs.view(lambda txn: [entry.seq for entry in txn.events()]) == [number]
        assert theirs.view(lambda txn: txn.get("count")) == "1"

    def test_machines_that_race_lose_nothing(self, connect):
        in_threads([connect() for _ in range(3)], times=3)

        assert connect().view(lambda txn: txn.get("count")) == "9"

    def test_a_push_whose_reply_is_lost_counts_once(self, git_remote, way, connect, tmp_path):
        connect().transact(increment)
        server = git_remote.daemon if way == "git_url" else git_remote.http
        with FaultProxy(server) as wire:
            far = GitEngine(getattr(git_remote, way)(wire.port), state=tmp_path / "far", timeout=60)
            far.view(lambda txn: txn.get("count"))
            wire.drop_reply(after=b"PACK", quiet=1)
            far.transact(increment)
            far.close()

            assert wire.cuts == 1
        assert connect().view(lambda txn: txn.get("count")) == "2"
