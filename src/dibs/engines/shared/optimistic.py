"""Running steps on a store on a server, without holding it: for Redis and PostgreSQL.

A step runs on what this handle knows of the store. The server then verifies that all of it is still
true, and writes. If not, it returns what changed, and the step runs again. So a claim is one round
trip, and the server contains no rules.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock
from functools import partial

from dibs.engines.shared.failures import Cut, NotSent, busy, unknown
from dibs.engines.shared.link import micros
from dibs.engines.shared.memory import REMEMBER_EVERY
from dibs.engines.shared.replica_txn import ReplicaTxn, ReplicaView
from dibs.errors import Misconfigured, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from dibs.core.text.findings import Finding
    from dibs.engines.base import Txn
    from dibs.engines.shared.session import StoreSession

    T = TypeVar("T")

_monotonic = time.monotonic


class OptimisticEngine:
    """An engine whose state is on the server at ``place``, which a ``session`` is connected to."""

    as_of: float | None = None
    shortest_ttl = 0.0

    def __init__(self, session: StoreSession, place: object, timeout: float) -> None:
        self._session = session
        self._place = place
        self._timeout = timeout
        self._lock = allocate_lock()
        self._waiters: list[Any] = []
        self._closed = False
        session.link(_monotonic() + timeout)

    def waiter(self) -> Any:
        """Return a new object that waits for the ledger on a connection of its own."""
        raise NotImplementedError

    def check(self, link: Any, until: float) -> list[Finding]:
        """Report what the store is and what it guarantees, over an open connection."""
        raise NotImplementedError

    def transact(self, step: Callable[[Txn], T]) -> T:
        """Apply ``step`` atomically, make it durable, and return its result."""
        return self._run(step, ReplicaTxn)

    def view(self, step: Callable[[Txn], T]) -> T:
        """Run ``step`` on a consistent snapshot; raise an error if it writes."""
        return self._run(step, ReplicaView)

    def wait(self, after: int, timeout: float) -> int:
        """Block until the ledger has moved past ``after``; return the newest number."""
        if self._closed:
            raise RuntimeError("the engine is closed")
        try:
            waiter = self._waiters.pop()
        except IndexError:
            waiter = self.waiter()
        try:
            newest: int = waiter.wait(after, timeout)
        finally:
            self._waiters.append(waiter)
        return newest

    def close(self) -> None:
        """Close the connection; a closed engine cannot be used again."""
        self._closed = True
        self._session.close()
        while self._waiters:
            self._waiters.pop().close()

    def inspect(self) -> list[Finding]:
        """Report what this store guarantees as it is configured."""
        from dibs.core.text.findings import Finding, Level

        until = self._deadline()
        try:
            with self._lock:
                link = self._session.link(until)
                started = time.perf_counter()
                link.look((), (), until)
                trip = (time.perf_counter() - started) * 1e3
                store, *others = self.check(link, until)
        except (NotSent, Cut) as problem:
            raise self._session.unavailable(problem) from problem
        clock = "the server's; if it jumps, Dibs detects this and voids all claims"
        return [
            store,
            Finding(Level.OK, "reach", "every machine that can reach this server"),
            Finding(Level.OK, "round trip", f"{trip:.2f} ms per transaction"),
            Finding(Level.OK, "clock", clock),
            *others,
        ]

    def _deadline(self) -> float:
        """Return the deadline of a call, once no other thread uses the connection."""
        if self._closed:
            raise RuntimeError("the engine is closed")
        until = _monotonic() + self._timeout
        if self._lock.locked():
            if not self._lock.acquire(timeout=self._timeout):
                raise busy(self._place)
            self._lock.release()
        return until

    def _run(self, step: Callable[[Txn], T], kind: type[ReplicaTxn]) -> T:
        until = self._deadline()
        with self._lock:  # acquire() could be interrupted before a try
            try:
                return self._repeat(step, kind, until)
            finally:
                self._session.finish()

    def _repeat(self, step: Callable[[Txn], T], kind: type[ReplicaTxn], until: float) -> T:
        """Run a step until everything it read is unchanged when it is written."""
        tries, longest = 0, 0.0
        self._session.link(until).replica.bound()
        seen = -1
        while True:
            link = self._session.link(until + longest)
            read = partial(link.entries, until=until + longest)
            txn = kind(link.replica, link.now(), (link.newest, link.base), read)
            started = _monotonic()
            try:
                answer = step(txn)
                failure = None
            except (NotSent, Cut) as problem:
                self._session.failed(problem, until + longest)
                continue
            except Exception as error:  # noqa: BLE001 - it counts only if what the step saw was so
                failure = error
            longest = max(longest, _monotonic() - started)
            if failure is None and txn.writes:
                done = self._written(link, txn, tries, until + longest)
            else:
                # What was learned within this call is a snapshot from this call, whatever changed since.
                fresh = link.replica.version == seen and not txn.guesses
                done = fresh or self._confirmed(link, txn, until + longest)
                seen = link.replica.version
            if done:
                if _monotonic() - self._session.remembered > REMEMBER_EVERY:
                    self._session.remember(firmly=False)
                if failure is not None:
                    raise failure
                return answer
            tries += 1
            if _monotonic() >= until + longest:
                raise busy(self._place)

    def _confirmed(self, link: Any, txn: ReplicaTxn, until: float) -> bool:
        """Ask the server whether everything a step read is true; learn what is not."""
        points, ranges = list(txn.guessed_points), list(txn.guessed_ranges)
        version = link.replica.version
        try:
            header = link.look(points, ranges, until)
        except (NotSent, Cut) as problem:
            self._session.failed(problem, until)
            return False
        if not self._session.is_usable(link, header, until):
            return False
        link.learn(header, points, ranges)
        return bool(
            header.version == version and not header.has_rows and micros(txn.now) >= header.latest
        )

    def _written(self, link: Any, txn: ReplicaTxn, tries: int, until: float) -> bool:
        """Send a step's writes; return whether they were applied, and otherwise learn what prevented them."""
        nonce = os.urandom(9).hex()
        try:
            header = link.write(txn, nonce, tries, until)
        except NotSent as problem:
            self._session.failed(problem, until)
            return False
        except Cut as problem:
            return self._settled(nonce, link, problem, until)
        if header is None:
            link.keep(txn, nonce)
            if link.clock.jump:
                self._session.end_life(link, until)
            return True
        if self._session.is_usable(link, header, until):
            link.learn(header, list(txn.guessed_points), list(txn.guessed_ranges))
            self._refused(header.status)
        return False

    def _refused(self, status: str) -> None:
        """Handle a write that the server did not apply."""

    def _settled(self, nonce: str, link: Any, problem: Cut, until: float) -> bool:
        """Determine the outcome of a write whose reply was lost."""
        life, version = link.life, link.replica.version
        self._session.drop()
        while True:
            try:
                status = self._session.link(until).settle(nonce, life, version, until)
            except (NotSent, Cut):
                self._session.drop()
            except (Unavailable, Misconfigured) as error:
                raise unknown(self._place, str(problem)) from error
            else:
                if status in {"ok", "again"}:
                    return bool(status == "again")
                raise unknown(self._place, str(problem))
            if _monotonic() >= until:
                raise unknown(self._place, str(problem))
