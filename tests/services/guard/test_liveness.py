"""When the claims of an agent expire whose process runs: not while they cover uncommitted changes."""

import os
import sys

import pytest
from tests.services.guards import Guarded

from dibs.core.claims.rules import Denied, Granted
from dibs.core.toolcalls.values import EventKind, HookEvent, Touch, Word
from dibs.local.processes import running
from dibs.services.state.facts import LONGEST_CALL

ONE, TWO = "claude-11111111", "claude-22222222"
A, B = "11111111-a", "22222222-b"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
#: Longer than the ttl, shorter than max_hold.
LONG = 3_600.0


def idle(guarded, process, path="a.py", text="half"):
    """Let a session in ``process`` change a file, and wait for longer than its ttl."""
    guarded.processes[A] = running(process.pid)
    guarded.edit(A, path)
    if text:
        guarded.write(path, text)
        guarded.hear(A, EventKind.AFTER, path, tool="Write")
        guarded.stop(A)
    guarded.hear(A, EventKind.OTHER)
    guarded.clock.advance(LONG)


def test_a_claim_on_a_changed_file_does_not_expire_while_its_process_runs(guarded, process):
    idle(guarded, process)

    assert guarded.held() == {(ONE, "a.py")}
    assert isinstance(guarded.claim("bob", "a.py"), Denied)
    assert isinstance(guarded.claim("bob", "*.py"), Denied)
    assert guarded.edit(B, "a.py").word == Word.DENY
    assert guarded.agents.sweep() == 0
    assert guarded.held() == {(ONE, "a.py")}


def test_the_claim_expires_at_once_when_the_process_dies(guarded, process):
    idle(guarded, process)
    process.kill()
    process.wait()

    assert guarded.held() == set()
    assert isinstance(guarded.claim("bob", "a.py"), Granted)


def test_a_process_that_got_the_same_number_later_does_not_count(guarded, process):
    guarded.processes[A] = running(process.pid)._replace(born=1)
    guarded.edit(A, "a.py")
    guarded.write("a.py", "half")

    assert guarded.held() == set()
    assert isinstance(guarded.claim("bob", "a.py"), Granted)


def test_max_hold_still_applies(guarded, process):
    idle(guarded, process)
    guarded.clock.advance(guarded.store.config.max_hold)

    assert guarded.held() == set()
    assert isinstance(guarded.claim("bob", "a.py"), Granted)


def test_an_agent_that_returns_after_its_ttl_still_owns_what_it_changed(guarded, process):
    guarded.processes[A] = running(process.pid)
    guarded.edit(A, "a.py", "README.md")
    guarded.write("a.py", "half")
    guarded.hear(A, EventKind.AFTER, "a.py", tool="Write")
    before = {h.claim.token for h in guarded.claims.all()[0] if h.claim.pattern == "a.py"}
    guarded.clock.advance(LONG)

    guarded.hear(A, EventKind.PROMPTED)

    held = guarded.claims.all()[0]
    assert [(h.claim.pattern, h.claim.token) for h in held] == [("a.py", *before)]


def test_a_claim_stays_if_git_fails(guarded, process):
    idle(guarded, process)
    guarded.git("config", "core.repositoryformatversion", "99")

    assert guarded.held() == {(ONE, "a.py")}
    assert isinstance(guarded.claim("bob", "a.py"), Denied)


def test_a_change_in_another_working_tree_of_the_session_counts(guarded, process, tmp_path):
    other = tmp_path / "other"
    guarded.git("worktree", "add", "-q", str(other))
    guarded.processes[A] = running(process.pid)
    guarded.edit(A, str(other / "README.md"))
    (other / "README.md").write_text("changed there")
    guarded.clock.advance(LONG)

    assert guarded.held() == {(ONE, "README.md")}


def test_a_change_in_the_working_tree_that_a_session_left_counts(guarded, process, tmp_path):
    idle(guarded, process)
    other = tmp_path / "other"
    guarded.git("worktree", "add", "-q", str(other))
    there = Guarded(other, guarded.engine)
    there.processes[A] = running(process.pid)
    there.hear(A, EventKind.OTHER)
    guarded.clock.advance(LONG)

    assert guarded.held() == {(ONE, "a.py")}


def test_a_change_in_a_working_tree_of_another_session_does_not_count(guarded, process, tmp_path):
    other = tmp_path / "other"
    guarded.git("worktree", "add", "-q", str(other))
    idle(guarded, process, "README.md", text="")
    (other / "README.md").write_text("changed there by someone else")

    assert guarded.held() == set()


def test_an_ignored_file_that_a_claim_names_counts_as_changed(guarded, process):
    guarded.write(".gitignore", ".env\nbuild/\n")
    guarded.commit()
    guarded.processes[A] = running(process.pid)
    guarded.start(A)
    guarded.claim(ONE, ".env", "build/")
    guarded.write(".env", "KEY=1")
    guarded.write("build/out.o", "x")
    guarded.clock.advance(LONG)

    assert guarded.held() == {(ONE, ".env")}


def test_a_deleted_file_counts_as_changed(guarded, process):
    guarded.processes[A] = running(process.pid)
    guarded.edit(A, "README.md")
    os.unlink(f"{guarded.root}/README.md")
    guarded.clock.advance(LONG)

    assert guarded.held() == {(ONE, "README.md")}


# -- what counts as activity


def session_in(guarded, process, session=A):
    """Let a session run in ``process`` and claim a file that it does not change."""
    guarded.processes[session] = running(process.pid)
    guarded.start(session)
    guarded.claim(ONE, "README.md")


def test_no_claim_of_a_session_expires_during_a_tool_call(guarded, process):
    session_in(guarded, process)
    guarded.shell(A, "make test", call="call-1")
    guarded.shell(A, "make lint", call="call-2")
    guarded.hear(A, EventKind.AFTER, command="make lint", call="call-2")
    guarded.clock.advance(20 * 60.0)

    assert guarded.held() == {(ONE, "README.md")}
    assert isinstance(guarded.claim("bob", "README.md"), Denied)
    guarded.hear(A, EventKind.AFTER, command="make test", call="call-1")
    assert guarded.held() == {(ONE, "README.md")}
    guarded.clock.advance(20 * 60.0)
    assert guarded.held() == set()


def test_a_call_of_an_mcp_server_counts_too(guarded, process):
    session_in(guarded, process)
    guarded.hear(A, EventKind.BEFORE, tool="mcp__tests__run_all", call="call-1")
    guarded.clock.advance(20 * 60.0)

    assert guarded.held() == {(ONE, "README.md")}


def test_a_tool_call_of_a_dead_process_is_over(guarded, process):
    session_in(guarded, process)
    guarded.shell(A, "make test", call="call-1")
    process.kill()
    process.wait()

    assert guarded.held() == set()


@pytest.mark.parametrize("moment", [EventKind.PROMPTED, EventKind.STOPPED])
def test_a_call_that_was_interrupted_ends_with_its_turn(guarded, process, moment):
    session_in(guarded, process)
    guarded.shell(A, "make test", call="call-1")
    guarded.hear(A, moment)
    guarded.claim(ONE, "README.md")
    guarded.clock.advance(20 * 60.0)

    assert guarded.held() == set()


def test_a_call_without_an_end_counts_for_an_hour(guarded, process):
    session_in(guarded, process)
    guarded.shell(A, "make test", call="call-1")
    guarded.clock.advance(LONGEST_CALL)

    assert guarded.held() == set()


def test_a_blocked_call_is_not_open(guarded, process):
    guarded.claim("bob", "held.py")
    session_in(guarded, process)
    assert guarded.edit(A, "held.py").word == Word.DENY
    guarded.clock.advance(20 * 60.0)

    assert guarded.held() == set()


def test_a_call_of_a_subagent_is_a_heartbeat_of_its_session(guarded):
    guarded.start(A)
    guarded.claim(ONE, "README.md")
    for _ in range(10):
        guarded.clock.advance(60.0)
        guarded.edit(A, "sub.py", subagent="s1")

    assert (ONE, "README.md") in guarded.held()


def test_a_tool_call_of_a_subagent_keeps_the_claims_of_its_session(guarded, process):
    session_in(guarded, process)
    guarded.shell(A, "make test", call="call-1", subagent="s1")
    guarded.clock.advance(20 * 60.0)

    assert guarded.held() == {(ONE, "README.md")}


def test_a_session_takes_over_from_its_own_subagent_that_was_interrupted(guarded, process):
    guarded.processes[A] = running(process.pid)
    guarded.start(A)
    guarded.edit(A, "a.py", subagent="s1")
    guarded.write("a.py", "half")
    guarded.hear(A, EventKind.AFTER, "a.py", tool="Write", subagent="s1")
    guarded.clock.advance(LONG)

    assert guarded.edit(B, "a.py").word == Word.DENY
    assert guarded.edit(A, "a.py").word != Word.DENY
    assert guarded.held() == {(ONE, "a.py")}


def test_a_read_is_not_an_open_call(guarded, process):
    session_in(guarded, process)
    guarded.clock.advance(200.0)
    guarded.read(A, "other.py")
    guarded.clock.advance(20 * 60.0)

    assert guarded.held() == set()


# -- taking over from an idle agent


def test_with_idle_takeover_an_idle_agent_can_be_replaced(tmp_path, own_git, process):
    guarded = Guarded(tmp_path / "repo", idle_takeover=2 * LONG)
    idle(guarded, process)
    assert isinstance(guarded.claim("bob", "a.py"), Denied)

    guarded.clock.advance(LONG)

    assert guarded.held() == {(ONE, "a.py")}
    assert isinstance(guarded.claim("bob", "a.py"), Granted)
    assert guarded.held() == {("bob", "a.py")}
    (lost,) = guarded.agents.show(ONE)[1]
    assert lost.at == guarded.clock.now


def test_an_idle_agent_that_nobody_replaced_keeps_its_claim(tmp_path, own_git, process):
    guarded = Guarded(tmp_path / "repo", idle_takeover=LONG)
    idle(guarded, process)
    assert guarded.agents.sweep() == 0

    guarded.hear(A, EventKind.PROMPTED)

    assert isinstance(guarded.claim("bob", "a.py"), Denied)


def test_idle_takeover_waits_for_an_open_call(tmp_path, own_git, process):
    guarded = Guarded(tmp_path / "repo", idle_takeover=600.0)
    guarded.processes[A] = running(process.pid)
    guarded.edit(A, "a.py", call="call-1")
    guarded.write("a.py", "half")
    guarded.clock.advance(1_200.0)

    assert isinstance(guarded.claim("bob", "a.py"), Denied)
    guarded.hear(A, EventKind.AFTER, "a.py", tool="Write", call="call-1")
    guarded.clock.advance(600.0)
    assert isinstance(guarded.claim("bob", "a.py"), Granted)


# -- what listings, denials, and statuses report


def test_listings_and_denials_say_that_the_claim_lasts_while_its_process_runs(guarded, process):
    idle(guarded, process)

    (held,) = guarded.claims.all()[0]
    denied = guarded.claim("bob", "a.py")
    verdict = guarded.edit(B, "a.py")

    assert held.while_running
    assert held.expires_at == held.claim.hard
    assert denied.conflicts[0].while_running
    assert "does not expire while its process runs" in verdict.text
    assert "dibs ask a.py" in verdict.text


def test_a_session_without_a_known_process_keeps_the_rule_of_the_ttl(guarded):
    heard = HookEvent("claude", EventKind.BEFORE, A, touches=(Touch("a.py"),), cwd=guarded.root)
    guarded.guarding.hear(heard, 0, {})
    guarded.write("a.py", "half")
    guarded.edit(B, "other.py")  # another session has a process
    guarded.clock.advance(LONG)

    assert (ONE, "a.py") not in guarded.held()
