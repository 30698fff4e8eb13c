"""Both ways to build a commit give the tree that plain git gives, and touch nothing else."""

from __future__ import annotations

import os
import random

import pytest
from tests.services.commit_world import ALICE, World
from tests.soak import seeds

from dibs.errors import NotFound

NAMES = ("a", "b c", "d/e", "d/f", "ü", "-x", "*", "d/g/h", "z.txt", "README", "d/new")
CONTENTS = ("", "x\n", "a\r\nb\n", "line\nline\n")
KINDS = ("write", "write", "remove", "remove", "link", "mode", "stage", "stage more", "untrack")


def write(world, chance, path):
    whole = os.path.join(world.root, path)
    if os.path.islink(whole):
        os.unlink(whole)
    with open(whole, "w", encoding="utf-8", newline="") as file:
        file.write(chance.choice(CONTENTS))


def link(world, path):
    whole = os.path.join(world.root, path)
    if os.path.lexists(whole):
        os.unlink(whole)
    os.symlink("elsewhere", whole)


def change(world, chance, path):
    """Make one of the changes that happen to files in a shared tree."""
    whole = os.path.join(world.root, path)
    os.makedirs(os.path.dirname(whole), exist_ok=True)
    kind = chance.choice(KINDS)
    there = os.path.lexists(whole)
    if kind == "remove" and there:
        os.unlink(whole)
    elif kind == "link":
        link(world, path)
    elif kind == "mode" and there and not os.path.islink(whole):
        os.chmod(whole, 0o755)
    elif kind == "untrack":
        world.git("--literal-pathspecs", "rm", "-q", "--cached", "--", path, check=False)
    elif kind in {"write", "stage", "stage more"}:
        write(world, chance, path)
        if kind != "write":
            world.git("--literal-pathspecs", "add", "--", path)
        if kind == "stage more":
            write(world, chance, path)


def tree_by_plain_git(world, mine, monkeypatch):
    """Add the files on disk to an index of the last commit with plain git."""
    with monkeypatch.context() as own:
        own.setenv("GIT_INDEX_FILE", os.path.join(world.root, ".git/oracle"))
        world.git("read-tree", "HEAD")
        for path in mine:
            if os.path.lexists(os.path.join(world.root, path)):
                world.git("--literal-pathspecs", "add", "-f", "--", path)
            else:
                world.git(
                    "--literal-pathspecs", "rm", "-q", "--cached", "--ignore-unmatch", "--", path
                )
        return world.git("write-tree")


def on_disk(world):
    found = {}
    for path in NAMES:
        whole = os.path.join(world.root, path)
        if os.path.islink(whole):
            found[path] = os.readlink(whole)
        elif os.path.exists(whole):
            with open(whole, "rb") as file:
                found[path] = file.read(), os.stat(whole).st_mode
    return found


@pytest.mark.parametrize("way", ["short", "long"])
@pytest.mark.parametrize("seed", seeds(8))
def test_a_commit_has_the_tree_that_plain_git_makes(tmp_path, monkeypatch, seed, way):
    chance = random.Random(seed)
    world = World(tmp_path / "tree")
    world.git("config", "core.autocrlf", chance.choice(("false", "true", "input")))
    for path in NAMES[:-2]:
        world.put(path, chance.choice(CONTENTS))
    world.git("add", ".")
    world.git("commit", "-q", "-m", "base")
    mine = ["README", *(path for path in NAMES if path != "README" and chance.random() < 0.5)]
    resolve = world.project.tree.resolve
    world.project.claims.claim(ALICE, [resolve(path, literal=True) for path in mine])
    for path in NAMES:
        change(world, chance, path)
    write(world, chance, "README")
    want = tree_by_plain_git(world, mine, monkeypatch)
    disk, index = on_disk(world), world.index(*mine)
    if way == "long":
        monkeypatch.setattr("dibs.services.commits.build.can_be_short", lambda *_: False)

    if want == world.git("rev-parse", "HEAD^{tree}"):
        with pytest.raises(NotFound):
            world.commit(ALICE)
    else:
        world.committed(ALICE)

    assert world.git("rev-parse", "HEAD^{tree}") == want
    assert (on_disk(world), world.index(*mine)) == (disk, index)
