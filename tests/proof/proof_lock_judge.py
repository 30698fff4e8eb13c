"""The judge of a branch with lock files: it reads the history, and reports every broken rule."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from proof_lock_files import LOCK_AGE, TIME, files_at, owner, plain_git, seconds, stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from proof_lock_files import Entry, World

#: How much the clocks of machines may differ, in seconds.
SKEW = 2
OURS = re.compile(r"(claim|done|release|expire|renew): (.+?)(?:, held)? by \S+")


class Tree(NamedTuple):
    """What one commit of the branch contains."""

    sha: str
    time: int
    subject: str
    locks: Mapping[str, str] = MappingProxyType({})
    pending: frozenset[str] = frozenset()
    done: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()


def judge(world: World) -> list[str]:
    """Return every rule that the branch, its reflog, or the diary breaks."""
    trees = list(history(world.bare))
    return [
        *world.faults,
        *rewritten(world.bare),
        *judge_history(trees, dict.fromkeys(world.dead, world.ttl)),
        *judge_diary(world.diary),
        *unfounded(world.diary, trees),
    ]


def history(bare: Path) -> Iterator[Tree]:
    """Return every commit of the branch, oldest first."""
    log = plain_git(bare, "log", "--first-parent", "--reverse", "--format=%H %ct %s", "main")
    before: dict[str, str] = {}
    for line in log.splitlines():
        sha, when, subject = line.split(" ", 2)
        files = files_at(bare, sha)
        changed = {path for path in {*before, *files} if before.get(path) != files.get(path)}
        before = files
        yield Tree(
            sha[:10], int(when), subject,
            {stem(p): files[p] for p in files if _in(p, "current_tasks/")},
            frozenset(stem(p) for p in files if _in(p, "tasks/pending/")),
            frozenset(stem(p) for p in files if _in(p, "tasks/done/")),
            frozenset(changed),
        )  # fmt: skip


def judge_history(trees: Iterable[Tree], dead: Mapping[str, int] | None = None) -> list[str]:
    """Return every rule that a sequence of commits breaks.

    ``dead`` maps killed agents to the seconds that a claim of theirs lasts in its store, whose other agents
    then replace the lock at once.
    """
    faults: list[str] = []
    before = Tree("", 0, "")
    for tree in trees:
        faults += [
            f"{tree.sha} {tree.subject!r}: {fault}" for fault in _step(before, tree, dead or {})
        ]
        before = tree
    return faults


def _step(old: Tree, new: Tree, dead: Mapping[str, int]) -> Iterator[str]:
    for task, lock in old.locks.items():
        if task not in new.locks:
            yield from _freed(task, lock, old, new, dead)
        elif identity(lock) != identity(new.locks[task]) and new.subject != "time passes":
            yield f"{task} goes from {owner(lock)} to {owner(new.locks[task])}, never free"
    for task in new.locks.keys() - old.locks.keys():
        if task not in new.pending and owner(new.locks[task]).startswith("dibs"):
            yield f"{task} is locked but not pending"
    yield from _tasks(old, new)
    if found := OURS.match(new.subject):
        folders = "(current_tasks|tasks/pending|tasks/done)"
        names = "|".join(map(re.escape, found[2].split(", ")))
        allowed = re.compile(rf"{folders}/({names})\.\w+")
        yield from (
            f"changes {path}"
            for path in sorted(new.changed)
            if not allowed.fullmatch(path) and not path.endswith("/.gitkeep")
        )


def _tasks(old: Tree, new: Tree) -> Iterator[str]:
    for task in old.pending - new.pending - new.done:
        yield f"{task} is lost"
    for task in old.done - new.done:
        yield f"{task} was done and is no longer"
    for task in new.pending & new.done:
        yield f"{task} is pending and done"


def _freed(task: str, lock: str, old: Tree, new: Tree, dead: Mapping[str, int]) -> Iterator[str]:
    """Check a commit that removes a lock: by its owner, or after its time."""
    who = owner(lock)
    ends = expires(lock, old.time)
    claimed = re.search(rf"(?m)^claimed: ({TIME})$", lock)
    if who in dead and claimed and re.search(r"(?m)^dibs: ", lock):
        ends = min(ends, seconds(claimed[1]) + dead[who])
    if new.subject == f"done: {task} by {who}":
        if task not in new.done or task in new.pending:
            yield f"{task} was not moved"
    elif new.subject.startswith(f"expire: {task},"):
        if new.time + SKEW < ends:
            yield f"{task} expires {ends - new.time} s early"
    elif new.subject != f"release: {task} by {who}":
        yield f"the lock of {who} on {task} disappears"


def identity(lock: str) -> tuple[str, ...]:
    """Return what does not change while one owner renews its lock."""
    lines = [line for line in lock.splitlines() if not line.startswith("expires:")]
    return tuple(sorted(lines))


def expires(lock: str, committed: int) -> int:
    """Return when a lock expires, by what it states."""
    for field, more in (("expires", 0), ("claimed", LOCK_AGE)):
        if found := re.search(rf"(?m)^{field}: ({TIME})$", lock):
            return seconds(found[1]) + more
    return committed + LOCK_AGE


def judge_diary(diary: Iterable[Entry]) -> list[str]:
    """Return every task that two agents worked on at the same time."""
    faults, owners = [], dict[str, str]()
    for entry in sorted(diary):
        if not entry.owns:
            if owners.get(entry.task) == entry.agent:
                del owners[entry.task]
        elif other := owners.get(entry.task):
            faults.append(f"{entry.agent} and {other} work on {entry.task} at the same time")
        else:
            owners[entry.task] = entry.agent
    return faults


def unfounded(diary: Iterable[Entry], trees: list[Tree]) -> list[str]:
    """Return every belief that no commit on the branch supports."""
    held = {(task, owner(lock)) for tree in trees for task, lock in tree.locks.items()}
    return [
        f"{entry.agent} believes it owns {entry.task}, but never had its lock"
        for entry in diary
        if entry.owns and (entry.task, entry.agent) not in held
    ]


def rewritten(bare: Path) -> list[str]:
    """Return every push that removed commits from the branch."""
    log = plain_git(bare, "reflog", "show", "--format=%H", "main").split()
    line = set(plain_git(bare, "rev-list", "main").split())
    return [f"{sha[:10]} is no longer on the branch" for sha in log if sha not in line]


def _in(path: str, folder: str) -> bool:
    file = path.removeprefix(folder)
    return file != path and "/" not in file and file != ".gitkeep"
