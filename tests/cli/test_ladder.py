"""A conflict between two agents in two terminals, resolved in each of the three ways."""

from __future__ import annotations

import json
import re

import pytest

from dibs.project.project import open_project


@pytest.fixture
def until(repo):
    """Wait until a condition is true, checking it after every change of the state."""

    def wait(condition):
        project = open_project()
        try:
            seq = 0
            for _ in range(300):
                if condition():
                    return
                seq = project.engine.wait(seq, 0.2)
        finally:
            project.close()
        raise AssertionError("it did not happen")

    return wait


@pytest.fixture
def wait_until(dibs, until):
    """Wait until an agent is in the queue."""

    def until_queued(agent):
        until(lambda: agent in [w["agent"] for w in dibs("status", "--json").json["queue"]])

    return until_queued


@pytest.fixture
def waiter(start, wait_until):
    """Start a process in which an agent waits for a claim."""

    def begin(agent, *patterns, **options):
        process = start("claim", *patterns, "--wait", "5m", "--json", "--agent", agent, **options)
        wait_until(agent)
        return process

    return begin


def answer_of(process):
    out, err = process.communicate(timeout=30)
    assert err == ""
    return process.returncode, json.loads(out)


def decision_in(answer):
    return re.search(r"escalated as (d\d+): ", answer.out)[1]


def test_an_agent_requests_a_release_and_the_reply_is_yes(dibs, waiter):
    dibs("claim", "src/**", agent="alice")
    bob = waiter("bob", "src/a.py")
    dibs("ask", "src/a.py", "--note", "a fix", agent="bob")
    request = dibs("inbox", "--json", agent="alice").json["messages"][0]

    said = dibs("answer", request["id"], "yes", agent="alice")

    assert said.status == 0
    assert said.out == "replied yes to bob: src/**\nreleased src/**\n"
    status, answer = answer_of(bob)
    assert (status, answer["claims"][0]["agent"]) == (0, "bob")


def test_an_agent_escalates_and_the_human_revokes(dibs, waiter):
    dibs("claim", "src/**", "--reason", "big move", agent="alice")
    bob = waiter("bob", "src/a.py")
    asked = dibs("escalate", "src/a.py", "--note", "prod is down", "--json", agent="bob")
    (made,) = asked.json["escalated"]

    done = dibs("decide", "revoke", made["decision"], "--reason", "prod first")

    assert done.status == 0
    status, answer = answer_of(bob)
    assert (status, answer["outcome"]) == (0, "granted")
    assert "revoked your claim on src/**: prod first" in dibs("inbox", agent="alice").out
    assert "claim it now" in dibs("inbox", agent="bob").out
    assert dibs("release", "src/**", agent="alice").status == 4


def test_an_agent_escalates_and_the_human_refuses(dibs, waiter):
    dibs("claim", "src/**", agent="alice")
    bob = waiter("bob", "src/a.py")
    asked = dibs("escalate", "src/a.py", agent="bob")
    name = decision_in(asked)
    assert asked.out.splitlines() == [
        f"escalated as {name}: bob wants src/a.py, which alice holds",
        "wait for the decision: dibs claim src/a.py --wait 10m",
    ]

    assert dibs("decide", "refuse", name, "--reason", "the move comes first").status == 0

    status, answer = answer_of(bob)
    assert (status, answer["outcome"], answer["why"]) == (3, "denied", "refused")
    assert answer["refused"]["reason"] == "the move comes first"
    assert answer["refused"]["decision"] == name
    assert "do not wait for it" in dibs("inbox", agent="bob").out
    assert "you keep your claim" in dibs("inbox", agent="alice").out


def test_a_conflict_that_is_over_is_not_pending_anywhere(dibs):
    dibs("agent", "join", "--role", "lead", agent="lea")
    dibs("claim", "a", agent="alice")
    dibs("escalate", "a", agent="bob")
    assert "1 decision pending" in dibs("status").out
    assert "1 decision pending" in dibs("brief", "--full", agent="lea").out

    dibs("release", "a", agent="alice")

    assert "pending" not in dibs("status").out
    assert "pending" not in dibs("brief", "--full", agent="lea").out
