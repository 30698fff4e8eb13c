"""What the git hooks refuse and allow, for every way to move a branch."""

from __future__ import annotations

import json
import subprocess

import pytest

from dibs.cli import main
from dibs.project.project import open_project


@pytest.mark.parametrize(
    "words", [["commit", "-m", "x"], ["commit", "--no-verify", "-m", "x"], ["commit", "-am", "x"]]
)
@pytest.mark.parametrize("agent", ["bob", ""])
def test_a_plain_commit_of_another_agents_file_is_refused(repo, words, agent):
    repo.edit("a.txt", "b.txt")

    said = repo.refused(*words, agent=agent)

    assert "a.txt: alice holds it (expires in " in said
    assert ' unless renewed): "rework it"' in said
    assert "dibs ask a.txt" in said
    assert ("dibs revoke" in said) == (agent == "")
    assert "b.txt" not in said


def test_a_refusal_in_a_folder_names_commands_that_work_there(repo, dibs, monkeypatch):
    repo.commit("src/one.py")
    dibs("claim", "src/one.py", agent="alice")
    repo.edit("a.txt", "src/one.py")
    folder = repo.root / "src"
    done = subprocess.run(
        ["git", "commit", "-m", "x", "--", "one.py", "../a.txt"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "dibs ask ../a.txt" in done.stderr
    monkeypatch.chdir(folder)

    said = dibs("commit", "-m", "x", "one.py", "../a.txt", agent="bob", status=3)

    assert "request it: dibs ask one.py; or wait: dibs claim one.py --wait 5m" in said
    assert "request it: dibs ask ../a.txt; or wait: dibs claim ../a.txt --wait 5m" in said
    dibs("ask", "../a.txt", agent="bob")


def test_a_refusal_is_recorded_in_the_ledger(repo, dibs):
    repo.edit("a.txt")
    repo.refused("commit", "-m", "x", agent="bob")

    (entry,) = json.loads(dibs("log", "--json", "--kind", "commit_refused"))

    assert entry["agent"] == "bob"
    assert entry["summary"] == "Dibs refused a commit: alice holds a.txt"
    assert entry["details"] == {"paths": ["a.txt"], "files": 1, "holders": ["alice"]}


def test_owners_commit_their_files_and_anyone_commits_unclaimed_files(repo):
    repo.edit("a.txt")
    repo.git("commit", "-m", "mine", agent="alice")
    repo.commit("b.txt", agent="bob")
    repo.commit("b.txt", "new/file.txt")


def test_a_shared_claim_blocks_no_one(repo, dibs):
    dibs("release", "--all", agent="alice")
    dibs("claim", "a.txt", "--shared", agent="alice")
    repo.commit("a.txt", agent="bob")


def test_a_glob_covers_deleted_and_renamed_files(repo, dibs):
    repo.commit("src/one.py", "src/two.py")
    dibs("claim", "src/**", agent="alice")

    repo.git("rm", "-q", "src/one.py")
    assert "src/one.py: alice holds" in repo.refused("commit", "-m", "x", agent="bob")
    repo.git("reset", "-q", "--hard")
    repo.git("mv", "src/two.py", "moved.py")
    assert "src/two.py: alice holds" in repo.refused("commit", "-m", "x", agent="bob")


def test_an_amended_message_is_allowed_and_an_amended_file_is_not(repo, dibs):
    repo.commit("b.txt", agent="bob")
    dibs("claim", "b.txt", agent="alice")

    repo.git("commit", "--amend", "-m", "better words", agent="bob")
    repo.edit("b.txt")
    repo.refused("commit", "--amend", "-m", "worse", agent="bob")
    repo.refused("commit", "--amend", "--no-verify", "-m", "worse", agent="bob")


def test_rebasing_own_commits_is_allowed_even_if_the_files_are_claimed_now(apart):
    apart.git("checkout", "-q", "-b", "topic")
    apart.commit("b.txt", agent="bob")
    apart.git("checkout", "-q", "main")
    apart.commit("c.txt", agent="carol")
    apart.claim("b.txt")
    apart.git("checkout", "-q", "topic")

    apart.git("rebase", "-q", "main", agent="bob")

    assert apart.git("merge-base", "main", "topic") == apart.git("rev-parse", "main")


def test_a_rebase_that_changes_a_claimed_file_is_refused(apart):
    apart.write("b.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
    apart.git("add", "b.txt")
    apart.git("commit", "-q", "-m", "long")
    apart.git("checkout", "-q", "-b", "topic")
    apart.write("b.txt", "one\n2\n3\n4\n5\n6\n7\n8\n9\n")
    apart.git("commit", "-qam", "head", agent="bob")
    apart.git("checkout", "-q", "main")
    apart.write("b.txt", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n")
    apart.git("commit", "-qam", "tail", agent="bob")
    apart.claim("b.txt")
    apart.git("checkout", "-q", "topic")

    assert "b.txt: alice holds" in apart.refused("rebase", "-q", "main", agent="bob")


def test_merges_of_existing_commits_are_allowed(repo, dibs):
    repo.git("checkout", "-q", "-b", "topic")
    repo.edit("a.txt")
    repo.git("commit", "-q", "-m", "hers", agent="alice")
    repo.git("checkout", "-q", "main")
    repo.commit("b.txt")

    repo.git("merge", "-q", "--no-edit", "topic", agent="bob")
    repo.git("reset", "-q", "--hard", "HEAD~1", agent="bob")
    repo.git("merge", "-q", "--no-commit", "topic", agent="bob")
    repo.git("commit", "-q", "-m", "by hand", agent="bob")


def test_a_merge_that_changes_a_claimed_file_is_refused(repo):
    repo.git("checkout", "-q", "-b", "topic")
    repo.edit("a.txt")
    repo.git("commit", "-q", "-m", "hers", agent="alice")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "--no-commit", "topic", agent="bob")
    repo.edit("a.txt")

    assert "a.txt: alice holds" in repo.refused("commit", "-q", "-m", "evil", agent="bob")


@pytest.mark.parametrize(
    "how", [("-X", "ours"), ("-X", "theirs"), ("-s", "ours"), ("-X", "ours", "--no-verify")]
)
def test_a_merge_that_drops_a_side_of_a_claimed_file_is_refused(repo, dibs, how):
    repo.git("checkout", "-q", "-b", "topic")
    repo.commit("b.txt", agent="bob")
    repo.git("checkout", "-q", "main")
    dibs("claim", "b.txt", agent="alice")
    repo.commit("b.txt", "c.txt", agent="alice")
    repo.git("checkout", "-q", "topic")

    said = repo.refused("merge", *how, "-m", "x", "main", agent="bob")

    assert "b.txt: alice holds" in said
    assert "c.txt" not in said
    repo.git("reset", "-q", "--hard")
    dibs("release", "--all", agent="alice")
    repo.git("merge", *how, "-m", "x", "main", agent="bob")


def _three_sides(repo, dibs):
    """Leave bob on one of three branches; main has alice's new ``b.txt``, which she holds."""
    for branch in ("two", "three"):
        repo.git("checkout", "-q", "-b", branch, "main")
        repo.commit(f"{branch}.txt", agent="bob")
    repo.git("checkout", "-q", "main")
    dibs("claim", "b.txt", agent="alice")
    repo.commit("b.txt", "c.txt", agent="alice")
    repo.git("checkout", "-q", "two")


def test_a_merge_of_three_sides_that_drops_one_of_a_claimed_file_is_refused(repo, dibs):
    _three_sides(repo, dibs)

    said = repo.refused("merge", "-s", "ours", "-m", "x", "main", "three", agent="bob")

    assert "b.txt: alice holds" in said


def test_a_merge_of_three_sides_may_have_what_git_merges(repo, dibs):
    _three_sides(repo, dibs)
    repo.git("checkout", "-q", "-b", "later", "main")
    repo.edit("b.txt")
    repo.git("commit", "-q", "-m", "hers", agent="alice")
    repo.git("checkout", "-q", "main")
    repo.commit("d.txt", agent="bob")
    repo.git("checkout", "-q", "two")

    repo.git("merge", "-q", "-m", "x", "main", "later", "three", agent="bob")


def test_cherry_picks_and_reverts_are_refused_only_for_claimed_files(repo):
    repo.edit("a.txt")
    repo.git("commit", "-q", "-m", "hers", agent="alice")
    hers = repo.git("rev-parse", "HEAD")
    free = repo.commit("b.txt")

    repo.refused("revert", "--no-edit", hers, agent="bob")
    repo.git("reset", "-q", "--hard")
    repo.run("revert", "--quit")
    repo.git("revert", "--no-edit", free, agent="bob")
    repo.git("checkout", "-q", "-b", "other", "HEAD~3", agent="bob")
    repo.commit("c.txt", agent="bob")  # otherwise git uses the commit as it is
    repo.refused("cherry-pick", hers, agent="bob")
    repo.git("reset", "-q", "--hard")
    repo.run("cherry-pick", "--quit")
    repo.git("cherry-pick", free, agent="bob")


def test_commands_that_create_no_commit_are_allowed(repo, tmp_path):
    repo.edit("a.txt")
    repo.git("commit", "-q", "-m", "hers", agent="alice")
    for words in (
        ["branch", "one"],
        ["checkout", "-q", "-b", "two"],
        ["switch", "-q", "main"],
        ["tag", "v1"],
        ["branch", "-m", "one", "three"],
        ["branch", "-D", "three"],
        ["worktree", "add", "-q", "-b", "four", str(tmp_path / "four")],
        ["reset", "-q", "--hard", "HEAD~1"],
        ["merge", "-q", "--ff-only", "v1"],
        ["commit", "-q", "--allow-empty", "-m", "nothing"],
        ["gc", "-q"],
    ):
        repo.git(*words, agent="bob")
    repo.write("a.txt")
    repo.git("stash", "-q", agent="bob")
    repo.git("stash", "pop", "-q", agent="bob")


def test_a_push_into_the_clone_is_checked_too(repo, tmp_path):
    repo.write("dibs.toml", '[gate]\nunclaimed = "deny"\n')
    other = type(repo)(tmp_path / "other")
    repo.git("clone", "-q", str(repo.root), str(other.root))
    other.commit("a.txt")

    done = other.run("push", "origin", "HEAD:topic", agent="bob")
    assert "a.txt: alice holds it" in done.stderr
    assert "topic" not in repo.refs()
    other.git("reset", "-q", "--hard", "HEAD~1")
    other.commit("b.txt")
    done = other.run("push", "origin", "HEAD:topic", agent="bob")
    assert (
        "b.txt: you have not claimed it" in done.stderr
    )  # with the settings above the git directory
    other.git("push", "-q", "origin", "HEAD:topic")


def test_the_hooks_work_in_every_worktree(repo, tmp_path):
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = type(repo)(tmp_path / "side")
    side.edit("a.txt")

    side.refused("commit", "-m", "x", agent="bob")
    side.refused("commit", "-n", "-m", "x", agent="bob")
    side.git("commit", "-m", "x", agent="alice")


def test_the_first_commit_of_a_repository_is_checked_too(tmp_path, repo, monkeypatch, capsys):
    root = tmp_path / "fresh"
    repo.git("init", "-q", str(root))
    monkeypatch.chdir(root)
    fresh = type(repo)(root)
    assert main(["git", "install"]) == 0
    assert main(["claim", "a.txt", "--agent", "alice"]) == 0
    fresh.edit("a.txt")

    fresh.refused("commit", "-m", "x", agent="bob")
    fresh.refused("commit", "-n", "-m", "x", agent="bob")
    fresh.git("commit", "-m", "x", agent="alice")


@pytest.mark.parametrize("words", [("commit",), ("commit", "--no-verify")])
def test_an_agent_cannot_commit_a_file_that_configures_tools(repo, dibs, words):
    dibs("claim", ".mcp.json", agent="bob")
    repo.edit(".mcp.json", "c.txt")

    said = repo.refused(*words, "-qm", "x", agent="bob")

    assert "  .mcp.json: it configures tools: let a human commit it" in said
    assert "\n  only a human may do this; you are bob (see `dibs whoami -v`)" in said
    assert "c.txt" not in said
    assert "dibs claim" not in said
    repo.refused(*words, "-qm", "x", agent="bob", DIBS_COMMIT_GUARDED="anyone")
    repo.write("dibs.toml", '[commit]\nguarded = "anyone"\n')
    repo.git(*words, "-qm", "x", agent="bob")
    (repo.root / "dibs.toml").unlink()
    dibs("release", "--all", agent="bob")
    repo.edit(".mcp.json")
    repo.git(*words, "-qm", "x")
    repo.git("commit", "-q", "--amend", "-m", "the same in other words", agent="bob")


def test_a_commit_made_under_a_claim_can_be_pushed_without_it(repo, dibs, monkeypatch, tmp_path):
    monkeypatch.setenv("DIBS_GATE_UNCLAIMED", "deny")
    hub = tmp_path / "hub.git"
    repo.git("init", "-q", "--bare", str(hub))
    repo.git("remote", "add", "origin", str(hub))
    repo.git("push", "-q", "-u", "origin", "main")
    repo.commit(".mcp.json")
    dibs("claim", "b.txt", agent="bob")
    repo.commit("b.txt", agent="bob")
    dibs("release", "--all", agent="bob")

    repo.git("push", "-q", "origin", "main", agent="bob")


def record(key, **fields):
    """Write a row as ``dibs commit`` does."""
    project = open_project()
    project.store.apply(lambda rows: rows.txn.put(key, json.dumps(fields)))
    project.close()


def test_a_push_of_another_agents_file_is_refused(plain, dibs, tmp_path):
    plain.git("init", "-q", "--bare", str(tmp_path / "hub.git"))
    plain.git("remote", "add", "origin", str(tmp_path / "hub.git"))
    plain.git("push", "-q", "-u", "origin", "main")
    dibs("git", "install")
    plain.edit("b.txt")
    plain.git("commit", "-q", "-m", "free then", agent="bob")
    dibs("claim", "b.txt", agent="alice")

    said = plain.run("push", "origin", "main", agent="bob").stderr
    assert "dibs: push refused:" in said
    assert "b.txt: alice holds it" in said
    plain.git("push", "-q", "--dry-run", "origin", "main", agent="alice")
    plain.git("push", "-q", "origin", "main~1:refs/heads/old", agent="bob")
    record(f"commit/{plain.git('rev-parse', 'HEAD')}", agent="alice")
    plain.git("push", "-q", "origin", "main", agent="bob")


def test_the_intent_of_a_dibs_commit_is_recognized_when_the_branch_moves(plain, dibs):
    dibs("git", "install")
    dibs("claim", "a.txt", agent="alice")
    plain.edit("a.txt")
    tree = plain.git("write-tree")
    commit = plain.git("commit-tree", tree, "-p", "HEAD", "-m", "x")
    plain.refused("update-ref", "refs/heads/main", commit, agent="bob")
    record("intent/clone/1", agent="alice", new=commit)

    plain.git("update-ref", "refs/heads/main", commit, agent="bob")


def test_agents_can_be_required_to_claim_what_they_commit(repo, dibs, monkeypatch):
    monkeypatch.setenv("DIBS_GATE_UNCLAIMED", "deny")
    repo.edit("b.txt")

    assert "b.txt: you have not claimed it" in repo.refused("commit", "-m", "x", agent="bob")
    repo.refused("commit", "-n", "-m", "x", agent="bob")
    dibs("claim", "b.txt", agent="bob")
    repo.git("commit", "-m", "x", agent="bob")
    repo.commit("c.txt")  # a human may


@pytest.mark.parametrize(
    "name",
    ["with space", "-f", ":(top)x", "*", "quo\"te'", "new\nline", "tab\tx", "ü/é", "@x", "task:1"],
)
def test_files_with_any_name_are_checked(repo, dibs, name):
    repo.edit(name)
    dibs("claim", "?*", "ü/**", agent="alice")

    said = repo.refused("commit", "-m", "x", agent="bob")

    assert "alice holds" in said
    assert "\t" not in said
    repo.refused("commit", "-n", "-m", "x", agent="bob")


def test_hostile_branch_names_are_harmless(repo):
    for name in ("$(touch${IFS}hacked)", "a;touch${IFS}hacked", "`touch", "x'y\"z", "-x"):
        repo.run("symbolic-ref", "HEAD", f"refs/heads/{name}")
        repo.edit("a.txt")
        repo.run("commit", "-n", "-m", "x", agent="bob")

    assert not (repo.root / "hacked").exists()
    assert repo.git("log", "--all", "--format=%s") == "work"


def test_a_plain_commit_that_undoes_what_others_committed_since_the_agent_read_it_is_refused_once(
    repo, dibs
):
    from dibs.local.last_read import note_read
    from dibs.local.repository import find

    repo.write("c.txt", "one\n")
    repo.commit("c.txt")
    repo.write("c.txt", "one\n")
    repo.git("commit", "-qam", "one")
    note_read(find(str(repo.root), {}), "carol", ["c.txt"])
    repo.write("c.txt", "one\nby bob\n")
    repo.git("commit", "-qam", "two", agent="bob")
    repo.write("c.txt", "one\nby carol\n")

    said = repo.refused("commit", "-am", "x", agent="carol")

    assert "c.txt: it would undo " in said
    assert "-by bob" in said
    assert "+by carol" in said
    assert "git diff HEAD -- :/c.txt" in said
    entry = json.loads(dibs("log", "--json", "--kind", "commit_refused"))[-1]
    assert entry["details"]["holders"] == []
    repo.git("commit", "-am", "x", agent="carol")


def leave(repo, dibs, text, path="a.txt"):
    """Let alice write uncommitted lines to a file that she holds, and release it."""
    repo.write(path, text)
    dibs("release", path, agent="alice")


def test_a_plain_commit_that_includes_another_agents_uncommitted_work_is_refused_once(repo, dibs):
    leave(repo, dibs, "by alice\nand more\n")
    dibs("claim", "a.txt", agent="bob")
    repo.write("a.txt", "by alice\nand more\nby bob\n")

    said = repo.refused("commit", "-am", "x", agent="bob")

    assert "a.txt: 2 lines of alice are in no commit" in said
    assert "alice's: by alice\n" in said
    assert "yours: by bob\n" in said
    assert "compare: git show refs/salvage/alice/" in said
    assert 'dibs commit --inherited -m "MESSAGE"' in said
    entry = json.loads(dibs("log", "--json", "--kind", "commit_refused"))[-1]
    assert entry["details"]["paths"] == ["a.txt"]
    repo.git("commit", "-am", "x", agent="bob")


def test_a_sweeping_commit_of_what_another_agent_left_unclaimed_is_refused_once(repo, dibs):
    leave(repo, dibs, "by alice\n")
    repo.edit("b.txt")

    said = repo.refused("commit", "-am", "x", agent="bob")

    assert "a.txt: 1 line of alice is in no commit" in said
    assert "b.txt" not in said
    repo.refused("commit", "-am", "x", agent="carol")  # each agent once
    repo.git("commit", "-am", "x", agent="bob")


def test_a_plain_commit_without_the_other_agents_lines_passes(repo, dibs):
    first = repo.git("show", "HEAD:a.txt")
    leave(repo, dibs, f"{first}\nby alice\n")
    repo.write("a.txt", f"{first}\nby bob\n")
    repo.git("commit", "-am", "x", agent="bob")


def test_the_author_and_a_human_commit_uncommitted_work_plainly(repo, dibs):
    leave(repo, dibs, "by alice\n")
    repo.git("commit", "-am", "x", agent="alice")
    dibs("claim", "a.txt", agent="alice")
    leave(repo, dibs, "again\n")
    repo.git("commit", "-am", "x")
