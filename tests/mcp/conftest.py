"""Real servers in real repositories, for both protocol generations."""

from __future__ import annotations

import itertools
import os
import subprocess

import pytest
from tests.mcp.wires import NEW, OLD, Stdio, environment

_numbers = itertools.count(1)


@pytest.fixture(scope="module", autouse=True)
def clean_environment():
    """Give this process and its children the servers' environment."""
    with pytest.MonkeyPatch.context() as patch:
        for name in set(os.environ) - set(environment()):
            patch.delenv(name)
        for name, value in environment().items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def repo(tmp_path_factory):
    """A repository for the whole run; each test uses its own names."""
    root = tmp_path_factory.mktemp("repo")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / "dibs.toml").write_text("")
    return root


@pytest.fixture(scope="session")
def wires(repo):
    """Create a client and keep it for the run, because a server takes a second to start."""
    made = {}

    def connect(era, agent):
        if (era, agent) not in made:
            made[era, agent] = Stdio(repo, agent, era)
        return made[era, agent]

    yield connect
    for wire in made.values():
        wire.close()


@pytest.fixture(params=[OLD, NEW], ids=["old", "new"])
def any_pair(request, wires):
    """Two agents, alice and bob, of the same generation."""
    return wires(request.param, "alice"), wires(request.param, "bob")


@pytest.fixture
def pair(wires):
    """Two agents of the new generation."""
    return wires(NEW, "alice"), wires(NEW, "bob")


@pytest.fixture
def path():
    """A path that no other test uses."""
    return f"src/file{next(_numbers)}.py"
