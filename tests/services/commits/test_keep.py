"""A line that is in the last commit and on disk is in the commit: hooks, races, faults, and merges."""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from pathlib import Path

import pytest
from tests.services.commit_world import ALICE, World
from tests.services.merge_yard import git, put

import dibs
from dibs.errors import Unavailable
from dibs.git.calls import GitCalls
from dibs.git.merge_tree import MergeOutcome, merged
from dibs.services.board import commits as board
from dibs.services.commits import build
from dibs.services.commits.keep import DroppedLines, keep_merge
from dibs.services.commits.values import CommitDenied

pytestmark = pytest.mark.usefixtures("own_git")

TEXT = "".join(f"line {number}\n" for number in range(1, 11))
PATH = "src/text"
SOURCE = Path(dibs.__file__).parent


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path / "tree")
    made.put(PATH, TEXT)
    made.put("blob", b"\0one")
    made.put("kept", "kept\n")
    made.git("add", "-A")
    made.git("commit", "-q", "-m", "text")
    made.claim(ALICE, "src/", "blob", "kept", ".gitignore")
    return made


def hook(world, text):
    place = os.path.join(world.root, ".git/hooks/pre-commit")
    os.makedirs(os.path.dirname(place), exist_ok=True)
    with open(place, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\nset -e\n{text}\n")
    os.chmod(place, 0o755)


def staging(path, command):
    """Return a hook that stages the output of a command as a file, which stays as it is on disk."""
    blob = f"blob=$( {command} | git hash-object -w --stdin)"
    return f"{blob}\ngit update-index --cacheinfo 100644,$blob,{path}"


def landed(world, path=PATH):
    return f"{world.git('show', f'HEAD:{path}')}\n"


def test_only_keep_makes_trees_that_may_land():
    makers = {"dibs/services/commits/keep.py"}
    found = {
        str(path.relative_to(SOURCE.parent)): path.read_text("utf-8")
        for path in SOURCE.rglob("*.py")
    }
    assert {name for name, text in found.items() if re.search(r"\bKept\(", text)} == makers


# -- hooks


def test_a_hook_that_stages_a_version_without_a_landed_line_is_refused(world):
    hook(world, staging(PATH, f"grep -v 'line 5' {PATH}"))
    world.put(PATH, f"{TEXT}by alice\n")
    before = world.head(), world.index()
    answer = world.commit(ALICE)
    assert isinstance(answer, CommitDenied)
    assert (answer.code, answer.hook) == ("HOOK_REFUSED", "pre-commit")
    (stop,) = answer.blocked
    assert (stop.path, stop.why, stop.landed) == (PATH, "dropped", ("line 5",))
    assert answer.reason == f"the pre-commit hook staged {PATH} without lines that have landed"
    assert (world.head(), world.index()) == before


def test_a_hook_may_stage_another_version_that_keeps_what_landed(world):
    hook(world, staging(PATH, f"(echo top; cat {PATH})"))
    world.put(PATH, f"{TEXT}by alice\n")
    world.committed(ALICE)
    assert landed(world) == f"top\n{TEXT}by alice\n"


def test_a_hook_that_changes_the_disk_and_stages_it_is_fine(world):
    hook(world, f"sed -i 's/line 5/line five/' {PATH}\ngit add {PATH}")
    world.put(PATH, f"{TEXT}by alice\n")
    world.committed(ALICE)
    assert landed(world) == f"{TEXT}by alice\n".replace("line 5", "line five")
    assert world.dirty() == set()


@pytest.mark.parametrize("path", [PATH, "kept"])
def test_a_hook_that_only_deletes_a_file_from_the_index_is_refused(world, path):
    hook(world, f"git update-index --force-remove {path}")
    world.put(PATH, f"{TEXT}by alice\n")
    answer = world.commit(ALICE)
    assert isinstance(answer, CommitDenied)
    assert [(stop.path, stop.landed[:1]) for stop in answer.blocked] == [
        (path, ("kept" if path == "kept" else "line 1",))
    ]


def test_a_hook_may_not_stage_another_binary_file_than_on_disk(world):
    hook(world, staging("blob", "echo other"))
    world.put("blob", b"\0two")
    answer = world.commit(ALICE)
    assert isinstance(answer, CommitDenied)
    assert [(stop.path, stop.landed) for stop in answer.blocked] == [("blob", ())]


# -- the disk changes meanwhile


def test_a_file_that_changes_during_the_commit_is_staged_again(world):
    hook(world, f"echo 'line 5' >> {PATH}")
    world.put(PATH, TEXT.replace("line 5\n", ""))
    world.committed(ALICE)
    assert "line 5\n" in landed(world)


def test_a_file_that_keeps_changing_is_a_conflict(world):
    # Each run of the hook brings back the line that was missing when the file was staged.
    text = TEXT.replace("\n", r"\n")
    hook(
        world,
        "echo >> .git/runs\nn=$(($(wc -l < .git/runs) + 1))\n"
        f"printf '{text}' | grep -vx \"line $n\" > {PATH}",
    )
    world.put(PATH, TEXT.replace("line 1\n", ""))
    before = world.head()
    with pytest.raises(Unavailable, match="kept changing on disk") as caught:
        world.commit(ALICE)
    assert (caught.value.code, world.head()) == ("CONFLICT", before)
    with open(os.path.join(world.root, ".git/runs"), encoding="utf-8") as file:
        assert len(file.readlines()) == build.TRIES


@pytest.mark.parametrize("way", ["short", "long"])
def test_a_file_that_flickers_while_it_is_staged_is_staged_again(world, monkeypatch, way):
    step, name = {"short": (build._commit_in, "_commit_in"), "long": (build.add, "add")}[way]
    tries = []

    def flicker(*words):
        tries.append(way)
        if len(tries) == 1:
            world.put(PATH, TEXT.replace("line 5\n", ""))
        answer = step(*words)
        world.put(PATH, f"{TEXT}by alice\n")
        return answer

    monkeypatch.setattr(build, name, flicker)
    if way == "long":
        monkeypatch.setattr(build, "can_be_short", lambda *_: False)
    world.put(PATH, f"{TEXT}by alice\n")
    world.committed(ALICE)
    assert (landed(world), len(tries)) == (f"{TEXT}by alice\n", 2)


# -- faults of Dibs's own


def test_a_commit_that_lacks_a_landed_line_is_an_internal_error_and_nothing_moves(
    world, monkeypatch
):
    step = build._finish

    def broken(job, parent, variables=None):
        blob = world.git("hash-object", "-w", "--stdin", given=TEXT[7:].encode())
        with monkeypatch.context() as own:
            own.setenv("GIT_INDEX_FILE", job.private)
            world.git("update-index", "--cacheinfo", f"100644,{blob},{PATH}")
        return step(job, parent, variables)

    monkeypatch.setattr(build, "_finish", broken)
    monkeypatch.setattr(build, "can_be_short", lambda *_: False)
    world.put(PATH, f"{TEXT}by alice\n")
    before = world.head(), world.dirty()
    with pytest.raises(DroppedLines, match=f"{PATH}: line 1") as caught:
        world.commit(ALICE)
    assert (caught.value.code, caught.value.exit_status) == ("INTERNAL", 70)
    assert (world.head(), world.dirty()) == before


def test_a_board_commit_that_lacks_a_landed_line_changes_nothing(tmp_path, monkeypatch):
    tree = tmp_path / "tree"
    tree.mkdir()
    for words in (("init", "-q", "-b", "main"), ("config", "user.name", "Ann"),
                  ("config", "user.email", "ann@example.org")):  # fmt: skip
        git(tree, *words)
    put(tree, "work/inbox/a.yaml", "id: a\nstatus: new\ntitle: x\n")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "first")
    put(tree, "work/inbox/a.yaml", "id: a\nstatus: new\ntitle: x\nmore: y\n")
    find = board.changes

    def broken(calls, *words):
        blob = git(tree, "hash-object", "-w", "--stdin", given="id: a\nmore: y\n")
        return [
            change._replace(entries=tuple((path, f"100644 {blob}") for path, _ in change.entries))
            for change in find(calls, *words)
        ]

    monkeypatch.setattr(board, "changes", broken)
    before = git(tree, "rev-parse", "HEAD")
    done = board.commit(str(tree), "work", by=lambda _: board.BoardAuthor("bob"))
    assert "work/inbox/a.yaml changed meanwhile" in done.left
    assert git(tree, "rev-parse", "HEAD") == before


# -- merges


NAMES = ("a", "b", "c/d", "c/e", "new", "moved")


def grow(tree, chance, words):
    """Change some files of a branch in a random way, and commit."""
    for _ in range(chance.randint(1, 3)):
        path = tree / chance.choice(NAMES)
        kind = chance.random()
        if path.exists() and kind < 0.15:
            path.unlink()
        elif path.exists() and kind < 0.35 and not (tree / "moved").exists():
            path.rename(tree / "moved")
        else:
            path.parent.mkdir(exist_ok=True)
            lines = (
                path.read_text().splitlines()
                if path.exists()
                else [f"{path.name} {n}" for n in range(12)]
            )
            lines[chance.randrange(len(lines))] = f"{words} {chance.random()}"
            path.write_text("".join(f"{line}\n" for line in lines))
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "--allow-empty", "-m", words)


@pytest.mark.parametrize("seed", range(5))
def test_every_clean_merge_of_random_branches_is_kept(tmp_path, seed):
    chance, tree = random.Random(seed), tmp_path / "tree"
    tree.mkdir()
    git(tree, "init", "-q", "-b", "main")
    git(tree, "config", "user.name", "Ann")
    git(tree, "config", "user.email", "ann@example.org")
    for name in NAMES[:4]:
        put(tree, name, "".join(f"{name} {n}\n" for n in range(12)))
    grow(tree, chance, "base")
    git(tree, "branch", "other")
    calls, kept = GitCalls(str(tree)), Counter()
    for turn in range(6):
        for branch in ("main", "other"):
            git(tree, "switch", "-q", branch)
            grow(tree, chance, f"{branch}{turn}")
        ours, theirs = git(tree, "rev-parse", "main"), git(tree, "rev-parse", "other")
        outcome = merged(calls, ours, theirs)
        if outcome.clashes:
            git(tree, "reset", "-q", "--hard", "main")
            continue
        one = keep_merge(calls, ours, theirs, outcome)
        assert (one.tree, one.parents) == (outcome.tree, (ours, theirs))
        kept["clean"] += 1
        if chance.random() < 0.4:  # each side merges the other: two merge bases
            for branch, tip in (("main", theirs), ("other", ours)):
                git(tree, "switch", "-q", branch)
                git(tree, "merge", "-q", "-m", "across", tip)
    assert kept["clean"]


def test_a_merge_that_lacks_what_one_side_changed_is_refused(tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    git(tree, "init", "-q", "-b", "main")
    git(tree, "config", "user.name", "Ann")
    git(tree, "config", "user.email", "ann@example.org")
    put(tree, "a", TEXT)
    put(tree, "b", "b\n")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "first")
    git(tree, "switch", "-q", "-c", "other")
    put(tree, "a", f"{TEXT}theirs\n")
    git(tree, "commit", "-q", "-am", "theirs")
    git(tree, "switch", "-q", "main")
    put(tree, "b", "ours\n")
    git(tree, "commit", "-q", "-am", "ours")
    calls = GitCalls(str(tree))
    ours, theirs = git(tree, "rev-parse", "main"), git(tree, "rev-parse", "other")
    for tree_of in ("main", "other", "main~1"):  # theirs, ours, or both are missing
        wrong = MergeOutcome(git(tree, "rev-parse", f"{tree_of}^{{tree}}"))
        with pytest.raises(DroppedLines):
            keep_merge(calls, ours, theirs, wrong)
    keep_merge(calls, ours, theirs, merged(calls, ours, theirs))


@pytest.mark.parametrize("renamer", ["main", "other"])
def test_a_file_that_one_side_renamed_and_the_other_changed_is_kept(tmp_path, renamer):
    tree = tmp_path / "tree"
    tree.mkdir()
    git(tree, "init", "-q", "-b", "main")
    git(tree, "config", "user.name", "Ann")
    git(tree, "config", "user.email", "ann@example.org")
    put(tree, "a", TEXT)
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "first")
    git(tree, "branch", "other")
    for branch in ("main", "other"):
        git(tree, "switch", "-q", branch)
        if branch == renamer:
            git(tree, "mv", "a", "moved")
        else:
            put(tree, "a", f"{TEXT}more\n")
        git(tree, "commit", "-q", "-am", branch)
    calls = GitCalls(str(tree))
    ours, theirs = git(tree, "rev-parse", "main"), git(tree, "rev-parse", "other")
    kept = keep_merge(calls, ours, theirs, merged(calls, ours, theirs))
    assert git(tree, "show", f"{kept.tree}:moved") == f"{TEXT}more"
