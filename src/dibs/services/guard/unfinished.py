"""Files that an agent left uncommitted: what is kept of them; the next agent to claim one is told, once."""

from __future__ import annotations

import os
import stat
import tempfile

from dibs.core.patterns.overlap import matches
from dibs.errors import DibsError
from dibs.git.state import read_state
from dibs.git.status import changed
from dibs.git.untrusted import guarded_calls
from dibs.services.state.sessions import UnfinishedFile, drop_left
from dibs.services.worktrees.salvage import save_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dibs.core.patterns.pattern import Pattern
    from dibs.git.calls import GitCalls
    from dibs.local.repository import Repository
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

    #: Where it stands in the store that a file was left behind.
    Row = tuple[str, "UnfinishedFile"]

_LINK, _FILE, _PROGRAM, _NOTHING = "120000", "100644", "100755", "0"


def dirty_in(root: str, repository: Repository, patterns: Sequence[Pattern]) -> list[str] | None:
    """Return the changed files of a working tree that these patterns match; None where git cannot tell."""
    if not repository.common:
        return []
    try:
        found = changed(guarded_calls(root, repository))
    except (DibsError, OSError):
        return None
    return [c.path for c in found if any(matches(p, f"./{c.path}") for p in patterns)]


def keep(
    root: str, repository: Repository, agent: str, paths: Sequence[str], *, at: float, about: str
) -> str:
    """Keep a copy of files as they lie on the disk, on top of the last commit; return its ref.

    Where that cannot be done, the files themselves still lie where they are: the ref is empty.
    """
    try:
        git = guarded_calls(root, repository)
        head = read_state(git).head
        tree = _tree_with(git, root, head, paths)
        parents = [head] if head else []
        saved = save_commits(git, agent=agent, about=about, at=at, tree=tree, parents=parents)
        git.must("rev-list", "--objects", "--quiet", "--end-of-options", saved.ref)
    except (DibsError, OSError):
        return ""
    return saved.ref


def _tree_with(git: GitCalls, root: str, head: str, paths: Sequence[str]) -> str:
    """Return the last commit's tree with files as they lie on the disk, byte for byte."""
    with tempfile.TemporaryDirectory(prefix="dibs-left-") as scratch:
        index = {"GIT_INDEX_FILE": os.path.join(scratch, "index")}
        if head:
            git.must("read-tree", "--end-of-options", head, variables=index)
        rows = b"".join(_rows(git, root, paths))
        git.must("update-index", "-z", "--index-info", given=rows, variables=index)
        return git.must("write-tree", variables=index).decode().strip()


def _rows(git: GitCalls, root: str, paths: Sequence[str]) -> Iterator[bytes]:
    """Yield what an index holds of each file; one that is gone is taken out."""
    for path in paths:
        full = os.path.join(root, path)
        try:
            mode = os.lstat(full).st_mode
            if stat.S_ISLNK(mode):
                kind, content = _LINK, os.fsencode(os.readlink(full))
            elif stat.S_ISREG(mode):
                kind = _PROGRAM if mode & stat.S_IXUSR else _FILE
                with open(full, "rb") as file:
                    content = file.read()
            else:
                continue  # a repository inside of this one keeps its own work
        except FileNotFoundError:
            kind, content = _NOTHING, b""
        oid = git.must("hash-object", "-w", "--no-filters", "--stdin", given=content)
        name = oid.strip() if kind != _NOTHING else b"0" * len(oid.strip())
        yield kind.encode() + b" " + name + b"\t" + os.fsencode(path) + b"\0"


def still_dirty(repository: Repository, left: Sequence[UnfinishedFile]) -> list[UnfinishedFile]:
    """Return those files that are not committed to this day; where git cannot tell, all."""
    found: list[UnfinishedFile] = []
    for root in dict.fromkeys(one.root for one in left):
        here = [one for one in left if one.root == root]
        try:
            dirty = {c.path for c in changed(guarded_calls(root, repository))}
        except (DibsError, OSError):
            found += here
            continue
        found += [one for one in here if one.path in dirty]
    return found


def settle(
    store: Store, repository: Repository, agent: str, found: Iterable[Row], *, by_mail: bool = True
) -> list[UnfinishedFile]:
    """Forget that files were left behind: an agent has them. Return what it has to know; or mail it too."""
    listed = dict(found)
    left = still_dirty(repository, [one for one in listed.values() if one.agent != agent])

    def step(rows: Rows) -> None:
        drop_left(rows, listed)
        if by_mail:
            mail_left(rows, agent, left)

    store.apply(step)
    return left


def mail_left(rows: Rows, agent: str, left: Sequence[UnfinishedFile]) -> None:
    """Tell an agent by mail what it has of others' half-done work."""
    if not left:
        return
    from dibs.core.claims.ledger import Kind
    from dibs.core.talk.mail import MailKind
    from dibs.services.state.mailbox import tell

    rows.emit(agent, "agent", Kind.PROGRESS_UPDATE, f"{agent} has files that were left half-done")
    for one in left:
        copy = f"; a copy lies in {one.salvage}" if one.salvage else ""
        reason = f"it was left half-done, not committed{copy}"
        tell(rows, agent, MailKind.HANDED_OVER, (one.path,), sender=one.agent, reason=reason)
