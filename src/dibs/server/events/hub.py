"""The event loop's end of a feed: the latest events of a project, and the clients that receive them.

All clients share one queue, the newest events. A client has only its place in that queue, so that a slow one
costs nothing; one that falls out of the queue starts again with a snapshot.
"""

from __future__ import annotations

import asyncio
from collections import deque
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

import anyio
from anyio import to_thread

from dibs.core.claims.event_names import BEHIND, INIT
from dibs.server.events.feed import PAGE, UNREAD
from dibs.server.events.messages import EncodedEvent, Note
from dibs.services.claims.views import overview
from dibs.shapes import claims as shapes

if TYPE_CHECKING:
    from dibs.server.events.feed import Batch, Feed
    from dibs.services.state.ledger import LedgerPage

#: The size of the queue: in events, and in bytes.
MOST_EVENTS, MOST_BYTES = 4096, 4 << 20
#: How many threads read the ledger for clients that resume.
_READERS = 4


class StateAt(NamedTuple):
    """The state of a project after an entry."""

    seq: int
    note: Note


class Hub:
    """The latest events of a project, on one event loop."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self.project = feed.served.id
        #: The number up to which everything was published.
        self.seq = 0
        #: How often numbers were lost; a client that knows another count must start again.
        self.lives = 0
        #: What to tell about the stream itself, and how often it changed.
        self.notice: Note | None = None
        self.notices = 0
        self.ready = asyncio.Event()
        self._base = 0
        self._queue: deque[EncodedEvent] = deque()
        self._bytes = 0
        self._sleepers: set[asyncio.Event] = set()
        #: The snapshot that is being taken or was taken last, and the one after it.
        self._last_state: asyncio.Task[StateAt] | None = None
        self._next_state: asyncio.Task[StateAt] | None = None
        self._room = anyio.CapacityLimiter(_READERS)
        self._loop = asyncio.get_running_loop()
        self._leave = feed.subscribe(self._hear)

    def close(self) -> None:
        """End the subscription."""
        self._leave()

    def covers(self, after: int) -> bool:
        """Return whether every event after a number is in the queue."""
        return self._base <= after

    def has(self, after: int) -> bool:
        """Return whether a client can continue after a number without the ledger."""
        return self._base <= after <= self.seq

    def since(self, after: int) -> list[EncodedEvent]:
        """Return the events in the queue after a number."""
        newer = list(takewhile(lambda event: event.seq > after, reversed(self._queue)))
        return newer[::-1]

    async def page(self, after: int) -> LedgerPage:
        """Return the next entries after a number from the ledger."""
        return await to_thread.run_sync(
            lambda: self.feed.served.project().ledger.page(after, PAGE), limiter=self._room
        )

    async def snapshot(self) -> StateAt:
        """Return the state at this moment or later; clients that ask at about the same time share it."""
        if self._next_state is None:
            self._next_state = asyncio.create_task(self._take_snapshot(self._last_state))
        return await asyncio.shield(self._next_state)

    async def news(self, patience: float) -> None:
        """Wait until there is something new, at most ``patience`` seconds."""
        changed = asyncio.Event()
        self._sleepers.add(changed)
        try:
            async with asyncio.timeout(patience):
                await changed.wait()
        except TimeoutError:
            return
        finally:
            self._sleepers.discard(changed)

    async def _take_snapshot(self, before: asyncio.Task[StateAt] | None) -> StateAt:
        if before is not None:
            await asyncio.wait([before])
        # Who asks from now on may know of changes that this one misses.
        self._last_state, self._next_state = self._next_state, None

        def read() -> StateAt:
            project = self.feed.served.project()
            state = overview(project.store)
            shape = shapes.overview(state)
            if (as_of := project.engine.as_of) is not None:
                shape["as_of"] = as_of
            return StateAt(state.seq, Note(INIT, state.seq, project=self.project, state=shape))

        return await to_thread.run_sync(read, limiter=self._room)

    def _hear(self, batch: Batch) -> None:
        """Encode a batch in the feed's thread, and pass it to the event loop."""
        events = [EncodedEvent(entry, self.project) for entry in batch.entries]
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._publish, batch, events)

    def _publish(self, batch: Batch, events: list[EncodedEvent]) -> None:
        if batch.last == UNREAD:
            pass
        elif batch.restarted or not self.ready.is_set():
            self._restart(batch, lost=self.ready.is_set())
        else:
            self._keep(events)
            self.seq = batch.last
        if bool(batch.late) != (self.notice is not None):
            self.notices += 1
            self.notice = Note(BEHIND, message=batch.late) if batch.late else None
        self.wake()

    def _restart(self, batch: Batch, *, lost: bool) -> None:
        self._queue.clear()
        self._bytes = 0
        self._base = self.seq = batch.last
        self.ready.set()
        if lost:
            self.lives += 1

    def _keep(self, events: list[EncodedEvent]) -> None:
        self._queue.extend(events)
        self._bytes += sum(len(event.frame) for event in events)
        while len(self._queue) > MOST_EVENTS or self._bytes > MOST_BYTES:
            oldest = self._queue.popleft()
            self._bytes -= len(oldest.frame)
            self._base = oldest.seq

    def wake(self) -> None:
        """Let every client look for itself what comes next."""
        for sleeper in self._sleepers:
            sleeper.set()
