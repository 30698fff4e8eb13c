"""Network faults on demand: a TCP proxy on loopback.

Nothing is random. A fault lasts until ``heal``; one-time faults (``cut_after``, ``drop_reply``)
affect the first matching connection and are counted in ``cuts``.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from tests.servers.processes import listener

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

REQUESTS = ("requests",)
REPLIES = ("replies",)
BOTH = ("requests", "replies")

_NO_LINGER = struct.pack("ii", 1, 0)


class _Lane:
    """One direction, across all connections."""

    def __init__(self) -> None:
        self.latency = 0.0
        self.swallows = False
        self.open = asyncio.Event()
        self.open.set()
        #: How many more bytes may pass before the connection is cut.
        self.budget: int | None = None


class _Drop:
    """A reply to lose once the request that contains ``after`` has passed."""

    def __init__(self, after: bytes, quiet: float) -> None:
        self.after = after
        self.quiet = quiet


class _Link:
    """One connection: the client's and the server's socket."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.sockets = {"requests": server, "replies": client}  # one per direction
        self.seen = b""
        self.drop: _Drop | None = None
        self.lossy = False
        self.tasks: set[asyncio.Task[None]] = set()

    def end(self, *, reset: bool) -> None:
        for sock in self.sockets.values():
            if reset:
                with suppress(OSError):
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
            sock.close()


class FaultProxy:
    """A proxy in front of ``target``, a port of 127.0.0.1 or an object that has one."""

    def __init__(self, target) -> None:
        self._target = target
        self._lanes = {"requests": _Lane(), "replies": _Lane()}
        self._links: set[_Link] = set()
        self._drop: _Drop | None = None
        #: How many times ``cut_after`` and ``drop_reply`` have taken effect.
        self.cuts = 0
        self._listener: socket.socket | None = listener()
        self.port: int = self._listener.getsockname()[1]
        self._accepting: asyncio.Task[None] | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._now(self._listen)

    # faults that last until heal()

    def delay(self, seconds: float, direction: tuple[str, ...] = BOTH) -> None:
        """Delay each chunk of bytes by this many seconds."""
        self._now(lambda: [setattr(lane, "latency", seconds) for lane in self._of(direction)])

    def hold(self, direction: tuple[str, ...] = BOTH) -> None:
        """Let nothing through but lose nothing: it arrives after heal, like a TCP retransmission."""
        self._now(lambda: [lane.open.clear() for lane in self._of(direction)])

    def swallow(self, direction: tuple[str, ...] = BOTH) -> None:
        """Act as a black hole: accept all bytes, and the end of the stream, and lose them.

        In one direction only, it is a one-way cut. ``heal`` resets a connection that lost bytes.
        """
        self._now(lambda: [setattr(lane, "swallows", True) for lane in self._of(direction)])

    def refuse(self) -> None:
        """Refuse new connections; open ones continue."""
        self._now(self._stop_listening)

    def heal(self) -> None:
        """End all faults; held bytes go through, connections with a gap are reset."""
        self._now(self._heal)

    # one-time faults

    def reset(self) -> None:
        """Reset (RST) all connections on both sides, now."""
        self._now(lambda: [self._end(link, reset=True) for link in list(self._links)])

    def cut_after(self, count: int, direction: tuple[str, ...]) -> None:
        """Let ``count`` more bytes through, then reset the connection that sends the next one."""
        self._now(lambda: [setattr(lane, "budget", count) for lane in self._of(direction)])

    def drop_reply(self, after: bytes = b"", *, quiet: float = 0.2) -> None:
        """Let a request take effect and lose its reply: the client sees a reset and cannot know.

        The request is the first that contains ``after``. Everything the server sends from then on
        is lost; when it ends the stream, or has replied and then paused for ``quiet`` seconds, the
        client is reset.
        """
        self._now(lambda: setattr(self, "_drop", _Drop(after, quiet)))

    def close(self) -> None:
        """Reset open connections and stop."""
        if self._loop.is_closed():
            return
        self._wait_for(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def __enter__(self) -> FaultProxy:
        """Return self; it already listens."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.close()

    # the rest runs in the proxy's thread

    def _now(self, act: Callable[[], object]):
        async def run() -> object:  # everything runs in the loop's thread, so no lock is needed
            return act()

        return self._wait_for(run())

    def _wait_for(self, work: Coroutine[object, object, object]):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    def _of(self, direction: tuple[str, ...]) -> list[_Lane]:
        return [self._lanes[way] for way in direction]

    def _listen(self) -> None:
        self._listener = self._listener or listener(self.port)
        self._listener.setblocking(False)
        self._accepting = self._loop.create_task(self._accept(self._listener))

    def _stop_listening(self) -> None:
        if self._listener is not None:
            self._accepting.cancel()
            self._listener.close()
            self._listener = None

    async def _accept(self, sock: socket.socket) -> None:
        while True:
            client, _ = await self._loop.sock_accept(sock)
            server = socket.socket()
            for end in (client, server):
                end.setblocking(False)
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            link = _Link(client, server)
            self._links.add(link)
            self._start(link, self._connect(link))

    def _start(self, link: _Link, work: Coroutine[object, object, None]) -> None:
        task = self._loop.create_task(work)
        link.tasks.add(task)
        task.add_done_callback(link.tasks.discard)

    async def _connect(self, link: _Link) -> None:
        port = self._target if isinstance(self._target, int) else self._target.port
        try:
            await self._loop.sock_connect(link.sockets["requests"], ("127.0.0.1", port))
        except OSError:  # no server: a reset for the client is the closest we can get
            self._end(link, reset=True)
            return
        self._start(link, self._pump(link, "requests", "replies"))
        self._start(link, self._pump(link, "replies", "requests"))

    async def _pump(self, link: _Link, way: str, other: str) -> None:
        """Forward one direction of one connection until its stream ends."""
        source, lane = link.sockets[other], self._lanes[way]
        try:
            while data := await self._receive(link, way, source):
                await self._carry(link, way, data)
            if link.drop and way == "replies":
                self._cut(link)
                return
            if lane.swallows:
                link.lossy = True
                return
            await lane.open.wait()
            _shut(link.sockets[way])
        except OSError:  # one side is gone: end the other in the same way
            self._end(link, reset=True)
            return
        if len(link.tasks) == 1:  # the other direction has already ended
            self._end(link, reset=False)

    async def _receive(self, link: _Link, way: str, source: socket.socket) -> bytes:
        if link.drop and link.lossy and way == "replies":
            with suppress(TimeoutError):
                return await asyncio.wait_for(self._loop.sock_recv(source, 65536), link.drop.quiet)
            return b""
        return await self._loop.sock_recv(source, 65536)

    async def _carry(self, link: _Link, way: str, data: bytes) -> None:
        lane = self._lanes[way]
        if lane.latency:
            await asyncio.sleep(lane.latency)
        await lane.open.wait()
        self._look_for_drop(link, way, data)
        if lane.swallows or (link.drop and way == "replies"):
            link.lossy = True
            return
        over = lane.budget is not None and len(data) > lane.budget
        if lane.budget is not None:
            data = data[: lane.budget]
            lane.budget = None if over else lane.budget - len(data)
        await self._loop.sock_sendall(link.sockets[way], data)
        if over:
            self._cut(link)

    def _look_for_drop(self, link: _Link, way: str, data: bytes) -> None:
        if self._drop is None or way != "requests":
            return
        link.seen = (link.seen + data)[-65536 - len(self._drop.after) :]
        if self._drop.after in link.seen:
            link.drop, self._drop = self._drop, None

    def _cut(self, link: _Link) -> None:
        self.cuts += 1
        self._end(link, reset=True)

    def _end(self, link: _Link, *, reset: bool) -> None:
        self._links.discard(link)
        for task in link.tasks:
            if task is not asyncio.current_task():
                task.cancel()
        link.end(reset=reset)

    def _heal(self) -> None:
        self._drop = None
        for lane in self._lanes.values():
            lane.latency, lane.swallows, lane.budget = 0.0, False, None
            lane.open.set()
        for link in [link for link in self._links if link.lossy and not link.drop]:
            self._end(link, reset=True)
        if self._listener is None:
            self._listen()

    async def _close(self) -> None:
        self._stop_listening()
        tasks = [task for link in self._links for task in link.tasks]
        for link in list(self._links):
            self._end(link, reset=True)
        await asyncio.gather(*tasks, return_exceptions=True)


def _shut(sock: socket.socket) -> None:
    with suppress(OSError):
        sock.shutdown(socket.SHUT_WR)
