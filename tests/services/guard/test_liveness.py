"""When the claims of an agent expire whose process runs: not while they cover uncommitted changes."""

import os
import subprocess
import sys

import pytest
from tests.services.guards import Guarded

from dibs.core.claims.rules import Denied, Granted
from dibs.core.toolcalls.values import Word
from dibs.local.processes import running

ONE, TWO = "claude-11111111", "claude-22222222"
A, B = "11111111-a", "22222222-b"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
#: Longer than the ttl, shorter than max_hold.
LONG = 3_600.0


@pytest.fixture
def guarded(tmp_path, own_git):
    return Guarded(tmp_path / "repo")


@pytest.fixture
def process():
    """A process that a session runs in."""
    child = subprocess.Popen(["sleep", "600"])
    yield child
    child.kill()
    child.wait()


def idle(guarded, process, path="a.py", text="half"):
    """Let a session in ``process`` change a file, and wait for longer than its ttl."""
    guarded.processes[A] = running(process.pid)
    guarded.edit(A, path)
    if text:
        guarded.write(path, text)
    guarded.stop(A) if text else None
    guarded.clock.advance(LONG)


def test_a_claim_on_a_changed_file_does_not_expire_while_its_process_runs(guarded, process):
    idle(guarded, process)

    assert guarded.held() == {(ONE, "a.py")}
    assert isinstance(guarded.claim("bob", "a.py"), Denied)
    assert isinstance(guarded.claim("bob", "*.py"), Denied)
    assert guarded.edit(B, "a.py").word == Word.DENY
    assert guarded.agents.sweep() == 0
    assert guarded.held() == {(ONE, "a.py")}


def test_a_claim_on_an_unchanged_file_expires_as_before(guarded, process):
    idle(guarded, process, "README.md", text="")

    assert guarded.held() == set()
    assert isinstance(guarded.claim("bob", "README.md"), Granted)


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
    before = {h.claim.token for h in guarded.claims.all()[0] if h.claim.pattern == "a.py"}
    guarded.clock.advance(LONG)

    guarded.hear(A, "prompted")

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
