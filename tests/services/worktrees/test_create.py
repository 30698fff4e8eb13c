"""A worktree is created completely or not at all, in its own folder, and runs no code of the repository."""

import os
import socket
import subprocess
import time
from types import SimpleNamespace

import pytest
from tests.services.clones import HUMAN, Clone, git

from dibs.core.claims.agents import Caller
from dibs.errors import BadInput, NotFound, Unavailable
from dibs.services.worktrees import locks, setup


@pytest.fixture
def clone(tmp_path):
    return Clone(tmp_path / "repo")


def test_a_worktree_has_its_agents_branch_which_tracks_nothing(clone):
    made = clone.new("alice")

    assert made.new
    assert made.row.path == f"{clone.root}.worktrees/alice"
    assert git(made.row.path, "status", "--short", "--branch") == "## agent/alice"
    assert (clone.root.parent / "repo.worktrees/alice/a").read_text() == "a\n"


def test_creating_a_worktree_twice_returns_the_existing_one(clone):
    first = clone.new("alice")

    again = clone.new("alice")

    assert (again.new, again.row) == (False, first.row)


@pytest.mark.parametrize("wish", [{"branch": "other"}, {"path": "elsewhere"}])
def test_creating_a_different_worktree_for_the_same_agent_is_refused(clone, wish):
    clone.new("alice")

    with pytest.raises(BadInput) as refused:
        clone.new("alice", **wish)

    assert refused.value.code == "WORKTREE_EXISTS"


def test_clones_that_share_a_store_share_slots_and_agents(tmp_path):
    one = Clone(tmp_path / "one")
    other = Clone(tmp_path / "other", engine=one.engine)

    assert [one.new("a").row.slot, other.new("b").row.slot] == [0, 1]
    with pytest.raises(BadInput, match="another clone") as refused:
        other.new("a")
    assert refused.value.code == "WORKTREE_EXISTS"
    with pytest.raises(NotFound, match="another clone"):
        other.rm("a")


def test_a_port_used_by_another_program_is_reported(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        clone = Clone(tmp_path / "repo", worktree_port=port, worktree_ports=1)
        assert clone.new("alice").notes == (f"another program is using its port {port}",)
    clone.rm()
    assert clone.new("alice").notes == ()


@pytest.mark.parametrize(
    "base", ["--upload-pack=touch x", "-f", "no-such", ":/first", "HEAD~9", "", "main:a"]
)
def test_a_base_is_a_commit_and_never_an_option(clone, base):
    if not base:
        assert clone.new("alice", base=base).row.base == git(clone.root, "rev-parse", "HEAD")
        return
    with pytest.raises(NotFound) as refused:
        clone.new("alice", base=base)

    assert refused.value.code == "NO_BRANCH"
    assert (clone.branches(), len(clone.known())) == (["main"], 1)


@pytest.mark.parametrize("agent", ["../x", "-f", "a/b", "", "a b", "a\n", "x" * 65, "ä"])
def test_invalid_agent_names_are_refused(clone, agent):
    with pytest.raises(BadInput) as refused:
        clone.new(agent)

    assert refused.value.code == "AGENT_ID"


@pytest.mark.parametrize("agent", ["x.lock", "a..b", "end."])
def test_an_agent_whose_name_is_not_a_valid_ref_needs_another_branch_name(clone, agent):
    with pytest.raises(BadInput) as refused:
        clone.new(agent)
    assert refused.value.code == "REF_NAME"

    folder = clone.folder(agent, branch="fine")
    (folder / "new").write_text("new\n")
    removed = clone.rm(agent, force=True)

    assert clone.saved(removed.salvage, "new") == "new"


@pytest.mark.parametrize(
    "name", ["a b", "line\nend", "q'\"", "-f", "*", ":(top)x", "ünï", "y" * 200]
)
def test_folders_may_have_any_name(clone, tmp_path, name):
    folder = clone.folder(path=str(tmp_path / name))
    (folder / "new").write_text("new\n")

    assert folder.name == name
    assert clone.rm().held[0].kind == "untracked"
    assert clone.saved(clone.rm(force=True).salvage, "new") == "new"
    assert not folder.exists()


def test_an_existing_folder_is_not_used(clone, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "full")
    (clone.root / "out").symlink_to(tmp_path)

    for path in (tmp_path / "full", tmp_path / "link", clone.root / "out/x", clone.root / "in",
                 clone.root / ".git/x", clone.root):  # fmt: skip
        with pytest.raises(BadInput) as refused:
            clone.new("alice", path=str(path))
        assert refused.value.code == "WORKTREE_FOLDER"
    assert (clone.branches(), len(clone.known())) == (["main"], 1)


def test_a_folder_inside_the_repository_must_be_ignored(tmp_path):
    clone = Clone(tmp_path / "repo", worktree_folder="build/trees")

    folder = clone.folder()

    assert folder == clone.root / "build/trees/alice"
    assert git(clone.root, "status", "--short") == ""


def test_a_repository_without_commits_is_refused(tmp_path):
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q")

    with pytest.raises(Unavailable, match="no commits yet") as refused:
        Clone(root).new("alice")

    assert refused.value.code == "REPO_STATE"


def test_the_repositorys_hooks_do_not_run(clone, tmp_path):
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        hook = clone.root / ".git/hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        hook.chmod(0o755)

    (clone.folder() / "new").write_text("new\n")
    clone.rm(force=True)

    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("step", ["row", "added", "files"])
def test_a_failed_creation_leaves_nothing_behind(clone, monkeypatch, step):
    def fail(reached):
        if reached == step:
            raise OSError("no space left")

    monkeypatch.setattr(locks, "reach", fail)
    with pytest.raises(OSError, match="no space"):
        clone.new("alice")
    monkeypatch.undo()

    assert (clone.branches(), len(clone.known())) == (["main"], 1)
    assert not os.path.exists(f"{clone.root}.worktrees/alice")
    assert clone.new("alice").row.slot == 0


def test_a_branch_with_unmerged_work_is_continued(clone):
    folder = clone.folder()
    (folder / "a").write_text("work\n")
    git(folder, "commit", "-qam", "work")
    clone.rm(force=True)

    assert (clone.folder() / "a").read_text() == "work\n"


def test_a_branch_whose_work_is_merged_starts_again(clone):
    git(clone.root, "branch", "agent/alice")
    (clone.root / "a").write_text("later\n")
    git(clone.root, "commit", "-qam", "later")

    assert (clone.folder() / "a").read_text() == "later\n"


def test_a_branch_checked_out_elsewhere_is_refused(clone, tmp_path):
    git(clone.root, "worktree", "add", "-q", "-b", "agent/alice", str(tmp_path / "humans"))

    with pytest.raises(BadInput, match="checked out") as refused:
        clone.new("alice")

    assert refused.value.code == "WORKTREE_EXISTS"


def test_other_worktrees_are_listed_with_the_agent_in_their_branch_name(clone, tmp_path):
    clone.new("alice")
    git(clone.root, "worktree", "add", "-q", "-b", "agent/bob", str(tmp_path / "bob"))
    git(clone.root, "worktree", "add", "-q", "--detach", str(tmp_path / "some"))

    main, *linked = clone.worktrees.all()
    trees = [main, *sorted(linked, key=lambda tree: tree.agent)]

    assert [(t.agent, t.branch, t.main) for t in trees] == [
        ("", "main", True), ("", "", False), ("alice", "agent/alice", False),
        ("bob", "agent/bob", False),
    ]  # fmt: skip
    assert [t.row is not None for t in trees] == [False, False, True, False]


def test_ignored_files_are_copied_and_linked_and_others_are_not(tmp_path):
    clone = Clone(
        tmp_path / "repo", worktree_copy=(".env", "a", "none", "build"),
        worktree_link=("node_modules", "stray"),
    )  # fmt: skip
    (clone.root / ".env").write_text("SECRET=1\n")
    (clone.root / "stray").write_text("not ignored\n")
    (clone.root / "node_modules").mkdir()
    (clone.root / "build").mkdir()
    (clone.root / "build/x").write_text("x\n")
    (clone.root / "build/in").symlink_to("x")
    (clone.root / "build/out").symlink_to("/etc/passwd")

    made = clone.new("alice")

    folder = clone.root.parent / "repo.worktrees/alice"
    assert (folder / ".env").read_text() == "SECRET=1\n"
    assert (folder / "node_modules").readlink() == clone.root / "node_modules"
    assert sorted(os.listdir(folder / "build")) == ["in", "x"]
    assert not (folder / "stray").exists()
    assert len(made.notes) == 5
    assert git(folder, "status", "--short") == ""
    assert clone.rm().salvage == ""
    assert (clone.root / "node_modules").is_dir()


def test_no_file_is_copied_through_a_committed_link(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    clone = Clone(tmp_path / "repo", worktree_copy=("cfg/.env",))
    (clone.root / "cfg").symlink_to(outside)
    git(clone.root, "add", "cfg")
    git(clone.root, "commit", "-qm", "a trap")
    git(clone.root, "checkout", "-q", "-b", "plain", "HEAD~1")
    (clone.root / "cfg").mkdir()
    (clone.root / "cfg/.env").write_text("SECRET=1\n")

    made = clone.new("alice", base="main")

    assert made.notes == ("skipped cfg/.env: its folder is a symbolic link",)
    assert os.listdir(outside) == []


def test_the_setup_command_runs_without_a_shell_and_knows_its_worktree(clone):
    made = clone.new("alice", setup="sh -c 'env > build.big; echo \"$0\" >> build.big' '$(id)'")

    said = (clone.root.parent / "repo.worktrees/alice/build.big").read_text()
    assert "DIBS_AGENT=alice\n" in said
    assert f"DIBS_WORKTREE={made.row.path}\n" in said
    assert said.endswith("$(id)\n")
    assert made.row.stage == "ready"


@pytest.mark.parametrize("command", ["false", "no-such-program", "sh -c 'kill $$'"])
def test_a_failed_setup_keeps_the_worktree_and_can_be_repeated(clone, command):
    with pytest.raises(Unavailable) as failed:
        clone.new("alice", setup=command)
    assert failed.value.code == "SETUP_FAILED"
    assert clone.new("alice").row.stage == "setup"

    clone.worktrees.setup(HUMAN, "alice", "true")

    assert clone.new("alice").row.stage == "ready"


def test_an_interrupted_setup_is_killed_if_it_does_not_exit(clone, monkeypatch):
    ready = clone.folder() / "ready.big"

    class Interrupted(subprocess.Popen):
        asked = False

        def wait(self, timeout=None):
            if self.asked:
                return super().wait(timeout)
            self.asked = True
            while not (ready.exists() and ready.read_text().endswith("\n")):
                time.sleep(0.01)
            raise KeyboardInterrupt

    program = SimpleNamespace(Popen=Interrupted, DEVNULL=subprocess.DEVNULL)
    monkeypatch.setattr(setup, "subprocess", program)
    monkeypatch.setattr(setup, "_GRACE", 0.2)
    command = "sh -c 'trap : TERM; echo $$ > ready.big; while :; do sleep 1; done'"
    with pytest.raises(KeyboardInterrupt):
        clone.worktrees.setup(HUMAN, "alice", command)
    with pytest.raises(ProcessLookupError):
        os.kill(int(ready.read_text()), 0)


@pytest.mark.parametrize("command", ["'", " "])
def test_an_invalid_setup_command_creates_nothing(clone, command):
    with pytest.raises(BadInput):
        clone.new("alice", setup=command)

    assert clone.branches() == ["main"]


def test_a_deleted_folder_is_created_again_and_staged_work_is_kept(clone):
    folder = clone.folder()
    (folder / "a").write_text("staged\n")
    git(folder, "add", "a")
    subprocess.run(["rm", "-rf", str(folder)], check=True)

    made = clone.new("alice")

    assert made.new
    (saved,) = clone.salvage.all()
    assert clone.saved(saved.id, "a") == "staged"


def test_a_worktree_moved_with_git_is_still_known(clone, tmp_path):
    folder = clone.folder()
    git(clone.root, "worktree", "move", str(folder), str(tmp_path / "moved"))

    assert clone.new("alice").row.path == str(tmp_path / "moved")
    clone.rm("alice")
    assert not (tmp_path / "moved").exists()


def test_creating_a_worktree_is_a_heartbeat(clone):
    clone.new("alice", caller=Caller("alice"))

    assert [seen.agent.id for seen in clone.agents.all()] == ["alice"]
    assert clone.kinds()[-1] == "worktree_added"
