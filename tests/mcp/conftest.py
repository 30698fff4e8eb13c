"""Real servers in real repositories, over standard streams and HTTP, for both protocol generations."""

from __future__ import annotations

import itertools
import os
import subprocess

import pytest
from tests.mcp.wires import NEW, OLD, Http, Served, Stdio, environment

WAYS = [("stdio", OLD), ("stdio", NEW), ("http", OLD), ("http", NEW)]
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
def served(repo):
    """One server over HTTP."""
    server = Served(repo)
    yield server
    server.close()


@pytest.fixture(scope="session")
def wires(repo, request):
    """Create a client and keep it for the run, because a server takes a second to start."""
    made = {}

    def connect(way, agent):
        transport, era = way
        key = (way, agent)
        if key not in made:
            if transport == "stdio":
                made[key] = Stdio(repo, agent, era)
            else:
                made[key] = Http(request.getfixturevalue("served").url, agent, era)
        return made[key]

    yield connect
    for wire in made.values():
        wire.close()


@pytest.fixture(params=WAYS, ids=["stdio-old", "stdio-new", "http-old", "http-new"])
def any_pair(request, wires):
    """Two agents, alice and bob, over the same transport and generation."""
    return wires(request.param, "alice"), wires(request.param, "bob")


@pytest.fixture(params=[WAYS[0], WAYS[3]], ids=["stdio-old", "http-new"])
def pair(request, wires):
    """The same, with each transport and each generation once."""
    return wires(request.param, "alice"), wires(request.param, "bob")


@pytest.fixture
def path():
    """A path that no other test uses."""
    return f"src/file{next(_numbers)}.py"
