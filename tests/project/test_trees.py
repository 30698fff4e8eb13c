"""A long-running server notices changed settings and keeps open only what it needs."""

from __future__ import annotations

import subprocess

import pytest

from dibs.errors import DibsError
from dibs.project import trees


@pytest.fixture
def root(tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


def test_settings_that_change_while_being_read_are_read_again(root, monkeypatch):
    tree = trees.OpenTree(str(root))
    settings = root / "dibs.toml"
    real = trees.open_at

    def slow(place, lender=None):
        project = real(place, lender)
        settings.write_text('[claims]\nttl = "20m"\n')  # just after the old ones were read
        return project

    settings.write_text('[claims]\nttl = "10m"\n')
    monkeypatch.setattr(trees, "open_at", slow)
    tree.project()
    monkeypatch.setattr(trees, "open_at", real)

    assert tree.project().config.ttl == 1_200
    tree.close()


def test_broken_settings_never_leave_a_project_open(root):
    tree = trees.OpenTree(str(root))
    (root / "dibs.toml").write_text("[claims\n")
    for _ in range(5):
        with pytest.raises(DibsError):
            tree.project()

    assert tree._past == []
    (root / "dibs.toml").unlink()
    assert tree.project().config.ttl
    tree.close()
