"""The git engine keeps the contract: as processes of one machine, and as machines of their own."""

from __future__ import annotations

import subprocess

import pytest

from dibs.engines.git import GitEngine
from dibs.testing import SharedEngineContract


class TestOneMachine(SharedEngineContract):
    times = 10

    @pytest.fixture
    def connect(self, tmp_path):
        bare = tmp_path / "remote.git"
        subprocess.run(["git", "init", "-q", "--bare", bare], check=True)
        arguments = f"{str(bare)!r}, state={str(tmp_path / 'state')!r}, poll=0.2"
        self.elsewhere = f"from dibs.engines.git import GitEngine\nengine = GitEngine({arguments})"
        opened = []

        def connect():
            opened.append(GitEngine(str(bare), state=tmp_path / "state", poll=0.2))
            return opened[-1]

        yield connect
        for engine in opened:
            engine.close()


class TestManyMachines(SharedEngineContract):
    times = 10
    patience = 1.0

    @pytest.fixture
    def connect(self, tmp_path):
        bare = tmp_path / "remote.git"
        subprocess.run(["git", "init", "-q", "--bare", bare], check=True)
        self.elsewhere = (
            "import tempfile\nfrom dibs.engines.git import GitEngine\n"
            f"state = tempfile.mkdtemp(dir={str(tmp_path)!r})\n"
            f"engine = GitEngine({str(bare)!r}, state=state, poll=0.2)"
        )
        opened = []

        def connect():
            state = tmp_path / f"machine-{len(opened)}"
            opened.append(GitEngine(str(bare), state=state, poll=0.2))
            return opened[-1]

        yield connect
        for engine in opened:
            engine.close()
