"""Which engine is opened, and where a machine keeps what it knows of remote stores."""

import os
import subprocess

import pytest

from dibs.engines.shared import folders
from dibs.errors import Misconfigured
from dibs.project import engines
from dibs.project.location import locate


@pytest.fixture
def clone(tmp_path):
    hub = tmp_path / "hub.git"
    subprocess.run(["git", "init", "-q", "--bare", str(hub)], check=True)

    def clone(name):
        subprocess.run(["git", "clone", "-q", str(hub), str(tmp_path / name)], check=True)
        return locate(str(tmp_path / name), {"DIBS_ENGINE": "git:origin"})

    return clone


def folder_of(place):
    return engines.copy_of(place, "/srv/hub.git")


def test_a_users_clones_share_one_copy_of_a_branch(clone, monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    one, two = folder_of(clone("one")), folder_of(clone("two"))

    assert one == two
    assert one.startswith(str(tmp_path / "home" / ".local" / "state" / "dibs"))


@pytest.mark.parametrize("relative", ["state", "./state", "."])
def test_a_relative_state_folder_is_ignored(clone, monkeypatch, tmp_path, relative):
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    place = clone("one")
    usual = folder_of(place)

    monkeypatch.setenv("XDG_STATE_HOME", relative)

    assert folder_of(place) == usual


def test_another_home_is_another_machine(clone, monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_STATE_HOME")
    place = clone("one")
    monkeypatch.setenv("HOME", str(tmp_path / "first"))
    first = folder_of(place)

    monkeypatch.setenv("HOME", str(tmp_path / "second"))

    assert folder_of(place) != first


def test_a_home_on_a_network_file_system_contains_no_copy(clone, monkeypatch):
    def refuse(folder):
        raise Misconfigured(folder, code="STORE_NETWORK_FS")

    place = clone("one")
    monkeypatch.setattr(folders, "refuse_network", refuse)

    assert os.path.dirname(folder_of(place)) == place.repository.state


def test_another_branch_has_another_copy(clone, tmp_path):
    place = clone("one")
    other = locate(
        str(tmp_path / "one"), {"DIBS_ENGINE": "git:origin", "DIBS_GIT_BRANCH": "agents"}
    )

    assert folder_of(place) != folder_of(other)


@pytest.mark.parametrize("url", ["mysql://h", "http://h", "redis", "sqlite:relative", "nonsense:"])
def test_an_unknown_engine_is_one_line_that_lists_the_known_ones(tmp_path, url):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    place = locate(str(tmp_path), {"DIBS_ENGINE": url, "DIBS_PROJECT": "shop"})

    with pytest.raises(Misconfigured) as caught:
        engines.open_engine(place, recreate=False)

    assert caught.value.code in {"ENGINE", "REDIS_URL"}
    assert "redis://" in caught.value.hint
