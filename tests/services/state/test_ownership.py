"""Uncommitted changes are saved before they change owner, and both sides are notified."""

import os
import signal
import subprocess

import pytest
from tests.services.guards import Guarded
from tests.services.several_agents import caller
from tests.soak import effort

from dibs.core.claims.agents import Caller
from dibs.core.patterns.pattern import parse
from dibs.core.toolcalls.values import EventKind, Word
from dibs.git.calls import GitCalls
from dibs.project.project import open_project
from dibs.services.briefing.service import Briefings
from dibs.services.claims.answers import Answers
from dibs.services.claims.holdings import Holdings
from dibs.services.salvage.entries import listed, show
from dibs.services.salvage.private import unpacked
from dibs.services.state.lifecycle import begin_life
from dibs.services.state.sessions import all_left

HUGO = Caller("hugo", "human")
A, ONE = "11111111-a", "claude-11111111"


@pytest.fixture
def guarded(tmp_path, own_git):
    found = Guarded(tmp_path / "repo")
    found.write(".gitignore", ".env\n")
    found.write("src/a.py", "one\ntwo\n")
    found.commit()
    found.holdings = Holdings(found.store)
    return found


def copies(guarded):
    return listed(GitCalls(guarded.root))


def records(guarded):
    return [left for _, left in guarded.store.look(lambda rows: list(all_left(rows)))]


def mail(guarded, agent):
    found = Briefings(guarded.store).prepare(Caller(agent), full=True)
    return found.text + found.whole


def change(guarded, agent="alice", path="src/a.py", text="half\ntwo\n"):
    guarded.claim(agent, path)
    guarded.write(path, text)


def released(guarded):
    guarded.holdings.release(caller("alice"), [parse("src/a.py")])


def expired(guarded):
    guarded.clock.advance(301)


def left(guarded):
    guarded.agents.leave(caller("alice"))


def stopped(guarded):
    guarded.agents.stop(HUGO, "alice", reason="enough")


def revoked(guarded):
    guarded.holdings.revoke(HUGO, parse("src/a.py"), reason="it must go")


def answered(guarded):
    guarded.holdings.ask(caller("bob"), [parse("src/a.py")])
    Answers(guarded.store).answer(caller("alice"), "bob", "yes")


WAYS = [released, expired, left, stopped, revoked]


@pytest.mark.parametrize("way", WAYS)
def test_however_a_claim_ends_its_changes_are_saved_and_both_sides_are_notified(guarded, way):
    change(guarded)
    way(guarded)

    (told,) = guarded.claim("bob", "src/a.py").left

    assert (told.path, told.agent, told.lines) == ("src/a.py", "alice", 1)
    (copy,) = copies(guarded)
    assert guarded.git("show", f"{copy.ref}:src/a.py") == "half\ntwo"
    assert (
        "+half"
        in subprocess.run(
            told.view, shell=True, cwd=guarded.root, check=True, capture_output=True, text=True
        ).stdout
    )
    assert f"contains alice's uncommitted changes: {told.about}" in mail(guarded, "bob")
    if way not in {left, stopped}:  # these agents have ended
        assert "bob now holds src/a.py, which you left with uncommitted changes" in mail(
            guarded, "alice"
        )


@pytest.mark.parametrize("way", WAYS)
def test_a_claim_on_an_unchanged_file_leaves_nothing(guarded, way):
    guarded.claim("alice", "src/a.py")
    way(guarded)

    assert guarded.claim("bob", "src/a.py").left == ()
    assert copies(guarded) == []
    assert records(guarded) == []


def test_the_former_owner_learns_in_which_copy_its_changes_are(guarded):
    change(guarded)
    revoked(guarded)

    assert f"your uncommitted changes are saved: git show {copies(guarded)[0].ref}" in mail(
        guarded, "alice"
    )


def test_a_new_owner_by_transfer_gets_a_message_with_the_changes(guarded):
    change(guarded)
    guarded.claim("bob", "b.py")
    guarded.holdings.transfer(caller("alice"), [parse("src/a.py")], to="bob")

    told = mail(guarded, "bob")
    assert "it has alice's uncommitted changes: 1 line" in told
    assert copies(guarded)[0].ref in told
    (record,) = records(guarded)
    assert (record.agent, record.told) == ("alice", ("bob",))


def test_after_a_new_life_the_owners_next_call_saves_its_changes(guarded):
    change(guarded)
    guarded.engine.transact(lambda txn: begin_life(txn, "the server lost its newest writes"))
    assert copies(guarded) == []

    guarded.claim("alice", "other.py")

    (copy,) = copies(guarded)
    assert guarded.git("show", f"{copy.ref}:src/a.py") == "half\ntwo"
    assert copy.ref in mail(guarded, "alice")
    assert guarded.claim("bob", "src/a.py").left[0].agent == "alice"


def test_deleted_ignored_linked_and_executable_files_are_saved(guarded):
    guarded.claim("alice", "README.md", ".env", "link", "run.sh", "new dir/x.py")
    os.unlink(f"{guarded.root}/README.md")
    guarded.write(".env", "KEY=1\n")
    os.symlink("nowhere", f"{guarded.root}/link")
    guarded.write("run.sh", "#!/bin/sh\n")
    os.chmod(f"{guarded.root}/run.sh", 0o755)
    guarded.write("new dir/x.py", "x\n")
    guarded.holdings.release(caller("alice"))

    (copy,) = copies(guarded)
    rows = guarded.git("ls-tree", "-r", copy.commit).splitlines()
    modes = {row.partition("\t")[2]: row.split()[0] for row in rows}
    assert modes == {
        ".gitignore": "100644", "link": "120000", "new dir/x.py": "100644", "run.sh": "100755",
        "src/a.py": "100644",
    }  # fmt: skip
    ignored = show(GitCalls(guarded.root), copy.id).ignored
    assert b"".join(unpacked(ignored.copy_of(".env"))) == b"KEY=1\n"
    (told,) = guarded.claim("bob", ".env").left
    assert told.view == f"dibs salvage show {copy.id}"


def test_what_could_not_be_copied_is_said(guarded, monkeypatch):
    monkeypatch.setattr("dibs.services.salvage.files.LARGEST", 3)
    change(guarded)
    revoked(guarded)

    assert "no copy of your uncommitted changes could be saved" in mail(guarded, "alice")
    assert "no copy could be saved" in guarded.claim("bob", "src/a.py").left[0].about


def test_a_file_that_someone_else_left_keeps_its_author(guarded):
    change(guarded)
    released(guarded)
    guarded.claim("bob", "src/a.py")
    guarded.holdings.release(caller("bob"))

    (told,) = guarded.claim("carol", "src/a.py").left
    assert told.agent == "alice"
    assert len(copies(guarded)) == 1


def test_each_author_of_a_file_has_a_record(guarded):
    change(guarded)
    released(guarded)
    change(guarded, "bob", text="half\ntwo\nthree\n")
    guarded.holdings.release(caller("bob"))

    assert {told.agent for told in guarded.claim("carol", "src/a.py").left} == {"alice", "bob"}
    assert {told.agent for told in guarded.claim("bob", "other.py").left} == set()


def test_two_working_trees_do_not_overwrite_each_others_records(guarded, tmp_path):
    other = tmp_path / "other"
    guarded.git("worktree", "add", "-q", "--detach", str(other))
    guarded.edit(A, "src/a.py")
    guarded.edit(A, f"{other}/src/a.py")
    guarded.write("src/a.py", "here\n")
    (other / "src" / "a.py").write_text("there\n")
    guarded.end(A)
    guarded.clock.advance(301)

    verdict = guarded.edit("22222222-b", "src/a.py")

    assert verdict.word == Word.TELL
    assert {left.root for left in records(guarded)} == {guarded.root, str(other)}
    contents = {guarded.git("show", f"{one.ref}:src/a.py") for one in copies(guarded)}
    assert contents == {"here", "there"}


def test_committed_or_undone_changes_are_forgotten(guarded):
    change(guarded)
    released(guarded)
    guarded.commit()

    assert guarded.claim("bob", "src/a.py").left == ()
    assert records(guarded) == []


def test_before_the_first_commit_changes_are_saved_too(tmp_path, own_git):
    root = tmp_path / "empty"
    root.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    guarded = Guarded(root)
    guarded.holdings = Holdings(guarded.store)
    change(guarded)
    released(guarded)

    assert guarded.claim("bob", "src/a.py").left[0].lines == 2
    assert guarded.git("show", f"{copies(guarded)[0].ref}:src/a.py") == "half\ntwo"


def test_releasing_a_clean_path_takes_two_git_calls(guarded, monkeypatch):
    guarded.claim("alice", "src/a.py")
    calls = []
    start = GitCalls.start

    def counted(self, *words, **more):
        calls.append(words)
        return start(self, *words, **more)

    monkeypatch.setattr(GitCalls, "start", counted)
    released(guarded)

    assert len(calls) <= 2


def test_changes_of_a_subagent_go_to_its_parent_without_a_warning(guarded):
    guarded.edit(A, "other.py")
    guarded.edit(A, "src/a.py", subagent="s1")
    guarded.write("src/a.py", "half\ntwo\n")
    guarded.end(A, subagent="s1")

    (record,) = records(guarded)
    assert record.agent != ONE
    assert guarded.held() == {(ONE, "other.py"), (ONE, "src/a.py")}
    assert "it has claude" not in mail(guarded, ONE)
    assert len(copies(guarded)) == 1


def test_after_a_cleared_context_the_changes_are_the_sessions_own(guarded):
    guarded.edit(A, "src/a.py")
    guarded.write("src/a.py", "half\ntwo\n")
    guarded.end(A, source="clear")
    guarded.start("22222222-b", source="clear")

    assert {record.agent for record in records(guarded)} == {"claude-22222222"}
    assert guarded.edit("22222222-b", "src/a.py").word == Word.PASS


def test_an_owner_on_another_machine_saves_its_changes_at_its_next_call(guarded, monkeypatch):
    guarded.edit(A, "src/a.py")
    guarded.write("src/a.py", "half\ntwo\n")
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("dibs.services.state.sessions.realm", lambda: "far/2/3")
        guarded.clock.advance(301)
        assert guarded.claim("bob", "src/a.py").left == ()
    assert copies(guarded) == []

    heard = guarded.hear(A, EventKind.PROMPTED).text

    (copy,) = copies(guarded)
    assert f"bob holds it now; your uncommitted changes are saved: git show {copy.ref}" in heard
    guarded.hear(A, EventKind.PROMPTED)
    assert len(copies(guarded)) == 1


def test_a_former_owner_that_returns_is_not_the_author_of_later_changes(guarded):
    change(guarded)
    revoked(guarded)
    change(guarded, "bob", text="mine\n")
    guarded.claim("alice", "other.py")

    assert {(record.agent, record.lines) for record in records(guarded)} == {("alice", 1)}
    assert len(copies(guarded)) == 1


# -- kills


def killed_at(root, number, act):
    """Run ``act`` in a child process that is killed at a step; return whether it was."""
    child = os.fork()
    if child:
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])
    left = number

    def tick(function):
        def step(*arguments, **options):
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return step

    from dibs.engines.sqlite.engine import SqliteEngine

    SqliteEngine.transact = tick(SqliteEngine.transact)
    GitCalls.start = tick(GitCalls.start)
    for name in ("rename", "replace", "unlink", "mkdir", "fsync"):
        setattr(os, name, tick(getattr(os, name)))
    project = open_project(root, {})
    act(project)
    os._exit(0)


def let_go(project):
    project.holdings.release(caller("alice"))


def take_away(project):
    project.holdings.revoke(HUGO, parse("**"), reason="a test")


def end(project):
    project.agents.leave(caller("alice"))


def hand_over(project):
    project.holdings.transfer(caller("alice"), [parse("src/*"), parse(".env")], to="bob")


#: Together the four ways are killed at every third step; ``make soak`` kills each at every step.
WAYS = [let_go, take_away, end, hand_over]


@pytest.mark.parametrize("act", WAYS)
def test_after_a_kill_the_claim_exists_or_a_record_names_the_copy(guarded, act):
    stride = effort(3 * len(WAYS), 1)
    project = open_project(guarded.root, {})
    project.claims.claim(caller("bob"), [parse("other.py")])
    project.close()
    killed, number = True, WAYS.index(act) % stride
    while killed:
        path, secret = f"src/{number}.py", f"text of {number}\n"
        project = open_project(guarded.root, {})
        project.claims.claim(caller("alice"), [parse(path), parse(".env")])
        project.close()
        guarded.write(path, secret)
        guarded.write(".env", secret)
        killed = killed_at(guarded.root, number, act)
        project = open_project(guarded.root, {})
        held = {h.claim.pattern for h in project.claims.all("alice")[0]}
        found = {left.path: left for _, left in project.store.look(lambda r: list(all_left(r)))}
        if path not in held:
            assert guarded.git("show", f"{found[path].salvage}:{path}") == secret.strip()
        if ".env" not in held:
            entry = show(GitCalls(guarded.root), found[".env"].salvage).ignored
            assert b"".join(unpacked(entry.copy_of(".env"))).decode() == secret
        for agent in ("alice", "bob"):
            project.holdings.release(caller(agent))
        project.close()
        number += stride
    assert number > 10
