"""One process's connection to the remote: fetching its commits and pushing ours."""

from __future__ import annotations

import contextlib
import json
import time

from dibs.engines.git import errors
from dibs.engines.git.copy import SharedCopy
from dibs.engines.git.head import CommitFate, Head, observe, tick
from dibs.engines.git.objects import damaged
from dibs.engines.git.remote import PushOutcome
from dibs.engines.git.repo import (
    REMOTE_REF,
    clear_leftovers,
    keep_lost,
    read_ref,
    write_ref,
)
from dibs.git.run import TimedOut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.engines.git.copy import Parts
    from dibs.errors import DibsError
    from dibs.git.run import GitResult

#: Seconds between two pushes that count as a pause.
_PAUSE = 0.25
#: Number of commits, made or fetched, after which the local repository is packed.
TIDY = 512
#: Seconds that packing may take, even if the call has no time left.
TIDYING = 10.0
#: Seconds that the first fetch of a branch may take, regardless of the call's timeout.
FIRST = 600.0
#: Age after which unreachable objects are collected.
PRUNED = "1.hour.ago"


class GitConnection(SharedCopy):
    """This machine's copy of the state, and its remote."""

    __slots__ = ("remote",)

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self.remote = parts.remote

    # -- the remote's commits

    def ask(self, deadline: float) -> None:
        """Look up the remote's commit and follow it; the caller holds the remote's lock."""
        reading = self.now_reading()
        head = self.cache.head()
        there = self.remote.look(deadline)  # in time, unlike a first fetch
        if head.met and there == head.remote:
            self.adopt(head.remote, reading, deadline)
            return
        self.fetch(deadline, patience=0.0 if head.met else FIRST)
        self.tidy(max(deadline, time.monotonic() + TIDYING))

    def show_git(self, deadline: float) -> None:
        """Write this machine's objects to the repository, where git can see them."""
        with self.cache.writing(deadline) as head:
            self.objects.flush()
            if head.remote:
                write_ref(self.repo, REMOTE_REF, head.remote)

    def push(self, deadline: float) -> tuple[Head, str]:
        """Push the tip; return what was pushed and the outcome."""
        with self.cache.reading() as head:
            if not head.pending:
                return head, PushOutcome.LANDED
        self.show_git(deadline)
        return head, self.remote.push(head.tip, head.remote, deadline)

    def fetch(self, deadline: float, patience: float = 0.0) -> None:
        """Fetch what the remote has and follow it; the caller holds the remote's lock.

        An interrupted fetch starts over, so a large one can be given ``patience``.
        """
        reading = self.now_reading()
        clear_leftovers(self.repo)
        self.show_git(deadline)
        # The newest commit of a new branch is enough, unless one of ours may be below it.
        history = bool(self.cache.head().remote or self.cache.open_fates())
        limit = max(deadline, time.monotonic() + patience)
        there = self.remote.fetch(REMOTE_REF, limit, history=history)
        if patience:
            deadline = max(deadline, time.monotonic() + self._parts.timeout)
        self.adopt(read_ref(self.repo, REMOTE_REF) if there else "", reading, deadline)

    def adopt(self, commit: str, reading: float, deadline: float) -> None:
        """Accept ``commit`` as the remote's state, as read at ``reading``."""
        head = self.cache.head()
        if commit != head.remote:
            passed, grown = self._since(head.remote, commit, deadline)
        with self.cache.writing(deadline) as found:
            head, now = tick(found, self._parts.sources)
            if commit != head.remote:
                head = self._follow(head, commit, set(passed), grown=grown)
            head = head._replace(asked=reading, known_at=now)
            self.cache.set_head(head)

    def _since(self, old: str, new: str, deadline: float) -> tuple[list[str], bool]:
        """Return the new commits, and whether the old one is still in the history."""
        if not new:
            return [], False
        if old:
            both = self._git("rev-list", "--left-right", f"{new}...{old}", deadline=deadline)
            found = both.out.decode().split()
            if not both.code:
                gone = any(oid.startswith(">") for oid in found)
                return [oid[1:] for oid in found if oid.startswith("<")], not gone
        listed = self._git("rev-list", new, deadline=deadline)  # or the old one is no longer here
        if listed.code:
            raise damaged(self.repo, new)
        return listed.out.decode().split(), not old

    def _git(self, *argv: str, deadline: float) -> GitResult:
        try:
            return self._parts.git.run_until(deadline, *argv)
        except TimedOut:
            raise errors.too_slow(self.repo) from None

    def _follow(self, head: Head, commit: str, passed: set[str], *, grown: bool) -> Head:
        """Move to another commit of the remote; drop our commits that it does not contain."""
        ours = {oid for _, oid in self.cache.open_fates()}
        for number, oid in self.cache.open_fates():
            verdict = CommitFate.LANDED if oid in passed else CommitFate.DROPPED
            self.cache.decide_one(number, verdict)
        if passed - ours:
            head = head._replace(rival=self.now_reading())
        lost, had = head.remote, head
        head = self.move(head, commit)
        head = observe(head, head.time, self._parts.sources)
        loose = had.loose + len(passed - ours)
        head = head._replace(remote=commit, landed=head.newest, loose=loose)
        why = ""
        branch = self.remote.place.branch
        if lost and not commit:
            why = f"the branch {branch} was deleted"
        elif lost and not grown:
            why = f"the branch {branch} was force-pushed to an older commit"
        elif head.newest < had.seen:
            why = f"the branch {branch} lost its newest ledger entries"
        if why and not (head.life > had.seen_life and head.newest > had.seen):
            if lost:
                keep_lost(self.repo, lost, int(self._parts.sources.wall()))
            return head._replace(broken=why)
        return self._seen(head)

    def _seen(self, head: Head) -> Head:
        return head._replace(
            broken="", seen=max(head.seen, head.newest), seen_life=max(head.seen_life, head.life)
        )

    def tidy(self, deadline: float) -> None:
        """Pack the repository occasionally; the caller holds the remote's lock."""
        with self.cache.writing(deadline) as head:
            if head.loose < TIDY:
                return
            self.objects.flush()
            if head.remote:  # collects unreachable objects
                write_ref(self.repo, REMOTE_REF, head.remote)
            self.objects.forget(head.root, self.cache.first_pending() or head.pending or 1 << 62)
            self.cache.set_head(head._replace(loose=0))
        with contextlib.suppress(TimedOut):
            self._parts.git.run_until(
                deadline, "-c", "gc.packRefs=false", "gc", "--quiet", f"--prune={PRUNED}"
            )

    # -- outcome of a push

    def landed(self, head_then: Head, reading: float, deadline: float) -> None:
        """Record that the remote now has the tip of ``head_then``."""
        with self.cache.writing(deadline) as found:
            head, now = tick(found, self._parts.sources)
            self.cache.decide(CommitFate.LANDED, upto=head_then.pending)
            if head.pending == head_then.pending:
                head = head._replace(pending=0)
            head = head._replace(
                remote=head_then.tip, landed=head_then.newest, broken="", anchored=True,
                seen=max(head.seen, head_then.newest), asked=reading, known_at=now,
                seen_life=max(head.seen_life, head_then.life),
            )  # fmt: skip
            self.cache.set_head(self._won(head, reading))

    def _won(self, head: Head, started: float) -> Head:
        """Record how long a push took, and whether it directly followed another one."""
        reading = self.now_reading()
        burst = head.burst if started - head.won < _PAUSE else started
        cost = 0.7 * head.cost + 0.3 * min(reading - started, 1.0)
        return head._replace(won=reading, burst=burst, cost=cost)

    def end_burst(self, deadline: float) -> None:
        """Record that other machines had a chance to push."""
        with self.cache.writing(deadline) as head:
            self.cache.set_head(head._replace(burst=self.now_reading()))

    def give_up(self, verdict: str, error: DibsError, deadline: float) -> None:
        """Return to the remote's last known commit, and notify the waiting processes."""
        why = json.dumps([type(error).__name__, error.message, error.code, error.hint])
        with self.cache.writing(deadline) as found:
            head, _ = tick(found, self._parts.sources)
            self.cache.decide(verdict, why)
            head = self.move(head, head.remote)
            self.cache.set_head(head)
