"""Wait for changed files, if ``watchfiles`` is installed, and for changes in the ledger."""

from __future__ import annotations

import os
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.engines.base import Engine
    from dibs.services.board.board import Board

#: The longest single wait, so that signals and changed files are noticed soon.
SLICE = 0.5


class FileWatcher:
    """A thread that collects the changed paths below some folders."""

    def __init__(self) -> None:
        self._changed: set[str] = set()
        self._lock = threading.Lock()
        self._news = threading.Event()
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def live(self) -> bool:
        """Whether changes are noticed."""
        return self._thread is not None and self._thread.is_alive()

    def __enter__(self) -> FileWatcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, folders: Iterable[str]) -> bool:
        """Watch these folders; return False if ``watchfiles`` is not installed."""
        self.stop()
        try:
            import watchfiles  # noqa: F401 - the extra `watch`
        except ImportError:
            return False
        self._end = threading.Event()
        self._thread = threading.Thread(
            target=self._follow, args=(list(folders),), name="dibs-watch", daemon=True
        )
        self._thread.start()
        return True

    def stop(self) -> None:
        """Stop the thread."""
        self._end.set()
        if self._thread is not None:
            self._thread.join(2.0)
            self._thread = None

    def _follow(self, folders: list[str]) -> None:
        from watchfiles import watch

        options = {"watch_filter": None, "stop_event": self._end, "step": 50, "debounce": 200}
        try:
            for changes in watch(*folders, **options):  # type: ignore[arg-type]
                with self._lock:
                    self._changed.update(path for _, path in changes if self.counts(path))
                    if self._changed:
                        self._news.set()
        except (OSError, RuntimeError):
            return  # too many watches, or a folder was removed: the caller polls instead

    def counts(self, path: str) -> bool:  # noqa: ARG002 - for subclasses
        """Return whether a changed path counts."""
        return True

    def take(self) -> set[str]:
        """Return the paths that changed since the last call."""
        with self._lock:
            changed, self._changed = self._changed, set()
            self._news.clear()
        return changed


class BoardWatcher(FileWatcher):
    """A watcher for the board's task files."""

    def __init__(self, board: Board) -> None:
        super().__init__()
        folders = board.folders
        self._folder = os.path.join(folders.base, folders.folder)
        #: The folder that is watched; another one with the same name has another inode.
        self._inode = 0

    def __enter__(self) -> BoardWatcher:
        os.makedirs(self._folder, exist_ok=True)
        self._follow_folder()
        return self

    def _follow_folder(self) -> bool:
        """Watch the board's folder if it is not the one watched so far; return whether it changed."""
        try:
            inode = os.stat(self._folder).st_ino
        except OSError:
            inode = 0
        if inode == self._inode:
            return False
        self._inode = inode
        self.stop()
        if inode:
            self.start([self._folder])
        return True

    def counts(self, path: str) -> bool:
        """Return whether a path is a task file, not a temporary file or a generated page."""
        return path.lower().endswith((".yaml", ".yml"))

    def wait(self, engine: Engine, after: int, longest: float) -> bool:
        """Wait for a changed file, a ledger entry after ``after``, or ``longest`` seconds.

        Returns whether a file changed, or the folder was removed or created.
        """
        until = time.monotonic() + longest
        moved = self._follow_folder()
        while not (moved or self._news.is_set()) and (left := until - time.monotonic()) > 0:
            if engine.wait(after, min(SLICE, left)) > after:
                break
            moved = self._follow_folder()
        return bool(self.take()) or moved

    def pause(self, seconds: float) -> None:
        """Wait, ignoring changes."""
        time.sleep(seconds)
