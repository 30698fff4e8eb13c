"""A thread that renews claims while other work runs."""

from __future__ import annotations

from dibs.errors import DibsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event, Thread


class Heartbeat:
    """Call ``beat`` every ``every`` seconds from ``start`` to ``stop``, even after a failure."""

    def __init__(self, beat: Callable[[], object], every: float) -> None:
        self._beat = beat
        self.every = every
        self._stop: Event | None = None
        self._thread: Thread | None = None

    def start(self) -> None:
        """Start the thread; it does not keep the process alive."""
        from threading import Event, Thread

        self._stop = Event()
        self._thread = Thread(target=self._run, args=[self._stop], daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and wait for it."""
        if self._stop is not None and self._thread is not None:
            self._stop.set()
            self._thread.join()

    def _run(self, stop: Event) -> None:
        while not stop.wait(self.every):
            try:
                self._beat()
            except DibsError:
                continue  # if all later calls fail too, the claim expires, and the owner learns it at the end
