"""The guard on shared engines: the same verdicts, and a kill at any moment does no harm."""

import os
import random
import subprocess
import sys
import time

import pytest
from tests.services.engines import common_store, on_lasting_engines
from tests.services.guards import Guarded
from tests.services.several_agents import caller

from dibs.core.claims.agents import Caller
from dibs.core.patterns.pattern import parse
from dibs.core.toolcalls.values import Word
from dibs.git.calls import GitCalls
from dibs.local.processes import running
from dibs.services.claims.holdings import Holdings
from dibs.services.salvage.entries import listed
from dibs.services.state.lifecycle import begin_life

A, B = "11111111-a", "22222222-b"
ONE, TWO = "claude-11111111", "claude-22222222"
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@on_lasting_engines
def store(request):
    with common_store(request) as another:
        yield another


@linux
def test_two_sessions_with_one_store_exclude_each_other_until_one_dies(store, tmp_path, own_git):
    first = Guarded(tmp_path / "repo", store())
    second = Guarded(tmp_path / "repo", store())
    process = subprocess.Popen(["sleep", "60"])
    first.processes[A] = running(process.pid)

    assert first.start(A).word == Word.TELL
    assert first.edit(A, "a.py").word == Word.PASS
    first.write("a.py", "half")
    assert second.edit(B, "a.py").word == Word.DENY
    process.kill()
    process.wait()
    verdict = second.edit(B, "a.py")
    assert verdict.word == Word.TELL
    assert f"refs/salvage/{ONE}/" in verdict.text
    assert second.edit(B, "a.py").word == Word.PASS
    second.stop(B)
    assert second.held() == {(TWO, "a.py")}
    second.commit()
    second.end(B)
    assert second.held() == set()


@pytest.mark.parametrize("way", ["release", "revoke", "transfer", "new life"])
def test_on_every_engine_changes_are_saved_before_they_change_owner(store, tmp_path, own_git, way):
    first, second = Guarded(tmp_path / "repo", store()), Guarded(tmp_path / "repo", store())
    holdings, pattern = Holdings(second.store), parse("README.md")
    second.claim("bob", "other.py")
    first.claim("alice", "README.md")
    first.write("README.md", "half")
    if way == "release":
        holdings.release(caller("alice"))
    elif way == "revoke":
        holdings.revoke(Caller("hugo", "human"), pattern, reason="a test")
    elif way == "transfer":
        holdings.transfer(caller("alice"), [pattern], to="bob")
    else:
        second.engine.transact(lambda txn: begin_life(txn, "a test"))
        first.claim("alice", "more.py")

    if way != "transfer":
        (told,) = second.claim("bob", "README.md").left
        assert told.agent == "alice"
    (copy,) = listed(GitCalls(first.root))
    assert first.git("show", f"{copy.ref}:README.md") == "half"


EDITOR = """
import os, sys
from tests.services.guards import Guarded
from dibs.engines.sqlite.engine import SqliteEngine

root, store, session = sys.argv[1:]
guarded = Guarded(root, SqliteEngine(store))
print("ready", flush=True)
while True:
    for path in ("a.py", "b.py", "src/c.py"):
        verdict = guarded.edit(session, path)
        if verdict.word != "deny":
            with open(os.path.join(root, "writes"), "a") as file:
                file.write(f"{session} {path}\\n")
    guarded.stop(session)
"""


@linux
def test_a_kill_during_a_claim_leaves_nothing_that_blocks_the_next_agent(tmp_path, own_git):
    from dibs.engines.sqlite.engine import SqliteEngine

    root, store = str(tmp_path / "repo"), str(tmp_path / "state.db")
    guarded = Guarded(root, SqliteEngine(store))
    chance = random.Random(7)
    for _ in range(12):
        process = subprocess.Popen(
            [sys.executable, "-c", EDITOR, root, store, A], stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip
        process.stdout.readline()
        time.sleep(chance.random() / 20)
        process.kill()
        process.wait()
        process.stdout.close()

        verdict = guarded.edit(B, "a.py", "b.py", "src/c.py")
        assert verdict.word != Word.DENY, verdict.text
        assert {agent for agent, _ in guarded.held()} == {TWO}
        guarded.stop(B)
        assert guarded.held() == set()
