"""A human's token may name agents, but none that proves by itself who it is."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.server.callers import client, token

from dibs.core.toolcalls.values import EventKind, HookEvent
from dibs.local.processes import running
from dibs.server.security.identity import TokenScope


@pytest.fixture
def session(served):
    """A running session of another process; returns its agent's id, and ends the process after the test."""
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    start = HookEvent("claude", EventKind.STARTED, session="0c0ffee0-1", cwd=served.root)
    told = served.project().guarding.hear(start, running(other.pid), {})
    yield told.reader, other
    other.kill()
    other.communicate()


def code(answer):
    return answer.status_code, answer.json().get("error", {}).get("code")


def ways(http, name):
    """Return the answers to every request in which a human names an agent."""
    header = {"Dibs-Agent": name}
    return {
        "claim": http.post("/api/v1/claims", json={"patterns": ["a.py"]}, headers=header),
        "read": http.get("/api/v1/messages", headers=header),
        "release": http.post("/api/v1/claims/release", json={"all": True}, headers=header),
        "command": http.post("/api/v1/commands", json={"argv": ["release", "--all"]}, headers=header),
        "join": http.post("/api/v1/agents", json={"id": name}),
        "report": http.post(f"/api/v1/agents/{name}/report", json={"status": "busy"}),
        "beat": http.post(f"/api/v1/agents/{name}/beat", json={}),
        "lock": http.post("/api/coordination/locks", json={"agentId": name, "filePath": "a.py"}),
        "unlock": http.delete("/api/coordination/locks/a.py", params={"agentId": name}),
    }  # fmt: skip


def test_a_human_token_cannot_act_as_an_agent_with_its_own_token(resident, served):
    token(resident, agent="alice", served=served)
    with client(resident, token(resident, TokenScope.HUMAN)) as http:
        refused = {way: code(answer) for way, answer in ways(http, "alice").items()}
        free = http.post(
            "/api/v1/claims", json={"patterns": ["b.py"]}, headers={"Dibs-Agent": "bob"}
        )

    assert set(refused.values()) == {(403, "NOT_YOU")}, refused
    assert free.status_code == 201


def test_a_human_token_cannot_act_as_a_running_session(resident, served, session):
    name, process = session
    with client(resident, token(resident)) as http:
        refused = {way: code(answer) for way, answer in ways(http, name).items()}
        assert set(refused.values()) == {(403, "NOT_YOU")}, refused
        process.kill()
        process.wait()
        after = http.post(
            "/api/v1/claims", json={"patterns": ["a.py"]}, headers={"Dibs-Agent": name}
        )

    assert after.status_code == 201, "a session whose process has ended is free"


def test_a_human_can_still_end_a_session_and_act_as_a_human(resident, served, session):
    name, _ = session
    with client(resident, token(resident)) as http:
        own = http.post("/api/v1/claims", json={"patterns": ["a.py"]})
        left = http.post(f"/api/v1/agents/{name}/leave", json={})

    assert (own.status_code, left.status_code) == (201, 200), left.text


def test_a_bound_token_of_another_project_or_an_expired_one_does_not_count(resident, served):
    resident.tokens.new(TokenScope.AGENT, agent="alice", project="elsewhere")
    resident.tokens.new(TokenScope.AGENT, agent="alice", project=served.id, lifetime=-1)
    with client(resident, token(resident)) as http:
        answer = http.post(
            "/api/v1/claims", json={"patterns": ["a.py"]}, headers={"Dibs-Agent": "alice"}
        )

    assert answer.status_code == 201
