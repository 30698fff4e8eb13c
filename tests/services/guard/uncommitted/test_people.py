"""A person's uncommitted work: whose it is, when it is saved, and who learns of it."""

import os
import shutil
import subprocess
import time

import pytest
from tests.services.guards import Guarded

from dibs.core.claims.agents import Caller
from dibs.core.toolcalls.values import EventKind, Word
from dibs.git.calls import SlowGit
from dibs.local.repository import find
from dibs.services.briefing.service import Briefings
from dibs.services.guard import shell_targets
from dibs.services.guard.uncommitted import hidden_files, people, taken_work
from dibs.services.state.sessions import all_left

ONE = "claude-11111111"
A, B = "11111111-a", "22222222-b"
REF = "refs/salvage/human"


def made(root, **settings):
    found = Guarded(root, **settings)
    found.write("src/a.py", "first\n")
    found.write("src/b.py", "second\n")
    found.commit()
    for session in (A, B):
        said = found.start(session)
        Briefings(found.store).delivered(Caller(said.reader, "agent"), said.delivery)
    return found


@pytest.fixture
def guarded(tmp_path, own_git):
    return made(tmp_path / "repo")


def saved(guarded, agent="human"):
    out = guarded.git("for-each-ref", "--format=%(refname)", f"refs/salvage/{agent}/")
    return out.split()


def run(guarded, session, command):
    before = guarded.shell(session, command, call="c")
    subprocess.run(command, shell=True, cwd=guarded.root, check=False, capture_output=True)
    return before, guarded.hear(session, EventKind.AFTER, command=command, tool="Bash", call="c")


def write(guarded, session, path, text):
    said = guarded.edit(session, path)
    guarded.write(path, text)
    guarded.hear(session, EventKind.AFTER, path, tool="Write")
    return said


@pytest.mark.parametrize("command", ["git checkout .", "rm src/a.py", "git stash", "> src/a.py"])
def test_the_copy_exists_before_the_command_runs(guarded, command):
    guarded.write("src/a.py", "by a person\n")

    said = guarded.shell(A, command)

    (ref,) = saved(guarded)
    assert guarded.git("show", f"{ref}:src/a.py") == "by a person"
    assert said.word == Word.TELL
    assert f"dibs salvage show {ref.removeprefix('refs/salvage/')}" in said.text


def test_the_first_edit_of_a_file_with_a_persons_changes_records_their_origin(guarded):
    guarded.write("src/a.py", "by a person\n")

    assert write(guarded, A, "src/a.py", "both\n").word == Word.TELL
    assert write(guarded, A, "src/a.py", "more\n").word == Word.PASS

    (ref,) = saved(guarded)
    ((_, left),) = guarded.store.look(lambda rows: list(all_left(rows)))
    assert (left.path, left.agent, left.salvage) == ("src/a.py", "", ref)


def test_an_agents_own_changes_are_not_a_persons(guarded):
    write(guarded, A, "src/a.py", "mine\n")
    run(guarded, A, "echo mine > new.txt; python3 -c \"open('gen.txt', 'w')\"")
    run(
        guarded,
        A,
        "git checkout -q -b side; git commit -qam x; git switch -q main; git merge -q side",
    )

    before, after = run(guarded, A, "git stash -q; git reset -q --hard; git clean -fdq; rm -rf src")

    assert saved(guarded) == []
    assert "saved a copy" not in before.text + after.text


def test_what_a_command_hides_is_saved_and_both_sides_learn_of_it(guarded):
    guarded.write("src/a.py", "by a person\n")
    guarded.write("work.sh", "rm src/a.py\n")
    guarded.commit()
    guarded.write("src/a.py", "by a person again\n")

    before, after = run(guarded, A, "sh work.sh")

    assert before.word == Word.PASS
    (ref,) = saved(guarded)
    assert guarded.git("show", f"{ref}:src/a.py") == "by a person again"
    assert "dibs salvage show" in after.text
    brief = Briefings(guarded.store).prepare(Caller("anna", "human"), full=True)
    assert "src/a.py, with your uncommitted changes, changed" in brief.text + brief.whole


def test_adding_everything_says_whose_changes_it_includes(guarded):
    write(guarded, B, "src/b.py", "by another agent\n")
    guarded.write("src/a.py", "by a person\n")
    guarded.write("new.txt", "by a person\n")

    said = guarded.shell(A, "git add -A")

    assert (
        "your user (new.txt, src/a.py)" in said.text or "your user (src/a.py, new.txt)" in said.text
    )
    assert "claude-22222222 (src/b.py)" in said.text
    assert guarded.shell(A, "git add src/a.py", call="d").word == Word.PASS


@pytest.mark.parametrize("command", ["git stash -q", "git checkout -q src/a.py", "rm src/a.py"])
def test_an_agent_learns_that_a_person_discarded_its_changes(guarded, command):
    write(guarded, A, "src/a.py", "half done\n")

    subprocess.run(command, shell=True, cwd=guarded.root, check=True)

    said = guarded.edit(A, "src/b.py")
    assert "your uncommitted changes to src/a.py were discarded outside your calls" in said.text
    assert ("git stash list" in said.text) == ("stash" in command)
    assert "discarded" not in guarded.edit(A, "src/b.py").text


def test_an_agents_own_reset_is_not_reported_to_it(guarded):
    write(guarded, A, "src/a.py", "half done\n")

    run(guarded, A, "git checkout -q -- src/a.py")

    assert guarded.edit(A, "src/b.py").word == Word.PASS


def test_a_claim_in_another_tree_does_not_protect_a_persons_changes_here(guarded, tmp_path):
    guarded.git("worktree", "add", "-q", str(tmp_path / "other"))
    other = Guarded(
        tmp_path / "other", engine=guarded.engine, repository=find(str(tmp_path / "other"), {})
    )
    other.start("33333333-c")
    assert other.edit("33333333-c", "src/a.py").word == Word.PASS
    guarded.write("src/a.py", "by a person\n")

    said = guarded.shell(A, "git stash")

    (ref,) = saved(guarded)
    assert guarded.git("show", f"{ref}:src/a.py") == "by a person"
    assert said.word == Word.TELL


def left_by_people(guarded):
    found = guarded.store.look(lambda rows: [left for _, left in all_left(rows)])
    return [(left.path, left.salvage) for left in found if not left.agent]


@pytest.mark.parametrize("command", ["", "> src/a.py", "sed -i s/mine/again/ src/a.py"])
def test_what_a_person_adds_to_an_agents_file_is_saved_before_the_agent_rewrites_it(
    guarded, command
):
    write(guarded, A, "src/a.py", "mine\n")
    guarded.write("src/a.py", "mine\nby a person\n")

    said = guarded.shell(A, command) if command else write(guarded, A, "src/a.py", "mine again\n")

    (ref,) = saved(guarded)
    assert guarded.git("show", f"{ref}:src/a.py") == "mine\nby a person"
    assert said.word == Word.TELL
    assert f"dibs salvage show {ref.removeprefix('refs/salvage/')}" in said.text
    assert left_by_people(guarded) == [("src/a.py", ref)]


def test_each_change_of_a_person_between_two_rewrites_is_saved_once(guarded):
    write(guarded, A, "src/a.py", "mine\n")
    for text in ("mine\nby a person\n", "mine\nmore by a person\n"):
        guarded.write("src/a.py", text)
        assert write(guarded, A, "src/a.py", "mine\n").word == Word.TELL
        assert write(guarded, A, "src/a.py", "mine\n").word == Word.PASS

    assert len(saved(guarded)) == 2


def test_an_edit_of_a_file_that_a_person_changed_meanwhile_records_the_origin_once(guarded):
    write(guarded, A, "src/a.py", "mine\n")
    for number, word in enumerate((Word.TELL, Word.PASS)):
        guarded.write("src/a.py", f"mine\nby a person {number}\n")
        assert guarded.hear(A, EventKind.BEFORE, "src/a.py", tool="Edit").word == word
        guarded.hear(A, EventKind.AFTER, "src/a.py", tool="Edit")

    ((_, ref),) = left_by_people(guarded)
    assert saved(guarded) == [ref]


@pytest.mark.parametrize("text", ["a = 'x'\n", 'a = "x"\n', "a =\n  'x',\n"])
def test_a_file_that_was_touched_or_formatted_after_the_edit_is_still_the_agents(guarded, text):
    write(guarded, A, "src/a.py", "a = 'x'\n")
    guarded.write("src/a.py", text)

    assert write(guarded, A, "src/a.py", "b = 1\n").word == Word.PASS
    assert saved(guarded) == []


def test_a_person_who_formats_a_file_later_does_not_lose_that(guarded):
    write(guarded, A, "src/a.py", "a = 'x'\n")
    guarded.write("src/a.py", 'a = "x"\n')
    later = time.time() + 120
    os.utime(os.path.join(guarded.root, "src/a.py"), (later, later))

    assert write(guarded, A, "src/a.py", "b = 1\n").word == Word.TELL


def test_what_a_subagent_wrote_is_not_a_persons(guarded):
    write(guarded, A, "src/a.py", "mine\n")
    child = {"subagent": "s1"}
    guarded.hear(A, EventKind.BEFORE, "src/a.py", tool="Write", **child)
    guarded.write("src/a.py", "by the child\n")
    guarded.hear(A, EventKind.AFTER, "src/a.py", tool="Write", **child)
    guarded.hear(A, EventKind.SUBAGENT_STOPPED, **child)

    assert "your user's" not in write(guarded, A, "src/a.py", "mine again\n").text
    assert write(guarded, A, "src/a.py", "mine again\n").word == Word.PASS
    assert saved(guarded) == []


@pytest.fixture
def slow_git(tmp_path, monkeypatch):
    """A git that never finishes listing the changes of a whole working tree."""
    script = tmp_path / "bin/git"
    script.parent.mkdir()
    real = shutil.which("git")
    script.write_text(
        f'#!/bin/sh\ncase " $* " in *" status "*" -- ") exec tail -f /dev/null ;; esac\nexec {real} "$@"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")
    for module in (people, shell_targets, hidden_files):
        name = "PATIENCE" if module is shell_targets else "_PATIENCE"
        monkeypatch.setattr(module, name, 0.5)


@pytest.mark.parametrize(
    "command", ["git reset --hard", "git stash", "git checkout .", "rm -rf src"]
)
def test_a_command_that_discards_files_is_blocked_if_git_cannot_list_them(
    guarded, slow_git, command
):
    guarded.write("src/a.py", "by a person\n")

    with pytest.raises(SlowGit, match="timed out"):
        guarded.shell(A, command)


@pytest.mark.parametrize("command", ["rm src/a.py", "echo x > src/a.py"])
def test_if_git_is_slow_a_command_still_saves_the_files_it_names(guarded, slow_git, command):
    guarded.write("src/a.py", "by a person\n")

    assert guarded.shell(A, command).word == Word.TELL

    (ref,) = saved(guarded)
    assert guarded.git("show", f"{ref}:src/a.py") == "by a person"


def test_if_git_is_slow_a_command_that_names_no_files_runs(guarded, slow_git):
    guarded.write("src/a.py", "by a person\n")

    assert run(guarded, A, "python3 -c pass")[0].word == Word.PASS
    assert not guarded.held()


def test_a_file_that_stays_changed_is_looked_at_once(guarded, monkeypatch):
    looks = []
    compare = taken_work.differing
    monkeypatch.setattr(taken_work, "differing", lambda *given: looks.append(1) or compare(*given))
    write(guarded, A, "src/a.py", "by the agent\n")
    guarded.write("src/a.py", "by the agent\nby a person\n")

    for _ in range(3):
        guarded.shell(A, "make")
        guarded.hear(A, EventKind.AFTER, command="make", tool="Bash", call="")

    assert len(looks) == 1


@pytest.mark.parametrize("path", ["src/a.py", "src/b.py"])
def test_what_a_person_edits_while_a_command_runs_is_saved_before_a_rewrite(guarded, path):
    write(guarded, A, "src/a.py", "by the agent\n")
    guarded.shell(A, "make test", call="c")
    guarded.write(path, "by a person\n")
    guarded.hear(A, EventKind.AFTER, command="make test", tool="Bash", call="c")

    said = write(guarded, A, path, "from memory\n")

    (ref,) = saved(guarded)
    assert guarded.git("show", f"{ref}:{path}") == "by a person"
    assert path in said.text


def test_what_a_command_names_is_its_own(guarded):
    run(guarded, A, "sed -i s/first/changed/ src/a.py")

    write(guarded, A, "src/a.py", "again\n")

    assert not saved(guarded)


def test_what_a_guarded_agent_held_but_did_not_write_stays_a_persons(guarded):
    guarded.write("src/a.py", "by a person\n")
    guarded.claim(ONE, "src/")

    guarded.end(A)

    (left,) = [left for _, left in guarded.store.look(lambda rows: list(all_left(rows)))]
    assert (left.path, left.agent) == ("src/a.py", "")
    assert saved(guarded)
    assert not saved(guarded, ONE)
