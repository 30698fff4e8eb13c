"""Settings that decide what agents may do come from the last commit."""

from __future__ import annotations

import subprocess

import pytest

from dibs.cli import main
from dibs.config import committed_settings
from dibs.project.location import locate

STRICT = '[guard]\nhuman = ["deploy/"]\n\n[claims]\nttl = "1m"\n'


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    root = tmp_path / "repo"
    git(tmp_path, "init", "-q", "-b", "main", str(root))
    (root / ".git" / "dibs").mkdir()
    monkeypatch.chdir(root)
    return root


def git(folder, *words):
    who = ("-c", "user.name=t", "-c", "user.email=t@t")
    done = subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)
    return done.stdout.decode().strip()


def write(place, text):
    (place / "dibs.toml").write_text(text)


def commit(place, text=None):
    if text is not None:
        write(place, text)
    git(place, "add", "-A")
    git(place, "commit", "-q", "--allow-empty", "-m", "x")


def settings(place, environ=None):
    committed_settings._known.clear()  # a new process
    return locate(str(place), environ or {}).loaded


@pytest.mark.parametrize("packed", [False, True])
def test_an_uncommitted_change_of_a_guard_setting_does_not_count(place, packed):
    commit(place, STRICT)
    if packed:
        git(place, "gc", "-q")
    write(
        place,
        '[guard]\non_error = "allow"\n\n[commit]\nguarded = "anyone"\n\n[claims]\nttl = "2m"\n',
    )

    found = settings(place)

    assert found.config.guard_human == ("deploy/",)
    assert found.config.guard_on_error == "deny"
    assert found.config.commit_guarded == "human"
    assert found.config.ttl == 120.0
    assert found.uncommitted == {
        "guard_human": (), "guard_on_error": "allow", "commit_guarded": "anyone"
    }  # fmt: skip
    assert found.origins["guard_human"] == "dibs.toml of the last commit"


def test_a_change_counts_when_it_is_committed(place):
    commit(place, STRICT)
    commit(place, '[guard]\non_error = "allow"\n')

    found = settings(place)

    assert found.config.guard_on_error == "allow"
    assert not found.config.guard_human
    assert not found.uncommitted
    assert found.origins["guard_on_error"] == "dibs.toml:2"


def test_a_file_that_was_never_committed_counts_as_it_is(place):
    write(place, STRICT)
    assert settings(place).config.guard_human == ("deploy/",)
    (place / "other").write_text("x")
    git(place, "add", "other")
    git(place, "commit", "-q", "-m", "x")

    found = settings(place)

    assert found.config.guard_human == ("deploy/",)
    assert not found.uncommitted


def test_a_deleted_file_still_guards(place):
    commit(place, STRICT)
    (place / "dibs.toml").unlink()

    assert settings(place).config.guard_human == ("deploy/",)


def test_an_invalid_committed_file_can_be_corrected_without_a_commit(place):
    commit(place, "[guard]\nreads = 1\n")
    write(place, STRICT)

    assert settings(place).config.guard_human == ("deploy/",)


def test_an_agents_detached_worktree_has_the_settings_of_the_main_one(place, tmp_path):
    commit(place, STRICT)
    other = tmp_path / "other"
    git(place, "worktree", "add", "-q", "--detach", str(other))
    (other / "dibs.toml").write_text('[guard]\non_error = "allow"\n')
    git(other, "commit", "-q", "-am", "x")

    found = settings(other)

    assert found.config.guard_human == ("deploy/",)
    assert found.config.guard_on_error == "deny"


def test_git_is_not_started_for_new_commits_that_keep_the_file(place, monkeypatch, tmp_path):
    commit(place, STRICT)
    settings(place)
    (place / "a").write_text("a")
    commit(place)
    (place / "dibs.toml").unlink()
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))

    assert settings(place).config.guard_human == ("deploy/",)


def test_the_command_says_what_does_not_count_yet(place, capsys):
    commit(place, STRICT)
    write(place, '[guard]\non_error = "allow"\n')

    assert main(["config", "guard.on_error"]) == 0

    said = capsys.readouterr().out
    assert "value     deny" in said
    assert "file      allow (takes effect when committed)" in said
    assert "from      dibs.toml of the last commit" in said


def test_the_doctor_names_settings_that_wait_for_a_commit(place, capsys):
    commit(place, STRICT)
    write(place, '[guard]\non_error = "allow"\n')

    main(["doctor"])

    said = " ".join(capsys.readouterr().out.split())
    assert "guard.on_error is 'deny', from the last commit" in said
    assert "the uncommitted dibs.toml says 'allow'" in said


def test_a_commit_without_the_file_does_not_make_an_uncommitted_one_count(place):
    commit(place)
    commit(place, STRICT)
    assert settings(place).config.guard_human == ("deploy/",)
    git(place, "update-ref", "refs/heads/main", "HEAD~1")
    write(place, '[guard]\nfree = ["**"]\n')

    found = settings(place)

    assert found.config.guard_human == ("deploy/",)
    assert "**" not in found.config.guard_free


def test_without_any_file_the_defaults_count_again(place):
    commit(place, STRICT)
    assert settings(place).config.guard_human == ("deploy/",)
    git(place, "rm", "-q", "dibs.toml")
    commit(place)

    assert settings(place).config.guard_human == ()
