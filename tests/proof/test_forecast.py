"""A forecast agrees with a real merge about random work: the same verdict and the same paths."""

from __future__ import annotations

import os
from itertools import combinations
from random import Random

import pytest
from proof_merges import commit, git, lay_out, really_merged, start, worked, written
from tests.soak import effort, seeds

from dibs.config.load import Config
from dibs.core.changes.forecasts import can_meet
from dibs.engines.memory import MemoryEngine
from dibs.git.calls import GitCalls
from dibs.git.log import changes_between
from dibs.local.repository import find
from dibs.services.forecast.service import Forecasts
from dibs.services.state.store import Store

#: Each seed is a repository with 21 pairs of branches, or 10 pairs of working trees.
SEEDS = seeds(40)
#: Pairs of sides to check for possible conflicts.
PAIRS = effort(500, 5_000)
BRANCHES, TREES = 6, 4


@pytest.fixture
def repo(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith(("GIT_", "DIBS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    return root


def forecast(root):
    return Forecasts(Store(MemoryEngine(), Config()), find(str(root))).once()


def told(found):
    return {pair.names: {clash.path for clash in pair.clashes} for pair in found.pairs}


def really(root, heads, forecasted):
    """Return the pairs that conflict in a real merge, in forecast order.

    If git fails on a conflict, only its existence can be compared.
    """
    scratch = root.parent / "scratch"
    git(root, "worktree", "add", "-q", "--detach", str(scratch))
    found = {}
    for one, other in combinations(heads, 2):
        paths = really_merged(scratch, heads[one], heads[other])
        if paths != set():
            found[one, other] = paths if paths is not None else forecasted.get((one, other))
    return found


def histories(root, random):
    """Create a base and branches: some start from others, some merge two, and the base advances."""
    files = {"main": start(random)}
    heads = {"main": commit(root, "main", files["main"], [])}
    for number in range(BRANCHES):
        origin = random.choice(["main", "main", random.choice(sorted(files))])
        name = f"b{number}"
        parents = [heads[origin]]
        if random.random() < 0.15:
            second = heads[random.choice(sorted(heads))]
            parents += [second] if second not in parents else []
        files[name] = worked(random, files[origin], random.randrange(1, 7))
        heads[name] = commit(root, f"agent/{name}", files[name], parents)
        if random.random() < 0.3:
            files["main"] = worked(random, files["main"], 2)
            heads["main"] = commit(root, "main", files["main"], [heads["main"]])
    git(root, "checkout", "-q", "-f", "main")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_forecast_reports_exactly_the_conflicts_of_a_merge(repo, seed):
    histories(repo, Random(seed))

    found = forecast(repo)

    assert found.left == ()
    heads = {party.name: party.commit for party in found.parties}
    assert told(found) == really(repo, heads, told(found))


@pytest.mark.parametrize("seed", SEEDS)
def test_uncommitted_work_is_forecast_as_if_it_were_committed(repo, seed):
    random = Random(1_000 + seed)
    files = start(random)
    base = commit(repo, "main", files, [])
    git(repo, "checkout", "-q", "-f", "main")
    for number in range(TREES):
        tree = repo.parent / f"t{number}"
        mine = worked(random, files, random.randrange(4))
        commit(repo, f"agent/t{number}", mine, [base])
        git(repo, "worktree", "add", "-q", str(tree), f"agent/t{number}")
        lay_out(tree, worked(random, mine, random.randrange(5)))
        if random.random() < 0.4:
            git(tree, "add", "-A")
            lay_out(tree, worked(random, mine, random.randrange(1, 5)))
    before = traces(repo)

    found = forecast(repo)

    assert traces(repo) == before
    heads = {"main": base}
    for number in range(TREES):
        tree = repo.parent / f"t{number}"
        git(tree, "add", "-A")
        git(tree, "commit", "-q", "--allow-empty", "-m", "all")
        heads[f"t{number}"] = git(tree, "rev-parse", "HEAD").decode().strip()
    assert [party.name for party in found.parties] == list(heads)
    assert told(found) == really(repo, heads, told(found))


def test_work_that_cannot_conflict_merges_cleanly(repo):
    random = Random(7)
    base = start(random)
    while len(base) < 12:
        base = start(random)
    first = commit(repo, "main", base, [])
    sides = [worked(random, base, random.randrange(1, 4)) for _ in range(2 * PAIRS)]
    stream = [written(f"s{place}", side, [first]) for place, side in enumerate(sides)]
    git(repo, "fast-import", "--quiet", "--force", given=b"".join(stream))
    names = [f"refs/heads/s{place}" for place in range(len(sides))]
    tips = git(repo, "rev-parse", *names).decode().split()
    known = changes_between(GitCalls(str(repo)), [(first, tip) for tip in tips])

    apart = [
        (one, other)
        for one, other in zip(tips[::2], tips[1::2], strict=True)
        if not can_meet(known[first, one], known[first, other])
    ]

    assert len(apart) > PAIRS / 10
    given = "".join(f"{one} {other}\n" for one, other in apart).encode()
    said = git(repo, "merge-tree", "--write-tree", "--no-messages", "-z", "--stdin", given=given)
    assert [part[:1] for part in said.split(b"\0\0") if part] == [b"1"] * len(apart)


def traces(root):
    """Return what a forecast could leave behind: refs, indexes, objects, files."""
    folder = root / ".git"
    indexes = [folder / "index", *sorted(folder.glob("worktrees/*/index"))]
    return (
        git(root, "for-each-ref"),
        [index.read_bytes() for index in indexes],
        git(root, "count-objects", "-v"),
        sorted(p.name for p in (folder / "dibs").glob("*") if p.name != "forecast.json"),
    )
