"""Opens streams for clients: finds the project, counts clients, and ends what nobody uses."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from anyio import to_thread

from dibs.errors import DibsError, Unavailable
from dibs.server.events.hub import Hub
from dibs.server.events.stream import Stream
from dibs.server.security.authorize import served_project

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from dibs.server.events.request import Wanted
    from dibs.server.events.stream import Item
    from dibs.server.projects import ServedProject
    from dibs.server.resident import Resident
    from dibs.server.security.identity import RequestIdentity

#: How many clients one server has.
MOST_CLIENTS = 4096
#: Seconds between two attempts while the store does not answer, and before an unused hub is closed.
PAUSE, LINGER = 1.0, 10.0
#: Seconds after which a client that does not read is disconnected.
STALLED = 30.0
#: Seconds between two looks whether the clients' tokens are still valid.
_CHECK_TOKENS = 2.0


class Sessions:
    """The hubs of the projects, and their clients, on one event loop."""

    def __init__(self, resident: Resident) -> None:
        self._resident = resident
        self._hubs: dict[str, Hub] = {}
        self._clients: dict[Stream, str] = {}
        resident.metrics.clients = lambda: len(self._clients)
        self._watch: asyncio.TimerHandle | None = None

    async def project(self, identity: RequestIdentity, named: str) -> ServedProject:
        """Return the project that a client may follow; raise ``DibsError`` otherwise."""
        return await to_thread.run_sync(served_project, self._resident.projects, identity, named)

    @asynccontextmanager
    async def stream(
        self, served: ServedProject, wanted: Wanted, identity: RequestIdentity
    ) -> AsyncIterator[Stream]:
        """Provide the stream of one client."""
        self.check_room()
        hub = self._hubs.get(served.id)
        if hub is None:
            hub = self._hubs[served.id] = Hub(self._resident.feeds.of(served))
        stream = Stream(hub, wanted.after, wanted.filter)
        self._clients[stream] = identity.token
        if self._watch is None:
            self._check_tokens()
        try:
            yield stream
        finally:
            del self._clients[stream]
            if not self._uses(hub):
                asyncio.get_running_loop().call_later(LINGER, self._close_unused, hub)

    def check_room(self) -> None:
        """Raise ``Unavailable`` if there are too many clients."""
        if len(self._clients) >= MOST_CLIENTS:
            raise Unavailable(f"this server already has {MOST_CLIENTS} event clients", code="BUSY")

    def _uses(self, hub: Hub) -> bool:
        return any(stream.hub is hub for stream in self._clients)

    def _close_unused(self, hub: Hub) -> None:
        if not self._uses(hub) and self._hubs.get(hub.project) is hub:
            del self._hubs[hub.project]
            hub.close()

    def _check_tokens(self) -> None:
        """End the streams whose tokens were revoked or have expired."""
        if not self._clients:
            self._watch = None
            return
        with suppress(DibsError):
            valid = {"", *(row.id for row in self._resident.tokens.all())}
            for stream, token in self._clients.items():
                if token not in valid:
                    stream.ended = True
                    stream.hub.wake()
        loop = asyncio.get_running_loop()
        self._watch = loop.call_later(_CHECK_TOKENS, self._check_tokens)


async def next_items(stream: Stream) -> Sequence[Item] | None:
    """Return what a client receives next; wait while the store does not answer."""
    try:
        return await stream.next()
    except DibsError as error:
        stream.hub.feed.served.failed(error)
    except OSError:
        pass
    await stream.hub.news(PAUSE)
    return ()
