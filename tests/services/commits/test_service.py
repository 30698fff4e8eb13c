"""Scoped commits: what they contain, what they do not, and that no one else's work is touched."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess

import pytest
from tests.services.commit_world import ALICE, BOB, HUMAN, World

from dibs.core.changes.trailers import read_signed
from dibs.errors import BadInput, Fenced, Misconfigured, NotFound, Unavailable
from dibs.services.commits.values import CommitDenied

pytestmark = pytest.mark.usefixtures("own_git")


@pytest.fixture
def world(tmp_path):
    return World(tmp_path / "tree")


# -- what is in a commit


def test_a_commit_contains_the_claimed_changed_files_and_no_others(world):
    world.claim(ALICE, "src/one.py", "new.py")
    world.put("src/one.py", "1 by alice\n")
    world.put("src/two.py", "2 by someone\n")
    world.put("new.py", "new\n")
    answer = world.committed(ALICE)
    assert world.files() == {"src/one.py", "new.py"}
    assert {(f.path, f.what) for f in answer.files} == {
        ("src/one.py", "changed"),
        ("new.py", "new"),
    }
    assert world.dirty() == {" M src/two.py"}


def test_trailers_name_the_claims_behind_a_commit(world):
    granted = world.claim(ALICE, "src/", task="T-1")
    world.put("src/one.py", "x\n")
    world.committed(ALICE, "Fix\n\nReviewed-by: Bob <b@example.org>")
    message = world.git("log", "-1", "--format=%B")
    signed = read_signed(message)
    assert signed == ("alice", (granted.claims[0].id,), (granted.token,), ("T-1",))
    assert "Reviewed-by: Bob <b@example.org>\nDibs-Agent: alice\n" in message


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("file", "gone"), ("file", "link"), ("file", "folder"), ("folder", "file"), ("file", "mode"),
        ("folder", "link"), ("link", "file"),
    ],
)  # fmt: skip
def test_a_path_may_change_into_anything(world, before, after):
    make(world, before)
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "before")
    world.claim(ALICE, "th*", "th*/**")
    clear(world)
    make(world, after)
    world.put("src/one.py", "not hers\n")
    world.committed(ALICE)
    assert all(path.startswith("thing") for path in world.files())
    assert world.dirty() == {" M src/one.py"}
    assert world.git("diff", "--cached", "--name-only") == ""


def make(world, what):
    place = os.path.join(world.root, "thing")
    if what == "file":
        world.put("thing", "a file\n")
    elif what == "mode":
        world.put("thing", "a file\n")
        os.chmod(place, 0o755)
    elif what == "folder":
        world.put("thing/inner/one", "1\n")
        world.put("thing/two", "2\n")
    elif what == "link":
        os.symlink("README", place)


def clear(world):
    place = os.path.join(world.root, "thing")
    if os.path.islink(place) or os.path.isfile(place):
        os.unlink(place)
    elif os.path.isdir(place):
        shutil.rmtree(place)


def test_a_rename_needs_both_sides(world):
    world.claim(ALICE, "src/one.py")
    world.claim(BOB, "moved.py")
    os.rename(os.path.join(world.root, "src/one.py"), os.path.join(world.root, "moved.py"))
    world.committed(ALICE)
    assert world.files() == {"src/one.py"}
    world.committed(BOB)
    assert world.files() == {"moved.py"}


@pytest.mark.parametrize(
    "name",
    [
        "with space", "quo'te", 'dou"ble', "-f", "--all", ":(top)x", "*", "a?b", "[x]", "back\\slash",
        "trailing ", " leading", "näive-ü", "na\u0308ive", "日本語", "x" * 255, "$(touch pwned)",
        "a\tb", "a\nb",
        "#comment", "~tilde", "semi;colon", "HEAD",
    ],
)  # fmt: skip
def test_any_file_name_works_with_a_claim_on_its_folder(world, name):
    world.put(f"odd/{name}", "1\n")
    world.put("other", "not hers\n")
    if name != "HEAD":  # a file with this name makes revision arguments ambiguous
        world.put(name, "not hers\n")
    world.claim(ALICE, "odd/")
    world.committed(ALICE)
    assert world.files() == {f"odd/{name}"}
    assert world.git("status", "--porcelain", "odd") == ""
    world.put(f"odd/{name}", "2\n")
    world.committed(ALICE, names=[f"odd/{name}"])
    assert world.files() == {f"odd/{name}"}


def test_a_name_that_is_not_utf8_works(world):
    raw = os.fsdecode(b"odd/\xff\xfe")
    world.put(raw, "1\n")
    world.claim(ALICE, "odd/")
    assert [f.path for f in world.committed(ALICE).files] == [raw]
    assert world.files() == {raw}
    assert world.ledger()[0].details["paths"] == ["odd/\\xff\\xfe"]


def test_a_path_of_three_hundred_bytes_works(world):
    path = "odd/" + "d" * 150 + "/" + "f" * 150
    world.put(path, "1\n")
    world.claim(ALICE, path)
    world.committed(ALICE)
    assert world.files() == {path}


def test_a_path_limits_the_commit(world):
    world.claim(ALICE, "src/", "docs/")
    for path in ("src/one.py", "src/two.py", "docs/a.md"):
        world.put(path, "changed\n")
    world.committed(ALICE, paths=["src/one.py"])
    assert world.files() == {"src/one.py"}
    world.committed(ALICE, paths=["docs/"])
    assert world.files() == {"docs/a.md"}


def test_a_file_removed_from_the_index_and_ignored_is_deleted(world):
    world.claim(ALICE, "src/one.py", ".gitignore")
    world.put(".gitignore", "one.py\n")
    world.git("rm", "-q", "--cached", "src/one.py")
    assert world.committed(ALICE).on_disk == ("src/one.py",)
    assert world.files() == {".gitignore", "src/one.py"}
    assert world.git("ls-tree", "HEAD", "src/one.py") == ""
    assert world.read("src/one.py") == "1\n"


# -- what is not


def test_a_named_file_that_another_agent_holds_is_refused_with_its_owner(world):
    world.claim(ALICE, "src/one.py")
    world.claim(BOB, "src/two.py")
    world.put("src/two.py", "bob's\n")
    world.put("free.txt", "x\n")
    head = world.head()
    answer = world.commit(ALICE, paths=["src/two.py", "free.txt"])
    assert isinstance(answer, CommitDenied)
    assert [(b.path, b.why, b.holder) for b in answer.blocked] == [
        ("src/two.py", "held", "bob"), ("free.txt", "unclaimed", ""),
    ]  # fmt: skip
    assert world.head() == head
    assert world.kinds()[-1] == "commit_refused"


def test_a_shared_claim_does_not_allow_a_commit(world):
    world.claim(ALICE, "src/one.py", mode="shared")
    world.put("src/one.py", "x\n")
    answer = world.commit(ALICE, paths=["src/one.py"])
    assert [b.why for b in answer.blocked] == ["shared"]


def test_a_hook_that_adds_another_agents_file_fails_the_commit(world):
    hook(world, "pre-commit", "echo more > src/two.py; git add src/two.py")
    world.claim(ALICE, "src/one.py")
    world.put("src/one.py", "x\n")
    head = world.head()
    answer = world.commit(ALICE)
    assert [(b.path, b.why) for b in answer.blocked] == [("src/two.py", "unclaimed")]
    assert answer.blocked[0].hint.startswith("the pre-commit hook staged it")
    assert world.head() == head


def test_files_that_configure_tools_are_reserved_for_humans(world):
    for agent, path in (
        (ALICE, ".mcp.json"),
        (ALICE, ".claude/Settings.json"),
        (ALICE, "dibs.toml"),
    ):
        world.claim(agent, path)
        world.put(path, "")
        answer = world.commit(agent)
        assert [b.why for b in answer.blocked] == ["guarded"], path
        world.project.holdings.release(agent)
        world.remove(path)
    world.claim(HUMAN, ".mcp.json")
    world.put(".mcp.json", "{}\n")
    world.committed(HUMAN)


def test_the_result_lists_what_was_not_included(world):
    world.claim(ALICE, "src/one.py", "src/never.py")
    world.claim(BOB, "src/two.py")
    world.put("src/one.py", "x\n")
    world.put("src/two.py", "y\n")
    world.put("src/forgotten.py", "z\n")
    world.put("README", "changed\n")
    answer = world.committed(ALICE)
    assert answer.unchanged == ("src/never.py",)
    assert [(f.path, f.what) for f in answer.nobody] == [("src/forgotten.py", "new")]
    assert answer.elsewhere == 1
    assert [(b.path, b.holder) for b in answer.others] == [("src/two.py", "bob")]


def test_named_files_that_are_ignored_or_missing_have_their_own_errors(world):
    world.claim(ALICE, "x.log", "nope")
    world.put(".gitignore", "*.log\n")
    world.put("x.log", "1\n")
    with pytest.raises(BadInput) as ignored:
        world.commit(ALICE, paths=["x.log"])
    assert ignored.value.code == "PATH_IGNORED"
    with pytest.raises(NotFound) as missing:
        world.commit(ALICE, paths=["nope"])
    assert missing.value.code == "PATH_MISSING"


def test_a_commit_without_changes_is_reported_and_does_nothing(world):
    world.claim(ALICE, "src/one.py")
    world.put("src/two.py", "x\n")
    with pytest.raises(NotFound) as nothing:
        world.commit(ALICE)
    assert nothing.value.code == "NOTHING_CHANGED"
    assert not world.ledger()


def test_a_trial_writes_nothing(world):
    world.claim(ALICE, "src/one.py")
    world.put("src/one.py", "x\n")
    before = (world.head(), world.index(), world.kinds(), world.git("count-objects"))
    answer = world.committed(ALICE, trial=True)
    assert [f.path for f in answer.files] == ["src/one.py"]
    assert (world.head(), world.index(), world.kinds(), world.git("count-objects")) == before


# -- the shared index


def test_other_index_entries_stay_including_flags_and_conflicts(world):
    for name in ("assumed", "skipped", "staged", "conflict"):
        world.put(name, "1\n")
    world.git("add", ".")
    world.git("commit", "-q", "-m", "more")
    world.git("update-index", "--assume-unchanged", "assumed")
    world.git("update-index", "--skip-worktree", "skipped")
    world.put("staged", "2\n")
    world.git("add", "staged")
    world.put("staged", "3\n")
    world.put("intended", "x\n")
    world.git("add", "-N", "intended")
    oid = world.git("rev-parse", "HEAD:conflict")
    rows = "".join(f"100644 {oid} {stage}\tconflict\n" for stage in (1, 2, 3))
    world.git("update-index", "--force-remove", "conflict")
    world.git("update-index", "--index-info", given=rows.encode())
    before = world.index("src/one.py")
    world.claim(ALICE, "src/one.py")
    world.put("src/one.py", "x\n")
    world.committed(ALICE)
    assert world.index("src/one.py") == before
    assert world.read("staged") == "3\n"
    assert (
        world.git("diff-files", "--name-only", "src") == ""
    )  # its entry has the file's timestamps


def test_what_others_staged_for_the_owners_path_is_replaced(world):
    world.claim(ALICE, "src/one.py")
    world.put("src/one.py", "staged by a stranger\n")
    world.git("add", "src/one.py")
    world.put("src/one.py", "alice's\n")
    world.committed(ALICE)
    assert world.git("show", "HEAD:src/one.py") == "alice's"
    assert world.dirty() == set()


def test_skipped_files_of_a_sparse_tree_do_not_count_as_deleted(world):
    world.git("sparse-checkout", "set", "--no-cone", "src/one.py")
    assert not os.path.exists(os.path.join(world.root, "src/two.py"))
    world.claim(ALICE, "src/")
    world.put("src/one.py", "x\n")
    world.committed(ALICE)
    assert world.files() == {"src/one.py"}
    assert "src/two.py" in world.git("ls-tree", "-r", "--name-only", "HEAD")
    assert world.dirty() == set()


def test_a_new_submodule_commit_requires_a_claim_on_its_path(world, tmp_path):
    other = World(tmp_path / "other")
    world.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", other.root, "lib")
    world.git("commit", "-q", "-m", "lib")
    inside = World.__new__(World)
    inside.root = os.path.join(world.root, "lib")
    inside.git(
        "-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "--allow-empty", "-m", "on"
    )
    world.claim(ALICE, "src/")
    with pytest.raises(NotFound):
        world.commit(ALICE)
    world.claim(ALICE, "li*")
    world.committed(ALICE)
    assert world.files() == {"lib"}
    assert world.git("ls-tree", "HEAD", "lib").split()[:2] == ["160000", "commit"]


def test_a_nested_repository_is_never_committed(world):
    inner = World(os.path.join(world.root, "src/inner"))
    world.claim(ALICE, "src/")
    world.put("src/one.py", "x\n")
    world.committed(ALICE)
    assert world.files() == {"src/one.py"}
    assert inner.head()


# -- states of the repository


def test_the_first_commit_of_a_branch_works(tmp_path):
    world = World(tmp_path / "tree", first=False)
    world.claim(ALICE, "a")
    world.put("a", "1\n")
    world.put("b", "1\n")
    answer = world.committed(ALICE)
    assert world.git("rev-list", "--count", "HEAD") == "1"
    assert world.dirty() == {"?? b"}
    assert answer.branch == "main"


def test_a_detached_head_moves_and_no_branch_does(world):
    world.git("checkout", "-q", "--detach")
    main = world.git("rev-parse", "main")
    world.claim(ALICE, "src/one.py")
    world.put("src/one.py", "x\n")
    answer = world.committed(ALICE)
    assert answer.ref == "HEAD"
    assert world.head() == answer.commit
    assert world.git("rev-parse", "main") == main


@pytest.mark.parametrize("name", ["MERGE_HEAD", "rebase-merge", "BISECT_LOG", "CHERRY_PICK_HEAD"])
def test_a_commit_is_refused_during_another_git_operation(world, name):
    world.claim(ALICE, "src/one.py")
    world.put("src/one.py", "x\n")
    with open(os.path.join(world.root, ".git", name), "w", encoding="utf-8") as file:
        file.write(world.head() + "\n")
    head = world.head()
    with pytest.raises(Unavailable) as busy:
        world.commit(ALICE)
    assert busy.value.code == "REPO_STATE"
    assert world.head() == head


def test_a_linked_worktree_commits_to_its_own_branch(world, tmp_path):
    world.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    from dibs.project.project import open_project

    side = World.__new__(World)
    side.root = str(tmp_path / "side")
    side.project = open_project(side.root, {})
    side.claim(ALICE, "src/one.py")
    side.put("src/one.py", "x\n")
    assert side.committed(ALICE).branch == "side"
    assert world.git("log", "--format=%s", "main") == "first"
    assert side.dirty() == set()


def test_a_shallow_clone_and_a_sha256_repository_work(world, tmp_path):
    world.put("src/one.py", "x\n")
    world.git("commit", "-qam", "second")
    world.git("clone", "-q", "--depth=1", f"file://{world.root}", str(tmp_path / "shallow"))
    shallow = World(tmp_path / "shallow", first=False)
    shallow.claim(ALICE, "src/one.py")
    shallow.put("src/one.py", "y\n")
    shallow.committed(ALICE)
    assert shallow.files() == {"src/one.py"}


def test_a_folder_with_an_odd_name_works(tmp_path):
    world = World(tmp_path / 'it\'s a "tree" $(x)\nof ü')
    world.claim(ALICE, "src/one.py")
    world.put("src/one.py", "x\n")
    world.committed(ALICE)
    assert world.files() == {"src/one.py"}


# -- messages, identity, hooks


@pytest.mark.parametrize(
    "message",
    [
        "",
        " \n ",
        "nul\0",
        "esc\x1b[31m",
        "\udcff is not UTF-8",
        "a\n\nDibs-Token: 9",
        "a\n\n  dIbS-agent :x",
        "x" * 1_100_000,
    ],
)
def test_an_invalid_message_is_refused(world, message):
    world.claim(ALICE, "src/one.py")
    world.put("src/one.py", "x\n")
    head = world.head()
    with pytest.raises(BadInput) as bad:
        world.commit(ALICE, message)
    assert bad.value.code == "MESSAGE"
    assert world.head() == head


@pytest.mark.parametrize("message", ["-m", "--amend", "# not a comment", "ünï", "a\n\nb\n\nc"])
def test_a_message_is_stored_unchanged(world, message):
    world.claim(ALICE, "src/one.py")
    world.put("src/one.py", "x\n")
    world.committed(ALICE, message)
    assert world.git("log", "-1", "--format=%B").startswith(f"{message}\n\nDibs-Agent: alice\n")


@pytest.mark.parametrize(
    ("task", "row"),
    [("a\nDibs-Agent: eve", "a Dibs-Agent: eve"), ("\x1b[31mred", r"\x1b[31mred"), (" \n ", None)],
)
def test_the_task_is_one_line_of_plain_text(world, task, row):
    world.claim(ALICE, "src/one.py", task=task)
    world.put("src/one.py", "x\n")
    world.committed(ALICE, task=task)
    rows = world.git("log", "-1", "--format=%B").rstrip("\n").split("\n")
    assert [r for r in rows if r.startswith("Dibs-Task")] == ([f"Dibs-Task: {row}"] if row else [])
    assert rows.count("Dibs-Agent: alice") == 1


def test_a_task_that_is_too_long_is_refused(world):
    world.claim(ALICE, "src/one.py")
    world.put("src/one.py", "x\n")
    with pytest.raises(BadInput) as bad:
        world.commit(ALICE, task="x" * 100_000)
    assert bad.value.code == "LIMIT"


def test_a_commit_requires_a_name(world, monkeypatch):
    world.git("config", "--unset", "user.email")
    world.git("config", "user.useConfigOnly", "true")
    world.claim(ALICE, "src/one.py")
    world.put("src/one.py", "x\n")
    with pytest.raises(Misconfigured) as unknown:
        world.commit(ALICE)
    assert unknown.value.code == "IDENTITY"
    monkeypatch.setenv("GIT_AUTHOR_NAME", "two\nlines")
    with pytest.raises(Misconfigured):
        world.commit(ALICE)


def hook(world, name, script):
    path = os.path.join(world.root, ".git/hooks", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n{script}\n")
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


def test_hooks_run_as_git_runs_them(world):
    hook(world, "pre-commit", "git diff --cached --name-only > .git/seen")
    hook(world, "prepare-commit-msg", 'echo "prepared $2" >> "$1"')
    hook(world, "commit-msg", 'echo "Change-Id: 7" >> "$1"')
    hook(world, "post-commit", "git log -1 --format=%H > .git/after")
    world.claim(ALICE, "src/one.py")
    world.put("src/one.py", "x\n")
    world.put("src/two.py", "staged by bob\n")
    world.git("add", "src/two.py")
    answer = world.committed(ALICE, "subject")
    assert world.read(".git/seen") == "src/one.py\n"
    assert world.read(".git/after") == f"{answer.commit}\n"
    body = world.git("log", "-1", "--format=%B")
    assert "prepared message" in body
    assert "Change-Id: 7" in body
    assert world.dirty() == {"M  src/two.py"}


@pytest.mark.parametrize("name", ["pre-commit", "commit-msg"])
def test_a_hook_may_refuse_unless_it_is_skipped(world, name):
    hook(world, name, "exit 1")
    world.claim(ALICE, "src/one.py")
    world.put("src/one.py", "x\n")
    head = world.head()
    answer = world.commit(ALICE)
    assert isinstance(answer, CommitDenied)
    assert answer.hook == name
    assert world.head() == head
    world.committed(ALICE, verify=False)


@pytest.mark.parametrize("end", ["exit 3", "kill -9 $$", "kill -9 $PPID"])
def test_a_failing_post_commit_hook_does_not_change_the_result(world, end):
    hook(world, "post-commit", end)
    world.claim(ALICE, "src/one.py")
    world.put("src/one.py", "x\n")
    assert world.committed(ALICE).commit == world.head()


def test_a_hook_cannot_forge_a_trailer(world):
    hook(world, "commit-msg", 'printf "\\nDibs-Token: 99\\n" >> "$1"')
    world.claim(ALICE, "src/one.py")
    world.put("src/one.py", "x\n")
    with pytest.raises(BadInput) as forged:
        world.commit(ALICE)
    assert forged.value.code == "MESSAGE"


def test_a_hooks_formatting_is_committed(world):
    hook(world, "pre-commit", "echo formatted > src/one.py; git add src/one.py")
    world.claim(ALICE, "src/one.py")
    world.put("src/one.py", "x\n")
    world.committed(ALICE)
    assert world.git("show", "HEAD:src/one.py") == "formatted"
    assert world.dirty() == set()


# -- lost claims and repeated requests


def test_a_revoked_claim_fences_the_commit_and_keeps_the_edit(world):
    world.claim(ALICE, "src/one.py")
    world.put("src/one.py", "alice's edit\n")
    world.project.holdings.revoke(HUMAN, world.project.pattern("src/one.py"), reason="mine")
    head = world.head()
    with pytest.raises(Fenced):
        world.commit(ALICE)
    assert world.head() == head
    assert world.read("src/one.py") == "alice's edit\n"


def test_after_a_reported_loss_the_rest_can_be_committed(world):
    world.claim(ALICE, "src/one.py", "src/two.py")
    world.put("src/one.py", "x\n")
    world.put("src/two.py", "y\n")
    world.project.holdings.revoke(HUMAN, world.project.pattern("src/one.py"), reason="mine")
    with pytest.raises(Fenced):
        world.commit(ALICE)
    world.committed(ALICE)
    assert world.files() == {"src/two.py"}
    with pytest.raises(Fenced):
        world.commit(ALICE, paths=["src/one.py"])


def test_a_lost_file_that_another_agent_holds_now_is_left_to_its_owner(world):
    world.claim(ALICE, "src/one.py", "src/two.py")
    world.project.holdings.revoke(HUMAN, world.project.pattern("src/two.py"), reason="mine")
    world.claim(BOB, "src/two.py")
    world.put("src/one.py", "alice's edit\n")
    world.put("src/two.py", "bob's edit\n")
    assert [file.path for file in world.commit(ALICE, trial=True).files] == ["src/one.py"]
    answer = world.committed(ALICE)
    assert world.files() == {"src/one.py"}
    assert [(item.path, item.holder) for item in answer.others] == [("src/two.py", BOB.id)]


def test_a_lost_file_that_another_agent_holds_is_refused_if_it_is_all_there_is_or_was_named(world):
    world.claim(ALICE, "src/one.py", "src/two.py")
    world.project.holdings.revoke(HUMAN, world.project.pattern("src/two.py"), reason="mine")
    world.claim(BOB, "src/two.py")
    world.put("src/two.py", "bob's edit\n")
    head = world.head()
    with pytest.raises(Fenced) as alone:
        world.commit(ALICE)
    world.put("src/one.py", "alice's edit\n")
    with pytest.raises(Fenced) as named:
        world.commit(ALICE, names=["src/one.py", "src/two.py"])
    for refused in (alone, named):
        assert refused.value.hint.startswith("bob holds it now")
    assert world.head() == head


def test_a_trial_refuses_a_lost_claim_and_does_not_count_as_reporting_it(world):
    world.claim(ALICE, "src/one.py", "src/two.py")
    world.put("src/one.py", "x\n")
    world.put("src/two.py", "y\n")
    world.project.holdings.revoke(HUMAN, world.project.pattern("src/one.py"), reason="mine")
    with pytest.raises(Fenced):
        world.commit(ALICE, trial=True)
    with pytest.raises(Fenced):
        world.commit(ALICE)
    assert [file.path for file in world.commit(ALICE, trial=True).files] == ["src/two.py"]


def test_release_releases_clean_claims_and_keeps_dirty_ones(world):
    world.claim(ALICE, "src/one.py", "docs/", "other/**")
    world.put("src/one.py", "x\n")
    world.put("docs/a", "1\n")
    world.put("other/a", "1\n")
    world.put("other/b", "1\n")
    answer = world.committed(ALICE, names=["src/one.py", "docs/a", "other/a"], release=True)
    assert {claim.pattern for claim in answer.released} == {"src/one.py", "docs/"}


def test_a_repeated_request_commits_once(world):
    world.claim(ALICE, "src/one.py")
    world.put("src/one.py", "x\n")
    first = world.committed(ALICE, request_id="r1")
    world.put("src/one.py", "y\n")
    second = world.committed(ALICE, request_id="r1")
    assert (second.commit, second.repeated) == (first.commit, True)
    assert world.git("rev-list", "--count", "HEAD") == "2"
    with pytest.raises(BadInput) as reused:
        world.commit(ALICE, "another message", request_id="r1")
    assert reused.value.code == "REQUEST_REUSED"


# -- both ways of building, and signing


def busy_tree(world):
    """Change files in every way, some of them not alice's."""
    world.put("gone", "1\n")
    world.put("bits", "1\n")
    world.put("link", "1\n")
    world.git("add", ".")
    world.git("commit", "-q", "-m", "more", "--date=2026-01-01T00:00:00Z")
    world.claim(ALICE, "src/one.py", "gone", "bits", "link", "new/")
    world.put("src/one.py", "changed\n")
    world.remove("gone")
    os.chmod(os.path.join(world.root, "bits"), 0o755)
    world.remove("link")
    os.symlink("README", os.path.join(world.root, "link"))
    world.put("new/a b", "1\n")
    world.put("src/two.py", "staged by others\n")
    world.git("add", "src/two.py")


def test_the_short_way_and_the_long_way_give_the_same_commit(tmp_path, monkeypatch):
    seen = []
    for way in ("short", "long"):
        world = World(tmp_path / way)
        busy_tree(world)
        if way == "long":
            monkeypatch.setattr("dibs.services.commits.build.can_be_short", lambda *_: False)
        else:
            monkeypatch.setattr(
                "dibs.services.commits.build.add", None
            )  # the long way is not taken
        answer = world.committed(ALICE)
        monkeypatch.undo()
        tree = world.git("rev-parse", "HEAD^{tree}")
        body = world.git("log", "-1", "--format=%B")
        seen.append((tree, body, answer.files, world.index(), world.dirty()))
    assert seen[0] == seen[1]
    assert seen[0][4] == {"M  src/two.py"}


def test_unchanged_files_do_not_appear_in_the_trailers(world):
    granted = world.claim(ALICE, "src/one.py", "src/two.py", "once")
    world.put("src/one.py", "x\n")
    world.put("src/two.py", "staged, and taken back\n")
    world.put("once", "staged and gone\n")
    world.git("add", "src/two.py", "once")
    world.put("src/two.py", "2\n")
    world.remove("once")
    world.committed(ALICE)
    assert world.files() == {"src/one.py"}
    signed = read_signed(world.git("log", "-1", "--format=%B"))
    assert signed.claims == (granted.claims[0].id,)


def test_a_commit_is_signed_if_the_user_signs(world, tmp_path):
    key = tmp_path / "key"
    made = subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)],
        check=False,
        capture_output=True,
    )
    if made.returncode:
        pytest.skip("no ssh-keygen here")
    world.git("config", "gpg.format", "ssh")
    world.git("config", "user.signingKey", str(key))
    world.git("config", "commit.gpgSign", "true")
    for hooked in (False, True):  # both ways of building
        if hooked:
            hook(world, "pre-commit", "true")
        world.claim(ALICE, "src/one.py")
        world.put("src/one.py", f"{hooked}\n")
        world.committed(ALICE)
        assert "gpgsig -----BEGIN SSH SIGNATURE-----" in world.git("cat-file", "commit", "HEAD")


def test_an_index_that_changed_meanwhile_is_not_replaced(world, monkeypatch):
    from dibs.services.commits import service

    real = service.build

    def slow(*args, **named):
        made = real(*args, **named)
        world.put("src/two.py", "staged meanwhile\n")
        world.git("add", "src/two.py")
        return made

    monkeypatch.setattr(service, "build", slow)
    world.claim(ALICE, "src/one.py")
    world.put("src/one.py", "x\n")
    world.committed(ALICE)
    assert world.files() == {"src/one.py"}
    assert world.dirty() == {"M  src/two.py"}


@pytest.mark.parametrize("hooked", [False, True])  # both ways of building
def test_slow_files_are_committed_without_reading_them_under_the_lock(
    world, tmp_path, monkeypatch, hooked
):
    from dibs.services.commits import shared_index
    from dibs.services.commits.gate import SafeGitPool

    settings = tmp_path / "settings"
    settings.write_text('[filter "slow"]\nclean = "sleep 2 && tr a-z A-Z"\nrequired = true\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    world.put(".git/info/attributes", "slow filter=slow\n")
    real = SafeGitPool.calls

    def hasty(guard, tree):
        calls = real(guard, tree)
        calls.timeout = 1.5
        return calls

    monkeypatch.setattr(SafeGitPool, "calls", hasty)
    monkeypatch.setattr(shared_index, "READING", 0.5)
    if hooked:
        hook(world, "commit-msg", "true")
    world.claim(ALICE, "slow")
    world.put("slow", "text\n")
    world.committed(ALICE)
    assert world.git("cat-file", "blob", "HEAD:slow") == "TEXT"
    assert world.dirty() == set()


def test_leftovers_of_killed_commits_are_removed_after_a_day(world):
    place = os.path.join(world.root, ".git")
    for age in ("old", "new"):
        os.makedirs(os.path.join(place, f"dibs-commit-1-{age}.d/info"))
        for name in (f"dibs-commit-1-{age}", f"dibs-commit-1-{age}.d/index"):
            with open(os.path.join(place, name), "w", encoding="ascii"):
                pass
    for name in ("dibs-commit-1-old", "dibs-commit-1-old.d"):
        os.utime(os.path.join(place, name), (1, 1))
    world.claim(ALICE, "src/one.py")
    world.put("src/one.py", "x\n")
    world.committed(ALICE)
    left = {name for name in os.listdir(place) if name.startswith("dibs-commit-")}
    assert left == {"dibs-commit-1-new", "dibs-commit-1-new.d"}


def test_a_commit_leaves_nothing_in_the_git_directory(world):
    world.claim(ALICE, "src/one.py")
    world.put("src/one.py", "x\n")
    before = set(os.listdir(os.path.join(world.root, ".git")))
    world.committed(ALICE)
    assert set(os.listdir(os.path.join(world.root, ".git"))) <= before | {"dibs"}
