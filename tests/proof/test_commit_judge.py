"""The commit checks detect each kind of violation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proof_commit_judge import (
    PLAIN,
    Commit,
    Said,
    blob_id,
    disagreements,
    foreign,
    git,
    history,
    index_of,
    late_tokens,
    on_disk,
    soundness,
    tree_of,
)

if TYPE_CHECKING:
    from proof_crew import Repo

NEW = b"new\n"
A, B = f"{PLAIN} {'a' * 40}", f"{PLAIN} {'b' * 40}"


def commit(name: str, agent: str, changed: dict[str, str], token: int = 1) -> Commit:
    """Return a sample commit."""
    return Commit(name, agent, [], [token], changed)


def test_another_agents_path_in_a_commit_is_detected():
    owners = {"src/alice-": "alice", "src/bob-": "bob"}

    assert foreign([commit("1", "alice", {"src/alice-1": A, "free": A})], owners) == []
    assert foreign([commit("1", "alice", {"src/bob-1": A})], owners) == [
        "alice committed src/bob-1"
    ]


def test_a_commit_that_differs_from_its_report_is_detected():
    told = [Said("alice", "1", {"x": A})]

    assert disagreements([commit("1", "alice", {"x": A})], told, {}) == []
    assert disagreements([commit("1", "alice", {})], told, {"x": A}) == [], "nothing was changed"
    for wrong in ({"x": B}, {}, {"x": A, "y": A}, {"x": ""}):
        assert disagreements([commit("1", "alice", wrong)], told, {}), wrong
    assert disagreements([commit("1", "bob", {"x": A})], told, {}), "of another agent"
    assert disagreements([], told, {}), "told, and not there"


def test_a_commit_of_a_shared_path_with_an_old_token_is_detected():
    history_of_x = [commit("1", "alice", {"x": A}, 5), commit("2", "bob", {"x": B}, 4)]

    assert late_tokens(history_of_x, ["x"]) == ["x: [4] after 5"]
    assert late_tokens(history_of_x[::-1], ["x"]) == []


def test_git_output_is_parsed_correctly(repo: Repo):
    git(repo.path, "add", "-A")
    git(repo.path, "commit", "-qm", "first")
    (repo.path / "ä b").write_text("new\n")
    (repo.path / "src/x.py").unlink()
    git(repo.path, "add", "-A")
    git(
        repo.path,
        "commit",
        "-qm",
        "s\n\nDibs-Agent: alice\nDibs-Claim: c1\nDibs-Token: 7\nDibs-Token: 8",
    )
    git(repo.path, "update-index", "--assume-unchanged", "src/y.py")

    (last,) = history(repo.path, "HEAD~")

    new = f"{PLAIN} {blob_id(NEW)}"
    assert (last.agent, last.claims, last.tokens) == ("alice", ["c1"], [7, 8])
    assert last.changed == {"ä b": new, "src/x.py": ""}
    assert (
        tree_of(repo.path)["ä b"] == index_of(repo.path)["ä b"] == on_disk(repo.path / "ä b") == new
    )
    assert index_of(repo.path)["src/y.py"].endswith(" h0")


def test_a_leftover_lock_and_a_missing_object_are_detected(repo: Repo):
    git(repo.path, "add", "-A")
    git(repo.path, "commit", "-qm", "first")
    assert soundness(repo.path) == []

    (repo.path / ".git/index.lock").write_text("")
    blob = next(iter(tree_of(repo.path).values())).split()[1]
    (repo.path / ".git/objects" / blob[:2] / blob[2:]).unlink()

    found = soundness(repo.path)
    assert any("missing" in line for line in found)
    assert any("index.lock" in line for line in found)
