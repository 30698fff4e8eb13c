"""The lock-file queue of a repository: read it, take its tasks, and end them, next to scripts.

The claim ``task:NAME`` excludes agents of this store before anything is pushed; the lock file on the branch
excludes everyone else. Whatever the branch says when a push is accepted decides.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from itertools import count

from dibs.core.tasks.lock_files import LOCK_AGE, LockFile
from dibs.core.text.names import printable
from dibs.errors import Misconfigured, Unavailable
from dibs.git.refs import commit_of, is_in
from dibs.git.untrusted import guarded_calls
from dibs.local.files import regular
from dibs.services.tasks.lock_queue.branch import LANDED, PATIENCE, QueueBranch
from dibs.services.tasks.lock_queue.layout import find_place, may_have_queue
from dibs.services.tasks.lock_queue.local import LocalBranch, with_disk
from dibs.services.tasks.lock_queue.snapshot import QueueSnapshot, read_snapshot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.git.untrusted import SafeGit
    from dibs.local.repository import Repository
    from dibs.services.tasks.lock_queue.branch import QueueRemote
    from dibs.services.tasks.lock_queue.changes import Change
    from dibs.services.tasks.lock_queue.layout import QueuePlace

    Connect = Callable[[SafeGit, Repository, QueuePlace], QueueRemote]
    #: Returns the commits to make, given the queue as it is now; none if there is nothing to do.
    Plan = Callable[[QueueSnapshot], Sequence[Change]]

#: How long a call to the remote may take, in seconds.
TIMEOUT = 30.0


class LockQueue:
    """The queue on the branch; one object per command, which remembers what it last read."""

    def __init__(
        self,
        repository: Repository,
        connect: Connect,
        *,
        age: float = LOCK_AGE,
        fold_case: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._repository = repository
        self._connect = connect
        self._fold = fold_case
        self._branch: QueueBranch | None = None
        self._local: LocalBranch | None = None
        self._tried_again = False
        self._read: QueueSnapshot | None = None
        self.age = age
        self.clock = clock
        #: Why the last read shows an older state; empty if it is current.
        self.stale = ""

    @property
    def root(self) -> str:
        """The top of the working tree."""
        return self._repository.root

    @property
    def place(self) -> str:
        """The branch as messages name it."""
        return self._open().place.shown

    def exists(self) -> bool:
        """Return whether this clone has such a queue, as far as it knows without asking a remote."""
        if self._branch is not None:
            return True
        if not may_have_queue(self._repository):
            return False
        git = guarded_calls(self._repository.root, self._repository)
        place = find_place(git, self._repository)
        if place is None:
            return False
        self._local = None if place.remote else LocalBranch(git, place)
        remote = self._local or self._connect(git, self._repository, place)
        self._branch = QueueBranch(git, self._repository.common, place, remote, TIMEOUT)
        return True

    def _open(self) -> QueueBranch:
        self.exists()
        assert self._branch is not None, "callers check that the queue exists"
        return self._branch

    def read(self, *, again: bool = False) -> QueueSnapshot:
        """Return the queue as it is on the branch now; ``again`` after a lost race."""
        branch = self._open()
        commit = branch.next_tip() if again else branch.tip()
        known = self._read.commit if self._read is not None else ""
        if known != commit or self.stale or self._local:
            self._read = self._snapshot(commit)
        self.stale = ""
        assert self._read is not None
        return self._read

    def look(self) -> QueueSnapshot | None:
        """Return the queue for a reader: if the branch cannot be read, as this clone last knew it."""
        if not self.exists():
            return None
        try:
            found = self.read()
        except (Unavailable, Misconfigured) as error:
            branch = self._open()
            known = "" if self._local else self._last_known()
            if self._local or (not known and error.code == "REMOTE_GONE"):
                known = commit_of(branch.git, "HEAD")  # detached, without commits, or not pushed
            elif not known:
                raise
            self._read = found = self._snapshot(known)
            self.stale = error.message
        return found if found.exists else None

    def _remember(self, commit: str) -> None:
        """Record the newest commit that this clone pushed, for when the remote does not answer."""
        from dibs.local.files import write_file

        with suppress(OSError):
            write_file(self._memory, f"{self._open().place.shown}\n{commit}\n")

    def _last_known(self) -> str:
        """Return the newest commit that this clone knows: the one that it pushed, or its tracking branch."""
        branch = self._open()
        known = branch.place.known
        try:
            with open(self._memory, encoding="utf-8", errors="replace", opener=regular) as file:
                place, commit = file.read().split("\n")[:2]
        except (OSError, ValueError):
            return known
        newer = place == branch.place.shown and commit_of(branch.git, commit)
        return commit if newer and (not known or is_in(branch.git, known, commit)) else known

    @property
    def _memory(self) -> str:
        return os.path.join(self._repository.state, "lock-queue")

    def _snapshot(self, commit: str) -> QueueSnapshot:
        branch, now = self._open(), self.clock()
        found = QueueSnapshot("", {}, {}, {}, {}, {}, {})
        if commit:
            found = read_snapshot(branch.git, commit, now, self.age, fold_case=self._fold)
        if self._local is None:
            return found
        return with_disk(found, self._repository.root, now, self.age, fold_case=self._fold)

    # -- writing

    def write(self, plan: Plan) -> QueueSnapshot:
        """Make the commits of ``plan`` and push them; if others were first, plan again on the new state.

        ``plan`` is called with the current state before each try, also after a push whose outcome is unknown.
        """
        try:
            return self._write(plan)
        finally:
            if self._tried_again:
                self._tried_again = False
                self._open().clean_up()

    def _write(self, plan: Plan) -> QueueSnapshot:
        branch, outcome = self._open(), ""
        give_up = time.monotonic() + PATIENCE
        for attempt in count():
            if time.monotonic() > give_up:
                break
            found = self.read(again=attempt > 0)
            changes = plan(found)
            if not changes:
                return found
            commit = branch.build(found.commit, changes)
            if self._local is not None:
                self._local.loose = found.loose
                self._local.removed = [
                    p for c in changes for p, new in c.files.items() if new is None
                ]
            outcome = branch.publish(commit, found.commit)
            if outcome == LANDED:
                self._remember(commit)
                self._read = self._snapshot(commit)
                return self._read
            self._tried_again = True
            branch.pause(attempt, outcome)
        raise Unavailable(
            f"{printable(branch.place.shown)} was always changed by others ({outcome})",
            code="REMOTE_FAILED",
            hint="try again",
        )

    def new_lock(self, agent: str, nonce: str) -> LockFile:
        """Return the lock of an agent that takes a task now."""
        now = self.clock()
        return LockFile(agent, now, now + self.age, nonce)
