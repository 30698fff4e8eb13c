"""The way of one client through the events: a snapshot or a replay, then events in order without gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.core.claims.event_filters import RESTARTED, SLOW, cannot_resume
from dibs.core.claims.event_names import CURRENT, RESUMED, RESYNC
from dibs.core.claims.ledger import Kind
from dibs.core.claims.probes import is_probe_entry
from dibs.server.events.messages import EncodedEvent, Note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.claims.event_filters import EventFilter
    from dibs.server.events.hub import Hub

    Item = EncodedEvent | Note

#: About how many bytes a client is sent before it must have read some.
MOST_AT_ONCE = 128 << 10
#: Seconds after which a client looks again by itself.
_PATIENCE = 1.0


class Stream:
    """Decides what a client receives next."""

    def __init__(self, hub: Hub, after: int | None, chosen: EventFilter) -> None:
        self.hub = hub
        self.filter = chosen
        self._lives, self._notices = hub.lives, 0
        self._why = ""
        #: The number up to which the client has everything; None before its snapshot.
        self.place = after
        #: Whether the client may no longer receive anything.
        self.ended = False
        self._replays = after is not None
        self._greeting = None if after is None else Note(RESUMED, after, project=hub.project)

    async def next(self) -> Sequence[Item] | None:
        """Return what to send next, possibly nothing; None if the client is up to date."""
        hub = self.hub
        if self._lives != hub.lives:
            self._lives = hub.lives
            self._start_again(RESTARTED)
        if self._notices != hub.notices:
            self._notices = hub.notices
            return [hub.notice or Note(CURRENT)]
        if not hub.ready.is_set():
            await hub.news(_PATIENCE)
            return ()
        if self.place is None:
            return await self._from_snapshot()
        if self._replays and not hub.has(self.place):
            return await self._from_ledger(self.place)
        self._replays = False
        return await self._from_queue(self.place)

    async def _from_queue(self, after: int) -> Sequence[Item] | None:
        hub = self.hub
        if not hub.covers(after):
            self._start_again(SLOW)
            return ()
        if after > hub.seq:  # the snapshot is newer than what was published
            await hub.news(_PATIENCE)
            return ()
        if after == hub.seq and self._greeting is None:
            return None
        return self._chosen(hub.since(after), hub.seq)

    def _start_again(self, why: str) -> None:
        self.place, self._replays, self._why, self._greeting = None, False, why, None

    async def _from_snapshot(self) -> Sequence[Item]:
        taken = await self.hub.snapshot()
        why, self._why = self._why, ""
        self.place = taken.seq
        # The snapshot may be ahead of the queue, or behind it; the ledger has what is between.
        self._replays = not self.hub.covers(taken.seq)
        if not why:
            return [taken.note]
        return [Note(RESYNC, taken.seq, reason=why, project=self.hub.project), taken.note]

    async def _from_ledger(self, after: int) -> Sequence[Item]:
        page = await self.hub.page(after)
        why = cannot_resume(after, page.first, page.last)
        if not why and any(entry.kind == Kind.LEDGER_RESTARTED for entry in page.entries):
            why = RESTARTED
        if why:
            self._start_again(why)
            return ()
        events = [
            EncodedEvent(entry, self.hub.project)
            for entry in page.entries
            if not is_probe_entry(entry)
        ]
        last = page.entries[-1].seq if page.entries else after
        return self._chosen(events, last)

    def _chosen(self, events: list[EncodedEvent], last: int) -> list[Item]:
        """Return the greeting, if it is due, and the next events that the client wants, but not too many."""
        chosen: list[Item] = [] if self._greeting is None else [self._greeting]
        self._greeting, self.place = None, last
        size = 0
        for event in events:
            if self.filter.wants(event.entry):
                chosen.append(event)
                size += len(event.frame)
                if size > MOST_AT_ONCE:
                    self.place = event.seq
                    break
        return chosen
