"""A project's board: the files in ``work/`` that show the tasks and accept edits made by hand.

The rows decide. ``command`` takes the board's lock, reconciles files and rows, lets the caller act, and
writes the files that the rows changed.
"""

from __future__ import annotations

import os
import time
from _thread import RLock
from contextlib import contextmanager, suppress

from dibs.core.text.names import quote
from dibs.errors import DibsError, Unavailable
from dibs.services.board.news import NOTHING, is_lost, news_since
from dibs.services.board.reconcile import Reconcile
from dibs.services.board.report import BoardReport
from dibs.services.board.tasks import BoardFiles
from dibs.services.state.tasks import digest, standing
from dibs.workdir import index as indexes
from dibs.workdir.disk import TEMP_PREFIX, Disk, Folders
from dibs.workdir.files import DECIDED, Files
from dibs.workdir.folders import make, take_over, waits
from dibs.workdir.lock import BoardLock
from dibs.workdir.rejected import write_page
from dibs.workdir.scan import UNFINISHED, BoardScan, scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.core.claims.agents import Caller
    from dibs.services.state.store import Store

#: The branch on which nobody but the git engine writes.
OWN_BRANCH = "dibs"
#: The file with what this machine knows of the board's files, and the lock, in the state's folder.
INDEX, LOCK = "board-index.jsonl", "board.lock"
#: What is said where the board cannot be reconciled before a command.
NOT_BEGUN = "this command has decided nothing; make the file's folders writable, then try again"


class Board(BoardFiles):
    """The files of a project's tasks. One object may be used by several threads, one at a time."""

    def __init__(
        self,
        store: Store,
        base: str,
        state: str,
        *,
        disk: Disk | None = None,
        clock: Callable[[], float] = time.time,
        tell: Callable[[BoardReport], None] | None = None,
    ) -> None:
        """Make the board of the folder that the settings name, beneath ``base``, a real path.

        ``tell`` hears after each command what it did to files besides.
        """
        self.store = store
        self.folders = Folders(base, store.config.board_folder, disk or Disk())
        config = store.config
        #: On a branch that shell agents use, the queue folder is theirs: it shows rows of the engine.
        self._shares_queue = config.engine.startswith("git:") and config.git_branch != OWN_BRANCH
        self._index_path = os.path.join(state, _index_name(base, state))
        self._clock = clock
        self._tell = tell
        self.lock = BoardLock(os.path.join(state, LOCK))
        self._threads = RLock()
        self._index: indexes.Index | None = None
        self._stamp: tuple[int, int] = (0, 0)
        #: The command that is under way, and whether it holds the lock.
        self._report: BoardReport | None = None
        self._held = False
        #: What the last command did.
        self.last = BoardReport()

    @property
    def path(self) -> str:
        """The board's folder."""
        return os.path.join(self.folders.base, self.folders.folder)

    def there(self) -> bool:
        """Tell whether this working tree has a board; ``BOARD_FOLDER`` if its folder cannot be one."""
        return self.folders.there()

    def begun(self) -> bool:
        """Tell whether there are tasks, here or elsewhere, or files that shall become some.

        Where there are none, a command that makes none leaves no folders behind.
        """
        if self.there() or self.store.look(standing)[0] > 0:
            return True
        return not self._shares_queue and waits(self.folders)

    @contextmanager
    def command(
        self, caller: Caller, *, makes: bool = False, reads: bool = False, thorough: bool = False
    ) -> Iterator[BoardReport]:
        """Reconcile, let the command act, then write the files; inside another command it only acts.

        A missing board is created for tasks that exist, or by a command that ``makes`` some. A command that
        only ``reads`` is also answered where files cannot be taken in now. ``thorough`` looks at every file,
        also in folders that are large and have not changed.
        """
        with self._threads:
            if self._report is not None:
                yield self._report
                return
            broken = failed = True
            try:
                report = self.last = self._begin(caller, makes, reads, thorough)
                if self._held or report.unread:
                    self._report = report
                try:
                    yield report
                    failed = False
                finally:
                    # An error of the disk does not cover one of the command.
                    with suppress(*((DibsError, OSError) if failed else ())):
                        self._leave(caller, report)
                        broken = False
            finally:
                self._end(broken=broken)

    # -- the steps of a command

    def _begin(self, caller: Caller, makes: bool, reads: bool, thorough: bool) -> BoardReport:
        try:
            if not (self.there() or makes or self.begun()):
                return BoardReport()
            self.lock.__enter__()
            self._held = True
            return self._reconcile(caller, thorough=thorough)
        except PermissionError as error:
            problem, cause = _closed(error), error
        except Unavailable as error:
            if error.hint == DECIDED:  # by an earlier command; this one did not come to it
                error.hint = NOT_BEGUN
            problem, cause = error, None
        if not reads:
            raise problem from cause
        self._end(broken=True)
        return BoardReport(unread=str(problem))

    def _reconcile(self, caller: Caller, *, thorough: bool) -> BoardReport:
        self.folders.hold()
        make(self.folders, _schema)
        files = self.files()
        if not self._shares_queue:
            take_over(self.folders)
        news = news_since(self.store, files.index, NOTHING if thorough else files.index.head)
        sight = scan(self.folders, files.index, files.now, thorough=thorough)
        reconcile = Reconcile(self.store, files, caller, news, self._stamp[1])
        if is_lost(news, files.index.life) or files.index.head > news.head:
            reconcile.adopt_archive()
        report = reconcile.run(sight)
        report.agents = sight.agents
        # What the reconciliation wrote comes again, and is as it should be.
        files.index.head, files.index.life = news.head, news.life
        self._clean(files, sight)
        return report

    def _leave(self, caller: Caller, report: BoardReport) -> None:
        """Write the files that the rows changed, save the index, and leave log and commit behind."""
        if not self._held:
            return
        files = self.files()
        index = files.index
        news = news_since(self.store, index, index.head)
        if (news.head, news.life) != (index.head, index.life):
            Reconcile(self.store, files, None, news).project()
            index.head, index.life = news.head, news.life
        write_page(files)
        if index.differs:
            self._save(index)
        config = self.store.config
        if news.ids and config.board_logs:
            from dibs.services.board.worklogs import write_logs

            with suppress(OSError, DibsError):  # without its log, the task is done all the same
                write_logs(self.store, self.folders, news.rows)
        if news.ids and config.board_commit:
            from dibs.services.board.commits import commit_board

            report.commits = commit_board(self.store, self.folders, caller, news.ids)

    def _end(self, *, broken: bool) -> None:
        """Let go of the board, and of the index in memory after a command that broke off."""
        report, self._report = self._report, None
        if self._held:
            self._held = False
            self.folders.let_go()
            if broken:
                self._index = None
            self.lock.__exit__()
        if report is not None and self._tell is not None:
            self._tell(report)

    def files(self) -> Files:
        """Return the files as the index knows them, at this moment."""
        return Files(self.folders, self._load(), _digest, self._clock())

    def _clean(self, files: Files, sight: BoardScan) -> None:
        """Remove what a killed command of ours left half written; the rows hold all of it."""
        for temp in sight.temps:
            ours = temp.name.startswith(TEMP_PREFIX)
            if ours and files.now - temp.mark.mtime / 1e9 > UNFINISHED:
                with self.folders.open(temp.place) as handle:
                    self.folders.disk.remove(handle, temp.name)

    def _load(self) -> indexes.Index:
        """Return the index, from memory as long as no other process wrote it."""
        path = self._index_path
        stamp = _stamp(path)
        if self._index is None or stamp != self._stamp:
            self._index, self._stamp = indexes.load(path), stamp
        return self._index

    def _save(self, index: indexes.Index) -> None:
        path = self._index_path
        self.folders.disk.reach("save", path)
        indexes.save(index, path, self._clock())
        self._stamp = _stamp(path)


def _closed(error: PermissionError) -> Unavailable:
    return Unavailable(
        f"{quote(error.filename or 'the folder')} of the board is closed to this user: {error.strerror}",
        code="STORAGE_READONLY",
        hint="nothing was decided; open the folder, then try again",
    )


def _index_name(base: str, state: str) -> str:
    """Return the name of the index; where working trees share a state but no board, each has its own."""
    if os.path.commonpath((base, state)) == base:
        return INDEX
    stem, ending = os.path.splitext(INDEX)
    return f"{stem}-{digest(base)[:8]}{ending}"


def _digest(content: bytes) -> str:
    return digest(content.decode("utf-8", "surrogateescape"))


def _schema() -> str:
    import json

    from dibs.taskfile.schema import SCHEMA

    return json.dumps(SCHEMA, indent=2, ensure_ascii=False) + "\n"


def _stamp(path: str) -> tuple[int, int]:
    """Return by what a file is known to be the same, zeros if it is not there."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return (0, 0)
    return (status.st_ino, status.st_mtime_ns)
