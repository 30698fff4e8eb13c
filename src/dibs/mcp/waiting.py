"""Waiting in a thread for a claim, with progress for the client; a cancelled wait leaves nothing behind.

The wait of the services blocks on the engine. Here the engine is one that looks often whether the wait was
broken off; the services then take the waiter out of the queue as for any other broken-off wait.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from dibs.errors import DibsError, Unavailable
from dibs.mcp.callers import has_hung_up
from dibs.mcp.tools_claims import acquire
from dibs.services.claims.service import Claims
from dibs.services.state.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcp.server.context import ServerRequestContext

    from dibs.api.client import Dibs
    from dibs.engines.base import Engine
    from dibs.mcp.inputs import WaitAsked

#: How long, in seconds, a wait goes on after it was broken off, at most.
SLICE = 0.2
#: After how many seconds a client hears that it still waits, first and then again.
FIRST_NEWS, NEWS = 1.0, 5.0
#: How many may wait at once in one server; each has a thread.
MOST_WAITING = 256


class BrokenOff(Exception):
    """Nobody waits for the answer any more."""


class _Breakable:
    """An engine whose wait ends when nobody waits for it any more."""

    def __init__(self, engine: Engine, stop: threading.Event) -> None:
        self._engine = engine
        self._stop = stop

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def wait(self, after: int, timeout: float) -> int:
        """Wait as the engine does, in slices."""
        end = time.monotonic() + timeout
        while True:
            if self._stop.is_set():
                raise BrokenOff
            left = end - time.monotonic()
            newest = self._engine.wait(after, max(0.0, min(SLICE, left)))
            if newest > after or left <= SLICE:
                return newest


def _work(dibs: Dibs, asked: WaitAsked, stop: threading.Event) -> dict[str, Any] | DibsError:
    """Wait in this thread; what goes wrong is a value, for a group of tasks would wrap it."""
    store = dibs.project.store
    breakable: Any = _Breakable(store.engine, stop)
    own = Store(breakable, store.config, store.archive, store.callbacks)
    claims = Claims(own, dibs.project.tell_left)
    try:
        return acquire(dibs, asked, claims, asked.seconds)
    except BrokenOff:
        return Unavailable("the wait was broken off")
    except DibsError as error:
        return error


class McpWaits:
    """The waits of one server."""

    def __init__(self) -> None:
        self._room = anyio.CapacityLimiter(MOST_WAITING)

    async def wait(
        self, ctx: ServerRequestContext[Any, Any], dibs: Dibs, asked: WaitAsked
    ) -> tuple[dict[str, Any], Callable[[], None]]:
        """Wait, tell the client so now and then, and give up when the request is cancelled.

        The second value gives back what was granted; it is called where the answer reached nobody.
        """
        stop = threading.Event()
        before = await to_thread.run_sync(_held, dibs)
        answer: dict[str, Any] | DibsError | None = None
        read = False

        def give_back() -> None:
            if isinstance(answer, dict):
                _give_back(dibs, answer, before)

        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_tell, ctx, asked, stop)
                # Not abandoned: when this comes back, the waiter is out of the queue.
                answer = await to_thread.run_sync(_work, dibs, asked, stop, limiter=self._room)
                await anyio.lowlevel.checkpoint()
                read = not has_hung_up(ctx)
                tasks.cancel_scope.cancel()
        finally:
            if not read:
                with anyio.CancelScope(shield=True):
                    await to_thread.run_sync(give_back)
        if isinstance(answer, DibsError):
            raise answer
        assert answer is not None
        return answer, give_back


async def _tell(
    ctx: ServerRequestContext[Any, Any], asked: WaitAsked, stop: threading.Event
) -> None:
    """Tell the client how long it has waited; when it is cancelled or hangs up, the wait is broken off."""
    started = time.monotonic()
    due = started + FIRST_NEWS
    try:
        while not has_hung_up(ctx):
            await anyio.sleep(SLICE)
            now = time.monotonic()
            if now >= due:
                waited = round(now - started, 1)
                await ctx.session.report_progress(waited, asked.seconds, "waiting in the queue")
                due = now + NEWS
    finally:
        stop.set()


def _held(dibs: Dibs) -> frozenset[str]:
    return frozenset(one.claim.pattern for one in dibs.held(dibs.caller.id))


def _give_back(dibs: Dibs, answer: dict[str, Any], before: frozenset[str]) -> None:
    """Release what was granted while the request was being cancelled, or its client hung up."""
    fresh = [one["pattern"] for one in answer["claims"] if one["pattern"] not in before]
    if fresh:
        patterns = [dibs.project.pattern(path) for path in fresh]
        dibs.project.holdings.release(dibs.caller, patterns)
