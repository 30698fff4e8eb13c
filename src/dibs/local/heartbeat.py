"""A thread that renews claims while other work runs."""

from __future__ import annotations

from dibs.errors import DibsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event, Thread


class Heartbeat:
    """Calls ``beat`` every ``every`` seconds from ``start`` to ``stop``; a call that fails is repeated."""

    def __init__(self, beat: Callable[[], object], every: float) -> None:
        self._beat = beat
        self._every = every
        self._stop: Event | None = None
        self._thread: Thread | None = None

    def start(self) -> None:
        """Start the thread; it ends with its process at the latest."""
        from threading import Event, Thread

        self._stop = Event()
        self._thread = Thread(target=self._run, args=[self._stop], daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread, and wait until it has ended."""
        if self._stop is not None and self._thread is not None:
            self._stop.set()
            self._thread.join()

    def _run(self, stop: Event) -> None:
        while not stop.wait(self._every):
            try:
                self._beat()
            except DibsError:
                continue  # if no later call works either, the claim expires, and its owner is told at the end
