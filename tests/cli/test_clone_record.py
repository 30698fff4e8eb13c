"""A clone uses one store: settings that select another one are refused, wherever they come from."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.guard.hooking import call, hook
from tests.servers import RedisServer

from dibs.project import clone_record
from dibs.project.engines import is_recorded
from dibs.project.location import locate


@pytest.fixture
def other(tmp_path):
    return f"sqlite://{tmp_path}/other.db"


@pytest.fixture
def record(repo):
    return Path(repo, ".git", "dibs", "engine.json")


@pytest.fixture
def held(dibs):
    dibs("claim", "a.py", "--new", agent="alice")


def git(*words):
    identity = ("-c", "user.name=x", "-c", "user.email=x@y")
    subprocess.run(["git", *identity, *words], check=True, capture_output=True)


def is_refused(answer, *parts):
    assert answer.status == 78, answer
    assert "this clone's" in answer.err
    for part in parts:
        assert part in answer.err
    return True


def test_the_first_change_records_the_store_and_a_read_does_not(dibs, record):
    dibs("status")
    dibs("who", "a.py")
    assert not record.exists()

    dibs("claim", "a.py", "--new", agent="alice")

    assert json.loads(record.read_text())["engine"] == "sqlite"


def test_a_variable_in_one_shell_cannot_select_another_store(
    dibs, held, other, monkeypatch, tmp_path
):
    monkeypatch.setenv("DIBS_ENGINE", other)

    for words in (
        ("claim", "a.py"),
        ("status",),
        ("release", "--all"),
        ("init", "--agents", "none"),
    ):
        answer = dibs(*words, agent="bob")
        assert is_refused(answer, "DIBS_ENGINE selects", other, "unset DIBS_ENGINE"), words
    assert not (tmp_path / "other.db").exists()

    monkeypatch.delenv("DIBS_ENGINE")
    assert dibs("claim", "a.py", agent="bob").status == 3


def test_a_worktree_without_the_settings_file_is_refused(dibs, repo, other, tmp_path, monkeypatch):
    git("commit", "-q", "--allow-empty", "-m", "old")
    Path(repo, "dibs.toml").write_text(f'engine = "{other}"\n')
    dibs("init", "--agents", "none")
    dibs("claim", "a.py", "--new", agent="alice")
    git("worktree", "add", "-q", str(tmp_path / "tree"))
    monkeypatch.chdir(tmp_path / "tree")

    assert is_refused(dibs("claim", "a.py", agent="bob"), other, "the default")
    said = hook(tmp_path / "tree", call(tmp_path / "tree", "a.py", "s1"))
    assert said.returncode == 2
    assert b"this clone's engine" in said.stderr


def test_the_fix_in_the_message_works_when_pasted(dibs, held, other, repo):
    Path(repo, "dibs.toml").write_text(f'engine = "{other}"\n')
    said = dibs("claim", "b.py", "--new", agent="bob").err
    fix = said.partition("run: ")[2].partition(",")[0]

    script = f"{fix}; exec {sys.executable} -m dibs claim b.py --new --agent bob"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


def test_another_case_rule_is_refused(dibs, held, monkeypatch):
    monkeypatch.setenv("DIBS_CASE", "sensitive")

    assert is_refused(dibs("claim", "A.py", agent="bob"), "DIBS_CASE", "unset DIBS_CASE")


def test_another_project_name_on_redis_is_refused_and_no_password_is_recorded(
    dibs, record, redis_server, redis_url, monkeypatch
):
    monkeypatch.setenv("DIBS_ENGINE", redis_url)
    monkeypatch.setenv("DIBS_PROJECT", "one")
    dibs("claim", "a.py", "--new", agent="alice")

    monkeypatch.setenv("DIBS_PROJECT", "two")
    assert is_refused(dibs("claim", "a.py", agent="bob"), "is one", "DIBS_PROJECT selects two")

    monkeypatch.setenv("DIBS_PROJECT", "one")
    monkeypatch.setenv("DIBS_ENGINE", redis_url.replace("://", "://user:hunter2@"))
    place = locate()
    clone_record.write(place, replace=True)
    assert "hunter2" not in record.read_text()
    assert is_recorded(place._replace(loaded=locate().loaded))


def test_hooks_block_even_if_settings_allow_calls_on_error(dibs, held, other, repo):
    folder = Path(repo)
    variables = {"DIBS_ENGINE": other, "DIBS_GUARD_ON_ERROR": "allow"}

    said = hook(folder, call(folder, "free.py", "s1"), **variables)

    assert said.returncode == 2
    assert b"unset DIBS_ENGINE" in said.stderr


def test_git_hooks_refuse_with_the_same_text(dibs, held, other, repo):
    dibs("git", "install")
    Path(repo, "b.py").write_text("x")
    git("add", "b.py")
    environ = {**os.environ, "DIBS_ENGINE": other, "DIBS_GATE_ON_ERROR": "allow"}

    done = subprocess.run(
        ["git", "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-q", "-m", "x"],
        env=environ, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode != 0
    assert "this clone's engine is sqlite" in done.stderr
    assert "unset DIBS_ENGINE" in done.stderr


def test_doctor_and_engine_check_show_it(dibs, held, other, monkeypatch):
    monkeypatch.setenv("DIBS_ENGINE", other)

    doctor = dibs("doctor", "--json")
    assert doctor.status == 78
    assert "this clone's engine is sqlite" in doctor.json["findings"][0]["text"]
    assert is_refused(dibs("engine", "check"), other)


def test_only_a_human_switches_the_clone_and_not_while_agents_hold_claims(
    dibs, held, other, record, monkeypatch
):
    monkeypatch.setenv("DIBS_ENGINE", other)

    assert dibs("engine", "use", agent="bob").status == 77
    busy = dibs("engine", "use")
    assert busy.status == 77
    assert "alice (holds 1 claim" in busy.err
    assert json.loads(record.read_text())["engine"] == "sqlite"

    monkeypatch.delenv("DIBS_ENGINE")
    dibs("release", "--all", agent="alice")
    monkeypatch.setenv("DIBS_ENGINE", other)
    assert dibs("engine", "use").status == 0
    assert dibs("claim", "a.py", "--new", agent="bob").status == 0


def test_a_damaged_record_is_refused_and_replaced_by_a_human(dibs, held, record):
    record.write_text("[]")

    answer = dibs("claim", "b.py", "--new", agent="bob")
    assert answer.status == 78
    assert "dibs engine use --force" in answer.err

    assert dibs("engine", "use", "--force", "--json").json == {"engine": "sqlite", "used": True}
    assert dibs("claim", "b.py", "--new", agent="bob").status == 0


def test_two_first_changes_with_different_settings_agree_on_one_store(dibs, repo, other):
    """The record of the process that is first counts; the other one is refused before its change."""
    mine, theirs = locate(), locate("", {"DIBS_ENGINE": other})
    clone_record.write(mine)

    with pytest.raises(clone_record.Misconfigured) as refusal:
        clone_record.write(theirs)

    assert refusal.value.code == "ENGINE_MISMATCH"


def test_the_redis_password_comes_from_a_variable_or_a_file_next_to_the_url(
    dibs, tmp_path, monkeypatch
):
    secret = tmp_path / "secret"
    with RedisServer(tmp_path / "redis", password="right-7712") as server:
        plain = server.url.replace(":right-7712@", "")
        assert "right" not in plain
        monkeypatch.setenv("DIBS_ENGINE", plain)
        monkeypatch.setenv("DIBS_PROJECT", "demo")
        answers = [dibs("claim", "a.py", "--new", agent="alice")]
        monkeypatch.setenv("DIBS_REDIS_PASSWORD_FILE", str(secret))
        answers.append(dibs("claim", "a.py", "--new", agent="alice"))
        secret.write_text("right-7712\n")
        answers.append(dibs("claim", "a.py", "--new", agent="alice"))
        monkeypatch.setenv("DIBS_REDIS_PASSWORD", "wrong-1234")
        answers.append(dibs("claim", "b.py", "--new", agent="bob"))
        monkeypatch.setenv("DIBS_REDIS_PASSWORD", "right-7712")
        answers.append(dibs("claim", "a.py", agent="bob"))

    assert [answer.status for answer in answers] == [78, 78, 0, 78, 3]
    assert str(secret) in answers[1].err
    said = "".join(answer.out + answer.err for answer in answers)
    assert "7712" not in said
    assert "1234" not in said


@pytest.mark.parametrize("url", ["", "sqlite://{}/shared.db"])
@pytest.mark.parametrize("pattern", ["a.py", "src/"])
def test_what_an_agent_without_hooks_releases_is_saved_as_its_own(
    dibs, tmp_path, monkeypatch, url, pattern
):
    if url:
        monkeypatch.setenv("DIBS_ENGINE", url.format(tmp_path))
        dibs("init", "--agents", "none")
    path = "src/a.py" if pattern == "src/" else pattern
    os.makedirs("src", exist_ok=True)
    git("commit", "-q", "--allow-empty", "-m", "first")
    dibs("claim", pattern, "--new", agent="alice")
    with open(path, "w", encoding="utf-8") as file:
        file.write("by alice\n")

    answer = dibs("release", pattern, agent="alice")

    assert answer.status == 0, answer
    saved = dibs("salvage", "ls").out
    assert "alice/" in saved
    assert path in saved


def test_an_uncommitted_settings_file_cannot_select_another_store(dibs, held, other, repo):
    Path(repo, "dibs.toml").write_text(f'engine = "{other}"\n')

    answer = dibs("claim", "a.py", agent="bob")

    assert is_refused(answer, "dibs.toml:1 selects", "export DIBS_ENGINE=sqlite")
