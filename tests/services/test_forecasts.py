"""Forecasts over real working trees: what takes part, what is left out, who is told."""

import os
import subprocess
from random import Random

import pytest

from dibs.config import Config
from dibs.core.agents import Caller
from dibs.core.ledger import Kind
from dibs.engines.memory import MemoryEngine
from dibs.errors import NotFound
from dibs.git import scratch
from dibs.repository import find
from dibs.services.desk import Desk
from dibs.services.forecasts import Forecasts
from dibs.services.ledger import Ledger, Query

LINES = "".join(f"line {number}\n" for number in range(1, 31))


def git(folder, *words):
    who = {f"GIT_{w}_{n}": "crew" for w in ("AUTHOR", "COMMITTER") for n in ("NAME", "EMAIL")}
    allowed = ["-c", "protocol.file.allow=always"]
    done = subprocess.run(
        ["git", *allowed, *words], cwd=folder, env={**os.environ, **who}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


class Clone:
    """A repository with working trees of agents, and forecasts of it."""

    def __init__(self, root):
        self.root = root
        root.mkdir()
        git(root, "init", "-q", "-b", "main")
        for name in ("a.txt", "b.txt", "lib/c.txt"):
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(LINES)
        self.commit(root)
        self.desk = Desk(MemoryEngine(), Config())

    def tree(self, agent):
        path = self.root.parent / agent
        if not path.exists():
            git(self.root, "worktree", "add", "-q", "-b", f"agent/{agent}", str(path))
        return path

    def edit(self, agent, name="a.txt", line=5, text="edited"):
        path = self.tree(agent) / name
        path.write_text(path.read_text().replace(f"line {line}\n", f"{text} by {agent}\n"))
        return path

    def commit(self, folder):
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "work")

    @property
    def forecasts(self):
        return Forecasts(self.desk, find(str(self.root), {}))

    def look(self, *names, base=""):
        return self.forecasts.once(names, base)

    def kinds(self):
        return {pair.names: [(c.path, c.kind) for c in pair.clashes] for pair in self.look().pairs}

    def warn(self):
        return self.forecasts.warn(Caller("carol"), self.look())

    def told(self):
        query = Query(kinds=frozenset([Kind.CONFLICT_FORECAST]))
        return [entry.details for entry in Ledger(self.desk).newest(query, 50)]


@pytest.fixture
def clone(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith(("GIT_", "DIBS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    return Clone(tmp_path / "repo")


def test_uncommitted_edits_of_one_line_conflict_there(clone):
    clone.edit("alice", line=5)
    clone.edit("bob", line=5)
    clone.edit("carol", line=25)

    (pair,) = clone.look().pairs

    assert pair.names == ("alice", "bob")
    assert [(c.path, c.kind, c.hunks) for c in pair.clashes] == [
        ("a.txt", "content", ((5, 1, 5, 1),))
    ]


def test_each_kind_of_conflict_has_its_word(clone):
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


def test_work_conflicts_with_the_integration_branch_too(clone):
    clone.edit("alice", line=5)
    (clone.root / "a.txt").write_text(LINES.replace("line 5\n", "moved on\n"))
    clone.commit(clone.root)

    assert list(clone.kinds()) == [("main", "alice")]


def test_uncommitted_files_of_the_main_tree_take_part_beside_its_branch(clone):
    clone.edit("alice", line=5)
    (clone.root / "a.txt").write_text(LINES.replace("line 5\n", "not committed\n"))

    assert list(clone.kinds()) == [("alice", "main+")]


def test_a_branch_without_working_tree_takes_part_until_it_is_merged(clone):
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


def test_only_pairs_with_those_who_are_named_are_looked_at(clone):
    for agent in ("alice", "bob", "carol"):
        clone.edit(agent)

    assert [pair.names for pair in clone.look("bob").pairs] == [("alice", "bob"), ("bob", "carol")]
    with pytest.raises(NotFound) as refused:
        clone.look("nobody")
    assert refused.value.code == "NO_WORKTREE"


def test_a_detached_head_goes_by_the_name_of_its_folder(clone):
    clone.edit("alice")
    git(clone.root, "worktree", "add", "-q", "--detach", str(clone.root.parent / "loose"))
    (clone.root.parent / "loose" / "a.txt").write_text(LINES.replace("line 5\n", "x\n"))

    assert list(clone.kinds()) == [("alice", "loose")]


def test_unrelated_histories_are_told_as_such(clone):
    clone.edit("alice")
    bob = clone.tree("bob")
    git(bob, "checkout", "-q", "--orphan", "other")
    git(bob, "commit", "-qm", "root")

    unrelated = [pair.names for pair in clone.look().pairs if not pair.related]

    assert unrelated == [("main", "other"), ("alice", "other")]


def test_what_cannot_be_read_is_left_out_and_named(clone, monkeypatch):
    monkeypatch.setattr(scratch, "LARGEST", 1_000)
    alice = clone.tree("alice")
    (alice / "huge").write_bytes(b"x" * 2_000)
    git(alice, "init", "-q", "inner")
    (alice / "inner" / "x").write_text("x")
    bob = clone.tree("bob")
    bob.rename(clone.root.parent / "elsewhere")
    unborn = clone.tree("carol")
    git(unborn, "checkout", "-q", "--orphan", "fresh")

    left = {(item.party, item.path, item.why) for item in clone.look().left}

    assert ("alice", "huge", "is larger than 0 MiB") in left
    assert ("alice", "inner", "is a repository of its own") in left
    assert ("bob", "", "its folder is gone") in left
    assert ("fresh", "", "it has no commit yet") in left


def test_a_submodule_conflicts_by_its_commit(clone, tmp_path):
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


def test_files_outside_of_a_sparse_checkout_are_not_taken_for_deleted(clone):
    (clone.root / "out").mkdir()
    (clone.root / "out" / "d.txt").write_text(LINES)
    clone.commit(clone.root)
    git(clone.tree("alice"), "sparse-checkout", "set", "--cone", "lib")
    clone.edit("bob", "out/d.txt")

    assert not (clone.tree("alice") / "out" / "d.txt").exists()
    assert clone.look().pairs == ()


def test_attributes_of_the_repository_decide_as_in_a_merge(clone):
    (clone.root / ".gitattributes").write_text("a.txt merge=union\n")
    clone.commit(clone.root)
    clone.edit("alice")
    clone.edit("bob")

    assert clone.look().pairs == ()
    (clone.root / ".gitattributes").write_text("# nothing\n")
    assert list(clone.kinds()) == [("alice", "bob")]


@pytest.mark.parametrize("way", ["attributes", "attributes below", "setting", ""])
def test_files_are_read_as_git_would_take_them_in(clone, way):
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


def test_forty_working_trees_and_names_that_are_hard(clone):
    for number in range(40):
        (clone.tree(f"a{number}") / 'x "y\n\r-f').write_text(f"{number % 2}\n")

    found = clone.look()

    assert len(found.pairs) == 20 * 20
    assert {clash.path for pair in found.pairs for clash in pair.clashes} == {'x "y\n\r-f'}


def test_what_has_not_changed_is_not_merged_again(clone):
    for agent in ("alice", "bob", "carol"):
        clone.edit(agent)

    assert clone.look().merged == 3
    assert clone.look().merged == 0
    clone.edit("carol", "b.txt")
    again = clone.look()
    assert (again.met, again.merged) == (3, 2)


def test_a_damaged_memory_of_merges_costs_only_time(clone):
    clone.edit("alice")
    clone.edit("bob")
    first = clone.look()
    (clone.root / ".git" / "dibs" / "forecast.json").write_text('{"form": 1, "salt"')

    assert clone.look().pairs == first.pairs


@pytest.mark.parametrize("seed", range(4))
def test_a_look_at_what_changed_finds_what_a_look_at_all_does(clone, seed):
    random = Random(seed)
    agents = ["alice", "bob", "carol"]
    for agent in agents:
        clone.tree(agent)
    with clone.forecasts.outlook() as outlook:
        outlook.look()
        for turn in range(12):
            agent = random.choice(agents)
            changed = something(random, clone, agent, turn)

            found = outlook.look_again({str(clone.tree(agent)): changed}, refs=not changed)

            assert (found.parties, found.pairs) == clone.look()[1:3], (turn, changed)


def something(random, clone, agent, turn):
    """Change something in a working tree; return which paths, none after a commit."""
    tree = clone.tree(agent)
    name = random.choice(["a.txt", "b.txt", "lib/c.txt", "new.txt", "lib", "d/e.txt"])
    path = tree / name
    what = random.choice(["write", "write", "write", "delete", "commit", "stage", "revert"])
    if what == "commit" and git(tree, "status", "--porcelain"):
        clone.commit(tree)
        return set()
    if what == "stage":
        git(tree, "add", "-A")
    elif what == "revert":
        git(tree, "checkout", "-q", "--", ".")
        return {"a.txt", "b.txt", "lib", "lib/c.txt", "d"}
    elif what == "delete" and path.is_file():
        path.unlink()
    elif not path.is_dir():
        path.parent.mkdir(exist_ok=True)
        path.write_text(LINES.replace(f"line {turn}\n", f"{agent}\n"))
    return {name}


def test_both_are_warned_once_for_each_set_of_files(clone):
    clone.edit("alice")
    clone.edit("bob")

    assert [pair.names for pair in clone.warn()] == [("alice", "bob")]
    assert clone.warn() == []
    clone.edit("alice", "b.txt")
    clone.edit("bob", "b.txt")
    clone.warn()

    assert [(e["agents"], e["files"], e["base"]) for e in clone.told()] == [
        (["alice", "bob"], ["a.txt"], "main"),
        (["alice", "bob"], ["a.txt", "b.txt"], "main"),
    ]


def test_a_conflict_that_went_away_and_came_back_is_told_again(clone):
    clone.edit("alice")
    bob = clone.edit("bob")
    clone.warn()
    mine = bob.read_text()
    bob.write_text(LINES)
    clone.warn()
    bob.write_text(mine)
    clone.warn()

    assert len(clone.told()) == 2


def test_a_side_that_cannot_be_read_just_now_is_not_taken_for_clear(clone):
    clone.edit("alice")
    clone.edit("bob")
    clone.warn()
    bob, away = clone.tree("bob"), clone.root.parent / "away"
    bob.rename(away)
    clone.warn()
    away.rename(bob)
    clone.warn()

    assert len(clone.told()) == 1


def test_objects_of_a_killed_forecast_go_after_a_day(clone):
    left = clone.root / ".git" / "dibs" / "forecast-objects-old"
    left.mkdir(parents=True)
    clone.look()
    assert left.exists()
    os.utime(left, (0, 0))
    clone.look()

    assert not left.exists()
