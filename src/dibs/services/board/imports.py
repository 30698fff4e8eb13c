"""Import task files from another folder: each becomes a task on the board, and its file moves there.

The tasks are created in one transaction, then their files are written, then the old ones are removed. If the
process dies in between, the old files remain, and another import recognizes their texts and removes them.
"""

from __future__ import annotations

import os
from contextlib import suppress

from dibs.core.tasks.lock_files import LOCK_ENDINGS, LOCKS, PENDING
from dibs.core.text.names import quote
from dibs.errors import BadInput
from dibs.services.board.tasks import Tasks
from dibs.services.state.tasks import Stored, digest, several
from dibs.services.tasks.plain_queue import DONE as QUEUE_DONE
from dibs.services.tasks.plain_queue import HELD
from dibs.services.tasks.values import Created, Draft
from dibs.startup.records import Record
from dibs.taskfile.reading import error_of, read
from dibs.workdir import moves
from dibs.workdir.disk import Disk, FileStamp, Folders, status_of
from dibs.workdir.disk import read as read_file
from dibs.workdir.scan import ENDINGS, MAX_FILE, oddity, stem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dibs.core.claims.agents import Caller
    from dibs.services.board.board import Board
    from dibs.services.tasks.plain_queue import Queue, QueuedFile
    from dibs.workdir.disk import OpenFolder


class MovedFile(Record):
    """A file that became a task, or would: its old and its new path, and why the old file is still there."""

    old: str
    new: str
    kept: str = ""


class SkippedFile(Record):
    """A file that was not imported, and why."""

    path: str
    why: str


class ImportedFiles(Record):
    """What an import did, or would do. Paths are absolute."""

    created: Created
    moved: tuple[MovedFile, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()


class _Source(Record):
    """A file to import."""

    folder: str
    name: str
    mark: FileStamp
    text: str

    @property
    def id(self) -> str:
        """The id of its task."""
        return stem(self.name)

    @property
    def path(self) -> str:
        """Its path."""
        return os.path.join(self.folder, self.name)


def is_list(paths: Sequence[str], root: str) -> bool:
    """Return whether the only path is a list of tasks: not a folder, and not in the queue folder."""
    if len(paths) != 1 or os.path.isdir(paths[0]):
        return False
    folder = os.path.dirname(os.path.realpath(paths[0]))
    return folder != os.path.join(os.path.realpath(root), PENDING)


def batch_drafts(content: bytes, name: str) -> list[Draft]:
    """Return the tasks in a list of tasks; ``name`` is for messages."""
    from dibs.taskfile.batch import read_batch

    items = read_batch(content, name)
    return [Draft(fields=item.fields, id=item.id, key=item.key, slug=item.slug) for item in items]


def drafts_in(path: str, name: str) -> list[Draft]:
    """Return the tasks in a file with a list of tasks; ``name`` is for messages."""
    from dibs.taskfile.batch import MAX_BYTES

    try:
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise _unreadable(name, error) from None
    return batch_drafts(content, name)


class Imports:
    """Imports files of the working tree ``root``."""

    def __init__(self, board: Board, root: str, queue: Queue | None = None) -> None:
        """Prepare it; ``queue`` knows the locks on the branch that scripts share."""
        self._board = board
        self._root = os.path.realpath(root)
        self._queue = queue

    def run(
        self, caller: Caller, paths: Sequence[str], *, strict: bool = False, dry_run: bool = False
    ) -> ImportedFiles:
        """Import these files, and the task files of these folders, all or nothing.

        A file that is locked in ``current_tasks/``, here or on the branch, is skipped.
        """
        found = dict.fromkeys(path for given in paths for path in self._listed(given))
        queued = {file.name: file for file in self._queued(found)}
        held = {path: why for path in found if (why := self._lock(path, queued))}
        sources = [self._read(path) for path in found if path not in held]
        board = self._board
        with board.command(caller, makes=bool(sources) and not dry_run, reads=dry_run):
            known = board.store.look(lambda rows: several(rows, [one.id for one in sources]))
            again = {id_ for one in sources if _is_from(known.get(id_ := one.id), one)}
            drafts = [
                Draft(text=one.text, id=one.id, file=one.name)
                for one in sources
                if one.id not in again
            ]
            create = Tasks(board.store, board).create
            created = Created(())
            if drafts:
                created = create(caller, drafts, strict=strict, dry_run=dry_run)
        rows = {row.id: row for row in (*known.values(), *created.tasks)}
        moved = [self._move(one, rows[one.id], dry_run=dry_run) for one in sources]
        skipped = [SkippedFile(path, why) for path, why in held.items()]
        tasks = tuple(rows[one.id] for one in sources)
        return ImportedFiles(created._replace(tasks=tasks), tuple(moved), tuple(skipped))

    def _listed(self, given: str) -> Iterator[str]:
        """Yield the real paths of the task files that a path means."""
        path = os.path.realpath(given)
        if os.path.commonpath((path, self._root)) != self._root:
            raise _wrong("PATH_ESCAPE", f"{quote(given)} is outside the repository")
        board = os.path.realpath(self._board.path)
        if os.path.commonpath((path, board)) == board:
            raise _wrong("PATH_KIND", f"{quote(given)} is already part of the board")
        if not os.path.isdir(path):
            # Only links in its folder are followed, so that a link itself is refused.
            yield os.path.join(os.path.realpath(os.path.dirname(given)), os.path.basename(given))
            return
        try:
            names = sorted(os.listdir(path))
        except OSError as error:
            raise _unreadable(given, error) from None
        for name in names:
            if name.lower().endswith(ENDINGS) and not name.startswith("."):
                yield os.path.join(path, name)

    def still_queued(self, done: ImportedFiles) -> list[str]:
        """Return the imported tasks that the branch still lists, until the move is committed and pushed."""
        moved = {stem(os.path.basename(file.old)): file.old for file in done.moved}
        return [file.name for file in self._queued(moved.values()) if file.name in moved]

    def _queued(self, paths: Iterable[str]) -> list[QueuedFile]:
        """Return the tasks in the queue of scripts, if one of these files is in its folder."""
        folder = os.path.join(self._root, PENDING)
        if self._queue is None or not any(os.path.dirname(path) == folder for path in paths):
            return []
        return [file for file in self._queue.all() if file.state != QUEUE_DONE]

    def _lock(self, path: str, queued: Mapping[str, QueuedFile]) -> str:
        """Return which lock keeps a file from being imported, empty if none does."""
        name = stem(os.path.basename(path))
        if name in queued and queued[name].state == HELD:
            return f"{queued[name].holder} holds it"
        for root in dict.fromkeys((self._root, self._board.folders.base)):
            for ending in LOCK_ENDINGS:
                if os.path.lexists(os.path.join(root, LOCKS, name + ending)):
                    return f"{LOCKS}/{name}{ending} locks it"
        return ""

    def _read(self, path: str) -> _Source:
        """Return a file to import; raise what is wrong with it."""
        folder, name = os.path.split(path)
        try:
            with self._open(folder) as handle:
                status = status_of(handle, name)
                if status is None:
                    raise _wrong("TASK_FILE", f"no file {quote(self._shown(path))}")
                code, message = oddity(name, status, os.fstat(handle).st_dev)
                if code:
                    raise _wrong(code, message)
                content, mark = read_file(handle, name, MAX_FILE)
            if not os.access(folder, os.W_OK):
                raise _wrong("TASK_FILE", f"{quote(self._shown(folder))} is read-only")
        except OSError as error:
            raise _unreadable(self._shown(path), error) from None
        reading = read(content, name)
        if reading.task is None:
            raise error_of(reading.remarks[0], self._shown(path))
        return _Source(folder, name, mark, content.decode("utf-8", "surrogateescape"))

    def _move(self, one: _Source, row: Stored, *, dry_run: bool) -> MovedFile:
        """Remove the old file once the new one exists."""
        new = os.path.join(self._board.path, row.place, row.file)
        kept = ""
        if not dry_run and not os.path.lexists(new):
            kept = "its file on the board could not be written yet"
        elif not dry_run:
            try:
                with self._open(one.folder) as handle, suppress(FileNotFoundError):
                    moves.remove(self._board.folders.disk, handle, one.name, one.mark)
            except moves.Meanwhile:
                kept = "it was changed meanwhile" if os.path.lexists(one.path) else ""
            except OSError as error:
                kept = f"it cannot be removed: {error.strerror}"
        return MovedFile(one.path, new, kept)

    def _open(self, folder: str) -> OpenFolder:
        inner = os.path.relpath(folder, self._root)
        return Folders(self._root, "", Disk()).beside("" if inner == "." else inner)

    def _shown(self, path: str) -> str:
        return os.path.relpath(path, self._root)


def _is_from(row: Stored | None, one: _Source) -> bool:
    """Return whether a task was imported from this very text."""
    return row is not None and digest(one.text) in {digest(row.text), *row.earlier}


def _wrong(code: str, message: str) -> BadInput:
    return BadInput(message, code=code, field="file", hint="nothing was imported")


def _unreadable(path: str, error: OSError) -> BadInput:
    return _wrong("TASK_FILE", f"cannot read {quote(path)}: {error.strerror}")
