"""No removal loses work: it refuses, or everything can be restored."""

import os
import shutil
import subprocess
import sys

import pytest
from tests.services.clones import HUMAN, Clone, everything, git

from dibs.core.claims.agents import Caller
from dibs.errors import BadInput, NotAllowed, NotFound, Unavailable
from dibs.services.salvage import save as salvage
from dibs.services.worktrees import locks
from dibs.services.worktrees.service import KeptWorktree, Removed, Skipped


@pytest.fixture
def clone(tmp_path):
    return Clone(tmp_path / "repo")


def commit(folder, text="work\n"):
    (folder / "a").write_text(text)
    git(folder, "commit", "-qam", "work")
    return git(folder, "rev-parse", "HEAD")


def dirty(folder):
    (folder / "a").write_text("edited\n")


def staged(folder):
    (folder / "a").write_text("staged\n")
    git(folder, "add", "a")
    (folder / "a").write_text("a\n")


def untracked(folder):
    (folder / "sub dir").mkdir()
    (folder / "sub dir/né\nw").write_text("new\n")


def hidden(folder):
    git(folder, "update-index", "--assume-unchanged", "a")
    (folder / "a").write_text("hidden\n")


def skipped(folder):
    git(folder, "update-index", "--skip-worktree", "a")
    (folder / "a").write_text("hidden\n")


def unmerged(folder):
    commit(folder)


def detached(folder):
    git(folder, "checkout", "-q", "--detach")
    commit(folder)


def stashed(folder):
    (folder / "a").write_text("stashed\n")
    git(folder, "stash", "push", "-q", "-m", "for later")


def merging(folder):
    commit(folder, "one\n")
    git(folder, "checkout", "-q", "-b", "side", "HEAD~1")
    commit(folder, "two\n")
    git(folder, "merge", "agent/alice", check=False)


def rebasing(folder):
    merging(folder)
    git(folder, "merge", "--abort")
    git(folder, "rebase", "agent/alice", check=False)


CASES = {
    dirty: "changed", staged: "staged", untracked: "untracked", hidden: "changed",
    skipped: "changed", unmerged: "unmerged", detached: "detached", stashed: "stashed",
    merging: "under way", rebasing: "under way",
}  # fmt: skip


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_a_worktree_with_work_is_not_changed(clone, make):
    folder = clone.folder()
    make(folder)
    before = everything(folder), git(folder, "status", "--porcelain=v2", "--branch")

    answer = clone.rm()

    assert isinstance(answer, KeptWorktree)
    assert CASES[make] in {holding.kind for holding in answer.held}
    assert (everything(folder), git(folder, "status", "--porcelain=v2", "--branch")) == before


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_a_forced_removal_salvages_everything_first(clone, tmp_path, make):
    folder = clone.folder()
    make(folder)
    files, head = everything(folder), git(folder, "rev-parse", "HEAD")
    index = git(folder, "diff", "--cached", "--name-only")
    stash = git(folder, "rev-parse", "--verify", "--quiet", "refs/stash", check=False)

    answer = clone.rm(force=True)

    assert isinstance(answer, Removed)
    assert not folder.exists()
    assert len(clone.known()) == 1
    clone.salvage.to_folder(answer.salvage, str(tmp_path / "back"))
    assert everything(tmp_path / "back") == files
    parents = git(clone.root, "rev-parse", f"refs/salvage/{answer.salvage}^@").split()
    assert parents[0] == head
    if make is staged:
        assert git(clone.root, "show", f"{parents[1]}:{index}") == "staged"
    if make is stashed:
        assert stash in parents
    git(clone.root, "gc", "-q", "--prune=now")
    git(clone.root, "fsck", "--connectivity-only")


def test_commits_that_only_the_reflog_names_are_salvaged(clone):
    folder = clone.folder()
    detached(folder)
    lost = git(folder, "rev-parse", "HEAD")
    git(folder, "checkout", "-q", "agent/alice")

    answer = clone.rm()

    assert isinstance(answer, Removed)
    git(clone.root, "reflog", "expire", "--expire=now", "--all")
    git(clone.root, "gc", "-q", "--prune=now")
    assert lost in git(clone.root, "rev-parse", f"refs/salvage/{answer.salvage}^@")


def test_commits_that_only_a_worktree_ref_names_are_salvaged(clone):
    folder = clone.folder()
    detached(folder)
    lost = git(folder, "rev-parse", "HEAD")
    git(folder, "update-ref", "refs/worktree/mine", lost)
    git(folder, "checkout", "-q", "agent/alice")
    git(folder, "reflog", "expire", "--expire=now", "--all")
    answer = clone.rm()
    git(clone.root, "merge-base", "--is-ancestor", lost, f"refs/salvage/{answer.salvage}")


def test_an_amended_commit_does_not_prevent_a_removal(clone):
    folder = clone.folder()
    commit(folder)
    git(folder, "commit", "-q", "--amend", "-m", "better")
    git(clone.root, "merge", "-q", "agent/alice")

    answer = clone.rm()

    assert (answer.salvage, answer.branch_gone) == ("", True)


def test_an_edited_ignored_file_is_salvaged(tmp_path):
    clone = Clone(tmp_path / "repo", worktree_copy=(".env",))
    (clone.root / ".env").write_text("SECRET=1\n")
    (clone.folder() / ".env").write_text("SECRET=2\n")

    answer = clone.rm()

    assert clone.ignored(answer.salvage) == {".env": "SECRET=2\n"}
    assert ".env" not in git(clone.root, "ls-tree", "--name-only", f"refs/salvage/{answer.salvage}")


def test_an_edited_file_in_a_copied_folder_is_salvaged(tmp_path):
    clone = Clone(tmp_path / "repo", worktree_copy=("build/settings",))
    (clone.root / "build/settings").mkdir(parents=True)
    for name in ("mine", "same"):
        (clone.root / "build/settings" / name).write_text("as it was\n")
    folder = clone.folder()
    (folder / "build/settings/mine").write_text("edited\n")
    (folder / "build/made").write_text("made\n")

    assert clone.ignored(clone.rm().salvage) == {"build/settings/mine": "edited\n"}


def test_an_ignored_link_is_salvaged_unless_the_main_tree_has_it(tmp_path):
    clone = Clone(tmp_path / "repo", worktree_link=("node_modules",))
    (clone.root / "node_modules").mkdir()
    folder = clone.folder()
    (folder / "x.big").symlink_to("/somewhere/else")
    (clone.root / "y.big").symlink_to("there")
    (folder / "y.big").symlink_to("there")

    assert clone.ignored(clone.rm().salvage) == {"x.big": "/somewhere/else"}


def test_only_deleted_folders_are_reported(clone):
    folder = clone.folder()
    for name in ("build/made", "notes/my.big"):
        (folder / name).parent.mkdir()
        (folder / name).write_text("mine\n")
    answer = clone.rm()
    assert answer.notes == ("also deleted ignored folders: build",)
    assert clone.ignored(answer.salvage) == {"notes/my.big": "mine\n"}


def test_a_large_ignored_file_prevents_a_removal(clone, monkeypatch):
    monkeypatch.setattr("dibs.services.worktrees.ignored.LARGEST", 10)
    folder = clone.folder()
    (folder / "data.big").write_text("more than ten bytes\n")

    assert clone.rm().held[0].kind == "large"
    assert (folder / "data.big").exists()
    assert clone.ignored(clone.rm(force=True).salvage) == {"data.big": "more than ten bytes\n"}


def test_a_folder_that_became_a_link_is_not_touched(clone, tmp_path):
    folder = clone.folder()
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")

    for force in (False, True):
        with pytest.raises(Unavailable, match="symbolic link"):
            clone.rm(force=force)
    assert (tmp_path / "elsewhere/a").exists()


def test_a_branch_with_unmerged_commits_stays(clone):
    unmerged(clone.folder())

    answer = clone.rm(force=True)

    assert not answer.branch_gone
    assert "agent/alice" in clone.branches()


def test_a_users_branch_always_stays(clone):
    git(clone.root, "branch", "mine")
    clone.new("alice", branch="mine")

    clone.rm()

    assert "mine" in clone.branches()


def test_a_running_process_prevents_even_a_forced_removal(clone):
    folder = clone.folder()
    wait = [sys.executable, "-c", "print(flush=True); import time; time.sleep(60)"]
    with subprocess.Popen(wait, cwd=folder, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        try:
            kept, forced = clone.rm(), clone.rm(force=True)
        finally:
            process.kill()
    for answer in (kept, forced):
        assert isinstance(answer, KeptWorktree)
        assert str(process.pid) in answer.held[0].names[0]
    assert isinstance(clone.rm(), Removed)


def test_an_open_file_prevents_a_removal(clone):
    folder = clone.folder()
    with open(folder / "a", encoding="utf-8"):
        assert clone.rm().held[0].kind == "process"


def test_a_memory_mapped_file_prevents_a_removal(clone):
    folder = clone.folder()
    code = """import mmap, os, sys
file = os.open(sys.argv[1], os.O_RDWR)
held = mmap.mmap(file, 0)
os.closerange(3, 100)
print(flush=True)
sys.stdin.read()"""
    wait = [sys.executable, "-c", code, str(folder / "a")]
    with subprocess.Popen(wait, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        assert clone.rm().held[0].kind == "process"
    assert isinstance(clone.rm(), Removed)


@pytest.mark.parametrize("where", ["inner", "build/inner"])
def test_a_nested_repository_prevents_even_a_forced_removal(clone, where):
    inner = clone.folder() / where
    inner.mkdir(parents=True)
    git(inner, "init", "-q")
    (inner / "work").write_text("work\n")

    for answer in (clone.rm(), clone.rm(force=True)):
        assert "nested" in {holding.kind for holding in answer.held}
    assert (inner / "work").exists()


@pytest.fixture
def with_submodule(clone, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    git(source, "init", "-q", "-b", "main")
    (source / "s").write_text("s\n")
    git(source, "add", "-A")
    git(source, "commit", "-q", "-m", "s")
    git(clone.root, "submodule", "--quiet", "add", str(source), "sub")
    git(clone.root, "commit", "-q", "-m", "with a submodule")
    folder = clone.folder()
    git(folder, "submodule", "--quiet", "update", "--init")
    return folder


@pytest.mark.parametrize("change", ["commit", "edit"])
def test_a_submodule_with_work_prevents_even_a_forced_removal(clone, with_submodule, change):
    (with_submodule / "sub/s").write_text("edited\n")
    if change == "commit":
        git(with_submodule / "sub", "commit", "-qam", "inner work")

    for answer in (clone.rm(), clone.rm(force=True)):
        assert "submodule" in {holding.kind for holding in answer.held}
    assert (with_submodule / "sub/s").read_text() == "edited\n"


def test_an_ignored_file_in_a_submodule_prevents_a_removal(clone, with_submodule):
    (clone.root / ".git/info/exclude").write_text(".env\n")
    exclude = git(with_submodule / "sub", "rev-parse", "--git-path", "info/exclude")
    (with_submodule / "sub" / exclude).write_text(".env\n")
    (with_submodule / "sub/.env").write_text("mine\n")
    assert clone.rm(force=True).held[0].kind == "submodule"
    (clone.root / "sub/.env").write_text("mine\n")
    assert isinstance(clone.rm(), Removed)


def test_work_in_a_nested_submodule_prevents_a_removal(clone, with_submodule, tmp_path):
    source = tmp_path / "source"
    git(source, "submodule", "--quiet", "add", str(source), "inner")
    git(source, "commit", "-q", "-m", "with one of its own")
    git(with_submodule / "sub", "pull", "--quiet", "origin", "main")
    git(with_submodule, "commit", "-qam", "the new one")
    git(clone.root, "merge", "-q", "agent/alice")
    git(with_submodule, "submodule", "--quiet", "update", "--init", "--recursive")
    (with_submodule / "sub/inner/new").write_text("work\n")
    for answer in (clone.rm(), clone.rm(force=True)):
        assert {holding.kind for holding in answer.held} == {"submodule"}
    (with_submodule / "sub/inner/new").unlink()
    assert isinstance(clone.rm(), Removed)


def test_a_submodule_without_work_is_removed_with_its_worktree(clone, with_submodule):
    assert isinstance(clone.rm(), Removed)
    assert not with_submodule.exists()


def test_a_locked_worktree_prevents_even_a_forced_removal(clone):
    git(clone.root, "worktree", "lock", "--reason", "mine", str(clone.folder()))

    for answer in (clone.rm(), clone.rm(force=True)):
        assert answer.held[0].kind == "locked"


def test_a_file_added_at_the_last_moment_prevents_a_removal(clone, monkeypatch):
    folder = clone.folder()

    def write_late(step):
        if step == "removing":
            (folder / "late").write_text("late\n")

    monkeypatch.setattr(locks, "reach", write_late)

    assert clone.rm().held[0].names == ("late",)
    assert (folder / "late").read_text() == "late\n"
    assert git(folder, "status", "--short") == "?? late"


def test_a_worktree_that_changes_during_salvage_is_not_deleted(clone, monkeypatch):
    folder = clone.folder()
    dirty(folder)
    real = salvage.snapshot

    def changed_behind(git_calls, **options):
        seen = real(git_calls, **options)
        with open(os.path.join(git_calls.tree, "b"), "w", encoding="utf-8") as file:
            file.write("written meanwhile\n")
        return seen

    monkeypatch.setattr(salvage, "snapshot", changed_behind)
    with pytest.raises(Unavailable, match="changed while its work was being saved"):
        clone.rm(force=True)

    assert (folder / "b").read_text() == "written meanwhile\n"
    assert (folder / "a").read_text() == "edited\n"


def test_read_only_folders_are_removed_too(clone):
    folder = clone.folder()
    cache = folder / "build/cache"
    cache.mkdir(parents=True)
    (cache / "x").write_text("x\n")
    cache.chmod(0o500)

    assert isinstance(clone.rm(), Removed)
    assert not folder.exists()


def test_force_requires_a_reason_and_never_removes_an_active_agents_worktree(clone):
    clone.new("alice", caller=Caller("alice"))

    with pytest.raises(BadInput) as refused:
        clone.worktrees.remove(HUMAN, "alice", force=True)
    assert refused.value.code == "REASON"
    for force in (False, True):
        with pytest.raises(NotAllowed):
            clone.rm(caller=Caller("mallory"), force=force)
    assert isinstance(clone.rm(caller=Caller("alice"), force=True), Removed)


def test_worktrees_created_with_git_are_never_removed(clone, tmp_path):
    git(clone.root, "worktree", "add", "-q", "-b", "agent/bob", str(tmp_path / "humans"))

    for named in ("bob", str(tmp_path / "humans"), str(clone.root)):
        with pytest.raises(NotFound) as refused:
            clone.rm(named)
        assert refused.value.code == "NO_WORKTREE"
    assert clone.worktrees.clean_up(HUMAN) == []
    assert (tmp_path / "humans/a").exists()


def test_the_current_folder_is_not_removed(clone, monkeypatch):
    monkeypatch.chdir(clone.folder())

    with pytest.raises(BadInput, match="is your current folder"):
        clone.rm()


# -- cleaning up


def leave(clone, agent="alice"):
    clone.agents.beat(Caller(agent))
    clone.agents.leave(Caller(agent))


def test_a_stopped_agents_worktree_is_removed_unless_it_contains_work(clone):
    clean, busy = clone.folder("clean", caller=Caller("clean")), clone.folder("busy")
    dirty(busy)
    for agent in ("clean", "busy"):
        leave(clone, agent)

    told = clone.worktrees.clean_up(HUMAN, dry_run=True)
    assert clean.exists()
    done = clone.worktrees.clean_up(HUMAN)

    assert [type(a) for a in told] == [type(a) for a in done] == [KeptWorktree, Removed]
    assert (clean.exists(), busy.exists()) == (False, True)


def test_a_worktree_that_cannot_be_moved_is_skipped_and_the_others_are_cleaned_up(
    clone, monkeypatch
):
    for agent in ("alice", "bob"):
        clone.new(agent, caller=Caller(agent))
        leave(clone, agent)
    rename = os.rename

    def refuse(one, other):
        if one.endswith("/alice"):
            raise OSError(16, "Device or resource busy")
        rename(one, other)

    monkeypatch.setattr(os, "rename", refuse)

    skipped, removed = clone.worktrees.clean_up(HUMAN)

    assert isinstance(skipped, Skipped)
    assert "busy" in skipped.why
    assert isinstance(removed, Removed)
    monkeypatch.undo()
    assert isinstance(clone.worktrees.clean_up(HUMAN)[0], Removed)


def test_active_agents_and_those_that_may_still_start_keep_their_worktrees(clone):
    clone.new("alice", caller=Caller("alice"))
    clone.new("bob")

    assert [type(a) for a in clone.worktrees.clean_up(HUMAN)] == [Skipped, Skipped]
    clone.clock.advance(3_700)
    assert [type(a) for a in clone.worktrees.clean_up(HUMAN)] == [Removed, Skipped]
    clone.clock.advance(86_400)
    assert [type(a) for a in clone.worktrees.clean_up(HUMAN)] == [Removed]


def test_a_missing_folder_is_forgotten_and_its_branch_stays(clone):
    folder = clone.folder(caller=Caller("alice"))
    commit(folder)
    subprocess.run(["rm", "-rf", str(folder)], check=True)
    leave(clone)

    (answer,) = clone.worktrees.clean_up(HUMAN)

    assert isinstance(answer, Removed)
    assert (len(clone.known()), "agent/alice" in clone.branches()) == (1, True)


def test_staged_work_of_a_missing_folder_is_salvaged(clone):
    folder = clone.folder(caller=Caller("alice"))
    staged(folder)
    subprocess.run(["rm", "-rf", str(folder)], check=True)
    leave(clone)

    (answer,) = clone.worktrees.clean_up(HUMAN)

    assert answer.held[0].kind == "staged"
    assert clone.saved(clone.rm(force=True).salvage, "a") == "staged"


def test_a_folder_on_an_unmounted_disk_is_not_forgotten(clone, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    clone.new("alice", caller=Caller("alice"), path=str(disk / "alice"))
    disk.rename(tmp_path / "unmounted")
    leave(clone)

    (answer,) = clone.worktrees.clean_up(HUMAN)

    assert "disk" in answer.why
    (tmp_path / "unmounted").rename(disk)
    assert isinstance(clone.worktrees.clean_up(HUMAN)[0], Removed)


def test_files_of_a_worktree_that_git_forgot_are_not_touched(clone):
    folder = clone.folder(caller=Caller("alice"))
    (folder / "new").write_text("new\n")
    subprocess.run(["rm", "-rf", str(clone.root / ".git/worktrees/alice")], check=True)
    leave(clone)

    with pytest.raises(Unavailable, match="no longer lists a worktree"):
        clone.rm(force=True)
    assert isinstance(clone.worktrees.clean_up(HUMAN)[0], Skipped)
    with pytest.raises(Unavailable, match="no longer lists a worktree"):
        clone.new("alice")
    assert (folder / "new").read_text() == "new\n"


# -- salvaged work


def test_restoring_overwrites_nothing(clone, tmp_path):
    dirty(clone.folder())
    saved = clone.rm(force=True).salvage
    git(clone.root, "branch", "taken")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/a").write_text("mine\n")

    with pytest.raises(BadInput):
        clone.salvage.to_branch(saved, "taken")
    with pytest.raises(BadInput):
        clone.salvage.to_folder(saved, str(tmp_path / "full"))
    with pytest.raises(BadInput):
        clone.salvage.to_branch(saved, "-f")
    with pytest.raises(NotFound):
        clone.salvage.show("nobody")

    _, branch = clone.salvage.to_branch("alice")
    full = git(clone.root, "rev-parse", f"refs/heads/{branch}")
    assert git(clone.root, "rev-parse", branch) == full, "git confuses the name with another ref"
    assert git(clone.root, "show", f"{branch}:a") == "edited"
    assert git(clone.root, "rev-parse", f"{branch}~1") == git(clone.root, "rev-parse", "main")
    assert [change.path for change in clone.salvage.show(saved).changes] == ["a"]
    assert (tmp_path / "full/a").read_text() == "mine\n"


@pytest.mark.parametrize("attributes", ["* text=auto", "* text eol=crlf", "* ident", ""])
def test_changed_files_are_restored_byte_for_byte(clone, tmp_path, attributes):
    folder = clone.folder()
    (folder / ".gitattributes").write_text(f"{attributes}\n")
    written = {
        "a": b"mixed\r\nline\nends\r\n", "new\r\nname": b"one\r\n", "plain": b"only\nthese\n",
        '"quoted': b"two\r\n", "ident": b"$Id: of mine $\r\n", "picture": b"\x89\r\n\x1a\n",
    }  # fmt: skip
    for name, content in written.items():
        (folder / name).write_bytes(content)
    (folder / "picture").chmod(0o755)
    (folder / "link").symlink_to("a")

    clone.rm(force=True)
    clone.salvage.to_folder("alice", str(tmp_path / "back"))

    assert {name: (tmp_path / "back" / name).read_bytes() for name in written} == written
    assert os.access(tmp_path / "back/picture", os.X_OK)
    assert (tmp_path / "back/link").is_symlink()


def test_a_dead_processs_pack_is_collected_again(clone, monkeypatch):
    dirty(clone.folder())
    pack = clone.root / ".git/objects/pack"
    with monkeypatch.context() as patch:
        patch.setattr(salvage, "_name", lambda *_: (_ for _ in ()).throw(Unavailable("died")))
        with pytest.raises(Unavailable, match="died"):
            clone.rm(force=True)
    (mark,) = pack.glob("*.keep")
    (pack / "mine.keep").write_text("mine\n")

    for path in pack.glob("*.keep"):
        os.utime(path, (0, 0))
    clone.worktrees.clean_up(HUMAN)

    assert [path.name for path in pack.glob("*.keep")] == ["mine.keep"]
    assert not mark.exists()


def test_a_copied_repository_does_not_touch_the_originals_worktrees(clone, tmp_path):
    folder = clone.folder()
    shutil.copytree(clone.root, tmp_path / "copy", symlinks=True)
    copy = Clone(tmp_path / "copy", engine=clone.engine)
    with pytest.raises(Unavailable, match="belongs to the repository"):
        copy.rm()
    assert everything(folder)
    assert all(item.tree.wrong for item in copy.worktrees.listed())
    assert isinstance(clone.rm(), Removed)


def test_a_worktree_with_a_broken_link_stays_and_the_others_are_listed(clone, tmp_path):
    folder = clone.folder()
    clone.folder("bob")
    dirty(folder)
    (folder / ".git").write_text(f"gitdir: {tmp_path}/moved/.git/worktrees/alice\n")
    for command in (clone.rm, clone.new):
        with pytest.raises(Unavailable, match="link to the repository is broken") as refused:
            command("alice")
        assert "git worktree repair" in refused.value.hint
    assert {item.tree.agent: bool(item.tree.wrong) for item in clone.worktrees.listed()} == {
        "alice": True, "bob": False,
    }  # fmt: skip
    git(clone.root, "worktree", "repair", str(folder))
    assert isinstance(clone.rm(), KeptWorktree)


@pytest.mark.parametrize("step", ["aside", "deleting"])
def test_a_folder_created_again_during_a_removal_loses_nothing(clone, monkeypatch, step):
    folder = clone.folder()
    untracked(folder)
    before = everything(folder)

    def break_off(reached):
        if reached == step:
            folder.mkdir()
            (folder / "log").write_text("someone else's\n")
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(locks, "reach", break_off)
        with pytest.raises((KeyboardInterrupt, Unavailable)):
            clone.rm(force=True)
    for command in (clone.rm, clone.new):
        with pytest.raises(Unavailable, match="was created again") as refused:
            command("alice")
        assert "elsewhere" in refused.value.hint
    assert everything(folder) == {"log": b"someone else's\n"}
    (folder / "log").unlink()
    if step == "deleting":
        folder.rmdir()
        clone.rm()
        assert clone.saved(clone.salvage.all()[0].id, "sub dir/né\nw") == "new"
    else:  # an empty folder does not prevent moving the other one back
        assert isinstance(clone.rm(), KeptWorktree)
        assert everything(folder) == before
