"""Keeping a connection to a store on a server: connect, check the store's life, reconnect."""

from __future__ import annotations

import os
import time
from functools import partial

from dibs.engines.shared import memory as memories
from dibs.engines.shared.failures import Cut, NotSent
from dibs.engines.shared.memory import FRESH, LifeVerdict, StoreMemory
from dibs.engines.shared.replica_txn import ReplicaTxn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.engines.base import Txn
    from dibs.engines.shared.clock import Sources
    from dibs.engines.shared.link import Header, StoreLink
    from dibs.errors import DibsError

_monotonic = time.monotonic
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.25


class StoreSession:
    """One handle's connection; its owner ensures that one thread uses it at a time.

    ``memory`` is the file with what this machine knows of the store, and ``renew`` the step that
    starts a new life.
    """

    def __init__(
        self, memory: str, renew: Callable[[Txn, str], None] | None, sources: Sources
    ) -> None:
        self.sources = sources
        self._memory_path = memory
        self._memory = memories.recall(memory)
        #: When what was seen was last stored.
        self.remembered = _monotonic()
        self._renew = renew
        self._link: Any = None
        self._pid = os.getpid()

    def open(self, until: float) -> StoreLink:
        """Open a connection and check the life of the store."""
        raise NotImplementedError

    def passes(self, problem: Exception) -> bool:
        """Return whether a retry makes sense."""
        raise NotImplementedError

    def unavailable(self, problem: Exception) -> DibsError:
        """Return the Dibs error for a call that had no effect."""
        raise NotImplementedError

    def link(self, until: float) -> Any:
        """Return the connection; open a new one if needed."""
        link = self._link
        if link is not None and link.usable and self._pid == os.getpid():
            return link
        self.drop()
        return self._connect(until)

    def drop(self) -> None:
        """Drop the connection; the next use opens another."""
        link, self._link = self._link, None
        if link is not None:
            self._note(link)
            link.close()
        self._pid = os.getpid()

    def finish(self) -> None:
        """Release what a call has locked."""
        if self._link is not None:
            try:
                self._link.finish()
            except (NotSent, Cut):
                self.drop()

    def close(self) -> None:
        """Close permanently, and store what was seen."""
        inherited = self._pid != os.getpid()
        self.drop()
        if self._memory.life and not inherited:
            memories.remember(self._memory_path, self._memory, firmly=False)

    def remember(self, *, firmly: bool) -> None:
        """Store what was seen, although the connection stays open."""
        self.remembered = _monotonic()
        if self._link is not None:
            self._note(self._link)
        memories.remember(self._memory_path, self._memory, firmly=firmly)

    def failed(self, problem: NotSent | Cut, until: float) -> None:
        """Handle a call that had no effect; raise if a retry makes no sense."""
        self.drop()
        if not self.passes(problem) or _monotonic() >= until:
            raise self.unavailable(problem)

    def is_usable(self, link: StoreLink, header: Header, until: float) -> bool:
        """Return whether a reply can be used; if the life of the store is over, start another."""
        if link.clock.jump:
            self.end_life(link, until)
            return False
        if header.status in {"life", "damaged", "astray"}:
            self.drop()
            return False
        return True

    def end_life(self, link: StoreLink, until: float) -> None:
        """Start a new life because the server's clock jumped."""
        try:
            self.begin_life(link, memories.jumped(link.clock.jump), "", until)
        except (NotSent, Cut) as problem:
            self.failed(problem, until)

    def begin_life(self, link: StoreLink, verdict: LifeVerdict, run: str, until: float) -> None:
        """Start a new life of the store, unless another process does it first; ``run`` names a new server."""
        over = link.life
        header = link.begin(until)
        read = partial(link.entries, until=until)
        name = os.urandom(8).hex()
        while link.life == over:
            # Every reply uses the old life's clock.
            link.clock.shift(-verdict.jump)
            newest = max(header.newest, header.base)
            base = memories.base_of_life(memories.wall(), newest, self._memory)
            txn = ReplicaTxn(link.replica, link.clock.now(), (header.newest, base), read)
            if verdict.why != FRESH and self._renew is not None:
                started = _monotonic()
                self._renew(txn, verdict.why)
                until += _monotonic() - started
            offset = header.offset - int(verdict.jump * 1e6)
            nonce = os.urandom(9).hex()
            lived = (name, base, run or header.run, offset)
            answer = link.write(txn, nonce, 0, until, life=lived)
            if answer is None:
                link.clock.shift(-verdict.jump)
                link.keep(txn, nonce)
                link.life, link.base = name, base
                self._note(link)
                self.remember(firmly=True)
            elif answer.status in {"stale", "guess"}:
                link.learn(answer, list(txn.guessed_points), list(txn.guessed_ranges))
                header = answer
            else:
                header = link.begin(until)
        link.finish()  # if another process was first, nothing was written

    def _note(self, link: StoreLink) -> None:
        if link.life:
            newest = max(link.newest, link.base)
            seen = StoreMemory(
                link.life, max(0, link.replica.version), link.replica.nonce, newest, link.clock.now(),
                self.sources.boot(), self.sources.since_boot(), link.clock.slack,
                link.system, link.timeline,
            )  # fmt: skip
            self._memory = memories.later(self._memory, seen)

    def _connect(self, until: float) -> Any:
        pause = _FIRST_PAUSE
        earlier: Exception | None = None
        while True:
            try:
                self._link = self.open(until)
            except (NotSent, Cut) as problem:
                left = until - _monotonic()
                # An attempt that had too little time did not learn what is wrong.
                cause = earlier if earlier and left < _FIRST_PAUSE else problem
                if not self.passes(problem) or left <= pause:
                    raise self.unavailable(cause) from cause
                earlier = problem
            else:
                return self._link
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
