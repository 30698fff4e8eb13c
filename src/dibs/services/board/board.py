"""The board on disk and in the rows: every board command runs between a settling and a projecting.

Rows in the engine decide; the files in ``work/`` show them and take in what hands change. ``settled`` takes
the board's lock, brings both sides in line, lets the command act, and shows what it did.
"""

from __future__ import annotations

import os
import time
from _thread import RLock

from dibs.core.text.names import quote
from dibs.errors import DibsError, Unavailable
from dibs.services.board.news import NOTHING, Known, is_lost, news_since
from dibs.services.board.reconcile import Reconcile
from dibs.services.board.reconcile_values import Settled
from dibs.services.state.tasks import digest
from dibs.workdir import index as indexes
from dibs.workdir.disk import Disk, Folders
from dibs.workdir.files import DECIDED, Files
from dibs.workdir.folders import make
from dibs.workdir.lock import BoardLock
from dibs.workdir.queue_inbox import take_over, waits
from dibs.workdir.rejected import write_page
from dibs.workdir.scan import UNFINISHED, BoardScan, scan, stem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.core.base.findings import Finding
    from dibs.core.claims.agents import Caller
    from dibs.services.board.commits import BoardCommits
    from dibs.services.board.news import News
    from dibs.services.board.reconcile_undo import Commit
    from dibs.services.state.store import Store
    from dibs.services.tasks.service import Tasks

#: The branch on which nobody but the git engine writes.
OWN_BRANCH = "dibs"
#: The file with what this machine knows of the board's files, and the lock, in the state's folder.
INDEX, LOCK = "board-index.jsonl", "board.lock"
#: What is said where the board cannot be brought in line before a command.
NOT_BEGUN = "this command has decided nothing; make the file's folders writable, then try again"


class Board:
    """The files of a project's tasks. One object may be used by several threads, one at a time."""

    def __init__(
        self,
        tasks: Tasks,
        store: Store,
        base: str,
        state: str,
        *,
        disk: Disk | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Make the board of the folder that the settings name, beneath ``base``, a real path."""
        self.tasks = tasks
        self._store = store
        self.folders = Folders(base, store.config.board_folder, disk or Disk())
        config = store.config
        #: On a branch that shell agents use, the queue folder is theirs: it shows rows of the engine.
        self._shares_queue = config.engine.startswith("git:") and config.git_branch != OWN_BRANCH
        self._index_path = os.path.join(state, _index_name(base, state))
        self._clock = clock
        self.lock = BoardLock(os.path.join(state, LOCK))
        self.threads = RLock()
        self._index: indexes.Index | None = None
        self._stamp: tuple[int, int] = (0, 0)
        self.inside: Settled | None = None
        #: What the last command committed, if that is wished.
        self.commits: BoardCommits | None = None
        #: Agents that have a folder on the board, as the last settling saw them.
        self.agents: tuple[str, ...] = ()

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
        if self.there() or self.tasks.head() > 0:
            return True
        return not self._shares_queue and waits(self.folders)

    def settled(
        self, caller: Caller, *, writes: bool = True, thorough: bool = False
    ) -> SettledBoard:
        """Return a context: within it the board is this command's, settled; at its end files show the rows.

        A command that only reads (``writes=False``) makes no board where there is none. ``thorough`` looks at
        every file, also in folders that are large and have not moved.
        """
        return SettledBoard(self, caller, writes=writes, thorough=thorough)

    def check(self, tree: str = "") -> list[Finding]:
        """Return what is wrong with the files, and change nothing; ``tree`` is where the caller works."""
        from dibs.services.board.check import check

        return check(self, tree)

    def repair(self, caller: Caller) -> list[str]:
        """Bring in line what can be, and say what was done."""
        from dibs.services.board.check import repair

        return repair(self, caller)

    # -- for the context

    def enter(self, caller: Caller, *, thorough: bool) -> Settled:
        """Settle; the lock is held."""
        self.folders.hold()
        make(self.folders, _schema)
        files = self.files()
        if not self._shares_queue:
            take_over(files)
        news = self._news(files.index, NOTHING if thorough else files.index.head)
        sight = scan(self.folders, files.index, files.now, thorough=thorough)
        self.agents = tuple(sight.agents)
        settling = Reconcile(self.tasks, files, caller, news, self._last_commit)
        if is_lost(news, files.index.life) or files.index.head > news.head:
            settling.adopt_archive()
        done = settling.run(sight)
        # What the settling wrote comes again, and is as it should be.
        files.index.head, files.index.life = news.head, news.life
        self._clean(files, sight)
        return done

    def leave(self, caller: Caller) -> None:
        """Show what the command did, save the index, and leave log and commit behind."""
        files = self.files()
        index = files.index
        news = self._news(index, index.head)
        self.commits = None
        if (news.head, news.life) != (index.head, index.life):
            Reconcile(self.tasks, files, None, news).project()
            index.head, index.life = news.head, news.life
        write_page(files)
        if index.differs:
            self._save(index)
        if news.ids and (self._store.config.board_logs or self._store.config.board_commit):
            from dibs.services.board.trail import Trail

            trail = Trail(self._store, self.tasks, self.folders)
            self.commits = trail.follow(caller, news.ids, news.rows)

    def forget(self) -> None:
        """Let go of the index in memory after a command that broke off."""
        self._index = None

    def files(self) -> Files:
        """Return the files as the index knows them, at this moment."""
        return Files(self.folders, self._load(), _digest, self._clock())

    def _last_commit(self) -> Commit:
        from dibs.services.board.reconcile_undo import Commit

        return Commit(self.folders.base, self.folders.folder, self._stamp[1])

    def _news(self, index: indexes.Index, since: int) -> News:
        """Look at the store, once."""

        def versions() -> dict[str, int]:
            return {stem(name): version for name, version in index.versions().items()}

        return news_since(self._store, Known(since, index.life, versions, tuple(index.behind)))

    def _clean(self, files: Files, sight: BoardScan) -> None:
        """Remove what a killed command of ours left half written; the rows hold all of it."""
        for temp in sight.temps:
            if temp.ours and files.now - temp.mark.mtime / 1e9 > UNFINISHED:
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


class SettledBoard:
    """The time of one command on the board. Within another one's it is part of that."""

    def __init__(self, board: Board, caller: Caller, *, writes: bool, thorough: bool) -> None:
        self._board = board
        self._caller = caller
        self._writes = writes
        self._thorough = thorough
        self._outer = False

    def __enter__(self) -> Settled:
        """Take the lock and settle."""
        board = self._board
        board.threads.acquire()
        try:
            if board.inside is not None:
                return board.inside
            if not board.there() and not self._writes:
                return Settled([], [], [], 0, [])
            board.lock.__enter__()
            self._outer = True
            board.inside = board.enter(self._caller, thorough=self._thorough)
        except PermissionError as error:
            self._end(broken=True)
            raise _closed(error) from error
        except Unavailable as error:
            self._end(broken=True)
            if error.hint == DECIDED:  # by an earlier command; this one did not come to it
                error.hint = NOT_BEGUN
            raise
        except BaseException:
            self._end(broken=True)
            raise
        return board.inside

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Show what was done, and let go; an error of the command is not covered by one of the disk."""
        broken = True
        try:
            if self._outer:
                self._board.leave(self._caller)
            broken = False
        except (DibsError, OSError):
            if kind is None:
                raise
        finally:
            self._end(broken=broken)

    def _end(self, *, broken: bool) -> None:
        if self._outer:
            self._outer = False
            self._board.inside = None
            self._board.folders.let_go()
            if broken:
                self._board.forget()
            self._board.lock.__exit__()
        self._board.threads.release()


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
