"""Signs of life from a thread, while the work of a block goes on."""

from __future__ import annotations

from dibs.errors import DibsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event, Thread


class Heartbeat:
    """A thread that gives signs of life; where one fails, the next may not."""

    def __init__(self, beat: Callable[[], object], every: float) -> None:
        self._beat = beat
        self._every = every
        self._stop: Event | None = None
        self._thread: Thread | None = None

    def start(self) -> None:
        """Begin; a thread that lives ends with its process."""
        from threading import Event, Thread

        self._stop = Event()
        self._thread = Thread(target=self._run, args=[self._stop], daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End, and wait until it has ended."""
        if self._stop is not None and self._thread is not None:
            self._stop.set()
            self._thread.join()

    def _run(self, stop: Event) -> None:
        while not stop.wait(self._every):
            try:
                self._beat()
            except DibsError:
                continue  # the claim runs out, and whoever holds it learns so at the end
