"""Forecasts of real working trees: what is compared, and what is skipped."""

import os
import zlib
from threading import Barrier
from types import SimpleNamespace

import pytest
from tests.services.forecast_clone import LINES, Clone, git

from dibs.errors import NotFound
from dibs.git import temp_objects
from dibs.shapes.forecast import shape


@pytest.fixture
def clone(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith(("GIT_", "DIBS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    return Clone(tmp_path / "repo")


def test_uncommitted_edits_to_the_same_line_conflict(clone):
    clone.edit("alice", line=5)
    clone.edit("bob", line=5)
    clone.edit("carol", line=25)

    (pair,) = clone.look().pairs

    assert pair.names == ("alice", "bob")
    assert [(c.path, c.kind, c.hunks) for c in pair.clashes] == [
        ("a.txt", "content", ((5, 1, 5, 1),))
    ]


def test_a_forecast_has_the_conflicting_lines_of_both_sides_if_asked(clone):
    clone.edit("alice", line=5)
    clone.edit("bob", line=5)
    clone.commit(clone.tree("bob"))

    found = clone.forecasts.once(lines=True)

    (hunk,) = shape(found)["conflicts"][0]["files"][0]["hunks"]
    assert hunk == {
        "lines": [[5, 1], [5, 1]],
        "sides": [{"text": ["edited by alice"]}, {"text": ["edited by bob"]}],
        "cut": False,
    }
    assert "sides" not in shape(clone.look())["conflicts"][0]["files"][0]["hunks"][0]


def test_each_kind_of_conflict_has_its_name(clone):
    (clone.root / "bin").write_bytes(b"\0base")
    (clone.root / "b.txt").write_text("".join(f"line {n}\n" for n in range(99, 0, -1)))
    clone.commit(clone.root)
    alice, bob = clone.tree("alice"), clone.tree("bob")
    for tree in (alice, bob):
        (tree / "bin").write_bytes(b"\0" + tree.name.encode())
        (tree / "new.txt").write_text(f"{tree.name}\n" * 9)
    clone.edit("alice", "b.txt")
    (bob / "b.txt").unlink()
    git(alice, "mv", "lib/c.txt", "one.txt")
    git(bob, "mv", "lib/c.txt", "two.txt")

    kinds = dict(clone.kinds()["alice", "bob"])

    assert kinds["bin"] == "binary"
    assert kinds["new.txt"] == "add/add"
    assert kinds["b.txt"] == "modify/delete"
    assert kinds["one.txt"] == kinds["two.txt"] == "rename/rename"


def test_work_is_also_compared_with_the_integration_branch(clone):
    clone.edit("alice", line=5)
    (clone.root / "a.txt").write_text(LINES.replace("line 5\n", "moved on\n"))
    clone.commit(clone.root)

    assert list(clone.kinds()) == [("main", "alice")]


def test_uncommitted_files_of_the_main_tree_are_compared_separately(clone):
    clone.edit("alice", line=5)
    (clone.root / "a.txt").write_text(LINES.replace("line 5\n", "not committed\n"))

    assert list(clone.kinds()) == [("alice", "main+")]


def test_a_branch_without_a_worktree_is_compared_until_it_is_merged(clone):
    clone.edit("alice")
    clone.commit(clone.tree("alice"))
    git(clone.root, "worktree", "remove", str(clone.tree("alice")))
    clone.edit("bob")

    assert list(clone.kinds()) == [("alice", "bob")]
    git(clone.root, "merge", "-q", "agent/alice")
    assert list(clone.kinds()) == [("main", "bob")]
    assert [party.name for party in clone.look().parties] == ["main", "bob"]


def test_another_integration_branch_can_be_named(clone):
    git(clone.root, "branch", "next")
    clone.tree("alice")

    assert clone.look(base="next").base == "next"
    with pytest.raises(NotFound) as refused:
        clone.look(base="nonesuch")
    assert refused.value.code == "NO_BRANCH"


def test_only_pairs_with_named_agents_are_compared(clone):
    for agent in ("alice", "bob", "carol"):
        clone.edit(agent)

    assert [pair.names for pair in clone.look("bob").pairs] == [("alice", "bob"), ("bob", "carol")]
    with pytest.raises(NotFound) as refused:
        clone.look("nobody")
    assert refused.value.code == "NO_WORKTREE"


def test_a_detached_head_is_named_after_its_folder(clone):
    clone.edit("alice")
    git(clone.root, "worktree", "add", "-q", "--detach", str(clone.root.parent / "loose"))
    (clone.root.parent / "loose" / "a.txt").write_text(LINES.replace("line 5\n", "x\n"))

    assert list(clone.kinds()) == [("alice", "loose")]


def test_unrelated_histories_are_reported(clone):
    clone.edit("alice")
    bob = clone.tree("bob")
    git(bob, "checkout", "-q", "--orphan", "other")
    git(bob, "commit", "-qm", "root")

    unrelated = [pair.names for pair in clone.look().pairs if pair.why == "no common history"]

    assert unrelated == [("main", "other"), ("alice", "other")]


def test_a_staged_change_that_was_reverted_does_not_count(clone):
    path = clone.edit("alice")
    git(clone.tree("alice"), "add", "-A")
    path.write_text(LINES)
    (clone.root / "b.txt").write_text("")
    git(clone.root, "add", "-A")
    (clone.root / "b.txt").write_text(LINES)

    parties = {party.name: party for party in clone.look().parties}

    assert parties.keys() == {"main", "alice"}
    assert (parties["alice"].dirty, parties["alice"].commit) == (0, parties["alice"].head)


def test_trees_with_the_same_new_file_can_be_read_in_parallel(clone, monkeypatch):
    both = Barrier(2, timeout=30)
    for agent in ("alice", "bob"):
        (clone.tree(agent) / "new.txt").write_text("the same\n")
    compress = temp_objects.zlib.compress

    def compressed_together(data, level):
        if b"the same" in data:
            both.wait()
        return compress(data, level)

    monkeypatch.setattr(temp_objects, "zlib", SimpleNamespace(compress=compressed_together, error=zlib.error,
                                                         decompress=zlib.decompress))  # fmt: skip
    found = clone.look()

    assert (found.left, found.pairs) == ((), ())


def test_a_pair_that_git_cannot_merge_does_not_hide_the_others(clone):
    for agent in ("alice", "bob", "carol"):
        clone.edit(agent)
    clone.commit(clone.tree("carol"))
    blob = git(clone.root, "rev-parse", "agent/carol:a.txt")
    os.remove(clone.root / ".git" / "objects" / blob[:2] / blob[2:])

    found = {pair.names: pair for pair in clone.look().pairs}

    assert [clash.path for clash in found["alice", "bob"].clashes] == ["a.txt"]
    failed = {names for names, pair in found.items() if "git merge-tree failed" in pair.why}
    assert failed == {("alice", "carol"), ("bob", "carol")}


def test_unreadable_work_is_skipped_and_reported(clone, monkeypatch):
    monkeypatch.setattr(temp_objects, "LARGEST", 1_000)
    alice = clone.tree("alice")
    (alice / "huge").write_bytes(b"x" * 2_000)
    git(alice, "init", "-q", "inner")
    (alice / "inner" / "x").write_text("x")
    bob = clone.tree("bob")
    bob.rename(clone.root.parent / "elsewhere")
    unborn = clone.tree("carol")
    git(unborn, "checkout", "-q", "--orphan", "fresh")

    left = {(item.party, item.path, item.why) for item in clone.look().left}

    assert ("alice", "huge", "larger than 0 MiB") in left
    assert ("alice", "inner", "a separate git repository") in left
    assert ("bob", "", "its folder is missing") in left
    assert ("fresh", "", "it has no commits yet") in left


def test_submodules_conflict_by_their_commits(clone, tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q", "-b", "main")
    (inner / "x").write_text("x")
    clone.commit(inner)
    git(clone.root, "submodule", "add", "-q", str(inner), "sub")
    clone.commit(clone.root)
    for agent in ("alice", "bob"):
        tree = clone.tree(agent)
        git(tree, "submodule", "update", "-q", "--init")
        (tree / "sub" / "x").write_text(agent)
        clone.commit(tree / "sub")

    assert [(path, kind) for path, kind in clone.kinds()["alice", "bob"]] == [("sub", "submodule")]


def test_files_outside_a_sparse_checkout_are_not_considered_deleted(clone):
    (clone.root / "out").mkdir()
    (clone.root / "out" / "d.txt").write_text(LINES)
    clone.commit(clone.root)
    git(clone.tree("alice"), "sparse-checkout", "set", "--cone", "lib")
    clone.edit("bob", "out/d.txt")

    assert not (clone.tree("alice") / "out" / "d.txt").exists()
    assert clone.look().pairs == ()


def test_attributes_apply_as_in_a_merge(clone):
    (clone.root / ".gitattributes").write_text("a.txt merge=union\n")
    clone.commit(clone.root)
    clone.edit("alice")
    clone.edit("bob")

    assert clone.look().pairs == ()
    (clone.root / ".gitattributes").write_text("# nothing\n")
    assert list(clone.kinds()) == [("alice", "bob")]


def test_changed_attributes_in_a_folder_apply_at_once(clone):
    attributes = clone.root / "lib" / ".gitattributes"
    attributes.write_text("c.txt merge=union\n")
    clone.commit(clone.root)
    clone.edit("alice", "lib/c.txt")
    clone.edit("bob", "lib/c.txt")

    assert clone.look().pairs == ()
    attributes.write_text("# nothing\n")
    assert list(clone.kinds()) == [("alice", "bob")]
    attributes.write_text("c.txt merge=union\n")
    assert clone.look().pairs == ()


@pytest.mark.parametrize("way", ["attributes", "attributes below", "setting", ""])
def test_files_are_converted_as_git_would(clone, way):
    if way.startswith("attributes"):
        folder = clone.root / ("lib" if way.endswith("below") else "")
        (folder / ".gitattributes").write_text("*.txt text\n")
        clone.commit(clone.root)
    elif way:
        git(clone.root, "config", "core.autocrlf", "input")
    path = clone.edit("alice", "lib/c.txt", line=5)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    clone.edit("bob", "lib/c.txt", line=20)

    assert list(clone.kinds()) == ([] if way else [("alice", "bob")])


def test_forty_worktrees_and_odd_names_work(clone):
    for number in range(40):
        (clone.tree(f"a{number}") / 'x "y\n\r-f').write_text(f"{number % 2}\n")

    found = clone.look()

    assert len(found.pairs) == 20 * 20
    assert {clash.path for pair in found.pairs for clash in pair.clashes} == {'x "y\n\r-f'}


def test_unchanged_pairs_are_not_merged_again(clone):
    for agent in ("alice", "bob", "carol"):
        clone.edit(agent)

    assert clone.look().merged == 3
    assert clone.look().merged == 0
    clone.edit("carol", "b.txt")
    again = clone.look()
    assert (again.met, again.merged) == (3, 2)


@pytest.mark.parametrize("damage", [("merges", '"'), ("[[5, 1, 5, 1]]", '[["5", "x", 5, 1]]')])
def test_a_damaged_cache_costs_only_time(clone, damage):
    clone.edit("alice")
    clone.edit("bob")
    first = clone.look()
    memory = clone.root / ".git" / "dibs" / "forecast.json"
    assert damage[0] in memory.read_text()
    memory.write_text(memory.read_text().replace(*damage))

    assert clone.look().pairs == first.pairs


def test_a_killed_forecasts_objects_are_removed_after_a_day(clone):
    left = clone.root / ".git" / "dibs" / "forecast-objects-old"
    left.mkdir(parents=True)
    clone.look()
    assert left.exists()
    os.utime(left, (0, 0))
    clone.look()

    assert not left.exists()
