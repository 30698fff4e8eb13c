"""What ``make test`` installs, and what it leaves alone."""

from __future__ import annotations

import pytest

from scripts import setup


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that installs a PostgreSQL in a version's folder; none other is found."""
    monkeypatch.setattr(setup, "_POSTGRES_FOLDERS", (f"{tmp_path}/postgresql/*/bin",))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))

    def put(folder, programs=setup._POSTGRES_PROGRAMS):
        (tmp_path / folder).mkdir(parents=True)
        for program in programs:
            (tmp_path / folder / program).touch(mode=0o755)
        return str(tmp_path / folder)

    return put


def test_the_newest_postgres_is_used(install):
    install("postgresql/9/bin")
    newest = install("postgresql/17/bin")
    install("postgresql/15/bin")

    assert setup.postgres_folder() == newest


def test_a_postgres_on_the_path_is_preferred(install):
    install("postgresql/17/bin")
    chosen = install("path")

    assert setup.postgres_folder() == chosen


def test_a_postgres_without_its_server_does_not_count(install):
    install("postgresql/17/bin", ["pg_basebackup"])

    assert not setup._found("postgres")


def test_the_cluster_setting_applies_only_during_the_installation(tmp_path, monkeypatch):
    folder = tmp_path / "postgresql-common" / "createcluster.d"
    monkeypatch.setattr(setup, "CLUSTER_SETTINGS", folder)

    with setup._without_cluster():
        assert [path.name for path in folder.iterdir()] == ["dibs-setup.conf"]
        (folder.parent / "createcluster.conf").touch()

    assert [path.name for path in folder.parent.iterdir()] == ["createcluster.conf"]


def test_the_users_cluster_settings_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(setup, "CLUSTER_SETTINGS", tmp_path)
    (tmp_path / "own.conf").write_text("create_main_cluster = true\n")

    with setup._without_cluster():
        pass

    assert [path.name for path in tmp_path.iterdir()] == ["own.conf"]


def test_only_requirements_decide_whether_everything_is_installed_again(tmp_path, monkeypatch):
    project = (setup.ROOT / "pyproject.toml").read_text("utf-8")
    monkeypatch.setattr(setup, "ROOT", tmp_path)
    (tmp_path / "pyproject.toml").write_text(project)
    before = setup.needs()
    (tmp_path / "pyproject.toml").write_text(f"{project}\n[tool.other]\nsize = 1\n")
    assert setup.needs() == before
    (tmp_path / "pyproject.toml").write_text(project.replace('"rich>=', '"rich>'))
    assert setup.needs() != before
