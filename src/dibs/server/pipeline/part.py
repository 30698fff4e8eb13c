"""Reads the ledger of each project by sequence number, and gives its events to the handlers."""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from dibs.errors import DibsError
from dibs.server.pipeline.registry import Registry
from dibs.server.pipeline.worker import PARKED, RETRYING, RUNNING, Worker
from dibs.services.pipeline.consent import HINT
from dibs.services.pipeline.handlers import IN_FILE
from dibs.services.pipeline.progress import MOST_WAITING, HandlerProgress
from dibs.services.schedule.leases import is_dead, this_process

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.server.events.feed import Feed, Feeds
    from dibs.server.projects import Projects, ServedProject
    from dibs.services.pipeline.handlers import Handler
    from dibs.services.state.serving.handlers import HandlerRow
    from dibs.services.state.store import Store

log = logging.getLogger("dibs.server")

#: How long the reader waits for a new event before it looks after the handlers, in seconds.
POLL = 1.0
#: How many events one reading returns at most, and the longest pause after an error in seconds.
_MOST, _LONGEST_PAUSE = 10 * MOST_WAITING, 15.0
#: How long ``stop`` waits for a handler, in seconds.
_STOP_WITHIN = 5.0


class HandlerView(NamedTuple):
    """A handler as people see it."""

    handler: Handler
    #: What it does here: idle, running, retrying, elsewhere (another server runs it), or parked.
    state: str
    waiting: int
    row: HandlerRow | None

    @property
    def failing(self) -> str:
        """Why it does not do its work; empty if it does, or if nothing failed since it last did."""
        error = self.row.error if self.row is not None else ""
        return (
            self.handler.parked or error or ("too many calls hang" if self.state == PARKED else "")
        )


class ProjectPipeline:
    """The handlers of one project."""

    def __init__(self, served: ServedProject, feed: Feed, folder: str = "") -> None:
        self._served = served
        self._feed = feed
        self._news = threading.Event()
        self._stopping = threading.Event()
        # Several servers can live in one process, so a number tells them apart.
        owner = f"{this_process()} {os.urandom(4).hex()}"
        self._progress = HandlerProgress(
            self._store, owner, lambda other: is_dead(other.rpartition(" ")[0])
        )
        self._registry = Registry(served, self._stopping.is_set, folder)
        self._stamp: object = ()
        self._lock = threading.Lock()
        self._workers: dict[str, Worker] = {}
        self._position = 0
        self._leave: Callable[[], None] = lambda: None
        self._thread = threading.Thread(
            target=self._read, name=f"pipeline {served.name}", daemon=True
        )

    def start(self) -> None:
        """Begin to read."""
        self._leave = self._feed.subscribe(lambda _: self._news.set())
        self._thread.start()

    def stop(self) -> None:
        """Interrupt the handlers, and let another server run them."""
        self._stopping.set()
        self._leave()
        self._news.set()
        workers = self._all()
        for worker in workers:
            worker.stop()
        until = time.monotonic() + _STOP_WITHIN
        for worker in workers:
            worker.join(max(0.0, until - time.monotonic()))
        self._thread.join(max(0.1, until - time.monotonic()))
        held = {one.handler.name: one.position(self._position) for one in workers if one.holds}
        try:
            self._progress.give_back(held)
        except DibsError as error:
            log.warning("pipeline of %s: %s", self._served.name, error.message)

    def views(self) -> list[HandlerView]:
        """Return the handlers with their states."""
        found = []
        for worker in self._all():
            row = self._progress.row(worker.handler.name)
            state = PARKED if worker.handler.parked else worker.state
            found.append(HandlerView(worker.handler, state, worker.waiting, row))
        return found

    def is_busy(self) -> bool:
        """Return whether events wait or are being handled here."""
        working = {RUNNING, RETRYING}
        return any(one.waiting or one.state in working for one in self._all())

    def _all(self) -> list[Worker]:
        with self._lock:
            return list(self._workers.values())

    def _store(self) -> Store:
        return self._served.project().store

    def _read(self) -> None:
        """Read until the server stops; after an error, wait and try again."""
        pause = 0.1
        while not self._stopping.is_set():
            try:
                self._refresh()
                self._step()
                pause = 0.1
            except (DibsError, OSError, RuntimeError) as problem:
                # RuntimeError: the engine was closed because the store was replaced.
                log.warning("pipeline of %s: %s", self._served.name, problem)
                if isinstance(problem, DibsError):
                    self._served.failed(problem)
                self._news.set()
                self._stopping.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _step(self) -> None:
        """Wait for events, and give them to their handlers."""
        workers = self._all()
        if self._news.wait(POLL):
            self._news.clear()  # before reading, so that what comes later is a new signal
            kinds = frozenset().union(*(worker.handler.kinds for worker in workers))
            ledger = self._served.project().ledger
            entries, _, self._position = ledger.waiting(self._position, kinds, _MOST)
            for worker in workers:
                worker.offer(entries)
        for worker in workers:
            worker.tend()

    def _refresh(self) -> None:
        """Build the handlers again if their settings changed, and catch up with each new one."""
        stamp = self._registry.stamp()
        if stamp == self._stamp:
            return
        wanted = {handler.name: handler for handler in self._registry.handlers()}
        with self._lock:
            gone = [self._workers.pop(name) for name in list(self._workers) if name not in wanted]
        for worker in gone:
            worker.stop()
        forgotten = [one.handler.name for one in gone if one.handler.source == IN_FILE]
        rows = self._progress.adopt(wanted, forgotten)
        for name, handler in wanted.items():
            self._admit(handler, rows[name])
        self._stamp = stamp

    def _admit(self, handler: Handler, row: HandlerRow) -> None:
        """Add or change a handler, and give a new one the events after its position."""
        name = handler.name
        worker = self._workers.get(name)
        if handler.parked:
            self._progress.park(name, handler.parked)
        elif row.error and _was_parked(row.error):
            self._progress.admit(name, row.error)
            row = self._progress.row(name) or row
        if worker is not None:
            worker.handler = handler
            return
        worker = Worker(handler, self._progress)
        ledger = self._served.project().ledger
        entries, missed, newest = ledger.waiting(row.seq, handler.kinds, MOST_WAITING)
        if not handler.parked:
            worker.offer(entries, missed)
        worker.offered = max(worker.offered, newest)
        self._position = self._position or newest
        with self._lock:
            self._workers[name] = worker


def _was_parked(error: str) -> bool:
    return error.endswith(HINT)


class Pipeline:
    """The pipelines of all projects; a part of the server."""

    def __init__(self, projects: Projects, feeds: Feeds, folder: str = "") -> None:
        self._projects, self._folder = projects, folder
        self._feeds = feeds
        self._lock = threading.Lock()
        self._running: dict[str, ProjectPipeline] = {}
        self._stopped = False

    def start(self) -> None:
        """Handle the events of every project, also of those that open later."""
        self._projects.on_open(self._open)

    def stop(self) -> None:
        """Stop all handlers."""
        with self._lock:
            self._stopped = True
            running = list(self._running.values())
        for one in running:
            one.stop()

    def of(self, served: ServedProject) -> ProjectPipeline | None:
        """Return the pipeline of a project."""
        with self._lock:
            return self._running.get(served.id)

    def is_busy(self) -> bool:
        """Return whether a handler of any project is at work."""
        with self._lock:
            running = list(self._running.values())
        return any(one.is_busy() for one in running)

    def _open(self, served: ServedProject) -> None:
        with self._lock:
            if self._stopped or served.id in self._running:
                return
            one = self._running[served.id] = ProjectPipeline(
                served, self._feeds.of(served), self._folder
            )
        one.start()
