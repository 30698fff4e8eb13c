"""Changes by shell commands are detected and reported to the owner."""

import os
import subprocess

import pytest
from tests.services.guards import Guarded

from dibs.core.claims.agents import Caller
from dibs.core.toolcalls.values import EventKind, Word
from dibs.git.calls import GitCalls
from dibs.guard.agents.deadline import Late
from dibs.services.briefing.service import Briefings
from dibs.services.guard.uncommitted.attribution import Attribution
from dibs.services.salvage.entries import show
from dibs.services.salvage.private import unpacked
from dibs.services.state.ledger import Ledger, Query

ONE, TWO = "claude-11111111", "claude-22222222"
A, B = "11111111-a", "22222222-b"


@pytest.fixture
def guarded(tmp_path, own_git):
    found = Guarded(tmp_path / "repo")
    found.write("src/a.py", "first\n")
    found.write("src/b.py", "second\n")
    found.commit()
    for session in (A, B):
        said = found.start(session)
        Briefings(found.store).delivered(Caller(said.reader, "agent"), said.delivery)
    return found


def command(guarded, session, text, hidden="make", call="c1", **fields):
    """Let a session run ``text`` while its hook sees only ``hidden``; return the hook's answer."""
    before = guarded.shell(session, hidden, call=call, **fields)
    assert before.word == Word.PASS, before.text
    subprocess.run(text, shell=True, cwd=guarded.root, check=True)
    guarded.clock.now += 1
    return after(guarded, session, hidden, call)


def after(guarded, session, hidden="make", call="c1"):
    return guarded.hear(session, EventKind.AFTER, command=hidden, tool="Bash", call=call)


def foreign(guarded):
    return [e for e in Ledger(guarded.store).newest(Query(), 10_000) if e.kind == "foreign_write"]


def held_and_dirty(guarded, path="src/a.py"):
    guarded.edit(A, path)
    guarded.write(path, "half done\n")
    guarded.hear(A, EventKind.AFTER, path, tool="Write")
    guarded.clock.now += 5


def told(guarded, agent):
    delivery = Briefings(guarded.store).prepare(Caller(agent, "agent"), full=True)
    return "" if delivery is None else delivery.text + delivery.whole


@pytest.mark.parametrize(
    "text",
    [
        "python3 -c \"open('src/a.py', 'w').write('gone')\"",
        "git checkout -q -- src/a.py",
        "git stash -q",
        "git reset -q --hard",
        "rm src/a.py",
        "rm -rf src",
        "echo x > tmp; mv tmp src/a.py",
        "ln src/a.py hard; echo y >> hard; rm hard",
    ],
)
def test_a_foreign_write_is_reported_to_both_and_the_old_content_is_saved(guarded, text):
    held_and_dirty(guarded)

    heard = command(guarded, B, text)

    (entry,) = foreign(guarded)
    assert entry.agent == TWO
    assert entry.details["holder"] == ONE
    assert entry.details["sure"] is True
    ref = entry.details["salvage"]
    assert guarded.git("show", f"{ref}:src/a.py") == "half done"
    assert heard.word == Word.TELL
    assert f"which {ONE} holds" in heard.text
    assert f"`dibs salvage show {ref.removeprefix('refs/salvage/')}`" in heard.text
    assert f"{TWO}'s command changed src/a.py" in told(guarded, ONE)


def test_a_committed_file_needs_no_backup(guarded):
    guarded.edit(A, "src/a.py")
    guarded.clock.now += 5

    command(guarded, B, "echo x >> src/a.py")

    assert foreign(guarded)[0].details["salvage"] == ""


def test_a_change_in_another_agents_folder_is_detected(guarded):
    guarded.claim(ONE, "src/")
    guarded.clock.now += 5

    command(guarded, B, "echo x >> src/b.py")

    assert foreign(guarded)[0].details["paths"] == ["src/b.py"]


def test_a_change_to_a_claimed_ignored_file_is_detected(guarded):
    guarded.write(".gitignore", "*.secret\n")
    guarded.write("x.secret", "1")
    guarded.claim(ONE, "x.secret")
    guarded.clock.now += 5

    command(guarded, B, "echo 2 > x.secret")

    assert foreign(guarded)[0].details["paths"] == ["x.secret"]


def test_an_unclaimed_file_is_claimed_for_the_writer(guarded):
    command(guarded, B, "echo x > new.py; echo y >> src/b.py")

    assert guarded.held() == {(TWO, "new.py"), (TWO, "src/b.py")}
    assert "file_edit" in guarded.kinds()


def test_with_auto_claim_off_nothing_is_claimed(tmp_path, own_git):
    guarded = Guarded(tmp_path / "repo", guard_auto_claim="off")

    command(guarded, B, "echo x > new.py")

    assert guarded.held() == set()


def test_an_owners_own_edit_during_the_command_is_not_reported(guarded):
    guarded.edit(A, "src/a.py")
    guarded.shell(B, "pytest", call="c1")

    guarded.clock.now += 1
    guarded.edit(A, "src/a.py")
    guarded.write("src/a.py", "my own\n")
    guarded.hear(A, EventKind.AFTER, "src/a.py", tool="Write")
    guarded.clock.now += 1

    assert after(guarded, B, "pytest").word == Word.PASS
    assert foreign(guarded) == []


def test_during_a_call_of_the_owner_no_one_is_blamed(guarded):
    guarded.edit(A, "src/a.py")
    guarded.shell(B, "pytest", call="c1")
    guarded.clock.now += 1
    guarded.edit(A, "src/a.py")
    guarded.write("src/a.py", "whose?\n")
    guarded.clock.now += 1

    heard = after(guarded, B, "pytest")

    assert foreign(guarded)[0].details["sure"] is False
    assert "changed while your command ran" in heard.text


def test_writes_of_concurrent_commands_are_not_attributed_wrongly(guarded):
    guarded.shell(A, "make one", call="a")
    guarded.shell(B, "make two", call="b")
    guarded.write("one.txt", "1")

    after(guarded, A, "make one", "a")
    after(guarded, B, "make two", "b")

    assert guarded.held() == set()


def test_a_touch_without_a_change_is_not_reported(guarded):
    held_and_dirty(guarded)

    command(guarded, B, "cp -p src/a.py t; rm src/a.py; mv t src/a.py; touch src/a.py")

    assert foreign(guarded) == []


def test_the_owners_commit_during_a_call_is_not_a_foreign_write(guarded):
    held_and_dirty(guarded)
    guarded.shell(B, "pytest", call="c1")

    guarded.git("commit", "-qam", "done")

    after(guarded, B, "pytest")
    assert foreign(guarded) == []


def test_a_damaged_snapshot_is_ignored(guarded):
    held_and_dirty(guarded)
    guarded.shell(B, "make", call="c1")
    for folder, _, names in os.walk(os.path.join(guarded.repository.state, "marks")):
        for name in names:
            with open(os.path.join(folder, name), "wb") as file:
                file.write(b"\xff{")

    assert after(guarded, B).word == Word.PASS


def test_a_read_only_command_takes_no_snapshot(guarded):
    held_and_dirty(guarded)

    guarded.shell(B, "ls -la && git status", call="c1")

    folder = os.path.join(guarded.repository.state, "marks")
    assert not [
        name for *_, names in os.walk(folder) for name in names if not name.endswith("~own")
    ]


def test_a_checkout_in_a_tree_without_the_owner_is_not_a_foreign_write(guarded, tmp_path):
    other = tmp_path / "other"
    guarded.git("worktree", "add", "-q", str(other))
    held_and_dirty(guarded)
    guarded.git("commit", "-qam", "done")
    there = Guarded(other, guarded.engine)

    assert there.shell(B, "git merge main").word == Word.PASS
    there.git("merge", "-q", "main")
    there.hear(B, EventKind.AFTER, command="git merge main", tool="Bash")

    assert foreign(guarded) == []
    assert there.shell(B, "sed -i s/a/b/ src/a.py").word == Word.DENY


def test_a_checkout_in_the_owners_tree_is_a_foreign_write(guarded):
    guarded.git("branch", "old", "HEAD~1")
    guarded.edit(A, "src/a.py")

    assert guarded.shell(B, "git switch old").word == Word.DENY


@pytest.mark.parametrize("hides", ["--assume-unchanged", "--skip-worktree"])
def test_files_that_git_does_not_see_are_saved_too(guarded, hides):
    held_and_dirty(guarded, "src/a.py")
    guarded.git("update-index", hides, "src/a.py")

    command(guarded, B, "rm src/a.py")

    ref = foreign(guarded)[0].details["salvage"]
    assert guarded.git("show", f"{ref}:src/a.py") == "half done"


def test_an_ignored_file_is_saved_outside_git(guarded):
    guarded.write(".git/info/exclude", "*.secret\n")
    guarded.claim(ONE, "x.secret")
    held_and_dirty(guarded, "x.secret")
    before = guarded.git("count-objects")

    command(guarded, B, "rm x.secret")

    name = foreign(guarded)[0].details["salvage"]
    assert name.startswith(f"{ONE}/")
    entry = show(GitCalls(guarded.root), name).ignored
    assert b"".join(unpacked(entry.copy_of("x.secret"))) == b"half done\n"
    assert guarded.git("count-objects") == before


def test_a_report_says_if_a_file_was_too_large_to_save(guarded):
    held_and_dirty(guarded)
    os.truncate(f"{guarded.root}/src/a.py", 33 * 1024 * 1024)

    heard = command(guarded, B, "rm src/a.py")

    assert foreign(guarded)[0].details["lost"] == ["src/a.py"]
    for text in (heard.text, told(guarded, ONE)):
        assert "no backup of src/a.py could be saved" in text


def test_a_write_that_resets_the_timestamp_is_detected(guarded):
    held_and_dirty(guarded)

    command(
        guarded, B, "cp -p src/a.py .git/x; printf HALF | dd of=src/a.py conv=notrunc;"
        " touch -r .git/x src/a.py",
    )  # fmt: skip

    assert foreign(guarded)[0].details["paths"] == ["src/a.py"]


def test_a_mode_change_alone_is_detected(guarded):
    held_and_dirty(guarded)

    command(guarded, B, "chmod +x src/a.py")

    assert foreign(guarded)[0].details["paths"] == ["src/a.py"]


def test_a_copy_deleted_during_the_command_is_reported_as_lost(guarded):
    held_and_dirty(guarded)

    heard = command(guarded, B, "rm -r src/a.py .git/dibs/marks/*/content")

    assert foreign(guarded)[0].details["lost"] == ["src/a.py"]
    assert "no backup of src/a.py could be saved" in heard.text


@pytest.mark.parametrize("moment", [EventKind.PROMPTED, EventKind.STOPPED])
def test_writes_of_an_interrupted_command_are_detected(guarded, moment):
    held_and_dirty(guarded)
    guarded.shell(B, "make", call="c1")
    guarded.write("src/a.py", "broken off\n")
    guarded.clock.now += 1

    guarded.hear(B, moment)

    ref = foreign(guarded)[0].details["salvage"]
    assert guarded.git("show", f"{ref}:src/a.py") == "half done"


def test_a_prompt_during_a_command_does_not_hide_later_writes(guarded):
    held_and_dirty(guarded)
    guarded.shell(B, "make", call="c1")
    guarded.hear(B, EventKind.PROMPTED)
    guarded.write("src/a.py", "later\n")
    guarded.clock.now += 1

    after(guarded, B)

    assert len(foreign(guarded)) == 1


def too_late(guarded, monkeypatch, step):
    """Let the hook after a command run out of time in a step of the comparison."""

    def late(*_, **__):
        raise Late

    with monkeypatch.context() as patch:
        patch.setattr(Attribution, step, late)
        with pytest.raises(Late):
            after(guarded, B)


@pytest.mark.parametrize("step", ["found", "_since", "_told"])
@pytest.mark.parametrize("later", ["ls", "make", ""])
def test_a_later_call_reports_what_a_hook_was_too_late_to_report(guarded, monkeypatch, step, later):
    held_and_dirty(guarded)
    guarded.shell(B, "make", call="c1")
    guarded.write("src/a.py", "hidden\n")
    guarded.clock.now += 1
    too_late(guarded, monkeypatch, step)
    assert foreign(guarded) == []

    if later:
        guarded.shell(B, later, call="c2")
        heard = after(guarded, B, later, "c2")
    else:
        guarded.edit(B, "src/new.py")
        heard = guarded.hear(B, EventKind.AFTER, "src/new.py", tool="Write")

    assert f"which {ONE} holds" in heard.text
    ref = foreign(guarded)[0].details["salvage"]
    assert guarded.git("show", f"{ref}:src/a.py") == "half done"
    after(guarded, B, "ls", "c3")
    assert len(foreign(guarded)) == 1


@pytest.mark.parametrize("call", ["c1", ""])
def test_a_later_call_reports_the_writes_of_a_call_without_an_end(guarded, call):
    held_and_dirty(guarded)
    guarded.shell(B, "make", call=call)
    guarded.write("src/a.py", "broken off\n")
    guarded.clock.now += 1

    guarded.shell(B, "make test", call=call and "c2")
    heard = after(guarded, B, "make test", call and "c2")

    assert f"which {ONE} holds" in heard.text
    assert len(foreign(guarded)) == 1


def test_a_call_does_not_hide_what_a_parallel_call_writes_later(guarded):
    held_and_dirty(guarded)
    guarded.write("src/b.py", "a person's\n")
    guarded.shell(B, "make", call="c1")
    command(guarded, B, "true", hidden="make test", call="c2")
    guarded.write("src/a.py", "hidden\n")
    guarded.git("checkout", "-q", "--", "src/b.py")
    guarded.clock.now += 1

    heard = after(guarded, B)

    assert f"which {ONE} holds" in heard.text
    assert "a person's uncommitted changes" in "".join(
        e.summary for e in Ledger(guarded.store).newest(Query(), 100)
    )


def test_a_later_command_does_not_hide_changed_guards(guarded, monkeypatch):
    guarded.shell(B, "make", call="c1")
    guarded.git("config", "core.hooksPath", "elsewhere")
    too_late(guarded, monkeypatch, "found")

    guarded.shell(B, "make", call="c2")

    assert "wiring_changed" in guarded.kinds()


def test_a_search_and_replace_over_all_files_does_not_change_the_copies(guarded):
    held_and_dirty(guarded)
    guarded.write("src/a.py", "half done\n" * 100)

    command(guarded, B, "grep -rl 'half done' . | xargs sed -i 's/half/HALF/'")

    ref = foreign(guarded)[0].details["salvage"]
    assert guarded.git("show", f"{ref}:src/a.py") == ("half done\n" * 100).strip()


def test_a_call_without_an_end_is_forgotten_after_an_hour(guarded):
    guarded.shell(A, "make one", call="a")
    marks = os.path.join(guarded.repository.state, "marks")
    for folder, _, names in os.walk(marks):
        for name in names:
            os.utime(os.path.join(folder, name), (1, 1))

    command(guarded, B, "echo x > new.py")

    assert guarded.held() == {(TWO, "new.py")}
