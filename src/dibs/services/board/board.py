"""A project's board: the files in ``work/`` that show the tasks and accept hand edits.

The rows decide. ``command`` locks the board, reconciles files and rows, lets the caller act, and writes the
files of changed rows.
"""

from __future__ import annotations

import os
import time
from _thread import RLock
from contextlib import contextmanager, suppress

from dibs.errors import DibsError, Unavailable
from dibs.services.board.index_file import IndexFile
from dibs.services.board.news import NOTHING, News, is_lost, news_since
from dibs.services.board.reconcile import Reconcile
from dibs.services.board.report import BoardReport, closed, vanished
from dibs.services.board.tasks import BoardFiles
from dibs.services.state.tasks import digest, standing
from dibs.workdir.disk import TEMP_PREFIX, Disk, Folders
from dibs.workdir.files import DECIDED, Files
from dibs.workdir.folders import make
from dibs.workdir.lock import BoardLock
from dibs.workdir.rejected import write_page
from dibs.workdir.scan import UNFINISHED, BoardScan, scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dibs.core.claims.agents import Caller
    from dibs.services.board.authors import Writers
    from dibs.services.state.store import Store
    from dibs.services.state.tasks import Stored

#: In the state folder.
LOCK = "board.lock"
#: The hint if the board cannot be reconciled before a command.
NOT_BEGUN = "nothing was changed; make the file's folder writable, then try again"


class Board(BoardFiles):
    """The task files of a project. Several threads may share one object; they take turns."""

    def __init__(
        self,
        store: Store,
        base: str,
        state: str,
        *,
        disk: Disk | None = None,
        clock: Callable[[], float] = time.time,
        tell: Callable[[BoardReport], None] | None = None,
        progress: Callable[[str, int, int], None] | None = None,
        writers: Writers = lambda *_: {},
    ) -> None:
        """Open the board in the configured folder under ``base``, a real path.

        ``tell`` is called after each command with what else it did to the files, ``progress`` during it.
        ``writers`` returns the agents whose own calls left files as they are now.
        """
        self.store = store
        self.folders = Folders(base, store.config.board_folder, disk or Disk())
        self.folders.progress = progress or self.folders.progress
        self._index = IndexFile(self.folders, state, clock)
        self._clock = clock
        self._tell = tell
        self._writers = writers
        self.lock = BoardLock(os.path.join(state, LOCK))
        self._threads = RLock()
        #: The command that is running, and whether it holds the lock.
        self._report: BoardReport | None = None
        self._reads = self._held = False
        #: What the last command did.
        self.last = BoardReport()

    @property
    def path(self) -> str:
        """Return the path of the board's folder."""
        return os.path.join(self.folders.base, self.folders.folder)

    def there(self) -> bool:
        """Return whether this working tree has a board; raise ``BOARD_FOLDER`` if its folder is unusable."""
        return self.folders.there()

    def begun(self) -> bool:
        """Return whether there are tasks, here or elsewhere.

        If not, a command that creates no task creates no folders either.
        """
        return self.there() or self.store.look(standing)[0] > 0

    @contextmanager
    def command(
        self, caller: Caller, *, makes: bool = False, reads: bool = False, thorough: bool = False
    ) -> Iterator[BoardReport]:
        """Reconcile, let the command act, then write the files; inside another command, only act.

        A missing board is created if tasks exist, or by a command that ``makes`` some. A command that only
        ``reads`` accepts hand edits into the rows but changes no file, and works while files cannot be read.
        ``thorough`` checks every file, even in large folders that have not changed.
        """
        with self._threads:
            if self._report is not None:
                self._reads = self._reads and reads
                yield self._report
                return
            self._reads = reads
            broken = failed = True
            try:
                report = self.last = self._begin(caller, makes, thorough)
                if self._held or report.unread:
                    self._report = report
                try:
                    yield report
                    failed = False
                finally:
                    # A disk error must not hide the command's own error.
                    with suppress(*((DibsError, OSError) if failed else ())):
                        self._leave(caller, report)
                        broken = False
            except FileNotFoundError as error:
                raise vanished(error) from error
            finally:
                self._end(broken=broken)

    # -- the steps of a command

    def _begin(self, caller: Caller, makes: bool, thorough: bool) -> BoardReport:
        reads = self._reads
        try:
            if not (self.there() or (not reads and (makes or self.begun()))):
                return BoardReport()
            self.lock.__enter__()
            self._held = True
            act = self._read if reads else self._reconcile
            return act(caller, thorough=thorough)
        except PermissionError as error:
            problem, cause = closed(error), error
        except Unavailable as error:
            if error.hint == DECIDED:  # that was an earlier command; this one did not get that far
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
        news = news_since(self.store, files.index, NOTHING if thorough else files.index.head)
        sight = scan(self.folders, files.index, files.now, thorough=thorough)
        reconcile = Reconcile(self.store, files, caller, news, self._index.mtime, self._writers)
        if is_lost(news, files.index.life) or files.index.head > news.head:
            reconcile.adopt_archive()
        report = reconcile.run(sight)
        report.agents = sight.agents
        # The reconciliation's own writes are reported again, and match.
        files.index.head, files.index.life = news.head, news.life
        self._clean(files, sight)
        # What was done by hand gets a commit of its own, before this command adds to it.
        accepted = {verdict.id: verdict.stored for verdict in report.accepted}
        self._record(caller, report, news.rows | accepted, first=True)
        return report

    def _read(self, caller: Caller, *, thorough: bool) -> BoardReport:
        """Accept hand edits into the rows; leave everything else to the next command that writes."""
        self.folders.hold(make=False)
        files = Files(self.folders, self._index.load(), _digest, self._clock(), reads=True)
        index = files.index
        head, life = self.store.look(standing)
        steady = life == index.life and index.head <= head
        # Rows that changed are written to their files by the next command, so only files are compared.
        news = News(head, life, (), {}) if steady else news_since(self.store, index, NOTHING)
        times = {place: folder.mtime for place, folder in index.folders.items()}
        sight = scan(self.folders, index, files.now, thorough=thorough)
        reconcile = Reconcile(self.store, files, caller, news, self._index.mtime, self._writers)
        if not steady and (is_lost(news, index.life) or index.head > head):
            reconcile.adopt_archive()
        report = reconcile.run(sight)
        report.agents = sight.agents
        for place, folder in index.folders.items():
            folder.mtime = times.get(place, 0)  # the next command lists what changed again
        if not index.life:
            index.life = self.store.look(standing)[1]
        elif not steady:
            self._index.forget()  # its numbers mean nothing to the rows that were compared
        return report

    def _leave(self, caller: Caller, report: BoardReport) -> None:
        """Write the files of changed rows, save the index, and write work logs and commits."""
        if not self._held:
            return
        if self._reads:
            self._index.save()
            return
        files = self.files()
        index = files.index
        news = news_since(self.store, index, index.head)
        if (news.head, news.life) != (index.head, index.life):
            Reconcile(self.store, files, None, news).project()
            index.head, index.life = news.head, news.life
        write_page(files)
        self._index.save()
        self._record(caller, report, dict.fromkeys(news.ids) | news.rows)

    def _record(
        self,
        caller: Caller,
        report: BoardReport,
        rows: Mapping[str, Stored | None],
        *,
        first: bool = False,
    ) -> None:
        """Write the work logs of these tasks and commit what changed, as configured.

        At ``first``, before the command acts, a hand edit that is in a commit needs none.
        """
        config = self.store.config
        if rows:
            from dibs.services.board.worklogs import write_logs

            with suppress(OSError, DibsError):  # a missing log does not undo the task
                write_logs(self.store, self.folders, {id_: row for id_, row in rows.items() if row})
        if rows and config.board_commit:
            from dibs.services.board.commits import commit_board

            made = commit_board(self.store, self.folders, caller, rows, first=first)
            report.commits = made.after(report.commits)

    def _end(self, *, broken: bool) -> None:
        """Release the board; drop the index in memory if the command failed."""
        report, self._report = self._report, None
        if self._held:
            self._held = False
            self.folders.let_go()
            if broken:
                self._index.forget()
            self.lock.__exit__()
        if report is None:
            return
        if self.store.config.board_push and report.commits and not report.pushes_later:
            from dibs.services.board.push import push_board

            # Without the lock, because the network may be slow.
            report.unpushed = push_board(self.folders.base, self.folders.folder)
        if self._tell is not None:
            self._tell(report)

    def files(self) -> Files:
        """Return the files as the index knows them now."""
        return Files(self.folders, self._index.load(), _digest, self._clock())

    def _clean(self, files: Files, sight: BoardScan) -> None:
        """Remove temporary files of a killed command; the rows contain everything."""
        for temp in sight.temps:
            ours = temp.name.startswith(TEMP_PREFIX)
            if ours and files.now - temp.mark.mtime / 1e9 > UNFINISHED:
                with self.folders.open(temp.place) as handle:
                    self.folders.disk.remove(handle, temp.name)


def _digest(content: bytes) -> str:
    return digest(content.decode("utf-8", "surrogateescape"))


def _schema() -> str:
    from dibs.taskfile.schema import schema_text

    return schema_text()
