"""``dibs token``: with and without a running server, and never for an agent."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from tests.server.callers import bearer
from tests.server.conftest import PROGRAM

from dibs.local.noted_agents import forget, note
from dibs.local.processes import running
from dibs.local.repository import find


def made(server, *words):
    done = server.dibs("token", "new", *words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def status(server, token):
    return server.request("GET", "/api/v1/status", headers=bearer(token), tcp=True).status


def test_a_token_is_valid_at_once_in_a_running_server_until_it_is_revoked(server):
    new = made(server, "--scope", "read")
    assert status(server, new["token"]) == 200

    assert server.dibs("token", "revoke", new["id"]).returncode == 0

    assert status(server, new["token"]) == 401
    assert server.dibs("token", "revoke", new["id"]).returncode == 6


def test_the_token_alone_is_printed_once_and_never_listed(server):
    done = server.dibs("token", "new", "--agent", "alice", "--expires", "1h")
    token = done.stdout.strip()

    assert status(server, token) == 200
    assert "alice in repo" in done.stderr
    listed = server.dibs("token", "ls")
    assert "alice in repo" in listed.stdout
    assert token[6:] not in listed.stdout + server.dibs("token", "ls", "--json").stdout
    assert token not in "".join(
        file.read_text() for file in server.folder.iterdir() if file.is_file()
    )


def test_an_agents_token_names_its_agent_and_is_for_this_project(server):
    new = made(server, "--agent", "bob")
    body = {"patterns": ["of-bob.py"]}
    granted = server.request("POST", "/api/v1/claims", body, bearer(new["token"]), tcp=True)

    assert granted.status == 201
    assert (new["agent"], new["scope"], new["folder"]) == ("bob", "agent", str(server.repo))


def test_a_humans_token_proves_nothing_while_an_agent_runs_with_another_home(server, tmp_path):
    """The agent may have started this server, in a home folder of its own, and created the token there."""
    new, reads = made(server, "--scope", "human"), made(server, "--scope", "read")
    state = find(str(server.repo)).state
    away = {**server.environ, "HOME": str(tmp_path)} | {"XDG_STATE_HOME": str(tmp_path / "s")}
    with subprocess.Popen(["sleep", "60"], env=away) as agent:
        note(state, agent.pid, running(agent.pid).born, "eve")
        try:
            found = [status(server, one["token"]) for one in (new, reads)]
        finally:
            forget(state, agent.pid, "eve")
            agent.kill()

    assert found == [403, 200]
    assert status(server, new["token"]) == 200


@pytest.mark.parametrize("words", [
    ("--scope", "agent"), ("--scope", "admin", "--agent", "alice"), ("--agent", "a b"),
    ("--agent", "human-1"),
    ("--expires", "soon"), ("--expires", "0s"), ("--expires", "-1h"),
])  # fmt: skip
def test_options_that_do_not_fit_create_no_token(server, words):
    before = server.dibs("token", "ls", "--json").stdout
    done = server.dibs("token", "new", *words)

    assert (done.returncode in {64, 65}, done.stdout) == (True, "")
    assert server.dibs("token", "ls", "--json").stdout == before


@pytest.mark.parametrize("verb", [("new", "--scope", "admin"), ("revoke", "0")])
def test_an_agent_can_neither_create_nor_revoke_tokens(server, verb):
    named = server.dibs("token", *verb, DIBS_AGENT="mallory")
    assert named.returncode == 77
    assert "mallory" in named.stderr


def test_an_agent_stays_one_without_its_variable_and_in_another_folder(server, tmp_path):
    """Its process is below one that has the variable, or that the project's hooks have recorded."""
    words = [*PROGRAM, "token", "new", "--scope", "admin"]
    shell = (
        f"import subprocess, os; os.environ.pop('DIBS_AGENT'); os._exit(subprocess.call({words!r}))"
    )
    environ = {**server.environ, "DIBS_AGENT": "mallory"}
    below = subprocess.run([sys.executable, "-c", shell], env=environ, cwd=tmp_path, check=False)
    assert below.returncode == 77

    state, me = find(str(server.repo)).state, running(os.getpid())
    note(state, me.pid, me.born, "carol")
    try:
        done = subprocess.run(
            words, env=server.environ, cwd=tmp_path, capture_output=True, text=True, check=False
        )
    finally:
        forget(state, me.pid, "carol")
    assert done.returncode == 77
    assert "carol" in done.stderr
