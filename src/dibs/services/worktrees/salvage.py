"""Save and restore work as commits under ``refs/salvage/<agent>/<time>``.

The tree of such a commit is the whole working tree, including untracked files. Its parents are: the commit
that was checked out; the index, if anything was staged; the exact bytes of changed files, if git stores them
differently (line endings); and everything else that only the worktree had, such as stashes, the sides of a
merge, and commits without a branch.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time

from dibs.core.text.names import check_branch, quote
from dibs.errors import BadInput, NotFound, Unavailable
from dibs.git.refs import HEADS, commit_of
from dibs.git.snapshot import exact_tree, quarantined, snapshot, still_holds, write_exact
from dibs.git.state import common_of, read_state
from dibs.git.trees import TreeChange, differences
from dibs.services.worktrees.place import cannot_hold
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dibs.git.calls import GitCalls

REFS = "refs/salvage/"
#: Write everything to disk before anything is deleted.
_SAFE = ("-c", "core.fsync=all")
_NAME = "Dibs"
_NAMES = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", _NAME), ("EMAIL", "dibs@localhost"))
}
#: Files in a git directory that may name the only reference to a commit.
_SIDES = (
    "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "ORIG_HEAD", "REBASE_HEAD",
    "rebase-merge/orig-head", "rebase-apply/orig-head",
)  # fmt: skip
_MOST_PARENTS = 60
#: The start of the message of a commit that stores exact bytes.
_EXACT = "bytes of "
#: The content of a pack's .keep file, and after how many seconds its process must be dead.
_KEEP, _FORGOTTEN = "dibs salvage", 86_400.0
_PAUSES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.5, 0.5, 0.0)


class Salvaged(Record):
    """An entry of salvaged work."""

    id: str
    commit: str
    #: When it was saved, in seconds of Unix time.
    at: int
    subject: str

    @property
    def ref(self) -> str:
        """The full name of its ref."""
        return REFS + self.id


class SalvageView(Record):
    """Salvaged work in detail."""

    found: Salvaged
    message: str
    head: str
    #: How it differs from the commit that was checked out.
    changes: list[TreeChange]


def save(
    git: GitCalls, *, agent: str, about: str, at: float,
    extra: Sequence[str] = (), also: Iterable[str] = (),
) -> Salvaged:  # fmt: skip
    """Save everything in the working tree of ``git``, and verify it by reading it back.

    Until a ref names the commit, ``git gc`` could delete it, so it is written to a temporary folder and
    enters the repository as a pack with a .keep file.
    """
    subject = f"salvage: {about}"
    git_dir = os.fsdecode(git.must("rev-parse", "--absolute-git-dir").removesuffix(b"\n"))
    with tempfile.TemporaryDirectory(prefix="dibs-salvage-") as objects:
        seen = snapshot(git, objects=objects, thorough=True, extra=extra)
        there = quarantined(git_dir, objects)
        parents = [seen.head] if seen.head else []
        if seen.index_tree and seen.index_tree != seen.head_tree:
            parents.append(_commit(git, seen.index_tree, parents, f"index of {agent}", there))
        exact = exact_tree(git, differences(git, seen.head_tree, seen.tree, there), there)
        if exact:
            parents.append(_commit(git, exact, (), f"{_EXACT}{agent}", there))
        parents += [*also, *sides(git, git_dir)]
        commit = _commit(git, seen.tree, parents, subject, there)
        keep = _bring_in(git, commit, git_dir, there)
    saved = _name(git, agent, commit, at, subject)
    os.unlink(keep)
    _verify(git, saved, seen.tree)
    return saved


def _bring_in(git: GitCalls, commit: str, git_dir: str, there: Mapping[str, str]) -> str:
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
    return os.path.join(common_of(git_dir), "objects", "pack", f"pack-{name}.keep")


def save_commits(
    git: GitCalls, *, agent: str, about: str, at: float, tree: str, parents: Sequence[str]
) -> Salvaged:
    """Save the index and commits of a worktree whose files are missing."""
    commit = _commit(git, tree, parents, f"salvage: {about}")
    return _name(git, agent, commit, at, f"salvage: {about}")


def sides(git: GitCalls, git_dir: str) -> list[str]:
    """Return commits that git records in files during an operation such as a merge."""
    found: list[str] = []
    for name in _SIDES:
        try:
            with open(os.path.join(git_dir, name), encoding="ascii") as file:
                found += [oid for line in file if (oid := commit_of(git, line.strip()))]
        except (OSError, UnicodeDecodeError):
            continue
    return found


def sweep(common: str, now: float) -> None:
    """Delete .keep files that dead processes left, so that git can collect the packs again."""
    packs = os.path.join(common, "objects", "pack")
    for name in os.listdir(packs):
        path = os.path.join(packs, name)
        with contextlib.suppress(FileNotFoundError):
            if name.endswith(".keep") and now - os.stat(path).st_mtime > _FORGOTTEN:
                with open(path, "rb") as file:
                    ours = file.read(100).strip() == _KEEP.encode()
                if ours:
                    os.unlink(path)


def _commit(
    git: GitCalls,
    tree: str,
    parents: Iterable[str],
    message: str,
    there: Mapping[str, str] | None = None,
) -> str:
    named = [word for oid in list(dict.fromkeys(parents))[:_MOST_PARENTS] for word in ("-p", oid)]
    out = git.must(
        *_SAFE, "-c", "commit.gpgSign=false", "commit-tree", *named, tree,
        given=f"{message}\n".encode("utf-8", "backslashreplace"), variables={**_NAMES, **(there or {})},
    )  # fmt: skip
    return out.decode().strip()


def _name(git: GitCalls, agent: str, commit: str, at: float, subject: str) -> Salvaged:
    """Create a new ref under ``refs/salvage/`` for a commit."""
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(at))
    for number in range(1, 1000):
        name = f"{_component(agent)}/{moment}" + (f"-{number}" if number > 1 else "")
        given = f"create {REFS}{name}\0{commit}\0".encode()
        result = git.run(*_SAFE, "update-ref", "--stdin", "-z", given=given)
        if not result.code:
            return Salvaged(name, commit, int(at), subject)
        if not commit_of(git, REFS + name):
            break
    raise Unavailable(f"cannot salvage the work of {agent}: {result.err}", code="GIT_FAILED")


def _component(agent: str) -> str:
    """Return an agent's ID as a valid component of a ref name."""
    safe = agent.replace("..", "__")
    return f"{safe}_" if safe.endswith((".lock", ".")) else safe


def _verify(git: GitCalls, saved: Salvaged, tree: str) -> None:
    """Raise unless git can read everything back, and the working tree has not changed meanwhile."""
    named = git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{saved.ref}^{{tree}}")
    whole = git.run("rev-list", "--objects", "--quiet", "--end-of-options", saved.ref)
    if whole.code or named.out.decode().strip() != tree:
        git.run("update-ref", "-d", saved.ref)
        raise Unavailable(f"git cannot read {saved.ref} back: {whole.err}", code="GIT_FAILED")
    if not still_holds(git, tree):
        raise Unavailable(
            "the worktree changed while its work was being saved; nothing was removed",
            code="GIT_FAILED",
            hint="try again when no one is working there",
        )


def listed(git: GitCalls) -> list[Salvaged]:
    """Return all salvaged work, newest first."""
    out = git.must(
        "for-each-ref", "--sort=-creatordate",
        "--format=%(refname)%00%(objectname)%00%(creatordate:unix)%00%(contents:subject)%00%00", REFS,
    )  # fmt: skip
    found = []
    for record in out.split(b"\0\0"):
        words = os.fsdecode(record).strip("\n").split("\0")
        if len(words) == 4:  # noqa: PLR2004 - the fields of the format
            name, commit, at, subject = words
            found.append(Salvaged(name.removeprefix(REFS), commit, int(at or 0), subject))
    return found


def find(git: GitCalls, name: str) -> Salvaged:
    """Return salvaged work by its ID, or by its agent if that has only one entry."""
    wanted = name.removeprefix(REFS)
    every = listed(git)
    found = [s for s in every if s.id == wanted] or [
        s for s in every if s.id.startswith(f"{wanted}/")
    ]
    if len(found) == 1:
        return found[0]
    several = f"{quote(name)} has {len(found)} salvage entries; name one by its ID"
    raise NotFound(
        several if found else f"no salvaged work named {quote(name)}",
        code="NO_SALVAGE",
        hint="`dibs salvage ls` lists the IDs",
    )


def show(git: GitCalls, name: str) -> SalvageView:
    """Return salvaged work in detail."""
    found = find(git, name)
    message = git.must(
        "log", "-1", "--no-show-signature", "--format=%B", "--end-of-options", found.commit, "--"
    )
    head = commit_of(git, f"{found.commit}^1")
    changes = differences(git, head, found.commit)
    return SalvageView(found, message.decode("utf-8", "replace").strip(), head, changes)


def restore_branch(git: GitCalls, name: str, branch: str = "") -> tuple[Salvaged, str]:
    """Create a branch from the commit that was checked out, plus one commit with the salvaged files."""
    found = find(git, name)
    # Not salvage/…, which git would confuse with the ref of the same name under refs/.
    wanted = check_branch(branch or f"salvaged/{found.id}")
    head = commit_of(git, f"{found.commit}^1")
    commit = _commit(git, f"{found.commit}^{{tree}}", [head] if head else [], found.subject)
    given = f"create {HEADS}{wanted}\0{commit}\0".encode()
    result = git.run("update-ref", "--stdin", "-z", given=given)
    if result.code:
        there = commit_of(git, HEADS + wanted)
        why = "already exists" if there else f"cannot be created: {result.err}"
        raise BadInput(
            f"branch {wanted} {why}", code="BRANCH_EXISTS", field="branch",
            hint="choose another name with --branch",
        )  # fmt: skip
    return found, wanted


def restore_folder(git: GitCalls, name: str, folder: str) -> tuple[Salvaged, str]:
    """Write the salvaged files to a new folder, changed ones with their exact bytes."""
    found = find(git, name)
    place = os.path.realpath(folder)
    if why := cannot_hold(place, os.path.realpath(read_state(git).common)):
        raise BadInput(f"{quote(folder)} {why}", code="WORKTREE_FOLDER", field="to")
    if os.path.lexists(place) and (not os.path.isdir(place) or os.listdir(place)):
        raise BadInput(
            f"{quote(folder)} exists and is not empty", code="FOLDER_EXISTS", field="to",
            hint="choose a new folder",
        )  # fmt: skip
    os.makedirs(place, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="dibs-restore-") as scratch:
        index = {"GIT_INDEX_FILE": os.path.join(scratch, "index")}
        git.must("read-tree", "--end-of-options", found.commit, variables=index)
        git.must("checkout-index", "--all", f"--prefix={place}/", variables=index)
    write_exact(git, place, _bytes_of(git, found.commit))
    return found, place


def _bytes_of(git: GitCalls, commit: str) -> dict[str, str]:
    """Return the object with the exact bytes of each changed file."""
    output = git.must("rev-list", "--parents", "-1", "--end-of-options", commit, "--")
    parents = output.decode().split()[1:4]
    head = parents[0] if parents else ""
    stored = {c.path: c.new_oid for c in differences(git, head, commit) if c.is_file}
    for parent in parents[1:]:
        output = git.must(
            "log", "-1", "--no-show-signature", "--format=%cn: %s", "--end-of-options", parent, "--"
        )
        if output.decode("utf-8", "replace").startswith(f"{_NAME}: {_EXACT}"):
            exact = {c.path: c.new_oid for c in differences(git, "", parent)}
            stored = {path: exact.get(path, oid) for path, oid in stored.items()}
    return stored


class Salvage:
    """The salvaged work of one clone; ``calls`` runs git in its main tree."""

    def __init__(self, calls: Callable[[], GitCalls]) -> None:
        self._calls = calls

    def all(self) -> list[Salvaged]:
        """Return all salvaged work, newest first."""
        return listed(self._calls())

    def show(self, name: str) -> SalvageView:
        """Return an entry in detail."""
        return show(self._calls(), name)

    def to_branch(self, name: str, branch: str = "") -> tuple[Salvaged, str]:
        """Restore an entry as a new branch."""
        return restore_branch(self._calls(), name, branch)

    def to_folder(self, name: str, folder: str) -> tuple[Salvaged, str]:
        """Restore an entry as a new folder."""
        return restore_folder(self._calls(), name, folder)
