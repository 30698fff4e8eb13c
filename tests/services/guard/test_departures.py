"""How turns and sessions end, and what happens to uncommitted files."""

import os
import subprocess
import sys

import pytest
from tests.services.guards import Guarded

from dibs.core.claims.agents import Caller
from dibs.core.toolcalls.values import EventKind, Word
from dibs.local.processes import running
from dibs.services.briefing.service import Briefings
from dibs.services.claims.agents import Agents
from dibs.services.claims.views import overview
from dibs.services.salvage.entries import listed, show

ONE, TWO = "claude-11111111", "claude-22222222"
A, B = "11111111-a", "22222222-b"
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


def killed():
    """Return a dead process."""
    process = subprocess.Popen(["sleep", "60"])
    found = running(process.pid)
    process.kill()
    process.wait()
    return found


def copies(guarded):
    from dibs.git.calls import GitCalls

    return listed(GitCalls(guarded.root))


def test_at_the_end_of_a_turn_only_changed_files_stay_claimed(guarded):
    guarded.edit(A, "new.py", "README.md", "never.py")
    guarded.write("new.py")
    guarded.write("README.md", "other")

    verdict = guarded.stop(A)

    assert guarded.held() == {(ONE, "new.py"), (ONE, "README.md")}
    assert verdict.word == Word.TELL
    assert "README.md, new.py" in verdict.text
    assert "commit" in verdict.text


def test_files_that_are_still_held_are_reported_once(guarded):
    guarded.edit(A, "new.py")
    guarded.write("new.py")
    guarded.stop(A)

    assert guarded.stop(A).word == Word.PASS
    guarded.edit(A, "more.py")
    guarded.write("more.py")
    assert guarded.stop(A, stop_active=True).word == Word.PASS
    assert guarded.stop(A).word == Word.TELL


def test_committed_files_are_released_at_the_end_of_a_turn(guarded):
    guarded.edit(A, "new.py")
    guarded.write("new.py")
    guarded.commit()

    assert guarded.stop(A).word == Word.PASS
    assert guarded.held() == set()


def test_a_folder_with_one_changed_file_stays_claimed(guarded):
    guarded.edit(A, "x")
    guarded.claim(ONE, "src/", "docs/")
    guarded.write("src/deep/a.py")

    guarded.stop(A)

    assert guarded.held() == {(ONE, "src/")}


def test_a_change_in_another_worktree_counts_too(guarded, tmp_path):
    other = tmp_path / "other"
    guarded.git("worktree", "add", "-q", str(other))
    guarded.edit(A, str(other / "README.md"))
    (other / "README.md").write_text("changed there")

    guarded.stop(A)

    assert guarded.held() == {(ONE, "README.md")}


def test_claims_for_a_task_and_on_named_resources_outlast_a_turn(guarded):
    guarded.edit(A, "x")
    guarded.claim(ONE, "src/a.py", task="t1")
    guarded.claim(ONE, "port:8000")

    guarded.stop(A)

    assert guarded.held() == {(ONE, "src/a.py"), (ONE, "port:8000")}


def test_if_git_fails_everything_stays_claimed(guarded, monkeypatch):
    guarded.edit(A, "a.py")
    monkeypatch.setattr("dibs.services.guard.uncommitted.claimed_work.changed_at", lambda *_: None)

    guarded.stop(A)

    assert guarded.held() == {(ONE, "a.py")}


def test_a_session_without_uncommitted_files_exits(guarded):
    guarded.start(A)
    guarded.edit(A, "a.py")
    guarded.end(A)

    assert guarded.held() == set()
    assert guarded.status(ONE) == "exited"
    assert guarded.kinds()[-1] == "agent_exited"


def test_uncommitted_files_of_an_ended_session_stay_claimed_and_are_backed_up(guarded):
    guarded.edit(A, "new.py", "clean.py")
    guarded.write("new.py", "half")
    guarded.end(A)

    assert guarded.held() == {(ONE, "new.py")}
    assert guarded.edit(B, "new.py").word == Word.DENY
    (copy,) = copies(guarded)
    assert copy.id.startswith(f"{ONE}/")
    assert guarded.git("show", f"{copy.commit}:new.py") == "half"


def test_the_next_owner_learns_who_left_the_file_and_where_the_backup_is(guarded):
    guarded.edit(A, "new.py")
    guarded.write("new.py", "half")
    guarded.end(A)
    guarded.clock.advance(301)

    verdict = guarded.edit(B, "new.py")

    assert verdict.word == Word.TELL
    assert ONE in verdict.text
    assert copies(guarded)[0].ref in verdict.text
    assert guarded.edit(B, "new.py").word == Word.PASS


def test_an_agent_that_returns_to_its_own_work_gets_no_warning(guarded):
    guarded.edit(A, "new.py")
    guarded.write("new.py", "half")
    guarded.end(A)

    assert guarded.edit(A, "new.py").word == Word.PASS
    guarded.clock.advance(301)
    assert guarded.edit(A, "new.py").word == Word.PASS


@pytest.mark.parametrize("name", ["", "tester"])
def test_a_session_keeps_its_files_when_its_context_is_cleared(guarded, name):
    guarded.named = {A: name, B: name}
    guarded.edit(A, "new.py")
    guarded.write("new.py", "half")
    guarded.end(A, source="clear")
    guarded.start(B, source="clear")

    assert guarded.edit(B, "new.py").word == Word.PASS
    assert guarded.held() == {(name or TWO, "new.py")}
    assert guarded.ids() == (["tester"] if name else [TWO, ONE])
    told = Briefings(guarded.store).peek(Caller("you", "human")).text
    assert "1 active, 0 idle, 0 done\n" in told, "one agent in two sessions counts once"
    assert overview(guarded.store).ended == 0


def test_another_process_does_not_inherit_claims(guarded):
    guarded.edit(A, "new.py")
    guarded.write("new.py", "half")
    guarded.end(A)
    guarded.processes[B] = running(os.getppid())
    guarded.start(B)

    assert guarded.edit(B, "new.py").word == Word.DENY


def test_a_file_committed_in_the_meantime_is_not_unfinished(guarded):
    guarded.edit(A, "new.py")
    guarded.write("new.py", "half")
    guarded.end(A)
    guarded.commit()
    guarded.clock.advance(301)

    assert guarded.edit(B, "new.py").word == Word.PASS


def test_a_claim_by_command_reports_only_files_that_are_still_uncommitted(guarded):
    guarded.edit(A, "new.py", "old.py")
    guarded.write("new.py", "half")
    guarded.write("old.py", "half")
    guarded.end(A)
    guarded.git("add", "new.py")
    guarded.git("commit", "-q", "-m", "step")
    guarded.clock.advance(301)
    guarded.claim("codex-7", "new.py", "old.py")

    text = Briefings(guarded.store).prepare(Caller("codex-7")).text
    (told,) = [line for line in text.splitlines() if "contains claude" in line]
    assert "old.py" in told
    assert "new.py" not in told


def test_the_warning_names_the_worktree_of_an_unfinished_file(guarded, tmp_path):
    other = tmp_path / "tree"
    guarded.git("worktree", "add", "-q", "--detach", str(other))
    guarded.edit(A, f"{other}/README.md")
    (other / "README.md").write_text("half")
    guarded.end(A)
    guarded.clock.advance(301)

    assert (
        f"{ONE} left uncommitted changes in {other} (1 line, 1s ago; to see them: git -C {other} show refs/"
        in guarded.edit(B, "README.md").text
    )


def test_the_warning_says_how_to_commit_what_another_agent_left(guarded):
    guarded.edit(A, "new.py")
    guarded.write("new.py", "half")
    guarded.end(A)
    guarded.clock.advance(301)

    said = guarded.edit(B, "new.py").text

    assert f"new.py: {ONE} left uncommitted changes (1 line" in said
    assert "together with your changes: dibs commit --inherited -m MESSAGE" in said


def test_an_agent_that_cannot_read_the_warning_gets_a_message(guarded):
    guarded.edit(A, "new.py")
    guarded.write("new.py", "half")
    guarded.end(A)
    guarded.clock.advance(301)
    start = guarded.start(B)
    Briefings(guarded.store).delivered(Caller(TWO), start.delivery)

    assert guarded.edit(B, "new.py", listens=False).word == Word.PASS
    told = guarded.hear(B, EventKind.AFTER).text
    assert "uncommitted changes" in told
    assert copies(guarded)[0].ref in told


def test_a_claim_by_command_gets_the_warning_as_a_message(guarded):
    guarded.edit(A, "src/new.py")
    guarded.write("src/new.py", "half")
    guarded.end(A)
    guarded.clock.advance(301)
    guarded.claim("codex-7", "src/")

    told = Briefings(guarded.store).prepare(Caller("codex-7")).text
    assert told.count("contains claude-11111111's uncommitted changes") == 1
    assert copies(guarded)[0].ref in told
    assert guarded.claim("codex-7", "src/new.py").left == ()


@linux
@pytest.mark.parametrize("silence", [0, 400], ids=["at once", "after its ttl"])
def test_a_killed_agents_work_is_unfinished(guarded, silence):
    process = subprocess.Popen(["sleep", "60"])
    guarded.processes[A] = running(process.pid)
    guarded.edit(A, "new.py", "README.md")
    guarded.write("new.py", "half")
    guarded.write("README.md", "half too")
    process.kill()
    process.wait()
    guarded.clock.advance(silence)

    verdict = guarded.edit(B, "README.md")

    assert verdict.word == Word.TELL
    (copy,) = copies(guarded)
    assert copy.ref in verdict.text
    from dibs.git.calls import GitCalls

    changes = show(GitCalls(guarded.root), copy.id).changes
    kept = {change.path for change in changes}
    assert kept == {"README.md", "new.py"}


@linux
def test_a_killed_agent_is_listed_as_ended_at_once(guarded):
    guarded.processes[A] = killed()
    guarded.edit(A, "new.py")

    (found,) = [seen for seen in Agents(guarded.store).all() if seen.agent.id == ONE]
    told = Briefings(guarded.store).peek(Caller("codex-7")).state

    assert (found.agent.status, found.agent.ended) == ("exited", "its process died")
    assert [agent.status for agent in told.agents if agent.id == ONE] == ["exited"]
    for _ in range(2):  # before and after its claims are released
        health = Briefings(guarded.store).peek(Caller("you", "human")).text
        assert "0 done, 1 gone" in health
        guarded.departures.gone()


@linux
def test_with_little_time_one_of_many_dead_agents_is_ended(guarded):
    for number in range(3):
        guarded.processes[f"{number}"] = killed()
        guarded.edit(f"{number}", f"f{number}")

    assert len(guarded.departures.gone(within=0.0)) == 1
    assert len(guarded.departures.gone()) == 2


@linux
def test_a_backup_does_not_contain_other_agents_files(guarded):
    guarded.edit(B, "theirs.py")
    guarded.write("theirs.py")
    guarded.processes[A] = killed()
    guarded.edit(A, "new.py")
    guarded.write("new.py")
    guarded.departures.gone()

    (copy,) = copies(guarded)
    assert "theirs.py" not in guarded.git("ls-tree", "-r", "--name-only", copy.commit)


@linux
def test_links_deleted_files_and_executables_are_backed_up_as_they_were(guarded):
    guarded.processes[A] = killed()
    guarded.edit(A, "link", "run.sh", "README.md", "odd\udcff.py", "crlf.txt")
    os.symlink("README.md", f"{guarded.root}/link")
    guarded.write("run.sh", "#!/bin/sh\n")
    os.chmod(f"{guarded.root}/run.sh", 0o755)
    os.unlink(f"{guarded.root}/README.md")
    with open(os.fsencode(f"{guarded.root}/crlf.txt"), "wb") as file:
        file.write(b"a\r\n")
    guarded.git("config", "core.autocrlf", "input")
    guarded.departures.gone()

    (copy,) = copies(guarded)
    rows = guarded.git("ls-tree", copy.commit).splitlines()
    modes = {row.partition("\t")[2]: row.split()[0] for row in rows}
    assert modes == {"link": "120000", "run.sh": "100755", "crlf.txt": "100644"}
    assert guarded.git("cat-file", "-s", f"{copy.commit}:crlf.txt") == "3"


@linux
def test_a_backup_works_before_the_first_commit(tmp_path, own_git):
    subprocess.run(["git", "init", "-q", tmp_path / "repo"], check=True)
    guarded = Guarded(tmp_path / "repo")
    guarded.processes[A] = killed()
    guarded.edit(A, "new.py")
    guarded.write("new.py")
    guarded.departures.gone()

    assert len(copies(guarded)) == 1


@linux
def test_the_warning_says_if_no_backup_could_be_saved(guarded, monkeypatch):
    guarded.processes[A] = killed()
    guarded.edit(A, "new.py")
    guarded.write("new.py")
    monkeypatch.setattr("dibs.services.salvage.files.LARGEST", 1)

    assert "no copy could be saved" in guarded.edit(B, "new.py").text
