"""Real servers in real repositories: over standard streams and HTTP, for both generations of the protocol."""

from __future__ import annotations

import itertools
import os
import subprocess
from pathlib import Path

import pytest
from tests.mcp.wires import NEW, OLD, Http, Served, Stdio

import dibs as dibs_package

WAYS = [("stdio", OLD), ("stdio", NEW), ("http", OLD), ("http", NEW)]
_numbers = itertools.count(1)


@pytest.fixture(scope="module", autouse=True)
def clean_environment():
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("DIBS_", "GIT_")):
                patch.delenv(name)
        patch.setenv("PYTHONPATH", str(Path(dibs_package.__file__).parents[1]))
        for person in ("AUTHOR", "COMMITTER"):
            patch.setenv(f"GIT_{person}_NAME", "A")
            patch.setenv(f"GIT_{person}_EMAIL", "a@example.org")
        yield


@pytest.fixture(scope="module")
def repo(tmp_path_factory, clean_environment):
    """A repository for a module; tests in it use names of their own."""
    root = tmp_path_factory.mktemp("repo")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


@pytest.fixture(scope="module")
def served(repo):
    """One server over HTTP."""
    server = Served(repo)
    yield server
    server.close()


@pytest.fixture(scope="module")
def wires(repo, request):
    """Make a client; one over standard streams is kept for the module, for a start takes a second."""
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
def pair(request, wires):
    """Two agents that come by the same way: alice and bob."""
    return wires(request.param, "alice"), wires(request.param, "bob")


@pytest.fixture
def path():
    """A path that no other test uses."""
    return f"src/file{next(_numbers)}.py"
