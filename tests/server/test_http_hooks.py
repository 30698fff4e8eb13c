"""Hooks over HTTP: they answer as a hook does, and only for the session whose process sends them."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from contextlib import closing

import pytest
from tests.guard.hooking import PACKAGE
from tests.server.conftest import PATIENCE

SENDER = """
import json, sys, urllib.request
url, token, body = sys.argv[1:]
headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
with urllib.request.urlopen(urllib.request.Request(url, body.encode(), headers)) as answer:
    sys.stdout.write(answer.read().decode())
"""


def payload(repo, event, session, path="", **more):
    tool = (
        {"tool_name": "Write", "tool_input": {"file_path": str(repo / path), "content": "x"}}
        if path
        else {}
    )
    return {"session_id": session, "cwd": str(repo), "hook_event_name": event, **tool, **more}


@pytest.fixture(scope="module")
def tokens(server):
    """A token without an agent, and that of carol; later, this process is an agent and gets none."""
    server.dibs("claim", "held.py", "--agent", "bob", "--ttl", "1h")
    made = [
        server.dibs("token", "new", *words, "--json")
        for words in (("--scope", "read"), ("--agent", "carol"))
    ]
    return [json.loads(one.stdout)["token"] for one in made]


@pytest.fixture
def token(tokens):
    return tokens[0]


def run_hook(server, event, session, path="", **environ):
    """Run the command hook, whose agent is this process."""
    return subprocess.run(
        [sys.executable, "-I", "-S", str(PACKAGE / "guard" / "run.py"), "claude"],
        input=json.dumps(payload(server.repo, event, session, path)).encode(),
        cwd=server.repo, env={**server.environ, **environ}, capture_output=True, check=False,
    )  # fmt: skip


def post(server, token, body, agent="claude"):
    """Send a hook from this process."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    host = server.url.removeprefix("http://")
    with closing(http.client.HTTPConnection(host, timeout=PATIENCE)) as link:
        link.request("POST", f"/hooks/{agent}", json.dumps(body), headers)
        answer = link.getresponse()
        return answer.status, json.loads(answer.read())


def holders(server, path):
    (found,) = json.loads(server.dibs("who", path, "--json").stdout)["paths"]
    return found["holders"]


def decision(found):
    return found.get("hookSpecificOutput", {}).get("permissionDecision", "")


def test_the_answer_is_that_of_the_command_hook(server, token):
    assert run_hook(server, "SessionStart", "s1").returncode == 0
    alone = json.loads(run_hook(server, "PreToolUse", "s1", "held.py").stdout)

    status, found = post(server, token, payload(server.repo, "PreToolUse", "s1", "held.py"))

    assert status == 200
    assert decision(found) == decision(alone) == "deny"
    assert "bob holds it" in found["hookSpecificOutput"]["permissionDecisionReason"]
    assert post(server, token, payload(server.repo, "PreToolUse", "s1", "free.py"))[1] == {}
    assert holders(server, "free.py")


def test_a_session_without_a_command_hook_is_blocked(start_server):
    server = start_server()
    told = json.loads(server.dibs("token", "new", "--scope", "read", "--json").stdout)["token"]

    status, found = post(server, told, payload(server.repo, "PreToolUse", "unknown", "a.py"))

    assert (status, decision(found)) == (200, "deny")
    assert "SessionStart" in found["hookSpecificOutput"]["permissionDecisionReason"]
    status, found = post(server, told, payload(server.repo, "PostToolUse", "unknown", "a.py"))
    assert "systemMessage" in found


def test_another_process_cannot_speak_for_a_session(server, token):
    run_hook(server, "SessionStart", "s2")
    body = json.dumps(payload(server.repo, "PreToolUse", "s2", "other.py"))

    done = subprocess.run(
        [sys.executable, "-c", SENDER, f"{server.url}/hooks/claude", token, body],
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert decision(json.loads(done.stdout)) == "deny"
    assert holders(server, "other.py") == []


def test_an_agents_token_speaks_only_for_that_agent(server, tokens):
    run_hook(server, "SessionStart", "s3", DIBS_AGENT="carol")
    run_hook(server, "SessionStart", "s4", DIBS_AGENT="dave")
    carol = tokens[1]

    mine = post(server, carol, payload(server.repo, "PreToolUse", "s3", "carols.py"))[1]
    other = post(server, carol, payload(server.repo, "PreToolUse", "s4", "daves.py"))[1]

    assert mine == {}
    assert decision(other) == "deny"
    assert holders(server, "daves.py") == []


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"cwd": 5}', b"\xff", b"null"])
def test_a_malformed_call_is_blocked(server, token, body):
    headers = {"Authorization": f"Bearer {token}"}
    answer = server.request("POST", "/hooks/claude", body, headers, tcp=True)
    assert decision(answer.json) == "deny"


def test_a_call_outside_of_any_project_passes_unless_it_touches_one(server, token, tmp_path):
    outside = payload(tmp_path, "PreToolUse", "s9", "a.py")
    inside = {**outside, "tool_input": {"file_path": str(server.repo / "held.py"), "content": "x"}}

    assert post(server, token, outside)[1] == {}
    assert decision(post(server, token, inside)[1]) == "deny"


def test_a_hook_needs_a_token_and_a_known_agent(server, token):
    call = payload(server.repo, "PreToolUse", "s1", "held.py")

    assert post(server, "wrong", call)[0] == 401
    assert post(server, token, call, "nobody")[0] == 404
