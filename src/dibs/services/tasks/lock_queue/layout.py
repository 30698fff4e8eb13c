"""Where the lock-file queue of a repository is: on a branch of a remote, or on the local branch."""

from __future__ import annotations

import os

from dibs.core.tasks.lock_files import LISTS, LOCKS, PENDING
from dibs.local.files import regular
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.git.calls import GitCalls
    from dibs.local.repository import Repository

#: What a tree with the layout contains, at least one of these folders, or a queue in one file.
MARKS = (LOCKS, PENDING)
_REMOTES = "refs/remotes/"
HEADS = "refs/heads/"
#: The default branch of a remote whose clone does not record it.
_USUAL = ("main", "master")


class QueuePlace(Record):
    """The branch with the queue."""

    #: The remote's name; empty for the local branch.
    remote: str
    #: The branch's full name there.
    ref: str
    #: The commit of it that this clone knows without asking; may be empty.
    known: str

    @property
    def shown(self) -> str:
        """The branch as messages name it."""
        name = self.ref.removeprefix(HEADS)
        return f"{self.remote}/{name}" if self.remote else name


def may_have_queue(repository: Repository) -> bool:
    """Return whether it is worth asking git: the files are on disk, or there is a remote."""
    if not repository.common:
        return False
    return on_disk(repository.root) or _has_remotes(repository.common)


def on_disk(root: str) -> bool:
    """Return whether the working tree contains the layout."""
    folders = any(os.path.isdir(os.path.join(root, mark)) for mark in MARKS)
    return folders or any(os.path.isfile(os.path.join(root, file)) for file in LISTS)


def find_place(git: GitCalls, repository: Repository) -> QueuePlace | None:
    """Return where the queue is; None if this clone knows of none."""
    from dibs.git.state import read_state

    state = read_state(git, repository.common)
    remotes = git.run("remote").out.decode("utf-8", "surrogateescape").split("\n")[:-1]
    if not remotes:
        here = on_disk(repository.root) or (state.head and _has_layout(git, state.head))
        return QueuePlace("", state.ref, state.head) if here else None
    places = list(_candidates(git, state.ref, remotes))
    if not places and not git.run("for-each-ref", "--count=1", _REMOTES).out:
        remote = "origin" if "origin" in remotes else remotes[0]
        places = list(_untracked(git, repository.common, remote))
    for place in places:
        if place.known and _has_layout(git, place.known):
            return place
    return places[0] if places and on_disk(repository.root) else None


def _candidates(git: GitCalls, ref: str, remotes: list[str]) -> Iterator[QueuePlace]:
    """Yield the upstream of the current branch, then the default branch of its remote.

    Without an upstream, the remote is ``origin``, or else each of them.
    """
    from dibs.git.refs import commit_of, upstream_of

    chosen = ["origin"] if "origin" in remotes else remotes
    found = upstream_of(git, ref) if ref else None
    if found is not None and found.remote in remotes and found.ref.startswith(HEADS):
        chosen = [found.remote]
        yield QueuePlace(found.remote, found.ref, commit_of(git, found.tracking))
    for remote in chosen:
        default = git.run("symbolic-ref", "--quiet", f"{_REMOTES}{remote}/HEAD").out
        prefix = f"{_REMOTES}{remote}/"
        names = [os.fsdecode(default).strip().removeprefix(prefix)] if default else _USUAL
        for name in names:
            known = commit_of(git, prefix + name)
            if known:
                yield QueuePlace(remote, HEADS + name, known)
                break


def _untracked(git: GitCalls, common: str, remote: str) -> Iterator[QueuePlace]:
    """Yield the branch of a remote that has no tracking branches, as in worktrees of a bare clone.

    A bare clone's own HEAD is the default branch of the remote.
    """
    from dibs.git.refs import commit_of

    told = git.run(f"--git-dir={common}", "symbolic-ref", "--quiet", "HEAD").out
    ref = os.fsdecode(told).strip()
    if known := ref and commit_of(git, ref):
        yield QueuePlace(remote, ref, known)


def _has_layout(git: GitCalls, commit: str) -> bool:
    kinds = {**dict.fromkeys(MARKS, b"tree"), **dict.fromkeys(LISTS, b"blob")}
    names = "".join(f"{commit}:{mark}\n" for mark in kinds)
    told = git.run("cat-file", "--batch-check=%(objecttype)", given=names.encode())
    found = zip(told.out.split(b"\n"), kinds.values(), strict=False)
    return any(kind == wanted for kind, wanted in found)


def _has_remotes(common: str) -> bool:
    """Return whether a clone has remote-tracking branches, from its files alone."""
    if os.path.isdir(os.path.join(common, "refs", "remotes")):
        return True
    try:
        with open(os.path.join(common, "packed-refs"), "rb", opener=regular) as file:
            return b" refs/remotes/" in file.read(1 << 16)
    except OSError:
        return os.path.isdir(os.path.join(common, "reftable"))
