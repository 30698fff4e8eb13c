"""What lies between the git engine and git: deadlines, damage, growth, addresses. With real git."""

from __future__ import annotations

import subprocess

import pytest

from dibs.engines.git import GitEngine
from dibs.errors import NotFound
from dibs.testing.steps import put


def git(where, *argv, data=None):
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
    """Return a function that opens a handle on a machine, by its name."""
    opened = []

    def connect(name="here", url=None, **options):
        options = {"poll": 0.1, "timeout": 20.0, **options}
        opened.append(GitEngine(str(url or bare), state=tmp_path / name, **options))
        return opened[-1]

    yield connect
    for engine in opened:
        engine.close()


# -- deadlines


def test_a_refusal_out_of_reach_is_told_as_last_known(machine, bare, tmp_path):
    engine = machine()
    put(engine, k="v")
    bare.rename(tmp_path / "away")
    looks = []

    def refuse(txn):
        looks.append(txn.get("k"))
        assert len(looks) < 10
        raise NotFound("no such agent")

    with pytest.raises(NotFound):
        engine.view(refuse)

    assert engine.as_of is not None
