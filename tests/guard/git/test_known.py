"""Only branches and remote-tracking branches make a commit known; each other name for it proves nothing."""

from __future__ import annotations

import pytest


@pytest.fixture
def hidden(repo):
    """Return a commit of alice's file that bob made without a branch: the tip of no ref."""
    blob = repo.git("hash-object", "-w", "--stdin", given="bob's")
    other = repo.git("rev-parse", "HEAD:b.txt")
    tree = repo.git("mktree", given=f"100644 blob {blob}\ta.txt\n100644 blob {other}\tb.txt\n")
    repo.commit_id = repo.git("commit-tree", tree, "-p", "HEAD", "-m", "x", agent="bob")
    return repo


#: Ways to give a commit another name; {oid} is the commit, {tmp} a folder of the agent.
NAMES = (
    "tag v1 {oid}",
    "tag -a -m x v1 {oid}",
    "update-ref refs/dibs/x {oid}",
    "update-ref refs/salvage/bob/x {oid}",
    "update-ref refs/stash {oid}",
    "update-ref refs/notes/x {oid}",
    "update-ref refs/original/refs/heads/main {oid}",
    "update-ref refs/worktree/x {oid}",
    "worktree add -q --detach {tmp}/tree {oid}",
    "replace {oid} HEAD",
    "tag v1 {oid} && git fetch -q . v1",
    "tag v1 {oid} && git fetch -q {root} v1",
    "tag v1 {oid} && git fetch -q {root}/.git v1",
    "tag v1 {oid} && git fetch -q file://{root} v1",
    "tag v1 {oid} && git fetch -q file://{root}/%2Egit v1",
    "tag v1 {oid} && git bundle create -q {tmp}/b v1 && git fetch -q {tmp}/b v1",
    "tag v1 {oid} && git remote add me . && git fetch -q me tag v1",
)

#: Ways to move a branch to it.
MOVES = (
    "merge -q --ff-only {oid}",
    "reset -q --soft {oid}",
    "branch -f side {oid}",
    "update-ref refs/heads/main {oid}",
    "fetch -q . {oid}:refs/heads/new",
    "checkout -q -b new {oid}",
    "push -q . {oid}:refs/heads/new",
)


def run(repo, words: str, tmp_path):
    text = words.format(oid=repo.commit_id, tmp=tmp_path, root=repo.root)
    return repo.run("-c", f"alias.try=!cd {repo.root} && git {text}", "try", agent="bob")


@pytest.mark.parametrize("name", NAMES)
def test_a_commit_with_another_name_is_checked_when_a_branch_moves_to_it(hidden, tmp_path, name):
    named = run(hidden, name, tmp_path)
    assert named.returncode == 0, named.stderr

    said = hidden.refused("update-ref", "refs/heads/main", hidden.commit_id, agent="bob")

    assert "a.txt: alice holds it" in said


@pytest.mark.parametrize("move", MOVES)
def test_a_tagged_commit_is_refused_however_a_branch_moves_to_it(hidden, tmp_path, move):
    run(hidden, "tag v1 {oid} && git fetch -q . v1", tmp_path)
    hidden.git("branch", "side")
    before = hidden.refs()

    done = run(hidden, move, tmp_path)

    assert "a.txt: alice holds it" in done.stderr
    assert hidden.refs() == before


@pytest.mark.parametrize(
    "write",
    [
        "update-ref refs/remotes/origin/x {oid}",
        "update-ref -m fetch refs/remotes/origin/x {oid}",
        "fetch -q . {oid}:refs/remotes/origin/x",
        "fetch -q --depth 1 . {oid}:refs/remotes/origin/x",
        "tag v1 {oid} && git fetch -q {root} v1:refs/remotes/origin/x",
        "remote add me . && git tag v1 {oid} && git fetch -q me v1:refs/remotes/me/x",
        (
            "tag v1 {oid} && git -c url.{root}/.insteadOf=https://hub.invalid/ fetch -q https://hub.invalid/"
            " v1:refs/remotes/origin/x"
        ),
        (
            "tag v1 {oid} && GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=url.{root}/.insteadOf"
            " GIT_CONFIG_VALUE_0=hub: git fetch -q hub: v1:refs/remotes/origin/x"
        ),
        "push -q --no-verify origin {oid}:refs/heads/x",
    ],
)
def test_an_agent_cannot_write_a_remote_tracking_branch_to_make_a_commit_known(
    hidden, tmp_path, write
):
    hidden.git("init", "-q", "--bare", str(tmp_path / "hub.git"))
    hidden.git("remote", "add", "origin", str(tmp_path / "hub.git"))
    hidden.git("push", "-q", "origin", "main")

    done = run(hidden, write, tmp_path)

    assert "a.txt: alice holds it" in done.stderr
    hidden.refused("update-ref", "refs/heads/main", hidden.commit_id, agent="bob")


@pytest.mark.parametrize("ref", ["refs/tags/v1", "refs/for/main", "refs/heads/x"])
@pytest.mark.parametrize("name", ["tag v1 {oid}", "tag -a -m x v1 {oid}"])
def test_an_agent_cannot_push_a_hidden_commit_under_any_name(hidden, tmp_path, ref, name):
    hidden.git("init", "-q", "--bare", str(tmp_path / "hub.git"))
    hidden.git("remote", "add", "origin", str(tmp_path / "hub.git"))
    hidden.git("push", "-q", "origin", "main")
    run(hidden, name, tmp_path)

    done = run(hidden, f"push -q origin v1^{{{{commit}}}}:{ref} || git push -q origin v1", tmp_path)

    assert done.stderr.count("dibs: push refused") == 2
    assert hidden.git("ls-remote", str(tmp_path / "hub.git"), "*v1*", "*x*", "refs/for/*") == ""


def test_tags_of_known_commits_notes_and_files_are_pushed(repo, tmp_path):
    repo.git("init", "-q", "--bare", str(tmp_path / "hub.git"))
    repo.git("remote", "add", "origin", str(tmp_path / "hub.git"))
    repo.git("push", "-q", "origin", "main")
    for words in (
        "tag v1", "tag -a -m x v2", "tag key HEAD:a.txt", "tag tree HEAD^{tree}",
        "notes add -m reviewed",
    ):  # fmt: skip
        repo.git(*words.split(), agent="bob")

    repo.git("push", "-q", "origin", "--tags", "refs/notes/commits", agent="bob")

    assert len(repo.git("ls-remote", "origin").splitlines()) == 8


def test_a_fetch_from_another_repository_still_makes_its_commits_known(repo, tmp_path):
    other = type(repo)(tmp_path / "other")
    repo.git("clone", "-q", str(repo.root), str(other.root))
    other.commit("a.txt")
    repo.git("remote", "add", "o", str(other.root))

    repo.git("fetch", "-q", "o", agent="bob")
    repo.git("merge", "-q", "--ff-only", "o/main", agent="bob")


def test_an_agents_push_of_its_own_work_updates_the_remote_tracking_branch(repo, tmp_path):
    repo.git("init", "-q", "--bare", str(tmp_path / "hub.git"))
    repo.git("remote", "add", "origin", str(tmp_path / "hub.git"))
    made = repo.commit("c.txt", agent="bob")

    repo.git("push", "-q", "origin", "main", agent="bob")

    assert repo.git("rev-parse", "origin/main") == made
