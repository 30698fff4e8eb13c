"""whoami: the acting agent, what its identity comes from, and its role."""

from __future__ import annotations

import os
import subprocess
import sys


def test_the_option_decides_first(dibs, monkeypatch):
    monkeypatch.setenv("DIBS_AGENT", "named")

    answer = dibs("whoami", "--json", agent="flagged").json

    assert (answer["agent"], answer["source"], answer["value"]) == ("flagged", "flag", "flagged")
    assert answer["human"] is False


def test_the_variable_decides_without_the_option(dibs, monkeypatch):
    monkeypatch.setenv("DIBS_AGENT", "named")

    answer = dibs("whoami")

    assert answer.out.splitlines()[:2] == ["named, an agent", "  because DIBS_AGENT is set"]


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


def test_without_a_terminal_the_reason_names_the_login_session(repo):
    line = [sys.executable, "-m", "dibs", "whoami"]
    done = subprocess.run(
        line, capture_output=True, check=True, text=True, stdin=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip

    reason = done.stdout.splitlines()[1]
    assert reason.startswith("  because no agent is named and there is no terminal (login session ")
