"""Commits that would undo what others committed since the agent last read a file."""

from __future__ import annotations

import os
import subprocess
import time

import pytest
from tests.services.commit_world import ALICE, BOB, HUMAN, World

from dibs.core.claims.ledger import Kind
from dibs.local.last_read import forget_reads, last_read, note_read, note_start
from dibs.services.commits import gate
from dibs.services.commits.values import CommitDenied

pytestmark = pytest.mark.usefixtures("own_git")

FIRST = "".join(f"line {number}\n" for number in range(1, 11))
PATH = "src/a.py"


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path / "tree")
    made.put(PATH, FIRST)
    made.git("add", "-A")
    made.git("commit", "-q", "-m", "first version")
    return made


def reads(world, agent, path=PATH):
    note_read(world.project.place.repository, agent.id, [path])


def lands(world, agent, text, path=PATH):
    """Let an agent claim, write, commit, and release a file."""
    world.claim(agent, path)
    world.put(path, text)
    return world.committed(agent, release=True).commit


def writes(world, agent, text, path=PATH):
    world.claim(agent, path)
    world.put(path, text)


def test_a_rewrite_from_memory_that_drops_another_agents_commit_is_refused_once(world):
    reads(world, ALICE)
    landed = lands(world, BOB, FIRST + "by bob\n")
    writes(world, ALICE, FIRST + "by alice\n")
    before = world.head()

    answer = world.commit(ALICE)

    assert isinstance(answer, CommitDenied)
    assert answer.code == "UNDOES"
    (item,) = answer.blocked
    assert (item.path, item.why, item.holder, item.commit) == (PATH, "undoes", "bob", landed)
    assert item.landed == ("by bob",)
    assert item.yours == ("by alice",)
    assert "git diff HEAD -- :/src/a.py" in item.hint
    assert world.head() == before
    assert world.read(PATH) == FIRST + "by alice\n"
    assert world.ledger(Kind.COMMIT_REFUSED)

    world.committed(ALICE)
    assert world.git("show", f"HEAD:{PATH}") + "\n" == FIRST + "by alice\n"


def test_a_commit_can_undo_another_agents_commit_at_once_on_request(world):
    reads(world, ALICE)
    lands(world, BOB, FIRST + "by bob\n")
    writes(world, ALICE, FIRST + "by alice\n")
    world.committed(ALICE, anyway=True)


def test_a_commit_that_keeps_the_landed_lines_is_not_refused(world):
    reads(world, ALICE)
    lands(world, BOB, FIRST + "by bob\n")
    writes(world, ALICE, "by alice\n" + FIRST.replace("line 2\n", "") + "    by bob\n")
    world.committed(ALICE)


def test_lines_that_the_agent_has_read_may_be_removed(world):
    reads(world, ALICE)
    lands(world, BOB, FIRST + "by bob\n")
    reads(world, ALICE)
    writes(world, ALICE, FIRST + "by alice\n")
    world.committed(ALICE)


def test_lines_that_another_agent_removed_do_not_come_back_unseen(world):
    reads(world, ALICE)
    lands(world, BOB, FIRST.replace("line 4\n", ""))
    writes(world, ALICE, FIRST + "by alice\n")
    answer = world.commit(ALICE)
    assert isinstance(answer, CommitDenied)
    assert answer.blocked[0].yours == ("line 4",)


def test_a_changed_line_does_not_go_back_to_its_old_state_unseen(world):
    reads(world, ALICE)
    lands(world, BOB, FIRST.replace("line 4", "line 4 by bob"))
    writes(world, ALICE, FIRST.replace("line 8", "line 8 by alice"))
    answer = world.commit(ALICE)
    assert isinstance(answer, CommitDenied)
    assert (answer.blocked[0].landed, answer.blocked[0].yours) == (("line 4 by bob",), ("line 4",))


def test_a_deletion_of_a_file_that_another_agent_changed_is_refused_once(world):
    reads(world, ALICE)
    lands(world, BOB, FIRST + "by bob\n")
    world.claim(ALICE, PATH)
    world.remove(PATH)
    assert isinstance(world.commit(ALICE), CommitDenied)
    world.committed(ALICE)


def test_a_binary_file_that_another_agent_replaced_is_refused_once(world):
    world.put("x.bin", "\0one")
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "binary")
    reads(world, ALICE, "x.bin")
    lands(world, BOB, "\0two", "x.bin")
    writes(world, ALICE, "\0three", "x.bin")
    assert isinstance(world.commit(ALICE), CommitDenied)
    world.committed(ALICE)


def test_a_commit_made_with_plain_git_counts_as_well(world):
    reads(world, ALICE)
    world.put(PATH, FIRST + "by ann\n")
    world.git("commit", "-q", "-am", "plain")
    writes(world, ALICE, FIRST + "by alice\n")
    answer = world.commit(ALICE)
    assert isinstance(answer, CommitDenied)
    assert answer.blocked[0].holder == "Ann"


def test_an_agents_own_commits_do_not_count(world):
    reads(world, ALICE)
    lands(world, ALICE, FIRST + "by alice\n")
    lands(world, ALICE, FIRST)
    reads(world, HUMAN)
    world.put(PATH, FIRST + "by ann\n")
    world.git("commit", "-q", "-am", "plain")
    writes(world, HUMAN, FIRST)
    world.committed(HUMAN)


def test_an_agents_own_commit_does_not_hide_what_others_committed_before_it(world):
    reads(world, ALICE)
    lands(world, BOB, FIRST + "by bob\n")
    lands(world, ALICE, "1 by alice\n", "src/one.py")
    writes(world, ALICE, FIRST + "by alice\n")
    assert isinstance(world.commit(ALICE), CommitDenied)


def test_a_commit_that_lands_during_the_agents_own_counts_as_unread(world, monkeypatch):
    reads(world, ALICE)

    def reach(step):
        if step == "prepared":
            monkeypatch.undo()
            blob = world.git("hash-object", "-w", "--stdin", given=f"{FIRST}by ann\n".encode())
            base = world.git("ls-tree", "-r", "HEAD").splitlines()
            rows = [f"100644 blob {blob}\t{PATH}" if r.endswith(PATH) else r for r in base]
            tree = tree_of(world, rows)
            new = world.git("commit-tree", "-p", "HEAD", "-m", "by ann", tree)
            world.git("update-ref", "refs/heads/main", new)

    monkeypatch.setattr(gate, "reach", reach)
    lands(world, ALICE, "1 by alice\n", "src/one.py")
    assert world.git("log", "-2", "--format=%s").splitlines() == ["work", "by ann"]
    writes(world, ALICE, FIRST + "by alice\n")
    assert isinstance(world.commit(ALICE), CommitDenied)


def tree_of(world, rows):
    """Return a tree with these entries, written with an index of its own."""
    given = "".join(f"{row}\n" for row in rows).encode()
    environ = {**os.environ, "GIT_INDEX_FILE": os.path.join(world.root, ".git/other-index")}
    words = ["git", "-C", world.root]
    subprocess.run([*words, "update-index", "--index-info"], input=given, env=environ, check=True)
    done = subprocess.run([*words, "write-tree"], env=environ, check=True, capture_output=True)
    return done.stdout.decode().strip()


def test_records_of_reads_are_deleted_after_a_while(world):
    repository = world.project.place.repository
    reads(world, ALICE)
    forget_reads(repository, time.time())
    assert last_read(repository, "alice")
    forget_reads(repository, time.time() + 30 * 86_400)
    assert last_read(repository, "alice") == {}


def test_an_agents_own_commits_keep_what_it_read_up_to_date(world):
    reads(world, ALICE)
    lands(world, ALICE, "1 by alice\n", "src/one.py")
    seen = last_read(world.project.place.repository, "alice")
    assert seen == {PATH: world.head()}


def test_an_agent_without_recorded_reads_is_not_refused(world):
    lands(world, BOB, FIRST + "by bob\n")
    writes(world, ALICE, FIRST + "by alice\n")
    world.committed(ALICE)


def test_a_lost_commit_in_the_record_refuses_nothing(world):
    note_read(world.project.place.repository, "alice", [PATH], "1" * 40)
    writes(world, ALICE, FIRST + "by alice\n")
    world.committed(ALICE)


def test_packed_refs_and_detached_heads_are_read_without_git(world):
    repository = world.project.place.repository
    world.git("pack-refs", "--all")
    reads(world, ALICE)
    world.git("checkout", "-q", "--detach")
    reads(world, BOB)
    assert last_read(repository, "alice") == last_read(repository, "bob") == {PATH: world.head()}


def test_an_old_record_does_not_grow_without_limit(world):
    repository = world.project.place.repository
    reads(world, ALICE)
    for number in range(3_000):
        note_read(repository, "alice", [f"{'x' * 80}/{number}"], "1" * 40)
        if not number % 100:
            reads(world, ALICE)
    seen = last_read(repository, "alice")
    assert len(seen) < 3_000
    assert seen[PATH] == world.head(), "the newest reads stay"


def test_a_file_that_an_agent_never_read_counts_as_read_when_its_session_started(world):
    note_start(world.project.place.repository, ALICE.id)
    landed = lands(world, BOB, FIRST + "by bob\n")
    writes(world, ALICE, FIRST + "by alice\n")

    answer = world.commit(ALICE)

    assert isinstance(answer, CommitDenied)
    assert (answer.code, answer.blocked[0].commit) == ("UNDOES", landed)
    world.committed(ALICE)


def test_an_unread_file_that_keeps_what_others_committed_is_committed_at_once(world):
    note_start(world.project.place.repository, ALICE.id)
    lands(world, BOB, FIRST + "by bob\n")
    writes(world, ALICE, FIRST + "by bob\nby alice\n")

    world.committed(ALICE)


def test_the_session_start_stays_when_a_record_is_full(world):
    repository = world.project.place.repository
    note_start(repository, ALICE.id)
    note_read(repository, ALICE.id, [f"src/{number:0100}.py" for number in range(3000)])

    assert last_read(repository, ALICE.id)[""] == world.head()
