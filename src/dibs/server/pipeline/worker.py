"""Runs one handler of one project: a bounded queue, one event after the other, retries, and then the next.

Each call runs in a thread that is given up when the handler does not return. Nothing here can delay
another handler or a writer of the ledger.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from dibs.errors import DibsError, Unavailable, Unknown
from dibs.services.pipeline.handlers import HandlerFailed, HandlerStopped
from dibs.services.pipeline.progress import MOST_WAITING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.core.claims.ledger import Entry
    from dibs.services.pipeline.handlers import Finish, Handler
    from dibs.services.pipeline.progress import HandlerProgress

log = logging.getLogger("dibs.server")

#: What a handler does at the moment.
IDLE, RUNNING, RETRYING, ELSEWHERE, PARKED = "idle", "running", "retrying", "elsewhere", "parked"
#: The pause before the first repeat; each further one is twice as long, up to a limit. In seconds.
PAUSE, LONGEST_PAUSE = 1.0, 300.0
#: How long a call may take beyond the handler's own timeout, in seconds.
SPARE = 5.0
#: How many calls of a handler may hang before it is parked.
MOST_HUNG = 3
#: How often a server asks whether another one still runs the handler, in seconds.
ASK_EVERY = 2.0


class Worker:
    """One handler with its queue."""

    def __init__(
        self,
        handler: Handler,
        progress: HandlerProgress,
        *,
        pause: float = PAUSE,
        spare: float = SPARE,
    ) -> None:
        self.handler = handler
        self._progress = progress
        self._pause, self._spare = pause, spare
        self._lock = threading.Lock()
        self._queue: deque[Entry] = deque()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._hung: list[threading.Thread] = []
        #: The newest event it was offered, and the newest that was dropped.
        self.offered = self._dropped_upto = 0
        self._dropped, self._warned = 0, False
        #: Until when, on this process's clock, the lease surely holds.
        self._sure_until = 0.0
        #: The last event that was handled, here or elsewhere, as far as it is known.
        self._seq = 0
        self.state = IDLE
        self.holds = False

    @property
    def waiting(self) -> int:
        """How many events wait."""
        return len(self._queue)

    def stopping(self) -> bool:
        """Return whether the server stops."""
        return self._stopping.is_set()

    # -- the reader's side

    def offer(self, entries: Iterable[Entry], missed: int = 0) -> None:
        """Add events, and start to work; ``missed`` were dropped before."""
        with self._lock:
            self._dropped += missed
            for entry in entries:
                if entry.seq <= self.offered or not self.handler.wants(entry):
                    continue
                if self.handler.parked:  # when it is allowed, it begins after the newest event
                    self.offered = entry.seq
                    continue
                self.offered = entry.seq
                if len(self._queue) >= MOST_WAITING:
                    self._dropped_upto = self._queue.popleft().seq
                    self._dropped += 1
                self._queue.append(entry)
            if self._queue and self._thread is None and not self.stopping():
                name = f"handler {self.handler.name}"
                self._thread = threading.Thread(target=self._work, name=name, daemon=True)
                self._thread.start()

    def tend(self) -> None:
        """Keep the lease during a long call, and report dropped events."""
        if self.holds and self.state != IDLE and time.monotonic() >= self._sure_until:
            self._take()
        with self._lock:
            count, upto, warn = self._dropped, self._dropped_upto, not self._warned
            self._dropped = 0
            self._warned = self._warned or count > 0
        if count:
            self._progress.note_dropped(self.handler.name, count, upto, warn=warn)

    def stop(self) -> None:
        """Start nothing new, and interrupt what is running."""
        self._stopping.set()

    def join(self, patience: float) -> None:
        """Wait for the current event, but not for a handler that hangs."""
        thread = self._thread
        if thread is not None:
            thread.join(patience)

    def position(self, newest: int) -> int:
        """Return the event up to which everything is handled; ``newest`` if none waits."""
        with self._lock:
            return newest if not self._queue and self._thread is None else 0

    # -- the worker's side

    def _work(self) -> None:
        while batch := self._next():
            try:
                self._handle(batch)
            except HandlerStopped:
                self._put_back(batch)
            except (DibsError, OSError, RuntimeError) as error:
                # RuntimeError: the engine was closed because the store was replaced.
                log.warning("handler %s: %s", self.handler.name, error)
                self._put_back(batch)
                self._stopping.wait(self._pause)
        self.state = IDLE

    def _next(self) -> list[Entry]:
        """Return the events to handle next; none if this thread is no longer needed."""
        with self._lock:
            if not self._queue or self.stopping():
                self._thread = None
                self._warned = self._warned and bool(self._queue)
                return []
            if self.handler.all_at_once:
                batch = list(self._queue)
                self._queue.clear()
                return batch
            return [self._queue.popleft()]

    def _put_back(self, batch: Sequence[Entry]) -> None:
        with self._lock:
            self._queue.extendleft(reversed(batch))

    def _handle(self, batch: list[Entry]) -> None:
        if time.monotonic() >= self._sure_until and not self._take():
            self._wait_for_other(batch)
            return
        fresh = [entry for entry in batch if entry.seq > self._seq]
        if fresh:
            self._attempt(fresh)

    def _take(self) -> bool:
        """Begin or continue to hold the handler; return whether this server has it."""
        lasts, now = self._progress.lasts, time.monotonic()
        row = self._progress.take(self.handler.name)
        self.holds = row is not None
        if row is not None:
            self._seq = row.seq
            self._sure_until = now + lasts / 2
        return row is not None

    def _wait_for_other(self, batch: Sequence[Entry]) -> None:
        """Wait while another server handles these events; forget those that it has handled."""
        self.state = ELSEWHERE
        row = self._progress.row(self.handler.name)
        done = row.seq if row is not None else 0
        with self._lock:
            left = [entry for entry in (*batch, *self._queue) if entry.seq > done]
            self._queue.clear()
            self._queue.extend(left)
        if left:
            self._stopping.wait(ASK_EVERY)

    def _attempt(self, batch: list[Entry]) -> None:
        """Handle events; after too many failures, give up on them."""
        name, pause = self.handler.name, self._pause
        for left in range(self.handler.retries, -1, -1):
            self.state = RUNNING
            failure = self._failure(batch)
            if failure is None:
                return
            why = getattr(failure, "message", "") or str(failure)
            self.state = RETRYING
            if not left:
                self._progress.skip(name, batch, why, output=list(getattr(failure, "output", ())))
                return
            self._progress.note(name, why)
            if self._stopping.wait(pause):
                raise HandlerStopped
            pause = min(2 * pause, LONGEST_PAUSE)

    def _failure(self, batch: Sequence[Entry]) -> Exception | None:
        """Handle events once; return why that failed, or None."""
        try:
            self._settle(batch, self._call(batch))
        except HandlerStopped:
            raise
        except (HandlerFailed, DibsError) as error:
            return error
        except Exception as error:  # noqa: BLE001 - a handler must not end its worker
            return HandlerFailed(_unexpected(error))
        return None

    def _settle(self, batch: Sequence[Entry], finish: Finish | None) -> None:
        """Record events as handled; while the store is unreachable, try again without a new call."""
        while True:
            lasts, now = self._progress.lasts, time.monotonic()
            try:
                upto = self._dropped_upto
                mine = self._progress.done(self.handler.name, batch, upto, finish)
            except (Unavailable, Unknown) as error:
                log.warning("handler %s: %s", self.handler.name, error.message)
                if self._stopping.wait(self._pause):
                    raise HandlerStopped from None
                continue
            self.holds = mine
            self._sure_until = now + lasts / 2 if mine else 0.0
            self._seq = max(self._seq, batch[-1].seq)
            return

    def _call(self, batch: Sequence[Entry]) -> Finish | None:
        """Call the handler in a thread of its own; raise if it fails or does not return in time."""
        self._wait_for_hung()
        found: list[tuple[Finish | None, Exception | None]] = []

        def target() -> None:
            try:
                found.append((self.handler.act(batch), None))
            except Exception as error:  # noqa: BLE001 - a handler must not harm the others
                found.append((None, error))

        thread = threading.Thread(target=target, name=f"call {self.handler.name}", daemon=True)
        thread.start()
        thread.join(self.handler.timeout + self._spare)
        if not found:
            self._hung.append(thread)
            raise HandlerFailed("it does not return")
        finish, error = found[0]
        if error is not None:
            raise error
        return finish if callable(finish) else None

    def _wait_for_hung(self) -> None:
        """Park a handler of which too many calls hang, until one of them returns."""
        while True:
            self._hung = [thread for thread in self._hung if thread.is_alive()]
            if len(self._hung) < MOST_HUNG:
                return
            self.state = PARKED
            if self._stopping.wait(self._pause):
                raise HandlerStopped


def _unexpected(error: Any) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
