"""The git engine satisfies the contract: by path and over the network, on one machine and on several."""

from __future__ import annotations

import pytest

from dibs.engines.git.engine import GitEngine
from dibs.testing import NewLifeContract, SharedEngineContract


class GitContract(SharedEngineContract):
    """All handles are processes on one machine."""

    times = 10

    @pytest.fixture
    def connect(self, url, tmp_path):
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


class TestByPath(GitContract, NewLifeContract):
    @pytest.fixture
    def url(self, git_remote):
        return git_remote.path

    @pytest.fixture
    def forget(self, git_remote):
        return lambda: git_remote.git("update-ref", "-d", "refs/heads/dibs")


class TestByDaemon(GitContract):
    @pytest.fixture
    def url(self, git_remote):
        return git_remote.git_url()


class TestByHttp(GitContract):
    @pytest.fixture
    def url(self, git_remote):
        return git_remote.http_url()


class TestManyMachines(SharedEngineContract):
    """Each handle is a separate machine."""

    times = 10
    patience = 1.0

    @pytest.fixture
    def connect(self, git_remote, tmp_path):
        url = git_remote.path
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
