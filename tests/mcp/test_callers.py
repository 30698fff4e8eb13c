"""The caller is identified by variables, tokens, and headers, never by an argument."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing

import pytest
from tests.mcp.wires import NEW, OLD, TOKENS, Http, Stdio

from dibs.cli import main
from dibs.errors import BadInput
from dibs.local.installation import install_command
from dibs.mcp.callers import of_process
from dibs.project.project import open_project

ERAS = pytest.mark.parametrize("era", [OLD, NEW])


@pytest.fixture(scope="module")
def bobs(served):
    """The token of the agent bound."""
    return bearer(served.token("--agent", "bound"))


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


# -- another agent's claim


def test_knowing_a_claim_does_not_mean_owning_it(pair, path):
    alice, bob = pair
    token = alice.call("claim", paths=[path])["claims"][0]["token"]

    by_path = bob.fails("release", paths=[path])
    by_token = bob.fails("release", all=True, token=token)
    by_both = bob.fails("release", paths=[path], token=token)

    assert [e["code"] for e in (by_path, by_token, by_both)] == ["NOT_YOU"] * 3
    assert alice.call("status", paths=[path])["claims"][0]["agent"] == "alice"
    alice.call("release", all=True)


def test_only_the_owner_of_a_task_can_end_it(pair):
    alice, bob = pair
    made = alice.call("task", action="new", text="mine alone", agent="alice")["task"]["id"]
    alice.call("task", action="start", id=made)

    for action in ("done", "fail", "release"):
        assert bob.fails("task", action=action, id=made, text="stolen")["code"] == "NOT_YOU"

    assert alice.call("task", action="release", id=made)["ok"]
    alice.call("task", action="start", id=made)
    assert alice.call("task", action="done", id=made)["task"]["state"] == "done"


def test_no_tool_has_an_argument_for_the_acting_agent(pair):
    for tool in pair[0].request("tools/list")["result"]["tools"]:
        assert not {"caller", "as_agent", "holder", "from"} & set(tool["inputSchema"]["properties"])


# -- standard streams


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


def test_a_dead_owner_does_not_block_anyone(tmp_path):
    from dibs import Dibs
    from dibs.core.toolcalls.values import EventKind, HookEvent, How, Touch
    from dibs.local.processes import running

    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with Dibs.open(tmp_path, agent="bob") as dibs:
        path = str(tmp_path / "a.py")
        heard = HookEvent(
            "claude", EventKind.BEFORE, session="11112222", tool="Write", cwd=str(tmp_path),
            touches=(Touch(path, How.WRITE),),
        )  # fmt: skip
        dibs.project.guarding.hear(heard, running(other.pid), {})
        from dibs.mcp import inputs, tools_claims

        wish = inputs.ClaimAsked(paths=[path])
        assert tools_claims.claim(dibs, wish)["outcome"] == "denied"
        other.kill()
        other.communicate()
        assert tools_claims.claim(dibs, wish)["outcome"] == "granted"


# -- HTTP


@ERAS
def test_without_a_valid_token_every_request_is_rejected(served, era):
    wire = Http(served.url, "alice", NEW)
    token = TOKENS[served.url]
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    wrong = [
        {"Authorization": ""}, bearer("x" * 32), bearer(""), {"Authorization": f"Basic {token}"},
        bearer(token[:-1]), bearer(served.token("--scope", "read")),
    ]  # fmt: skip

    for headers in wrong:
        status, said = wire.answer(body, MCP_Protocol_Version=era, **headers)
        assert status == (403 if headers is wrong[-1] else 401)
        assert token not in str(said)


@ERAS
def test_an_agents_token_is_not_valid_for_another_agent(served, bobs, era):
    assert Http(served.url, "alice", era, **bobs).fails("status")["code"] == "NOT_YOU"

    assert Http(served.url, "bound", era, **bobs).call("status")["agent"] == "bound"
    assert Http(served.url, "", era, **bobs).call("status")["agent"] == "bound"
    assert Http(served.url, "carol", era).call("status")["agent"] == "carol"


@ERAS
def test_a_human_token_cannot_act_as_an_agent_with_its_own_token(served, bobs, era):
    refused = Http(served.url, "bound", era).fails("status")

    assert (refused["code"], refused["field"]) == ("NOT_YOU", "Dibs-Agent")
    assert "use that token" in refused["hint"]
    assert Http(served.url, "boundless", era).call("status")["agent"] == "boundless"


def test_a_session_is_only_for_the_token_that_opened_it(served, bobs):
    alice = Http(served.url, "alice", OLD)
    alice.call("status")
    stolen = {"Mcp_Session_Id": alice.headers["Mcp-Session-Id"], "MCP_Protocol_Version": OLD}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}

    assert Http(served.url, "", NEW, **bobs).answer(body, **stolen)[0] == 404


def test_without_a_header_a_session_has_an_agent_and_a_single_request_does_not(served):
    old, other = Http(served.url, "", OLD), Http(served.url, "", OLD)

    name = old.call("status")["agent"]

    assert name.startswith("mcp-wire-")
    assert other.call("status")["agent"] != name
    assert Http(served.url, "", NEW).fails("status")["code"] == "NO_CALLER"


def test_a_header_with_an_invalid_name_is_rejected(served):
    for name in ("human", "all", "a b", "x" * 65):
        error = Http(served.url, name, NEW).fails("claim", paths=["x"])
        assert error["code"] == "AGENT_ID"


def test_an_agent_in_another_worktree_commits_there(served, repo, tmp_path):
    def git(*words, cwd=repo):
        done = subprocess.run(["git", *words], cwd=cwd, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("commit", "-q", "--allow-empty", "-m", "start")
    tree = tmp_path / "tree"
    git("worktree", "add", "-q", "-b", "side", str(tree))
    (tree / "new.txt").write_text("new\n")
    wire = Http(served.url, "worker", NEW, Dibs_Worktree=str(tree))
    wire.call("claim", paths=[str(tree / "new.txt")])

    said = wire.call("commit", message="add new.txt", release=True)

    assert (said["outcome"], said["ref"]) == ("committed", "refs/heads/side")
    assert said["files"] == [{"path": "new.txt", "what": "new"}]
    assert git("log", "-1", "--format=%s", cwd=tree) == "add new.txt"
    for wrong in ("relative", str(tmp_path), "/"):
        wire.headers["Dibs-Worktree"] = wrong
        assert wire.fails("status")["field"] == "Dibs-Worktree"


# -- startup


@pytest.fixture
def start(repo, capsys, monkeypatch):
    """Start a server that fails to start; return its status and output."""
    monkeypatch.chdir(repo)

    def started(*words):
        status = main(["mcp", *words])
        said = capsys.readouterr()
        return status, said.out, said.err

    return started


@pytest.mark.parametrize("words", [("--http",), ("--http", "--host", "0.0.0.0"), ("--port", "1")])
def test_the_old_http_server_says_in_one_line_what_replaced_it(start, words):
    status, out, err = start(*words)

    assert (status, out, err.count("\n")) == (64, "", 1)
    assert "dibs serve" in err


def test_without_the_extra_one_line_says_how_to_install_it(repo):
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
    assert f"(run: {install_command('mcp')})" in done.stderr
