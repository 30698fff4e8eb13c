"""The Unix socket: the process at the other end decides who acts."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from dibs.local.noted_agents import forget, note
from dibs.local.processes import running, session_number
from dibs.local.repository import find
from dibs.server.security.identity import Peer
from dibs.server.security.peers import identity_of_peer
from dibs.server.security.refusals import RequestRefused

#: Sends a claim over the socket, as a process of its own.
CLAIM = """
import http.client, json, socket, sys
link = http.client.HTTPConnection("localhost")
link.sock = socket.socket(socket.AF_UNIX)
link.sock.connect(sys.argv[1])
kind = {"Content-Type": "application/json"}
link.request("POST", "/api/v1/claims", json.dumps({"patterns": [sys.argv[2]]}), kind)
answer = link.getresponse()
print(answer.status, answer.read().decode())
"""
#: Starts a process that starts the first one: an agent's shell.
SHELL = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', *sys.argv[1:]]))"


def claim(server, path, *, program=(CLAIM,), **environ):
    words = [sys.executable, "-c", *program, server.socket, path]
    done = subprocess.run(
        words, env={**server.environ, **environ}, capture_output=True, text=True, check=True
    )
    status, _, body = done.stdout.partition(" ")
    return int(status), json.loads(body)


def owner(server, path):
    claims = json.loads(server.dibs("status", "--json").stdout)["claims"]
    return next((one["agent"] for one in claims if path in str(one)), "")


def test_another_users_process_is_refused(resident):
    with pytest.raises(RequestRefused) as caught:
        identity_of_peer(Peer(os.getpid(), os.getuid() + 1), resident.projects)
    assert (caught.value.code, caught.value.http_status) == ("AUTH", 403)


@pytest.mark.parametrize("pid", [0, 2**22 + 5])
def test_a_process_that_cannot_be_seen_is_refused(resident, pid):
    with pytest.raises(RequestRefused):
        identity_of_peer(Peer(pid, os.getuid()), resident.projects)


def test_a_process_that_belongs_to_no_agent_is_the_human(server):
    status, _ = claim(server, "by-human.py", USER="pat")

    assert status == 201
    assert owner(server, "by-human.py") == "pat-terminal"


@pytest.mark.parametrize("program", [(CLAIM,), (SHELL, CLAIM)], ids=["itself", "its child"])
def test_a_process_below_one_with_an_agents_variable_is_that_agent(server, program):
    path = f"named-{len(program)}.py"
    assert claim(server, path, program=program, DIBS_AGENT="alice")[0] == 201

    assert owner(server, path) == "alice"


def test_a_process_below_an_agents_session_is_that_agent_whatever_its_environment_says(server):
    state, me = find(str(server.repo)).state, running(os.getpid())
    note(state, me.pid, me.born, "carol")
    try:
        assert claim(server, "below.py", DIBS_AGENT="mallory")[0] == 201
        assert server.request("GET", "/api/v1/status", headers={"Dibs-Agent": "bob"}).status == 403
    finally:
        forget(state, me.pid, "carol")

    assert owner(server, "below.py") == "carol"


def test_a_refusal_at_the_socket_names_the_process_and_not_a_token(server):
    state, me = find(str(server.repo)).state, running(os.getpid())
    note(state, me.pid, me.born, "carol")
    try:
        other = server.request("GET", "/api/v1/status", headers={"Dibs-Agent": "bob"})
        revoked = server.request("POST", "/api/v1/claims/revoke", {"pattern": "x", "reason": "y"})
    finally:
        forget(state, me.pid, "carol")

    said = other.json["error"]
    assert (said["message"], said["hint"]) == ("the process belongs to carol", "omit the header")
    assert "the process has agent" in revoked.json["error"]["message"]


def test_a_detached_process_is_not_a_human_while_a_session_runs(server):
    state = find(str(server.repo)).state
    agent = subprocess.Popen(["sleep", "60"])
    note(state, agent.pid, running(agent.pid).born, "dora")
    try:
        answer = server.request("POST", "/api/v1/messages", {"to": "dora", "text": "hello"})
        revoked = server.request("POST", "/api/v1/claims/revoke", {"pattern": "x", "reason": "y"})
        status, _ = claim(server, "detached.py")
    finally:
        agent.kill()
        agent.wait()
        forget(state, agent.pid, "dora")

    assert (answer.status, revoked.status, status) == (403, 403, 201)
    assert owner(server, "detached.py").endswith(
        f"-s{session_number()}"
    )  # and not the human's claim


#: Starts a session with a hook, then runs the program in its shell.
SESSION = """
import json, subprocess, sys
event = {"session_id": "4a4a4a4a-s", "cwd": sys.argv[1], "hook_event_name": "SessionStart"}
hook = [sys.executable, "-m", "dibs", "hook", "claude"]
subprocess.run(hook, input=json.dumps(event), text=True, stdout=2, check=True, cwd=sys.argv[1])
print(subprocess.run([sys.executable, "-c", *sys.argv[2:]], capture_output=True, text=True).stdout)
sys.stdout.flush()
sys.stdin.read()
"""


def test_the_name_of_a_running_session_works_only_in_its_process_tree(server):
    words = [sys.executable, "-c", SESSION, str(server.repo), CLAIM, server.socket, "own.py"]
    environ = {**server.environ, "DIBS_AGENT": "erin"}
    session = subprocess.Popen(
        words, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert session.stdout.readline().startswith("201 ")
        status, body = claim(server, "stolen.py", DIBS_AGENT="erin")
        owners = owner(server, "own.py"), owner(server, "stolen.py")
    finally:
        session.communicate()

    assert (status, body["error"]["code"]) == (403, "NOT_YOU")
    assert owners == ("erin", "")
