"""Wait for a claim in a thread, with progress for the client; a canceled wait leaves the queue."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from dibs.errors import DibsError, Unavailable
from dibs.mcp.tools_claims import acquire
from dibs.project.stopping import SLICE, WaitStopped, stopping_with

if TYPE_CHECKING:
    from typing import Any

    from mcp.server.context import ServerRequestContext

    from dibs.api.client import Dibs
    from dibs.mcp.inputs import WaitAsked

#: Seconds until the first progress message, and between later ones.
FIRST_NEWS, NEWS = 1.0, 5.0
#: How many calls can wait at once in one server; each has a thread.
MOST_WAITING = 256


def _work(dibs: Dibs, asked: WaitAsked, stop: threading.Event) -> dict[str, Any] | DibsError:
    """Wait in this thread; an error is returned, because a task group would wrap it."""
    claims = stopping_with(dibs.project, stop).claims
    try:
        return acquire(dibs, asked, claims, asked.seconds)
    except WaitStopped:
        return Unavailable("the wait was canceled")
    except DibsError as error:
        return error


class McpWaits:
    """The waits of one server."""

    def __init__(self) -> None:
        self._room = anyio.CapacityLimiter(MOST_WAITING)

    async def wait(
        self, ctx: ServerRequestContext[Any, Any], dibs: Dibs, asked: WaitAsked
    ) -> dict[str, Any]:
        """Wait, report progress, and stop when the request is canceled; it then releases what was granted."""
        stop = threading.Event()
        before = await to_thread.run_sync(_held, dibs)
        answer: dict[str, Any] | DibsError | None = None
        read = False

        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_tell, ctx, asked, stop)
                # Not abandoned: when this returns, the waiter has left the queue.
                answer = await to_thread.run_sync(_work, dibs, asked, stop, limiter=self._room)
                await anyio.lowlevel.checkpoint()
                read = True
                tasks.cancel_scope.cancel()
        finally:
            if not read and isinstance(answer, dict):
                with anyio.CancelScope(shield=True):
                    await to_thread.run_sync(_give_back, dibs, answer, before)
        if isinstance(answer, DibsError):
            raise answer
        assert answer is not None
        return answer


async def _tell(
    ctx: ServerRequestContext[Any, Any], asked: WaitAsked, stop: threading.Event
) -> None:
    """Report progress to the client, and stop the wait when it cancels."""
    started = time.monotonic()
    due = started + FIRST_NEWS
    try:
        while True:
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
    """Release what was granted while the client canceled."""
    fresh = [one["pattern"] for one in answer["claims"] if one["pattern"] not in before]
    if fresh:
        patterns = [dibs.project.pattern(path) for path in fresh]
        dibs.project.holdings.release(dibs.caller, patterns)
