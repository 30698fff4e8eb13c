"""The Redis engine: for several machines that share a server.

A step runs on what this handle knows of the store. One script then verifies that all of it is still
true, and writes. If not, the server returns what changed, and the step runs again. So a claim is
one round trip, and the script contains no rules.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock
from functools import partial

from dibs.engines.redis.errors import Cut, NotSent, busy, unavailable, unknown
from dibs.engines.redis.life import REMEMBER_EVERY
from dibs.engines.redis.session import RedisSession
from dibs.engines.redis.txn import RedisTxn, RedisView
from dibs.engines.redis.url import parse
from dibs.engines.shared import clock
from dibs.errors import Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from dibs.core.text.findings import Finding
    from dibs.engines.base import Txn
    from dibs.engines.redis.connection import RedisConnection
    from dibs.engines.redis.mirror import Mirror
    from dibs.engines.redis.wait import LedgerWaiter

    T = TypeVar("T")

_monotonic = time.monotonic
#: Number of failed attempts in one call after which a writer asks for priority.
_PATIENCE = 4
#: Seconds that a writer pauses while another one has priority.
_REST = 0.002


class RedisEngine:
    """Stores the state of ``project`` on the server that ``url`` names.

    A call takes at most about ``timeout`` seconds in addition to the step itself. With
    ``replicas``, a change is confirmed only when that many replicas have it. ``memory`` is a file
    in which this machine keeps what it saw of the store. ``password`` is for a URL without one.
    ``renew`` is the step that starts a new life of the store. ``mirror`` describes plain keys
    that people can read.
    """

    as_of: float | None = None
    shortest_ttl = 0.0

    def __init__(
        self,
        url: str,
        project: str,
        *,
        timeout: float = 5.0,
        replicas: int = 0,
        memory: str = "",
        password: str = "",
        renew: Callable[[Txn, str], None] | None = None,
        sources: clock.Sources | None = None,
        mirror: Mirror | None = None,
    ) -> None:
        target = parse(url)
        self._target = target if target.password else target._replace(password=password)
        self._session = RedisSession(
            self._target, project, memory, renew, sources or clock.system_sources(), mirror
        )
        self._timeout = timeout
        self._replicas = replicas
        self._lock = allocate_lock()
        self._waiters: list[LedgerWaiter] = []
        self._closed = False
        self._session.link(_monotonic() + timeout)

    def transact(self, step: Callable[[Txn], T]) -> T:
        """Apply ``step`` atomically, make it durable, and return its result."""
        return self._run(step, RedisTxn)

    def view(self, step: Callable[[Txn], T]) -> T:
        """Run ``step`` on a consistent snapshot; raise an error if it writes."""
        return self._run(step, RedisView)

    def wait(self, after: int, timeout: float) -> int:
        """Block until the ledger has moved past ``after``; return the newest number."""
        from dibs.engines.redis.wait import LedgerWaiter

        if self._closed:
            raise RuntimeError("the engine is closed")
        try:
            waiter = self._waiters.pop()
        except IndexError:
            waiter = LedgerWaiter(self._session, self._timeout)
        try:
            return waiter.wait(after, timeout)
        finally:
            self._waiters.append(waiter)

    def close(self) -> None:
        """Close the connection; a closed engine cannot be used again."""
        self._closed = True
        self._session.close()
        while self._waiters:
            self._waiters.pop().close()

    def inspect(self) -> list[Finding]:
        """Report what this store guarantees as it is configured."""
        from dibs.engines.redis.check import inspect

        until = self._enter()
        try:
            return inspect(self._session.link(until), self._replicas, until)
        except (NotSent, Cut) as problem:
            raise unavailable(self._target, problem) from problem
        finally:
            self._lock.release()

    def repair(self) -> list[str]:
        """Read the store again, which starts a new life if the old one cannot be trusted."""
        until = self._enter()
        try:
            before = self._session.link(until).life
            self._session.drop()
            after = self._session.link(until).life
        finally:
            self._lock.release()
        return [] if after == before else ["the store started a new life; all claims are void"]

    def _enter(self) -> float:
        """Keep other threads out, and return the deadline of the call."""
        if self._closed:
            raise RuntimeError("the engine is closed")
        until = _monotonic() + self._timeout
        if not self._lock.acquire(False) and not self._lock.acquire(timeout=self._timeout):
            raise busy(self._target)
        return until

    def _run(self, step: Callable[[Txn], T], kind: type[RedisTxn]) -> T:
        until = self._enter()
        try:
            return self._repeat(step, kind, until)
        finally:
            self._lock.release()

    def _repeat(self, step: Callable[[Txn], T], kind: type[RedisTxn], until: float) -> T:
        """Run a step until everything it read is unchanged when it is written."""
        tries, longest, seen = 0, 0.0, -1
        self._session.link(until).replica.bound()
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
                turn = "" if tries < _PATIENCE else f"{os.getpid()}-{id(self):x}"
                done = self._written(link, txn, turn, until + longest)
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
                raise busy(self._target)

    def _confirmed(self, link: RedisConnection, txn: RedisTxn, until: float) -> bool:
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
        wrong = any(value is not None for value in header.points) or any(header.ranges)
        return header.version == version and not wrong and int(txn.now * 1e6) >= header.latest

    def _written(self, link: RedisConnection, txn: RedisTxn, turn: str, until: float) -> bool:
        """Send a step's writes; return whether they were applied, and otherwise learn what prevented them."""
        nonce = os.urandom(9).hex()
        try:
            header = link.write(txn, nonce, turn, until)
        except NotSent as problem:
            self._session.failed(problem, until)
            return False
        except Cut as problem:
            if not self._settled(nonce, link, problem, until):
                return False
            if self._replicas:
                self._await_copies(self._session.link(until), until)
            return True
        if header is None:
            link.keep(txn, nonce)
            if self._replicas:
                self._await_copies(link, until)
            return True
        if self._session.is_usable(link, header, until):
            link.learn(header, list(txn.guessed_points), list(txn.guessed_ranges))
            if header.status == "turn":
                time.sleep(_REST)
        return False

    def _await_copies(self, link: RedisConnection, until: float) -> None:
        """Return only when enough replicas have what was written."""
        try:
            have = link.copies(self._replicas, until)
        except (NotSent, Cut) as problem:
            raise unknown(self._target, f"cannot count replicas: {problem}") from problem
        if have < self._replicas:
            raise unknown(self._target, f"only {have} of {self._replicas} replicas confirmed it")

    def _settled(self, nonce: str, link: RedisConnection, problem: Cut, until: float) -> bool:
        """Determine the outcome of a write whose reply was lost."""
        life, version = link.life, link.replica.version
        self._session.drop()
        while True:
            try:
                status = self._session.link(until).settle(nonce, life, version, until)
            except (NotSent, Cut):
                self._session.drop()
            except Unavailable as error:
                raise unknown(self._target, str(problem)) from error
            else:
                if status in {"ok", "again"}:
                    return status == "again"
                raise unknown(self._target, str(problem))
            if _monotonic() >= until:
                raise unknown(self._target, str(problem))
