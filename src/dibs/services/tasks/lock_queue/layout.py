"""Where the lock-file queue of a repository is: on a branch of a remote, or on the local branch."""

from __future__ import annotations

import os

from dibs.core.tasks.lock_files import LISTS, LOCKS, PENDING
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
    #: The branch of this clone that follows it, and its remote-tracking ref; may be empty.
    local: str = ""
    tracking: str = ""

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
        here = on_disk(repository.root) or (state.head and _has_layout(git, [state.head]))
        return QueuePlace("", state.ref, state.head, state.ref) if here else None
    places = list(_candidates(git, state.ref, remotes))
    if not places and not git.run("for-each-ref", "--count=1", _REMOTES).out:
        remote = "origin" if "origin" in remotes else remotes[0]
        places = list(_untracked(git, repository.common, remote))
    for place in places:
        if place.known and _has_layout(git, [place.known]):
            return place
    return places[0] if places and on_disk(repository.root) else None


def _candidates(git: GitCalls, ref: str, remotes: list[str]) -> Iterator[QueuePlace]:
    """Yield the upstream of the current branch, then the default branch of its remote.

    Without an upstream, the remote is ``origin``, or else each of them.
    """
    chosen = ["origin"] if "origin" in remotes else remotes
    if ref:
        form = "--format=%(upstream)%00%(upstream:remotename)%00%(upstream:remoteref)"
        told = git.run("for-each-ref", form, "--", ref).out.decode("utf-8", "surrogateescape")
        tracking, named, there = (*told.rstrip("\n").split("\0"), "", "", "")[:3]
        if named in remotes and there.startswith(HEADS):
            chosen = [named]
            yield QueuePlace(named, there, _commit(git, tracking), ref, tracking)
    for remote in chosen:
        default = git.run("symbolic-ref", "--quiet", f"{_REMOTES}{remote}/HEAD").out
        prefix = f"{_REMOTES}{remote}/"
        names = [os.fsdecode(default).strip().removeprefix(prefix)] if default else _USUAL
        for name in names:
            known = _commit(git, prefix + name)
            if known:
                yield QueuePlace(remote, HEADS + name, known, "", prefix + name)
                break


def _untracked(git: GitCalls, common: str, remote: str) -> Iterator[QueuePlace]:
    """Yield the branch of a remote that has no tracking branches, as in worktrees of a bare clone.

    A bare clone's own HEAD is the default branch of the remote.
    """
    told = git.run(f"--git-dir={common}", "symbolic-ref", "--quiet", "HEAD").out
    ref = os.fsdecode(told).strip()
    if known := _commit(git, ref):
        yield QueuePlace(remote, ref, known)


def _commit(git: GitCalls, ref: str) -> str:
    from dibs.git.refs import commit_of

    return commit_of(git, ref) if ref else ""


def _has_layout(git: GitCalls, commits: list[str]) -> bool:
    marks = (*((b"tree", mark) for mark in MARKS), *((b"blob", file) for file in LISTS))
    names = "".join(f"{commit}:{mark}\n" for commit in commits for _, mark in marks)
    told = git.run("cat-file", "--batch-check=%(objecttype)", given=names.encode())
    kinds = zip(told.out.split(b"\n"), [kind for kind, _ in marks] * len(commits), strict=False)
    return any(found == kind for found, kind in kinds)


def _has_remotes(common: str) -> bool:
    """Return whether a clone has remote-tracking branches, from its files alone."""
    if os.path.isdir(os.path.join(common, "refs", "remotes")):
        return True
    try:
        with open(os.path.join(common, "packed-refs"), "rb") as file:
            return b" refs/remotes/" in file.read(1 << 16)
    except OSError:
        return os.path.isdir(os.path.join(common, "reftable"))
