"""Write to the branch of the lock-file queue: commits without an index or a working tree, moved by lease."""

from __future__ import annotations

import os
import random
import time

from dibs.core.tasks.lock_files import LOCKS, PENDING
from dibs.core.text.names import printable, quote
from dibs.errors import DibsError, Misconfigured, Unavailable
from dibs.git.batch_process import BatchProcess
from dibs.git.calls import identity
from dibs.git.objects import FILE, TREE, TreeEntry, content_of, members_of, write_loose
from dibs.git.refs import commit_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Protocol

    from dibs.git.calls import GitCalls
    from dibs.services.tasks.lock_queue.changes import Change
    from dibs.services.tasks.lock_queue.layout import QueuePlace

    class QueueRemote(Protocol):
        """One branch of a remote; see engines/git/remote.py."""

        def look(self, deadline: float) -> str: ...
        def fetch(self, into: str, deadline: float) -> bool: ...
        def push(self, commit: str, expected: str, deadline: float) -> str: ...
        def remove_stale_lock(self) -> str: ...


#: How many seconds a change is tried on a branch that others move, and the longest pause between tries.
PATIENCE, LONGEST_PAUSE = 120.0, 1.0
#: The outcomes of a push; see engines/git/remote.py.
LANDED, LOST, LOCKED, UNCLEAR = "landed", "lost", "locked", "unclear"
#: A private ref that exists while a change is tried again.
_NEXT = "refs/dibs/lock-queue"
#: Folders that scripts expect to exist; git keeps no empty ones.
_KEPT = {LOCKS: ".gitkeep", PENDING: ".gitkeep"}


class QueueBranch:
    """The branch with the queue; reading it changes nothing in the user's repository but objects."""

    def __init__(
        self, git: GitCalls, common: str, place: QueuePlace, remote: QueueRemote, timeout: float
    ) -> None:
        self.git = git
        self.place = place
        self._objects = os.path.join(common, "objects")
        self._remote = remote
        self._timeout = timeout

    def tip(self) -> str:
        """Return the branch's commit on the remote, after fetching it; raise if there is none."""
        for _ in range(3):
            deadline = time.monotonic() + self._timeout
            commit = self._remote.look(deadline)
            if not commit:
                raise Misconfigured(
                    f"the branch {printable(self.place.shown)} does not exist",
                    code="REMOTE_GONE",
                    hint="push it, or set an upstream: git branch --set-upstream-to=REMOTE/BRANCH",
                )
            if commit_of(self.git, commit):
                return commit
            self._remote.fetch("", deadline)
            if commit_of(self.git, commit):
                return commit
        raise Unavailable(f"{printable(self.place.shown)} keeps changing", code="REMOTE_FAILED")

    def next_tip(self) -> str:
        """Return the branch's commit after a lost race, with one call: each moment makes losing likelier."""
        if not self.place.remote:
            return self.tip()
        try:
            self._remote.fetch(_NEXT, time.monotonic() + self._timeout)
        except Unavailable:  # another process of this clone may be fetching to the same ref
            return self.tip()
        return commit_of(self.git, _NEXT) or self.tip()

    def clean_up(self) -> None:
        """Remove the private ref of ``next_tip``."""
        self.git.run("update-ref", "-d", _NEXT)

    def build(self, base: str, changes: Sequence[Change]) -> str:
        """Write a commit for each change, each on top of the previous one, and return the last."""
        reader = BatchProcess(self.git, "cat-file", "--batch")
        try:
            for change in changes:
                base = self._commit(reader, base, change)
        finally:
            reader.close()
        return base

    def publish(self, commit: str, expected: str) -> str:
        """Move the branch from ``expected`` to ``commit``; return the outcome."""
        try:
            return self._remote.push(commit, expected, time.monotonic() + self._timeout)
        except Misconfigured as error:
            if error.code == "REMOTE_REFUSED":
                error.hint = f"allow this account to push to {printable(self.place.shown)}"
            raise

    def pause(self, attempt: int, outcome: str) -> None:
        """Wait before the next try, at random, so that rivals do not meet again."""
        if outcome == LOCKED and self._remote.remove_stale_lock():
            return
        time.sleep(random.uniform(0.0, min(0.05 * 2 ** min(attempt, 10), LONGEST_PAUSE)))  # noqa: S311

    def _commit(self, reader: BatchProcess, base: str, change: Change) -> str:
        header = reader.object(f"{base}^{{tree}}")[0]
        entries: dict[str, TreeEntry | None] = {}
        for path, given in change.files.items():
            if isinstance(given, bytes):
                blob = write_loose(self._objects, "blob", given, base)
                entries[path] = TreeEntry(FILE, blob)
            else:
                entries[path] = given
        tree = self._tree(reader, header, "", entries) or write_loose(
            self._objects, "tree", b"", base
        )
        lines = map(printable, change.message.split("\n"))
        words = ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")
        argv = ("commit-tree", tree, "-p", base)
        told = self.git.run(*argv, given=words)
        if told.code:  # a machine without a name
            return self.git.must(*argv, given=words, variables=identity("dibs")).decode().strip()
        return told.out.decode().strip()

    def _tree(
        self, reader: BatchProcess, oid: str, folder: str, entries: Mapping[str, TreeEntry | None]
    ) -> str:
        """Return the tree ``oid`` with some paths below it changed; empty if nothing is left."""
        like = oid or next((entry.oid for entry in entries.values() if entry), "")
        if not like:
            return ""  # nothing to delete
        members = members_of(reader.object(oid)[1], len(oid) // 2) if oid else {}
        below: dict[str, dict[str, TreeEntry | None]] = {}
        for path, entry in entries.items():
            first, slash, rest = path.partition("/")
            if slash:
                below.setdefault(first, {})[rest] = entry
            elif entry is None:
                members.pop(first, None)
            else:
                members[first] = entry
        for name, inner in below.items():
            old = members.get(name)
            if old is not None and old.mode != TREE:
                raise _in_the_way(f"{folder}{name}", self.place)
            new = self._tree(reader, old.oid if old else "", f"{folder}{name}/", inner)
            if new:
                members[name] = TreeEntry(TREE, new)
            else:
                members.pop(name, None)
        if not members and (keep := _KEPT.get(folder.rstrip("/"))):
            members[keep] = TreeEntry(FILE, write_loose(self._objects, "blob", b"", like))
        return write_loose(self._objects, "tree", content_of(members), like) if members else ""


def _in_the_way(path: str, place: QueuePlace) -> DibsError:
    return Misconfigured(
        f"{quote(path)} on {printable(place.shown)} is not a folder",
        code="REMOTE_TREE",
        hint="remove it from the branch",
    )
