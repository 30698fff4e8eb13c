"""The merge queue: one merge at a time for each integration branch, by a claim that expires with its process.

An agent's heartbeats renew its claims, even after its merge was killed. So this claim has a hard deadline
that only the merging process extends. The process also locks a file that names the claim's token: on the same
machine, a waiter that finds the file unlocked ends the claim at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from itertools import islice

from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import EXCLUSIVE, Granted
from dibs.core.patterns.pattern import parse
from dibs.core.text.durations import TTL_MIN, check_wait
from dibs.errors import DibsError, Fenced, NotFound, Unavailable
from dibs.local.heartbeat import Heartbeat
from dibs.local.locks import FileLock
from dibs.services.claims.holdings import Holdings
from dibs.services.claims.service import Claims
from dibs.services.claims.views import held_in, queue_in
from dibs.services.state.own_claims import own, own_at
from dibs.services.state.presence import arrive, expire
from dibs.services.state.store import Store
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dibs.core.claims.agents import Caller
    from dibs.core.claims.ledger import Entry
    from dibs.core.claims.rules import Claim, Conflict, Denied, Held, Queued, Waiter
    from dibs.core.patterns.pattern import Pattern
    from dibs.services.state.rows import Rows

#: How long the queue stays taken after the merging process's last heartbeat, in seconds.
LASTS = 8.0
#: The reason of the queue's own claims, which distinguishes them from claims that an agent took itself.
_REASON = "dibs merge into"
#: The start of the pattern of each queue; the integration branch follows.
_QUEUE = "@merge/"


class Lease:
    """The claim on the head of the queue."""

    def __init__(self, store: Store, caller: Caller, claim: Claim, *, manual: bool = False) -> None:
        """``manual`` says that the caller had claimed the queue before, and keeps it afterwards."""
        self._store = store
        self._caller = caller
        self._manual = manual
        self.claim = claim
        #: How long it is valid after a heartbeat, in seconds.
        self.lasts = max(LASTS, store.engine.shortest_ttl)
        #: Why it was lost; empty while it is held.
        self.lost = ""

    def renew(self) -> None:
        """Extend the hard deadline; raise ``Fenced`` if the claim was lost."""
        pattern = parse(self.claim.pattern, fold_case=self._store.fold_case)

        def step(rows: Rows) -> None:
            beat = arrive(rows, self._caller)
            mine = own(rows, self._caller.id, [pattern], self.claim.token)
            for _, claim in () if self._manual else mine:
                hard = rows.now + self.lasts
                rows.put_claim(claim._replace(hard=hard), pattern)
                rows.put_beat(self._caller.id, beat._replace(hard=min(beat.hard, hard)))

        try:
            self._store.apply(step)
        except (Fenced, NotFound) as error:
            self.lost = error.message
            raise Fenced(
                error.message, hint="another merge may have started; run dibs merge again"
            ) from None

    def release(self) -> None:
        """Release the queue; if that fails, the claim expires."""
        if self._manual:
            return
        pattern = parse(self.claim.pattern, fold_case=self._store.fold_case)
        with contextlib.suppress(DibsError):
            Holdings(self._store).release(self._caller, [pattern], token=self.claim.token)


class MergeOverview(Record):
    """The merges at one moment, and how the last ones ended."""

    running: list[Held]
    waiting: list[Waiter]
    #: Ledger entries, newest first.
    results: list[Entry]


def merges_in(rows: Rows, limit: int) -> MergeOverview:
    """Return who merges, who waits for that, and the last results."""
    held = list(held_in(rows))
    running = [one for one in held if one.claim.pattern.startswith(_QUEUE)]
    waiting = [
        one
        for one in queue_in(rows, held)
        if any(text.startswith(_QUEUE) for text in one.ticket.patterns)
    ]
    ended = rows.events(newest_first=True, kinds=(Kind.MERGED, Kind.MERGE_REFUSED))
    return MergeOverview(running, waiting, list(islice(ended, limit)))


class QueueTimeout(Exception):
    """The wait for the queue timed out."""

    def __init__(self, answer: Denied | Queued) -> None:
        super().__init__()
        self.answer = answer


@contextlib.contextmanager
def at_head(
    store: Store,
    caller: Caller,
    branch: str,
    *,
    state: str,
    wait: object,
    progress: Callable[[str], None],
) -> Iterator[Lease]:
    """Wait for the head of the queue of ``branch``, and hold it while the block runs."""
    with _alone(state, caller.id, branch, wait, progress) as lock:
        lease = _lease(store, caller, branch, state, wait, progress)
        keeper = Heartbeat(lease.renew, lease.lasts / 4)
        try:
            lease.renew()
            os.pwrite(lock.handle, _mark(lease.claim.token), 0)
            keeper.start()
            yield lease
        finally:
            keeper.stop()
            lease.release()


def _lease(
    store: Store,
    caller: Caller,
    branch: str,
    state: str,
    wait: object,
    progress: Callable[[str], None],
) -> Lease:
    pattern = parse(f"{_QUEUE}{branch}", literal=True, fold_case=store.fold_case)
    held = store.look(lambda rows: _own_claim(rows, caller.id, pattern))
    if held is not None:
        return Lease(store, caller, held, manual=True)
    lasts = max(LASTS, TTL_MIN, store.engine.shortest_ttl)
    # A merge that is killed before its first heartbeat must not hold the queue for longer either.
    config = store.config._replace(max_hold=lasts)
    claims = Claims(Store(store.engine, config, store.archive, store.callbacks))

    def watching(conflicts: Sequence[Conflict], _: float) -> None:
        for conflict in conflicts:
            if conflict.token and conflict.reason.startswith(_REASON):
                _end_if_killed(store, state, branch, conflict, pattern)

    watching(claims.check(caller, [pattern]), 0.0)
    ahead = claims.check(caller, [pattern])
    if ahead and wait:
        progress(f"waiting for {ahead[0].holder} to finish merging into {branch}")
    answer = claims.claim(
        caller, [pattern], ttl=lasts, wait=wait, reason=f"{_REASON} {branch}", watching=watching
    )
    if not isinstance(answer, Granted):
        raise QueueTimeout(answer)
    return Lease(store, caller, answer.claims[0])


def _end_if_killed(
    store: Store, state: str, branch: str, conflict: Conflict, pattern: Pattern
) -> None:
    """End another agent's claim on the queue if its process ran on this machine and is dead."""
    lock = _lock(state, conflict.holder, branch)
    if lock.is_held() or not os.path.exists(lock.path) or not lock.take():
        return

    def step(rows: Rows) -> None:
        for key, claim in own_at(rows, conflict.holder, pattern):
            if claim.token == conflict.token:
                expire(rows, key, claim)

    try:
        if os.pread(lock.handle, len(_mark(0)), 0) == _mark(conflict.token):
            store.apply(step)
    finally:
        lock.release()


def _mark(token: int) -> bytes:
    """Return the content of a merge's lock file, which always has the same length."""
    return b"%020d\n" % token


def _lock(state: str, agent: str, branch: str) -> FileLock:
    name = hashlib.sha256(f"{agent}\n{branch}".encode()).hexdigest()[:16]
    return FileLock(os.path.join(state, f"merge-{name}.lock"))


def _own_claim(rows: Rows, agent: str, pattern: Pattern) -> Claim | None:
    """Return the claim with which the caller keeps others from merging, if it has one."""
    for _, claim in own_at(rows, agent, pattern):
        alive = rows.is_live(claim)
        if alive and claim.mode == EXCLUSIVE and not claim.reason.startswith(_REASON):
            return claim
    return None


@contextlib.contextmanager
def _alone(
    state: str, agent: str, branch: str, wait: object, progress: Callable[[str], None]
) -> Iterator[FileLock]:
    """Serialize two merges of the same agent, which are the same owner to the store."""
    os.makedirs(state, mode=0o700, exist_ok=True)
    lock = _lock(state, agent, branch)
    taken = lock.take()
    if not taken and wait:
        progress(f"waiting for another merge by {agent} to finish")
        taken = lock.take(check_wait(wait))
    if not taken:
        raise Unavailable(
            f"another merge by {agent} into {branch} is still running",
            code="MERGE_BUSY",
            hint="try again later",
        )
    try:
        yield lock
    finally:
        lock.release()
