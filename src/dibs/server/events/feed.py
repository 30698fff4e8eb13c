"""The feed of a project: one thread that follows the ledger for everyone in this process.

It runs while someone is subscribed: the streams of clients, alerts, the pipeline, or jobs. A subscriber that
must not miss anything across restarts keeps its own number and reads the ledger; to it, a batch is a signal.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

from dibs.core.claims.event_filters import cannot_resume
from dibs.core.claims.ledger import Kind
from dibs.core.claims.probes import is_probe_entry
from dibs.errors import DibsError, system_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.core.claims.ledger import Entry
    from dibs.server.projects import ServedProject

    Listener = Callable[["Batch"], object]

#: How long the thread waits for news before it checks whether it is still needed.
_WAIT = 0.5
#: How many entries one batch has at most.
PAGE = 256
#: The number in a batch of a feed that could not read the ledger yet.
UNREAD = -1
#: Seconds between two attempts while the store does not answer.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0


class Batch(NamedTuple):
    """What a subscriber hears: entries after a number, in order and without gaps."""

    after: int
    #: The number up to which the subscriber now knows everything.
    last: int
    entries: list[Entry]
    #: Whether numbers before ``last`` may be missing: the store was replaced or lost writes.
    restarted: bool = False
    #: Why entries are late; empty if they are not.
    late: str = ""


class Feed:
    """Follows the ledger of one project while it has subscribers."""

    def __init__(self, served: ServedProject) -> None:
        self.served = served
        self._lock = threading.RLock()
        self._listeners: list[Listener] = []
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        #: The number of the last entry that was passed on; None before the first look.
        self._last: int | None = None
        self._late = ""

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` with each batch from now on; return the function that ends this.

        It is called in the feed's thread, must return at once, and must not raise. Its first batch is empty
        and has the number after which it hears everything.
        """
        with self._lock:
            self._listeners.append(listener)
            if self._thread is None:
                self._last, self._late, self._ended = None, "", threading.Event()
                name = f"feed of {self.served.name}"
                self._thread = threading.Thread(
                    target=self._follow, args=(self._ended,), name=name, daemon=True
                )
                self._thread.start()
            elif self._last is not None:
                listener(Batch(self._last, self._last, [], late=self._late))

        def leave() -> None:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return leave

    def stop(self) -> None:
        """End the thread, and wait for it."""
        with self._lock:
            thread = self._thread
            self._listeners.clear()
            self._ended.set()
        if thread is not None:
            thread.join(_WAIT + _LONGEST_PAUSE)

    def _follow(self, ended: threading.Event) -> None:
        pause = _FIRST_PAUSE
        while True:
            with self._lock:
                if ended.is_set() or not self._listeners:
                    self._thread = None
                    return
            try:
                self._look()
                pause = _FIRST_PAUSE
            except (DibsError, OSError, RuntimeError) as problem:
                # RuntimeError: the engine was closed because the store was replaced.
                self._failed(problem)
                ended.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _look(self) -> None:
        """Wait for news, and pass them on."""
        project = self.served.project()
        if self._last is None:
            page = project.ledger.page(0, 1)
            self._tell(Batch(page.last, page.last, []))
            return
        newest = project.engine.wait(self._last, _WAIT)
        as_of = project.engine.as_of
        late = "" if as_of is None else f"the store was last reached at {as_of:.3f}"
        if newest == self._last:
            self._note(late)
            return
        page = project.ledger.page(self._last, PAGE)
        # The first number of an empty ledger may be any.
        lost = self._last > 0 and cannot_resume(self._last, page.first, page.last)
        restarted = bool(lost) or any(entry.kind == Kind.LEDGER_RESTARTED for entry in page.entries)
        last = page.entries[-1].seq if page.entries else page.last
        shown = [entry for entry in page.entries if not is_probe_entry(entry)]
        self._tell(Batch(self._last, last, shown, restarted=restarted, late=late))

    def _tell(self, batch: Batch) -> None:
        with self._lock:
            self._last = None if batch.last == UNREAD else batch.last
            self._late = batch.late
            for listener in tuple(self._listeners):
                listener(batch)

    def _note(self, late: str) -> None:
        if late != self._late:
            last = UNREAD if self._last is None else self._last
            self._tell(Batch(last, last, [], late=late))

    def _failed(self, problem: DibsError | OSError | RuntimeError) -> None:
        error = system_error(problem) if isinstance(problem, OSError) else problem
        if isinstance(error, DibsError):
            self.served.failed(error)
        self._note(error.message if isinstance(error, DibsError) else str(error))


class Feeds:
    """The feed of each project; a part of the server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._feeds: dict[str, Feed] = {}

    def of(self, served: ServedProject) -> Feed:
        """Return the feed of a project."""
        with self._lock:
            return self._feeds.setdefault(served.id, Feed(served))

    def start(self) -> None:
        """Do nothing: a feed starts with its first subscriber."""

    def stop(self) -> None:
        """End all feeds."""
        with self._lock:
            feeds = list(self._feeds.values())
        for feed in feeds:
            feed.stop()
