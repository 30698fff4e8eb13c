"""Board commits contain only the task's files and touch no one else's work."""

from __future__ import annotations

import os
import sys

import pytest
from tests.services.merge_yard import git, put

from dibs.services.board.commits import BoardAuthor, commit

pytestmark = pytest.mark.usefixtures("own_git")

TASK = "id: {id}\nagent: bob\nstatus: {status}\n"


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "tree"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "Ann")
    git(root, "config", "user.email", "ann@example.org")
    return root


@pytest.fixture
def begun(tree):
    """A tree with a commit and a task in it."""
    put(tree, "code.py", "one\n")
    put(tree, "work/assigned/bob/a.yaml", TASK.format(id="a", status="assigned"))
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "first")
    return tree


def move(tree, source, target, text):
    (tree / source).unlink()
    put(tree, target, text)


def board_commit(tree, ids=None, by="bob"):
    return commit(str(tree), "work", by=lambda _: BoardAuthor(by), ids=ids)


def subjects(tree):
    return git(tree, "log", "--format=%s").splitlines()


def files_of(tree, revision="HEAD"):
    return git(tree, "show", "--format=", "--name-only", "--no-renames", revision).splitlines()


def test_a_move_is_one_commit_with_both_paths_and_nothing_else(begun):
    put(begun, "code.py", "two\n")
    put(begun, "notes.txt", "mine\n")
    put(begun, "work/curator/report.md", "not Dibs's own\n")
    move(begun, "work/assigned/bob/a.yaml", "work/done/a.yaml", TASK.format(id="a", status="done"))

    done = board_commit(begun)

    assert done.made == ("task: a assigned -> done by bob",)
    assert subjects(begun) == ["task: a assigned -> done by bob", "first"]
    assert files_of(begun) == ["work/assigned/bob/a.yaml", "work/done/a.yaml"]
    assert git(begun, "status", "--porcelain").splitlines() == [
        "M code.py", "?? notes.txt", "?? work/curator/"
    ]  # fmt: skip


def test_other_staged_changes_stay_staged(begun):
    put(begun, "code.py", "two\n")
    put(begun, "new.py", "new\n")
    git(begun, "add", "code.py", "new.py")
    put(begun, "code.py", "three\n")
    put(begun, "work/assigned/bob/a.yaml", TASK.format(id="a", status="in_progress"))

    board_commit(begun)

    assert files_of(begun) == ["work/assigned/bob/a.yaml"]
    assert git(begun, "diff", "--cached", "--name-only").splitlines() == ["code.py", "new.py"]
    assert git(begun, "show", ":code.py") == "two"
    assert (begun / "code.py").read_text() == "three\n"


def test_each_task_has_its_own_commit(begun):
    for name in "xyz":
        put(begun, f"work/inbox/{name}.yaml", TASK.format(id=name, status="new"))

    done = board_commit(begun)

    assert done.made == tuple(f"task: {name} new by bob" for name in "xyz")
    assert files_of(begun, "HEAD~1") == ["work/inbox/y.yaml"]


def test_the_first_commit_of_a_repository_can_be_the_boards(tree):
    put(tree, "code.py", "one\n")
    git(tree, "add", "code.py")
    put(tree, "work/inbox/x.yaml", TASK.format(id="x", status="new"))

    done = board_commit(tree)

    assert done.made == ("task: x new by bob",)
    assert files_of(tree) == ["work/inbox/x.yaml"]
    assert git(tree, "diff", "--cached", "--name-only") == "code.py"


def test_a_detached_head_moves_and_no_branch_does(begun):
    git(begun, "checkout", "-q", "--detach")
    put(begun, "work/inbox/x.yaml", TASK.format(id="x", status="new"))

    board_commit(begun)

    assert git(begun, "log", "-1", "--format=%s") == "task: x new by bob"
    assert git(begun, "log", "-1", "--format=%s", "main") == "first"


def test_a_locked_index_leaves_everything_for_the_next_command(begun, monkeypatch):
    monkeypatch.setattr("dibs.git.index.PATIENCE", 0.01)
    put(begun, "work/inbox/x.yaml", TASK.format(id="x", status="new"))
    lock = begun / ".git" / "index.lock"
    lock.write_text("someone else's")

    done = board_commit(begun)

    assert done.made == ()
    assert "index is locked" in done.left
    assert lock.read_text() == "someone else's"
    assert subjects(begun) == ["first"]
    lock.unlink()
    assert board_commit(begun).made == ("task: x new by bob",)


def test_a_concurrent_commit_stays_below_ours(begun, monkeypatch):
    from dibs.services.board import commits

    put(begun, "work/inbox/x.yaml", TASK.format(id="x", status="new"))
    build, rivals = commits._build, ["rival"]

    def late(*args):
        tip = build(*args)
        if rivals:
            tree = git(begun, "rev-parse", "HEAD^{tree}")
            rival = git(begun, "commit-tree", "-p", "HEAD", "-m", rivals.pop(), tree)
            git(begun, "update-ref", "HEAD", rival)
        return tip

    monkeypatch.setattr(commits, "_build", late)

    board_commit(begun)

    assert subjects(begun) == ["task: x new by bob", "rival", "first"]
    assert git(begun, "status", "--porcelain") == ""


def test_nothing_is_committed_during_a_merge(begun):
    git(begun, "checkout", "-q", "-b", "side")
    put(begun, "code.py", "side\n")
    git(begun, "commit", "-q", "-a", "-m", "side")
    git(begun, "checkout", "-q", "main")
    put(begun, "code.py", "main\n")
    git(begun, "commit", "-q", "-a", "-m", "main")
    git(begun, "merge", "side", check=False)
    put(begun, "work/inbox/x.yaml", TASK.format(id="x", status="new"))

    done = board_commit(begun)

    assert done.left == "a merge is in progress; the board is committed afterwards"
    assert subjects(begun) == ["main", "first"]


def test_during_a_rebase_the_message_says_how_to_continue(begun):
    git(begun, "checkout", "-qb", "side")
    for branch in ("side", "main"):
        git(begun, "checkout", "-q", branch)
        put(begun, "code.py", f"{branch}\n")
        git(begun, "commit", "-q", "-a", "-m", branch)
    git(begun, "rebase", "side", check=False)
    put(begun, "work/inbox/x.yaml", TASK.format(id="x", status="new"))

    assert board_commit(begun).left.endswith("(if git refuses to continue: git add work)")


def test_user_hooks_do_not_run(begun):
    for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction"):
        hook = begun / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {begun}/ran-{name}\nexit 1\n")
        hook.chmod(0o755)
    put(begun, "work/inbox/x.yaml", TASK.format(id="x", status="new"))

    assert board_commit(begun).made

    assert not list(begun.glob("ran-*"))


def test_an_ignored_board_is_not_committed(begun):
    put(begun, ".gitignore", "work/inbox/\n")
    put(begun, "work/inbox/x.yaml", TASK.format(id="x", status="new"))

    assert board_commit(begun).made == ()


def test_a_machine_without_a_name_commits_as_dibs(begun):
    git(begun, "config", "--unset", "user.name")
    git(begun, "config", "--unset", "user.email")
    git(begun, "config", "user.useConfigOnly", "true")
    put(begun, "work/inbox/x.yaml", TASK.format(id="x", status="new"))

    board_commit(begun)

    assert git(begun, "log", "-1", "--format=%cn <%ce>") == "dibs <dibs@localhost>"


def test_a_work_log_is_committed_with_its_task(begun):
    put(begun, "work/assigned/bob/a.yaml", TASK.format(id="a", status="error"))
    put(begun, "work/logs/bob/2025-11-23T1430-a.md", "# Work Log\n\n**Task ID:** a\n")

    board_commit(begun)

    assert files_of(begun) == ["work/assigned/bob/a.yaml", "work/logs/bob/2025-11-23T1430-a.md"]


def test_a_board_in_another_repository_is_reported(begun):
    git(begun, "init", "-q", begun / "work")
    put(begun, "work/inbox/x.yaml", TASK.format(id="x", status="new"))

    done = board_commit(begun)

    assert done.left == "work is a separate git repository; the board is not committed"
    assert subjects(begun) == ["first"]


def test_a_task_that_moves_to_an_ignored_folder_is_deleted_in_git(begun):
    put(begun, ".gitignore", "work/done/\n")
    done = TASK.format(id="a", status="done")
    move(begun, "work/assigned/bob/a.yaml", "work/done/a.yaml", done)
    put(begun, "work/logs/bob/a.md", "# Work Log\n\n**Task ID:** a\n")

    assert board_commit(begun).made == ("task: a assigned -> deleted by bob",)


def test_core_ignorestat_does_not_hide_a_move(begun):
    git(begun, "config", "core.ignoreStat", "true")
    put(begun, "work/inbox/x.yaml", TASK.format(id="x", status="new"))
    board_commit(begun)
    given = TASK.format(id="x", status="assigned")
    move(begun, "work/inbox/x.yaml", "work/assigned/bob/x.yaml", given)

    board_commit(begun)

    assert files_of(begun) == ["work/assigned/bob/x.yaml", "work/inbox/x.yaml"]


def test_other_changes_stay_byte_for_byte_however_they_are_staged(begun):
    for name in ("staged", "untracked", "renamed", "hidden", "mode"):
        put(begun, f"{name}.txt", f"{name}\n" * 5)
    git(begun, "add", ".")
    git(begun, "commit", "-q", "-m", "more")
    put(begun, "staged.txt", "staged\n")
    git(begun, "add", "staged.txt")
    put(begun, "staged.txt", "and changed again\n")
    git(begun, "rm", "-q", "--cached", "untracked.txt")
    git(begun, "mv", "renamed.txt", "new name.txt")
    git(begun, "update-index", "--assume-unchanged", "hidden.txt")
    put(begun, "hidden.txt", "mine\n")
    (begun / "mode.txt").chmod(0o755)
    put(begun, "intended.txt", "soon\n")
    git(begun, "add", "--intent-to-add", "intended.txt")
    before = others(begun)
    given = TASK.format(id="a", status="done")
    move(begun, "work/assigned/bob/a.yaml", "work/done/a.yaml", given)

    assert board_commit(begun).made == ("task: a assigned -> done by bob",)

    assert others(begun) == before
    assert files_of(begun) == ["work/assigned/bob/a.yaml", "work/done/a.yaml"]


def others(tree):
    """Return everything that git and the disk have besides the board."""
    rows = [git(tree, "ls-files", "-s", "-v"), git(tree, "status", "--porcelain")]
    disk = {p.name: (p.read_bytes(), p.stat().st_mode) for p in tree.iterdir() if p.is_file()}
    return [row for text in rows for row in text.splitlines() if "work/" not in row], disk


def test_only_a_lock_left_by_our_killed_process_is_removed(begun):
    put(begun, "work/inbox/x.yaml", TASK.format(id="x", status="new"))
    place = begun / ".git"
    (place / "dibs-lock-1").touch()
    (place / "index.lock").hardlink_to(place / "dibs-lock-1")
    (place / "dibs-index-1.lock").touch()

    assert board_commit(begun).made == ("task: x new by bob",)
    assert not [path for path in place.iterdir() if path.name.startswith(("dibs-", "index."))]

    (place / "dibs-lock-1").touch()  # its lock was removed by hand, and this lock is not ours
    (place / "index.lock").touch()
    put(begun, "work/inbox/y.yaml", TASK.format(id="y", status="new"))

    assert "locked by another process" in board_commit(begun).left
    assert (place / "index.lock").exists()


def test_a_kill_between_the_branch_and_the_index_leaves_nothing_staged(begun):
    put(begun, "code.py", "staged\n")
    git(begun, "add", "code.py")
    old = (begun / ".git" / "index").read_bytes()
    given = TASK.format(id="a", status="done")
    move(begun, "work/assigned/bob/a.yaml", "work/done/a.yaml", given)
    board_commit(begun)
    (begun / ".git" / "index").write_bytes(old)
    (begun / ".git" / "dibs-lock-1").touch()

    board_commit(begun)

    assert git(begun, "status", "--porcelain") == "M  code.py"


def test_a_change_in_the_same_tick_as_the_last_commit_is_not_hidden(begun):
    git(begun, "config", "core.trustctime", "false")
    file, index = begun / "code.py", begun / ".git" / "index"
    git(begun, "update-index", "--refresh")
    moment = file.stat().st_mtime_ns
    file.write_text("two\n")  # same length, same clock tick
    os.utime(file, ns=(moment, moment))
    os.utime(index, ns=(moment, moment))
    assert git(begun, "diff", "--name-only") == "code.py"
    os.utime(index, ns=(moment, moment))
    put(begun, "work/inbox/x.yaml", TASK.format(id="x", status="new"))

    board_commit(begun)

    assert git(begun, "diff", "--name-only") == "code.py"


def test_a_command_inside_a_hook_does_not_make_the_users_commit_fail(begun):
    hook = begun / ".git" / "hooks" / "pre-commit"
    call = "from dibs.services.board.commits import commit; print(commit('.', 'work', by=str).left)"
    hook.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{call}" >said.txt\n')
    hook.chmod(0o755)
    put(begun, "work/inbox/x.yaml", TASK.format(id="x", status="new"))
    put(begun, "code.py", "two\n")
    git(begun, "add", "code.py")

    git(begun, "commit", "-q", "-m", "mine")

    said = (begun / "said.txt").read_text().strip()
    assert said == "a git command is running; the board is committed afterwards"
    assert files_of(begun) == ["code.py"]
    assert board_commit(begun).made == ("task: x new by bob",)
