"""Waiting for a board to change: by its ledger, and by its files where the system can tell of them."""

from __future__ import annotations

import os
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.engines.base import Engine
    from dibs.services.board.board import Board

#: How long one wait for the ledger is, so that a changed file is met soon.
SLICE = 0.5


class BoardWatcher:
    """The files of a board, watched by a thread where ``watchfiles`` is installed, else not at all."""

    def __init__(self, board: Board) -> None:
        folders = board.folders
        self._folder = os.path.join(folders.base, folders.folder)
        self._changed = threading.Event()
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def live(self) -> bool:
        """Whether changed files are told of."""
        return self._thread is not None and self._thread.is_alive()

    def __enter__(self) -> BoardWatcher:
        """Begin to watch."""
        try:
            import watchfiles  # noqa: F401 - the extra `watch`
        except ImportError:
            return self
        os.makedirs(self._folder, exist_ok=True)
        self._thread = threading.Thread(target=self._follow, name="dibs-watch", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the thread."""
        self._end.set()
        if self._thread is not None:
            self._thread.join(2.0)

    def _follow(self) -> None:
        from watchfiles import watch

        try:
            for changes in watch(self._folder, stop_event=self._end, step=50, debounce=200):
                if any(_is_told(path) for _, path in changes):
                    self._changed.set()
        except (OSError, RuntimeError):
            return  # no more watches left, or the folder is gone: then the pause alone counts

    def wait(self, engine: Engine, after: int, longest: float) -> bool:
        """Return when a file changed, the ledger moved past ``after``, or ``longest`` seconds went by.

        The answer is whether a file changed: somewhere, so that all have to be looked at.
        """
        until = time.monotonic() + longest
        while not self._changed.is_set() and (left := until - time.monotonic()) > 0:
            if engine.wait(after, min(SLICE, left)) > after:
                break
        changed = self._changed.is_set()
        self._changed.clear()  # before the next cycle looks: what changes from now on counts again
        return changed

    def pause(self, seconds: float) -> None:
        """Wait, whatever happens."""
        time.sleep(seconds)


def _is_told(path: str) -> bool:
    """Tell whether a changed file is of interest: neither unfinished, nor a page that we write ourselves."""
    return path.lower().endswith((".yaml", ".yml"))
