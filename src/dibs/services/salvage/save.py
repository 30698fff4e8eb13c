"""Save work as commits under ``refs/salvage/<agent>/<time>``, and ignored files next to them.

The tree of such a commit is the whole working tree, including untracked files. Its parents are: the commit
that was checked out; the index, if anything was staged; the exact bytes of changed files, if git stores them
differently (line endings); and everything else that only the worktree had, such as stashes, the sides of a
merge, and commits without a branch. Ignored files are stored by ``services/salvage/private.py``.

Until a ref names a commit, ``git gc`` could delete it. So it is written to a temporary folder first, and
enters the repository as a pack with a .keep file, which is deleted once the ref exists.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time

from dibs.errors import Unavailable
from dibs.git.calls import identity
from dibs.git.refs import commit_of
from dibs.git.snapshot import exact_tree, quarantined, snapshot, still_holds
from dibs.git.state import common_of, read_state
from dibs.git.trees import differences
from dibs.local.files import regular
from dibs.services.salvage.entries import EXACT, NAME, REFS, SUBJECT, Salvaged
from dibs.services.salvage.private import (
    add_private,
    chunks_of,
    digest_of,
    forget_drafts,
    has_private,
    private_entry,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dibs.git.calls import GitCalls

#: Write everything to disk before anything is deleted.
_SAFE = ("-c", "core.fsync=all")
#: Files in a git directory that may name the only reference to a commit.
_SIDES = (
    "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "ORIG_HEAD", "REBASE_HEAD",
    "rebase-merge/orig-head", "rebase-apply/orig-head",
)  # fmt: skip
_MOST_PARENTS = 60
#: The content of a pack's .keep file, and after how many seconds its process must be dead.
_KEEP, _FORGOTTEN = "dibs salvage", 86_400.0
_PAUSES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.5, 0.5, 0.0)


def save(
    git: GitCalls, *, agent: str, about: str, at: float,
    extra: Sequence[str] = (), also: Iterable[str] = (),
) -> Salvaged:  # fmt: skip
    """Save everything in the working tree of ``git``, and verify it by reading it back.

    ``extra`` are ignored files to save, and ``also`` are commits.
    """
    subject = f"{SUBJECT}{about}"
    git_dir = os.fsdecode(git.must("rev-parse", "--absolute-git-dir").removesuffix(b"\n"))
    with tempfile.TemporaryDirectory(prefix="dibs-salvage-") as objects:
        seen = snapshot(git, objects=objects, thorough=True)
        there = quarantined(git_dir, objects)
        parents = [seen.head] if seen.head else []
        if seen.index_tree and seen.index_tree != seen.head_tree:
            parents.append(write_commit(git, seen.index_tree, parents, f"index of {agent}", there))
        if exact := exact_tree(git, differences(git, seen.head_tree, seen.tree, there), there):
            parents.append(write_commit(git, exact, (), f"{EXACT}{agent}", there))
        parents += [*also, *sides(git, git_dir)]
        commit = write_commit(git, seen.tree, parents, subject, there)
        saved = bring_in(
            git, commit, common_of(git_dir), there, agent=agent, at=at, subject=subject
        )
    _save_ignored(git.tree, common_of(git_dir), saved, extra)
    _verify(git, saved, seen.tree)
    return saved


def _save_ignored(tree: str, common: str, saved: Salvaged, paths: Sequence[str]) -> None:
    """Save ignored files beside a commit, and verify that they have not changed meanwhile."""
    if not paths:
        return
    places = {path: os.path.join(tree, path) for path in paths}
    modes = {path: os.lstat(place).st_mode for path, place in places.items()}
    files = {path: (modes[path], chunks_of(place, modes[path])) for path, place in places.items()}
    entry = None
    if add_private(common, saved.id, files, at=saved.at, subject=saved.subject):
        entry = private_entry(common, saved.id)
    if entry is None or any(
        digest_of(chunks_of(places[one.path], one.mode)) != one.digest for one in entry.files
    ):
        raise _changed_meanwhile()


def bring_in(
    git: GitCalls, commit: str, common: str, there: Mapping[str, str],
    *, agent: str, at: float, subject: str,
) -> Salvaged:  # fmt: skip
    """Add a commit and its objects to the repository, and create a ref for it that names its agent."""
    keep = _as_pack(git, commit, common, there)
    saved = _name(git, common, agent, Salvaged("", commit, int(at), subject))
    with contextlib.suppress(FileNotFoundError):
        os.unlink(keep)
    return saved


def _as_pack(git: GitCalls, commit: str, common: str, there: Mapping[str, str]) -> str:
    """Add the objects that no ref reaches to the repository, as a pack; return its .keep file."""
    new = git.must("rev-list", "--objects", commit, "--not", "--glob=refs/*", variables=there)
    pack = git.must("pack-objects", "--stdout", "-q", given=new, variables=there)
    for pause in _PAUSES:
        result = git.run(*_SAFE, "index-pack", "--stdin", f"--keep={_KEEP}", given=pack)
        if not result.code:
            break
        time.sleep(pause)  # `git prune` may delete a half-written pack
    else:
        raise Unavailable(f"cannot salvage the work: {result.err}", code="GIT_FAILED")
    name = result.out.decode().split()[-1]
    return os.path.join(common, "objects", "pack", f"pack-{name}.keep")


def save_commits(
    git: GitCalls, *, agent: str, about: str, at: float, tree: str, parents: Sequence[str]
) -> Salvaged:
    """Save the index and commits of a worktree whose files are missing."""
    subject, state = f"{SUBJECT}{about}", read_state(git)
    with tempfile.TemporaryDirectory(prefix="dibs-salvage-") as objects:
        there = quarantined(state.git_dir, objects)
        commit = write_commit(git, tree, parents, subject, there)
        return bring_in(git, commit, state.common, there, agent=agent, at=at, subject=subject)


def sides(git: GitCalls, git_dir: str) -> list[str]:
    """Return commits that git records in files during an operation such as a merge."""
    found: list[str] = []
    for name in _SIDES:
        try:
            with open(os.path.join(git_dir, name), encoding="ascii", opener=regular) as file:
                found += [oid for line in file if (oid := commit_of(git, line.strip()))]
        except (OSError, UnicodeDecodeError):
            continue
    return found


def sweep(common: str, now: float) -> None:
    """Delete what dead processes left: drafts, and .keep files, so that git can collect the packs again."""
    forget_drafts(common, now - _FORGOTTEN)
    packs = os.path.join(common, "objects", "pack")
    for name in os.listdir(packs):
        path = os.path.join(packs, name)
        with contextlib.suppress(FileNotFoundError):
            if name.endswith(".keep") and now - os.stat(path).st_mtime > _FORGOTTEN:
                with open(path, "rb", opener=regular) as file:
                    ours = file.read(100).strip() == _KEEP.encode()
                if ours:
                    os.unlink(path)


def write_commit(
    git: GitCalls,
    tree: str,
    parents: Iterable[str],
    message: str,
    there: Mapping[str, str] | None = None,
) -> str:
    """Write a commit of a tree; return its name."""
    named = [word for oid in list(dict.fromkeys(parents))[:_MOST_PARENTS] for word in ("-p", oid)]
    out = git.must(
        *_SAFE, "-c", "commit.gpgSign=false", "commit-tree", *named, tree,
        given=f"{message}\n".encode("utf-8", "backslashreplace"),
        variables={**identity(NAME), **(there or {})},
    )  # fmt: skip
    return out.decode().strip()


def ids(agent: str, at: float) -> Iterator[str]:
    """Yield the possible IDs of an agent's entry, in the order in which they are tried."""
    safe = agent.replace("..", "__")
    safe = f"{safe}_" if safe.endswith((".lock", ".")) else safe  # valid in a ref
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(at))
    for number in range(1, 1000):
        yield f"{safe}/{moment}" + (f"-{number}" if number > 1 else "")


def _name(git: GitCalls, common: str, agent: str, saved: Salvaged) -> Salvaged:
    """Create a new ref under ``refs/salvage/`` for a commit."""
    for name in ids(agent, saved.at):
        if has_private(common, name):
            continue
        given = f"create {REFS}{name}\0{saved.commit}\0".encode()
        result = git.run(*_SAFE, "update-ref", "--stdin", "-z", given=given)
        if not result.code:
            return saved._replace(id=name)
        if not commit_of(git, REFS + name):
            break
    raise Unavailable(f"cannot salvage the work of {agent}: {result.err}", code="GIT_FAILED")


def _verify(git: GitCalls, saved: Salvaged, tree: str) -> None:
    """Raise unless git can read everything back, and the working tree has not changed meanwhile."""
    named = git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{saved.ref}^{{tree}}")
    whole = git.run("rev-list", "--objects", "--quiet", "--end-of-options", saved.ref)
    if whole.code or named.out.decode().strip() != tree:
        git.run("update-ref", "-d", saved.ref)
        raise Unavailable(f"git cannot read {saved.ref} back: {whole.err}", code="GIT_FAILED")
    if not still_holds(git, tree):
        raise _changed_meanwhile()


def _changed_meanwhile() -> Unavailable:
    return Unavailable(
        "the worktree changed while its work was being saved; nothing was removed",
        code="GIT_FAILED",
        hint="try again when no one is working there",
    )
