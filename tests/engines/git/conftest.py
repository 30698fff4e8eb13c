"""Fixtures: a bare repository, and machines that use it."""

from __future__ import annotations

import subprocess

import pytest

from dibs.engines.git.engine import GitEngine


def git(where, *argv, data=None):
    """Run git in a folder; return its output."""
    done = subprocess.run(
        ["git", "-C", str(where), *argv], check=True, capture_output=True, input=data
    )
    return done.stdout.decode().strip()


@pytest.fixture
def bare(tmp_path):
    path = tmp_path / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", path], check=True)
    return path


@pytest.fixture
def machine(tmp_path, bare):
    """Return a function that opens a handle on a named machine."""
    opened = []

    def connect(name="here", url=None, **options):
        options = {"poll": 0.1, "timeout": 20.0, **options}
        opened.append(GitEngine(str(url or bare), state=tmp_path / name, **options))
        return opened[-1]

    yield connect
    for engine in opened:
        engine.close()
