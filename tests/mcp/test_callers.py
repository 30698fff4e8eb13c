"""The caller is identified by variables and sessions, never by an argument."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing

import pytest
from tests.mcp.wires import NEW, OLD, Stdio

from dibs.errors import BadInput
from dibs.mcp.callers import of_process
from dibs.project.project import open_project

ERAS = pytest.mark.parametrize("era", [OLD, NEW])


def test_knowing_a_claim_does_not_mean_owning_it(pair, path):
    alice, bob = pair
    token = alice.call("claim", paths=[path])["claims"][0]["token"]

    by_path = bob.fails("release", paths=[path])
    by_token = bob.fails("release", all=True, token=token)
    by_both = bob.fails("release", paths=[path], token=token)

    assert [e["code"] for e in (by_path, by_token, by_both)] == ["NOT_YOU"] * 3
    assert alice.call("status", paths=[path])["claims"][0]["agent"] == "alice"
    alice.call("release", all=True)


def test_no_tool_has_an_argument_for_the_acting_agent(pair):
    for tool in pair[0].request("tools/list")["result"]["tools"]:
        assert not {"caller", "as_agent", "holder", "from"} & set(tool["inputSchema"]["properties"])


@ERAS
def test_an_unnamed_agent_is_named_after_its_client(repo, era):
    wire = Stdio(repo, "", era)
    try:
        assert wire.call("status")["agent"] == f"mcp-wire-{os.getpid()}"
    finally:
        wire.close()


def test_an_invalid_agent_name_is_reported_with_its_variable(repo):
    with closing(open_project(str(repo))) as project, pytest.raises(BadInput) as caught:
        of_process(None, {"DIBS_AGENT": "a/b"}, project)

    assert (caught.value.code, caught.value.field) == ("AGENT_ID", "DIBS_AGENT")


@pytest.mark.parametrize("named", ["", "crew"])
def test_an_agent_known_from_its_hooks_is_the_same_agent_in_its_tools(tmp_path, named):
    """The server's parent is the agent's process; a second session with the same name gets a number."""
    from dibs.core.toolcalls.values import EventKind, HookEvent
    from dibs.project.project import create

    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    environ = {"DIBS_AGENT": named} if named else {}
    project, _ = create(str(tmp_path))
    start = HookEvent("claude", EventKind.STARTED, session="0c0ffee0-1", cwd=str(tmp_path))
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        from dibs.local.processes import running

        if named:
            project.guarding.hear(start._replace(session="other-1"), running(other.pid), environ)
        told = project.guarding.hear(start, running(os.getpid()), environ)
        wire = Stdio(tmp_path, named, NEW)
        try:
            assert wire.call("status")["agent"] == told.reader
            assert told.reader == ("crew-2" if named else told.reader)
        finally:
            wire.close()
    finally:
        project.guarding.hear(start._replace(moment=EventKind.ENDED), running(os.getpid()), environ)
        project.close()
        other.communicate(b"\n")


def test_without_the_extra_one_line_names_it(repo):
    without = (
        "import importlib.util as u; f = u.find_spec\n"
        "u.find_spec = lambda n, *a: None if n.startswith('mcp') else f(n, *a)\n"
        "from dibs.cli import program; program()"
    )
    done = subprocess.run(
        [sys.executable, "-c", without, "mcp"],
        cwd=repo,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (78, "", 1)
    assert "(install dibs[mcp])" in done.stderr
