"""Board commits are pushed without publishing the user's commits or touching the working tree."""

from __future__ import annotations

import pytest
from tests.services.merge_yard import git, put

from dibs.services.board import push
from dibs.services.board.commits import BoardAuthor, commit
from dibs.services.board.push import push_board

pytestmark = pytest.mark.usefixtures("own_git")

TASK = "id: {id}\nagent: bob\nstatus: {status}\n"


def cloned(remote, place, name):
    git(remote, "clone", "-q", str(remote), str(place))
    git(place, "config", "user.name", name)
    git(place, "config", "user.email", f"{name}@example.org")
    return place


@pytest.fixture
def remote(tmp_path):
    place = tmp_path / "remote.git"
    place.mkdir()
    git(place, "init", "-q", "--bare", "-b", "main")
    return place


@pytest.fixture
def tree(remote, tmp_path):
    place = cloned(remote, tmp_path / "tree", "ann")
    git(place, "symbolic-ref", "HEAD", "refs/heads/main")
    put(place, "code.py", "one\n")
    put(place, "work/inbox/first.yaml", TASK.format(id="first", status="new"))
    git(place, "add", ".")
    git(place, "commit", "-q", "-m", "first")
    git(place, "push", "-q", "-u", "origin", "main")
    return place


@pytest.fixture
def other(remote, tree, tmp_path):
    """Another clone that is up to date."""
    return cloned(remote, tmp_path / "other", "zoe")


def transition(tree, id_):
    put(tree, f"work/inbox/{id_}.yaml", TASK.format(id=id_, status="new"))
    assert commit(str(tree), "work", by=lambda _: BoardAuthor("bob")).made


def pushed(tree):
    return push_board(str(tree), "work")


def subjects(remote):
    return git(remote, "log", "--format=%s", "main").splitlines()


def files(remote):
    return git(remote, "ls-tree", "-r", "--name-only", "main").splitlines()


def test_the_commits_of_the_board_are_pushed(remote, tree):
    transition(tree, "a")

    assert pushed(tree) == ""

    assert subjects(remote) == ["task: a new by bob", "first"]
    assert git(tree, "status", "-sb") == "## main...origin/main"


def test_without_news_the_network_is_not_used(tree, remote):
    remote.rename(remote.parent / "gone.git")

    assert pushed(tree) == ""


def test_a_commit_of_the_user_is_not_published(remote, tree):
    put(tree, "code.py", "secret draft\n")
    git(tree, "commit", "-qam", "wip")
    transition(tree, "a")

    why = pushed(tree)

    assert "commits of yours that are not pushed yet ('code.py')" in why
    assert why.endswith("git push")
    assert subjects(remote) == ["first"]


def test_newer_commits_of_others_are_merged_without_touching_the_working_tree(remote, tree, other):
    put(other, "code.py", "two\n")
    git(other, "commit", "-qam", "their work")
    git(other, "push", "-q")
    put(tree, "code.py", "my uncommitted work\n")
    transition(tree, "a")
    before = git(tree, "status", "--porcelain"), git(tree, "rev-parse", "HEAD")

    assert pushed(tree) == ""

    assert subjects(remote)[0] == "board: merge with the upstream"
    assert {"work/inbox/a.yaml", "code.py"} <= set(files(remote))
    assert git(remote, "show", "main:code.py") == "two"
    assert (git(tree, "status", "--porcelain"), git(tree, "rev-parse", "HEAD")) == before
    assert (tree / "code.py").read_text() == "my uncommitted work\n"
    transition(tree, "b")
    assert pushed(tree) == ""
    git(tree, "checkout", "-q", "code.py")
    git(tree, "pull", "-q", "--ff-only", check=False)
    assert "work/inbox/b.yaml" in files(remote)


def test_a_push_that_loses_a_race_is_repeated(remote, tree, other, monkeypatch):
    transition(tree, "a")
    fetched, rivals = push._fetched, ["x", "y"]

    def slow(*given):
        there = fetched(*given)
        if rivals:
            transition(other, rivals.pop())
            git(other, "push", "-q")
        return there

    monkeypatch.setattr(push, "_fetched", slow)

    assert pushed(tree) == ""

    assert {f"work/inbox/{id_}.yaml" for id_ in "axy"} <= set(files(remote))


def test_a_conflict_with_the_upstream_is_reported_and_nothing_is_pushed(remote, tree, other):
    put(other, "work/inbox/first.yaml", TASK.format(id="first", status="done"))
    git(other, "commit", "-qam", "theirs")
    git(other, "push", "-q")
    put(tree, "work/inbox/first.yaml", TASK.format(id="first", status="error"))
    commit(str(tree), "work", by=lambda _: BoardAuthor("bob"))

    why = pushed(tree)

    assert why == (
        "'work/inbox/first.yaml' was changed on both sides; to merge it: git pull --no-rebase"
    )
    assert subjects(remote) == ["theirs", "first"]


def test_an_unreachable_remote_is_reported(remote, tree):
    transition(tree, "a")
    remote.rename(remote.parent / "gone.git")

    why = pushed(tree)

    assert why.startswith("cannot reach origin: ")
    assert why.endswith("the next command tries again")


def test_a_refusal_by_the_remote_is_reported(remote, tree):
    hook = remote / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    transition(tree, "a")

    assert pushed(tree) == (
        "git push to origin failed: [remote rejected] (pre-receive hook declined);"
        " the next command tries again"
    )
    assert subjects(remote) == ["first"]


def test_an_upstream_branch_that_was_deleted_is_not_created_again(remote, tree):
    git(tree, "switch", "-qc", "side")
    git(tree, "push", "-q", "-u", "origin", "side")
    git(remote, "branch", "-D", "side")
    transition(tree, "a")

    assert "git push --set-upstream origin side" in pushed(tree)
    assert git(remote, "branch", "--list", "side") == ""


def test_a_transport_program_in_the_repository_is_not_run(tree, tmp_path):
    mark = tmp_path / "ran"
    git(tree, "config", "remote.origin.receivepack", f"touch {mark}; git-receive-pack")
    transition(tree, "a")

    assert "remote.origin.receivepack" in pushed(tree)

    assert not mark.exists()


def test_the_users_refs_and_fetch_head_do_not_change_by_fetching(remote, tree, other):
    transition(other, "x")
    git(other, "push", "-q")
    put(tree, "code.py", "draft\n")
    git(tree, "commit", "-qam", "wip")
    transition(tree, "a")
    before = git(tree, "for-each-ref")

    pushed(tree)

    assert [
        line for line in git(tree, "for-each-ref").splitlines() if "refs/dibs/" not in line
    ] == (before.splitlines())
    assert not (tree / ".git" / "FETCH_HEAD").exists()
