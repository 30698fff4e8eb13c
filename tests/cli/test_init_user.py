"""``dibs init --user``: hooks in the user's own settings, for agents that skip a repository's hooks."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from dibs.local.noted_agents import note
from dibs.local.processes import running

SETTINGS = '{\n  "theme": "dark" // mine\n}\n'


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()


@pytest.fixture
def settings(home):
    file = Path.home() / ".gemini" / "settings.json"
    file.parent.mkdir(parents=True)
    file.write_text(SETTINGS)
    return file


@pytest.fixture
def hooks(home):
    return Path.home() / ".copilot" / "hooks" / "dibs.json"


def test_only_with_user_are_files_in_the_home_folder_changed(dibs, repo, settings, hooks):
    answer = dibs("init", "--agents", "gemini,copilot")

    assert settings.read_text() == SETTINGS
    assert not hooks.exists()
    assert "is not guarded when it starts in a subfolder or with --skip-trust" in " ".join(
        answer.out.split()
    )
    dibs("init", "--user")
    assert "dark" in settings.read_text()
    assert set(json.loads(hooks.read_text())["hooks"]) >= {"preToolUse", "sessionStart"}


def test_uninstall_leaves_other_repositories_guarded_unless_asked(dibs, repo, settings, hooks):
    dibs("init", "--agents", "gemini,copilot", "--user")

    answer = dibs("init", "--uninstall")

    assert "`dibs init --uninstall --user`" in " ".join(answer.out.split())
    assert hooks.exists()
    dibs("init", "--uninstall", "--user")
    assert settings.read_text() == SETTINGS
    assert not hooks.parent.parent.exists()


def test_an_agent_may_not_change_files_in_the_home_folder(dibs, repo, hooks):
    answer = dibs("init", "--agents", "copilot", "--user", agent="alice")

    assert answer.status == 77
    assert "only a human may change settings in the home folder" in answer.err
    assert not hooks.exists()


@pytest.mark.parametrize("words", ["init --agents copilot --user", "init --uninstall --user"])
def test_an_agent_of_another_project_may_not_change_what_all_projects_use(
    dibs, repo, tmp_path, words
):
    harness = running(os.getppid())
    note(str(tmp_path / "other"), harness.pid, harness.born, "alice")

    answer = dibs(*words.split())

    assert answer.status == 77
    assert "alice" in answer.err


def test_a_link_to_the_settings_stays_a_link(dibs, repo, settings, tmp_path):
    settings.rename(tmp_path / "dotfile.json")
    settings.symlink_to(tmp_path / "dotfile.json")

    dibs("init", "--agents", "gemini", "--user")

    assert settings.is_symlink()
    assert "dibs" in (tmp_path / "dotfile.json").read_text()


def test_settings_that_cannot_be_parsed_are_not_changed(dibs, repo, settings):
    settings.write_text("{ no")

    answer = dibs("init", "--agents", "gemini", "--user")

    assert answer.status == 65
    assert settings.read_text() == "{ no"
    assert not (repo / ".gemini" / "settings.json").exists()


def test_user_hooks_pass_everything_after_dibs_was_removed(dibs, repo, hooks):
    dibs("init", "--agents", "copilot", "--user")
    (entry,) = json.loads(hooks.read_text())["hooks"]["preToolUse"]
    gone = entry["bash"].replace("guard/run.py", "guard/gone.py")

    done = subprocess.run(
        ["sh", "-c", gone], check=False, input="{}", capture_output=True, text=True
    )

    assert (done.returncode, done.stdout) == (0, "")


def test_user_hooks_make_trust_unnecessary(dibs, repo):
    dibs("init", "--agents", "gemini,copilot", "--user")

    rows = dibs("doctor", "--prove", "--json")

    assert rows.status == 0
    assert {one["accepted"] for one in rows.json["agents"] if one["hooks"]} == {"not needed"}
