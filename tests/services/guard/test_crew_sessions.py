"""An agent of the crew outlives its sessions: the crew decides when it ends."""

import subprocess
import sys

import pytest
from tests.services.guards import Guarded

from dibs.core.crew.members import Member, MemberState
from dibs.core.toolcalls.values import EventKind, Word
from dibs.local.processes import realm, running
from dibs.services.crew.service import CrewMembers
from dibs.services.state.serving.crew import put_member

NAME, NONCE = "developer-1", "nonce"
A, B, OTHER = "11111111-a", "22222222-b", "33333333-c"
TASK = "task:2026-01-01T0000-any-work"
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@pytest.fixture
def guarded(tmp_path, own_git):
    """Return a repository in which the sessions A and B are turns of one agent of the crew."""
    found = Guarded(tmp_path / "repo")
    member = Member(NAME, "developer", realm(), NONCE, MemberState.WORKING)
    found.store.apply(lambda rows: put_member(rows, member))
    found.named = {A: NAME, B: NAME}
    return found


def run_and_die(guarded, session, path):
    """Let a session edit a file in a process that is then killed."""
    process = subprocess.Popen(["sleep", "60"])
    guarded.processes[session] = running(process.pid)
    guarded.start(session)
    verdict = guarded.edit(session, path)
    process.kill()
    process.wait()
    return verdict


def test_the_end_of_a_session_keeps_the_task_of_an_agent_of_the_crew(guarded):
    guarded.start(A)
    guarded.claim(NAME, TASK)
    guarded.edit(A, "unchanged.py")
    guarded.end(A)

    assert guarded.held() == {(NAME, TASK)}
    assert guarded.status(NAME) == "running"


@linux
def test_the_sessions_of_an_agent_of_the_crew_have_its_name(guarded):
    for session in (A, B):
        process = subprocess.Popen(["sleep", "60"])
        guarded.processes[session] = running(process.pid)
        guarded.start(session)
        assert guarded.edit(session, "a.py").word == Word.PASS
        guarded.write("a.py", session)
        guarded.hear(session, EventKind.AFTER, "a.py", tool="Write")
        guarded.end(session)
        process.kill()
        process.wait()

    assert guarded.ids() == [NAME]
    assert guarded.held() == {(NAME, "a.py")}
    assert "agent_exited" not in guarded.kinds()


@linux
def test_a_dead_process_does_not_end_an_agent_of_the_crew(guarded):
    run_and_die(guarded, A, "a.py")
    guarded.claim(NAME, TASK)

    guarded.start(OTHER)

    assert guarded.edit(OTHER, "a.py").word == Word.DENY
    assert guarded.departures.gone() == []
    assert guarded.held() == {(NAME, TASK), (NAME, "a.py")}
    assert guarded.status(NAME) == "running"


@linux
def test_an_agent_of_the_crew_continues_with_its_name_and_claims_after_a_crash(guarded):
    guarded.claim(NAME, TASK)
    run_and_die(guarded, A, "a.py")

    guarded.start(B)

    assert guarded.edit(B, "b.py").word == Word.PASS
    assert guarded.ids() == [NAME]
    assert guarded.held() == {(NAME, TASK), (NAME, "a.py"), (NAME, "b.py")}


@linux
def test_a_session_with_the_name_of_an_ended_agent_of_the_crew_ends_with_its_process(guarded):
    CrewMembers(guarded.store).ended(NAME, NONCE)
    run_and_die(guarded, A, "a.py")

    assert guarded.edit(OTHER, "a.py").word == Word.PASS
    assert guarded.status(NAME) == "exited"
