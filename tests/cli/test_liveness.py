"""All surfaces agree on a claim in the moment after its agent's process died."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from dibs import Dibs
from dibs.core.toolcalls.values import EventKind, HookEvent, Touch
from dibs.local.processes import running
from dibs.project.project import open_project

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
AGENT = "claude-11111111"


@pytest.fixture
def project(repo):
    found = open_project(str(repo))
    yield found
    found.close()


@pytest.fixture
def agent(project):
    """The process of an agent that holds a.py, with uncommitted work in it."""
    process = subprocess.Popen(["sleep", "600"])
    heard = HookEvent(
        "claude", EventKind.BEFORE, "11111111", touches=(Touch("a.py"),), tool="Write"
    )
    project.guarding.hear(heard, running(process.pid), {})
    with open("a.py", "w", encoding="utf-8") as file:
        file.write("half-done")
    yield process
    if process.poll() is None:
        process.kill()
        process.wait()


def die(process):
    process.send_signal(signal.SIGKILL)
    process.wait()


def mcp_status():
    from dibs.mcp.inputs import StatusAsked
    from dibs.mcp.tools_claims import status

    with Dibs.open(agent="bob") as bob:
        return status(bob, StatusAsked())


def held(bob):
    return [h.claim.pattern for h in bob.held()]


#: How each surface tells who holds a.py, as a list that is empty where nobody does.
READERS = {
    "check": lambda dibs, _: dibs("check", "a.py", "--json", agent="bob").json["conflicts"],
    "who": lambda dibs, _: dibs("who", "a.py", "--json").json["paths"][0]["holders"],
    "status": lambda dibs, _: dibs("status", "--json").json["claims"],
    "Dibs.held": lambda _, bob: bob.held(),
    "Dibs.check": lambda _, bob: bob.check("a.py"),
    "MCP status": lambda *_: mcp_status()["claims"],
}


@pytest.mark.parametrize("reader", READERS)
def test_a_dead_agents_claim_is_shown_nowhere(agent, dibs, reader):
    with Dibs.open(agent="bob") as bob:
        assert READERS[reader](dibs, bob)
        die(agent)

        assert not READERS[reader](dibs, bob)


@pytest.mark.parametrize("reader", READERS)
def test_a_reader_of_a_dead_agents_claim_changes_nothing(agent, dibs, project, reader):
    with Dibs.open(agent="bob") as bob:
        die(agent)
        before = project.engine.view(lambda txn: list(txn.scan(("", ""))))

        READERS[reader](dibs, bob)

    assert project.engine.view(lambda txn: list(txn.scan(("", "")))) == before


def test_a_dead_agents_claims_do_not_block_anyone(agent, dibs):
    assert dibs("claim", "a.py", agent="bob").status == 3
    die(agent)

    assert dibs("claim", "a.py", agent="bob").status == 0
    assert dibs("check", "a.py", agent="carol").status != 0
    assert AGENT not in dibs("status").out


def test_a_waiter_gets_what_an_agent_held_that_dies(agent, start, dibs):
    waiter = start("claim", "a.py", "--wait", "60s", "--agent", "bob")
    deadline = time.monotonic() + 30
    while not dibs("status", "--json").json["queue"] and time.monotonic() < deadline:
        time.sleep(0.05)
    die(agent)

    assert waiter.wait(30) == 0


def test_a_plain_commit_over_a_dead_agents_claim_passes(agent, project):
    from dibs.core.claims.agents import Caller
    from dibs.core.claims.plain_commits import PlainCommit

    bob, commit = Caller("bob"), PlainCommit(("a.py",))
    assert project.gating.judge(bob, [commit])
    die(agent)

    assert project.gating.judge(bob, [commit]) == []


@pytest.fixture
def idle_agent(agent, project):
    """The same agent ten minutes after its last heartbeat; its tool call has ended."""

    def step(rows):
        beat = rows.beat(AGENT)
        rows.put_beat(AGENT, beat._replace(seen=beat.seen - 600, calls=""))
        for _, claim in list(rows.claims()):
            rows.put_claim(claim._replace(since=claim.since - 600), rows.pattern(claim.pattern))

    project.store.apply(step)
    return agent


@pytest.mark.parametrize("reader", READERS)
def test_every_surface_shows_an_idle_agents_unfinished_work_while_its_process_runs(
    idle_agent, dibs, project, reader
):
    before = project.engine.view(lambda txn: list(txn.scan(("", ""))))
    with Dibs.open(agent="bob") as bob:
        assert READERS[reader](dibs, bob)
        assert project.engine.view(lambda txn: list(txn.scan(("", "")))) == before
        os.unlink("a.py")

        assert not READERS[reader](dibs, bob)


def test_a_denial_by_an_idle_agent_says_that_the_claim_does_not_expire(idle_agent, dibs):
    denied = dibs("claim", "a.py", agent="bob")

    assert denied.status == 3
    assert f"{AGENT} holds a.py (does not expire while its process runs)" in denied.out
    assert denied.out.splitlines()[1].endswith("request a release: dibs ask a.py")
    (conflict,) = dibs("claim", "a.py", "--json", agent="bob").json["conflicts"]
    assert conflict["while_running"] is True
    assert conflict["expires_in"] > 3_600
    assert "at exit" in dibs("status").out


def test_a_commit_over_an_idle_agents_unfinished_work_is_refused(idle_agent, project):
    from dibs.core.claims.agents import Caller
    from dibs.core.claims.plain_commits import PlainCommit

    (stopped,) = project.gating.judge(Caller("bob"), [PlainCommit(("a.py",))])

    assert (stopped.holder, stopped.while_running) == (AGENT, True)


#: A hook whose agent is killed while it reads the agent's call.
ORPHAN = """
import os, signal, sys
from dibs.guard.agents import program

def read(_):
    agent = os.getppid()
    os.kill(agent, signal.SIGKILL)
    while os.getppid() == agent:
        pass
    return sys.argv[1].encode()

program.read = read
status = program.attend(["claude"])
open("answered", "w").close()
"""
STARTER = "import subprocess, sys; subprocess.run([sys.executable, '-c', *sys.argv[1:]])"


def test_an_agent_that_dies_during_its_first_hook_holds_nothing(repo, dibs):
    call = {
        "session_id": "11111111", "cwd": str(repo), "hook_event_name": "PreToolUse",
        "tool_name": "Write", "tool_input": {"file_path": str(repo / "a.py"), "content": "x"},
    }  # fmt: skip
    dibs("claim", "other.py", agent="carol")
    subprocess.run([sys.executable, "-c", STARTER, ORPHAN, json.dumps(call)], check=False)
    deadline = time.monotonic() + 30
    while not os.path.exists("answered") and time.monotonic() < deadline:
        time.sleep(0.02)

    assert "lock_acquired" in dibs("log", "--agent", AGENT, "--json").out
    assert dibs("claim", "a.py", agent="bob").status == 0
