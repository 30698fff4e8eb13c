"""``dibs delegate``: work goes to another agent, with a warning if similar work is active."""

from __future__ import annotations

import re

import pytest


@pytest.fixture
def crew(dibs):
    dibs("agent", "join", "--role", "tester", agent="ada")
    dibs("agent", "join", "--role", "tester", agent="bob")
    return dibs


def test_delegated_work_is_a_task_file_and_its_agent_is_notified(crew, repo):
    answer = crew("delegate", "ada", "Cover the login", "--path", "tests/**", agent="lead")

    assert answer.status == 0
    assert answer.out.startswith("sent ")
    assert answer.out.endswith("notified ada\n")
    assert len(list(repo.glob("work/inbox/*-ada-cover-the-login.yaml"))) == 1


def test_similar_active_work_is_a_warning_that_names_it_and_the_work_is_sent(crew, repo):
    crew("delegate", "ada", "Cover the login", agent="lead")

    answer = crew("delegate", "bob", "Cover login", agent="lead")

    assert answer.status == 0
    assert re.search(
        r'similar \S+cover-the-login \(ada\) <data-\w+ from="board">Cover the login</data-\w+>: 100%',
        answer.out,
    )
    assert "notified bob\n" in answer.out
    (undo,) = re.findall("cancel yours: dibs (.+)", answer.out)
    assert len(list(repo.glob("work/inbox/*.yaml"))) == 2
    assert crew(*undo.split(), agent="lead").status == 0
    assert [path.name for path in repo.glob("work/inbox/*-bob-*.yaml")] == []


def test_strict_shows_similar_active_work_and_sends_nothing(crew, repo):
    crew("delegate", "ada", "Cover the login", agent="lead")

    answer = crew("delegate", "bob", "Cover login", "--strict", agent="lead")

    assert answer.status == 3
    _, first, last = answer.out.splitlines()
    assert first.startswith("similar ")
    assert re.search(
        r'\(ada\) <data-\w+ from="board">Cover the login</data-\w+>: 100% word overlap', first
    )
    assert last == "not sent: similar work is active; omit --strict to send it"
    assert len(list(repo.glob("work/inbox/*.yaml"))) == 1


def test_both_outcomes_have_json(crew):
    sent = crew("delegate", "ada", "Cover the login", "--json", agent="lead").json
    words = ("delegate", "bob", "Cover the login", "--json")
    similar = crew(*words, "--strict", agent="lead").json
    warned = crew(*words, agent="lead").json

    assert (sent["outcome"], sent["told"], sent["task"]["agent"]) == ("delegated", ["ada"], "ada")
    assert (sent["similar"], sent["next"]) == ([], [])
    assert (warned["outcome"], warned["told"]) == ("delegated", ["bob"])
    assert warned["similar"] == similar["similar"]
    assert warned["next"][0].endswith(f"dibs delegate --cancel {warned['task']['id']}")
    assert similar["outcome"] == "similar"
    assert similar["similar"] == [
        {"task": sent["task"]["id"], "agent": "ada", "title": "Cover the login", "share": 1.0, "paths": []}
    ]  # fmt: skip


@pytest.mark.parametrize("words", [(), ("ada",), ("ada", "Paint", "--cancel", "x")])
def test_delegate_needs_a_recipient_and_a_title_or_a_task_to_cancel(crew, words):
    assert crew("delegate", *words, agent="lead").status == 64


def test_work_for_a_role_of_several_words_goes_to_an_agent_with_that_role(crew):
    crew("agent", "join", "--role", "Code Reviewer", agent="rita")

    sent = crew("delegate", "code reviewer", "Read the parser", "--json", agent="lead").json

    assert (sent["told"], sent["task"]["agent"]) == (["rita"], "code-reviewer")
    task = sent["task"]["id"]
    assert crew("task", "start", task, agent="ada").status == 77
    assert crew("task", "start", task, agent="rita").status == 0


def test_work_can_be_cancelled(crew):
    task = crew("delegate", "ada", "Cover the login", "--json", agent="lead").json["task"]["id"]

    answer = crew("delegate", "--cancel", task, "--reason", "done by hand", agent="lead")

    assert answer.status == 0
    assert answer.out.startswith(f"cancelled {task}")
    assert crew("delegate", "--cancel", task, "--json", agent="lead").status == 65
