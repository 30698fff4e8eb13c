"""agent ls, show, join, beat, report, leave, stop."""

from __future__ import annotations

import pytest


def test_a_new_project_has_no_agents(dibs):
    answer = dibs("agent", "ls")

    assert answer.status == 0
    assert "no agents: " in answer.out


def test_agents_are_listed_with_role_and_status(dibs):
    dibs("agent", "join", "--role", "tester", "--task", "42", agent="alice")
    dibs("claim", "a", "b", agent="alice")

    head, row = dibs("agent", "ls").out.splitlines()

    assert head.split() == ["AGENT", "ROLE", "STATUS", "SEEN", "CLAIMS", "TASK"]
    assert row.split()[:3] == ["alice", "tester", "working"]
    assert row.split()[-2:] == ["2", "42"]


def test_ended_agents_are_listed_on_request(dibs):
    dibs("claim", "a", agent="alice")
    dibs("agent", "leave", "--status", "completed", agent="alice")

    assert dibs("agent", "ls", "--json").json["agents"] == []
    (ended,) = dibs("agent", "ls", "--all", "--json").json["agents"]
    assert (ended["id"], ended["status"]) == ("alice", "completed")


def test_one_agent_is_shown_with_its_claims_and_losses(dibs):
    dibs("agent", "join", "--model", "m1", "--pid", "77", "--name", "Alice A.", agent="alice")
    dibs("claim", "a", "b", agent="alice")
    dibs("revoke", "b", "--reason", "mine")

    shown = dibs("agent", "show", "alice", "--json").json
    text = dibs("agent", "show", "alice").out

    assert shown["agent"]["model"] == "m1"
    assert shown["agent"]["pid"] == 77
    assert [claim["pattern"] for claim in shown["claims"]] == ["a"]
    assert [lost["pattern"] for lost in shown["lost"]] == ["b"]
    assert text.startswith("alice\n  name     Alice A.\n")
    assert "holds a (exclusive" in text
    assert "lost b: revoked by " in text


def test_an_agent_joins_under_its_parent(dibs):
    dibs("agent", "join", agent="lead")

    answer = dibs("agent", "join", "--parent", "lead", "--json", agent="sub")

    assert answer.json["agent"]["parent"] == "lead"
    assert dibs("agent", "join", agent="sub").out == "sub joined as agent\n"


def test_a_beat_prints_the_same_news_as_a_renewal(dibs):
    dibs("claim", "a", "b", agent="alice")
    dibs("revoke", "a", "--reason", "mine")

    answer = dibs("agent", "beat", agent="alice")
    again = dibs("agent", "beat", "--json", agent="alice")

    assert answer.status == 4
    assert "renewed b " in answer.out
    assert "lost: your claim on a" in answer.out
    assert (again.status, again.json["lost"]) == (0, [])


def test_a_report_changes_what_others_see(dibs):
    answer = dibs(
        "agent", "report", "--status", "idle", "--task", "9", "--context", "0.7", "--model", "m2",
        "--note", "resting", "--json", agent="alice",
    )  # fmt: skip

    agent = answer.json["agent"]
    assert (agent["status"], agent["task"], agent["model"]) == ("idle", "9", "m2")
    assert agent["context"] == 0.7
    assert "resting" in dibs("log").out
    assert "70% used" in dibs("agent", "show", "alice").out


def test_leaving_releases_everything(dibs):
    dibs("claim", "a", agent="alice")

    answer = dibs("agent", "leave", "--note", "done", agent="alice")

    assert (answer.status, answer.out) == (0, "released a\nalice left\n")
    assert dibs("claim", "a", agent="bob").status == 0


@pytest.mark.parametrize(("words", "status"), [(("--status", "idle"), 65), ((), 6)])
def test_leaving_needs_a_valid_status_and_a_known_agent(dibs, words, status):
    assert dibs("agent", "leave", *words, agent="ghost").status == status


def test_stopping_an_agent_stops_its_subagents(dibs):
    dibs("agent", "join", agent="lead")
    dibs("agent", "join", "--parent", "lead", agent="sub")
    dibs("claim", "a", agent="sub")

    answer = dibs("agent", "stop", "lead", "--reason", "enough")

    assert answer.out == "stopped lead\nstopped sub\n"
    assert dibs("status", "--json").json["claims"] == []
    refused = dibs("claim", "b", agent="sub")
    assert refused.status == 77
    assert "enough" in refused.err


def test_stopping_as_json_is_safe_to_repeat(dibs):
    dibs("agent", "join", agent="alice")

    assert dibs("agent", "stop", "alice", "--json").json == {"stopped": ["alice"]}
    assert dibs("agent", "stop", "alice", "--json").json == {"stopped": []}
    assert dibs("agent", "stop", "alice").out == "alice had already ended\n"
