"""whoami: the acting agent, what its identity comes from, and its role."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from dibs.core.toolcalls.values import EventKind, HookEvent
from dibs.local.processes import running
from dibs.project.project import create


def test_the_option_decides_first(dibs, monkeypatch):
    monkeypatch.setenv("DIBS_AGENT", "named")

    answer = dibs("whoami", "--json", agent="flagged").json

    assert (answer["agent"], answer["source"], answer["value"]) == ("flagged", "flag", "flagged")
    assert answer["human"] is False


def test_the_variable_decides_without_the_option(dibs, monkeypatch):
    monkeypatch.setenv("DIBS_AGENT", "named")

    answer = dibs("whoami")

    assert answer.out.splitlines()[:2] == ["named, an agent", "  because DIBS_AGENT is set"]


def test_without_a_name_you_are_a_human(dibs, monkeypatch):
    monkeypatch.setenv("USER", "pat")

    answer = dibs("whoami", "--json").json

    assert answer["human"] is True
    assert answer["role"] == "human"
    assert answer["source"] in {"terminal", "session"}
    assert answer["agent"].startswith("pat-")


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_command_in_the_shell_of_a_guarded_agent_is_the_agents(repo):
    project, _ = create(str(repo))
    heard = HookEvent("claude", EventKind.BEFORE, "11111111", command="dibs whoami")
    project.guarding.hear(heard, running(os.getpid()), {})
    project.close()

    line = [sys.executable, "-m", "dibs", "whoami", "--json"]
    done = subprocess.run(["sh", "-c", '"$@"', "sh", *line], capture_output=True, check=True)

    answer = json.loads(done.stdout)
    assert (answer["agent"], answer["source"]) == ("claude-11111111", "process")


def test_exactly_one_source_is_used_and_all_are_shown(dibs):
    answer = dibs("whoami", "--json", agent="bob").json

    assert [row["source"] for row in answer["considered"]] == [
        "flag", "variable", "process", "terminal", "session",
    ]  # fmt: skip
    assert [row["source"] for row in answer["considered"] if row["used"]] == ["flag"]
    text = dibs("whoami", "-v", agent="bob").out
    assert all(name in text for name in ("--agent", "agent process", "DIBS_AGENT", "terminal"))
    assert "SOURCE" not in dibs("whoami", agent="bob").out


def test_the_role_is_the_one_in_this_project(dibs, repo):
    dibs("agent", "join", "--role", "tester", agent="bob")

    answer = dibs("whoami", "--json", agent="bob").json

    assert (answer["role"], answer["registered"]) == ("tester", True)
    assert answer["project"] == str(repo)
    assert dibs("whoami", "--json", agent="zoe").json["registered"] is False
    assert "none (not registered in this project)" in dibs("whoami", agent="zoe").out


def test_asking_creates_nothing(dibs, repo):
    before = sorted(os.listdir(repo / ".git"))

    dibs("whoami")

    assert sorted(os.listdir(repo / ".git")) == before


def test_it_works_outside_of_a_repository(dibs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    answer = dibs("whoami", "--json", agent="bob")

    assert answer.status == 0
    assert answer.json["project"] is None
    assert "project: none" in dibs("whoami").out
    assert dibs("whoami", "--repo", "/nowhere").status == 6


def test_without_a_terminal_the_reason_names_the_login_session(repo):
    line = [sys.executable, "-m", "dibs", "whoami"]
    done = subprocess.run(
        line, capture_output=True, check=True, text=True, stdin=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip

    reason = done.stdout.splitlines()[1]
    assert reason.startswith("  because no agent is named and there is no terminal (login session ")


def test_who_am_i_suggests_whoami(dibs):
    answer = dibs("who", "am", "i")

    assert answer.status == 64
    assert "did you mean 'dibs whoami'?" in answer.err
