"""Run short calls of one project one after another, in one thread.

They share one connection to the engine, so more threads would only wait for each other. Under load the event
loop is woken once for several answers.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from anyio import to_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    import anyio

    T = TypeVar("T")

#: Seconds after which finished calls are answered, although others wait.
SHARE = 0.002
#: Seconds after which a call counts as stuck, so that the others continue in another thread; and how many.
STUCK, MOST_THREADS = 0.02, 8


class _Done(NamedTuple):
    """A call that has returned or raised."""

    future: asyncio.Future[Any]
    answer: Any
    error: BaseException | None = None


class Lane:
    """The calls that wait for one project; used by the event loop's thread."""

    def __init__(self, room: anyio.CapacityLimiter) -> None:
        self._room = room
        self._calls: deque[tuple[Callable[[], Any], asyncio.Future[Any]]] = deque()
        self._workers: set[asyncio.Task[None]] = set()
        #: When a call last began.
        self._began = 0.0

    async def run(self, act: Callable[[], T]) -> T:
        """Return what a function returns in the lane's thread."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._calls.append((act, future))
        stuck = time.monotonic() > self._began + STUCK and len(self._workers) < MOST_THREADS
        if not self._workers or stuck:
            worker = loop.create_task(self._work(loop))
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)
        return await future

    async def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._calls:
            _answer(await to_thread.run_sync(self._drain, loop, limiter=self._room))

    def _drain(self, loop: asyncio.AbstractEventLoop) -> list[_Done]:
        """Run all calls that wait, in a thread; return the last ones that are done."""
        done: list[_Done] = []
        until = time.monotonic() + SHARE
        while True:
            self._began = time.monotonic()
            if done and self._began >= until:
                loop.call_soon_threadsafe(_answer, done)
                done, until = [], self._began + SHARE
            try:
                act, future = self._calls.popleft()
            except IndexError:
                return done
            try:
                done.append(_Done(future, act()))
            except BaseException as error:  # noqa: BLE001  # it belongs to the caller
                done.append(_Done(future, None, error))


def _answer(done: Iterable[_Done]) -> None:
    for one in done:
        if one.future.done():  # cancelled
            continue
        if one.error is None:
            one.future.set_result(one.answer)
        else:
            one.future.set_exception(one.error)
