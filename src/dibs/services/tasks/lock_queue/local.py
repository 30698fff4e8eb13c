"""The lock-file queue of a repository without a remote: the local branch, plus the files on disk.

Scripts and agents share one working tree. A lock file counts as soon as it is on disk, so it is created
there first, exclusively; the commit follows. A file that differs from the branch belongs to someone else and
is never overwritten.
"""

from __future__ import annotations

import os
import shlex
import stat
from contextlib import suppress

from dibs.core.tasks.lock_files import LOCKS, PENDING, lock_end, lock_name, parse_lock
from dibs.core.tasks.names import task_of_file
from dibs.core.text.names import printable, quote
from dibs.errors import Misconfigured, Unavailable
from dibs.git.index import IndexBusy, index_locked
from dibs.git.refs import commit_of
from dibs.git.state import read_state
from dibs.git.trees import differences, write_entries
from dibs.services.tasks.lock_queue.branch import LANDED, LOCKED, LOST
from dibs.services.tasks.lock_queue.snapshot import Lock, read_contents
from dibs.taskfile.document import MAX_BYTES
from dibs.taskfile.queue_file import read_queue_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.git.calls import GitCalls
    from dibs.git.trees import TreeChange
    from dibs.services.tasks.lock_queue.layout import QueuePlace
    from dibs.services.tasks.lock_queue.snapshot import QueueSnapshot


class LocalBranch:
    """The checked-out branch, moved together with the index and the files of the queue."""

    def __init__(self, git: GitCalls, place: QueuePlace) -> None:
        self._git = git
        self._place = place
        #: The files that are only on disk, as they were read, and those that the next push removes.
        self.loose: dict[str, bytes] = {}
        self.removed: list[str] = []

    def look(self, deadline: float) -> str:  # noqa: ARG002 - as for a remote
        """Return the branch's commit."""
        if not self._place.ref:
            raise Unavailable(
                "HEAD is detached, so lock files have no branch",
                code="REPO_STATE",
                hint="check out a branch: git switch BRANCH",
            )
        commit = commit_of(self._git, self._place.ref)
        if not commit:
            raise Unavailable(
                f"the branch {printable(self._place.shown)} has no commit yet",
                code="REPO_STATE",
                hint="commit the task files: git add tasks current_tasks && git commit",
            )
        return commit

    def fetch(self, into: str, deadline: float) -> bool:  # noqa: ARG002
        """Do nothing: everything is here."""
        return True

    def remove_stale_lock(self) -> str:
        """Do nothing: the lock on the index handles this itself."""
        return ""

    def push(self, commit: str, expected: str, deadline: float) -> str:  # noqa: ARG002
        """Move the branch from ``expected`` to ``commit``, with the index and the files."""
        git, state = self._git, read_state(self._git)
        if state.under_way:
            raise Unavailable(
                f"{state.under_way} is in progress", code="REPO_STATE", hint="end it first"
            )
        changes = differences(git, expected, commit)
        before = read_contents(git, [c.old_oid for c in changes if not _is_new(c)])
        after = read_contents(git, [c.new_oid for c in changes if not c.gone])
        undo: list[tuple[str, bytes | None]] = []
        try:
            with index_locked(state.git_dir) as index:
                steps: dict[str, tuple[bytes | None, bytes | None]] = {
                    path: (self.loose[path], None) for path in self.removed if path in self.loose
                }
                for change in changes:
                    old = None if _is_new(change) else before.get(change.old_oid)
                    new = None if change.gone else after.get(change.new_oid)
                    steps[change.path] = (self.loose.get(change.path, old), new)
                for path, (old, new) in steps.items():
                    if not self._write(path, old, new):
                        _undo(git.tree, undo)
                        return LOST
                    undo.append((path, old))
                write_entries(git, index, changes)
                name = "dibs: lock-file queue"
                moved = git.run("update-ref", "-m", name, self._place.ref, commit, expected)
                if moved.code:
                    _undo(git.tree, undo)
                    return LOST
        except IndexBusy:
            _undo(git.tree, undo)
            return LOCKED
        except Unavailable:
            _undo(git.tree, undo)
            raise
        return LANDED

    def _write(self, path: str, old: bytes | None, new: bytes | None) -> bool:
        """Replace a file's content on disk; return False if it is not the old one."""
        full = _inside(self._git.tree, path)
        if new is not None and old is None:
            os.makedirs(os.path.dirname(full), exist_ok=True)
            return _create(full, new)
        found = _read(full)
        if new is None:
            if found == old:
                os.unlink(full)
            return True  # what differs is left alone
        if found != old:
            raise Unavailable(
                f"{quote(path)} has uncommitted changes, so its task cannot be changed",
                code="REPO_STATE",
                hint="commit them: git commit -- " + shlex.quote(path),
            )
        _replace(full, new)
        return True


def with_disk(
    found: QueueSnapshot, root: str, now: float, age: float, *, fold_case: bool
) -> QueueSnapshot:
    """Add what is only on disk: locks and tasks that are not committed, and without files removed there."""
    locks, tasks, texts = dict(found.locks), dict(found.tasks), dict(found.texts)
    loose: dict[str, bytes] = {}
    for path, content, written in _files(root, LOCKS):
        name = lock_name(path.rpartition("/")[2])
        if name and name not in locks:
            stated = parse_lock(content)
            locks[name] = Lock(name, path, stated, lock_end(stated, now, age, written))
            loose[path] = content
    here = set()
    for path, content, _ in _files(root, PENDING):
        file = path.rpartition("/")[2]
        name = task_of_file(file, fold_case=fold_case)
        if name:
            here.add(name)
            tasks[name] = read_queue_file(content, name, file)
            texts[name] = content
            if path not in found.entries:
                loose[path] = content
    here |= {item.task.name for _, _, items in found.lists for item in items}
    tasks = {name: task for name, task in tasks.items() if name in here}
    return found._replace(locks=locks, tasks=tasks, texts=texts, loose=loose)


def _files(root: str, folder: str) -> Iterator[tuple[str, bytes, float]]:
    """Yield the path, the content, and the time of each regular file in a folder, in order.

    Anything in the folder of locks counts, as one without content.
    """
    try:
        names = sorted(os.listdir(_inside(root, folder)))
    except OSError:
        return
    for name in names:
        full = os.path.join(root, folder, name)
        content = None if os.path.islink(full) else _read(full)
        if content is None and folder == LOCKS and os.path.lexists(full):
            content = b""
        if content is not None:
            yield f"{folder}/{name}", content, os.lstat(full).st_mtime


def _inside(root: str, path: str) -> str:
    """Return the full path; refuse one that leads through a symbolic link."""
    full = os.path.join(root, path)
    folder = os.path.dirname(full)
    if os.path.realpath(folder) != folder or os.path.islink(full):
        raise Misconfigured(
            f"{quote(path)} leads through a symbolic link",
            code="REMOTE_TREE",
            hint="replace the link by a folder",
        )
    return full


def _read(path: str) -> bytes | None:
    """Return the content of a regular file; opening a FIFO would wait for a writer."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            regular = stat.S_ISREG(os.fstat(handle).st_mode)
            return os.read(handle, MAX_BYTES + 1) if regular else None
        finally:
            os.close(handle)
    except OSError:
        return None


def _create(path: str, content: bytes) -> bool:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    except FileExistsError:
        return _read(path) == content
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    return True


def _replace(path: str, content: bytes) -> None:
    from dibs.local.files import write_file

    write_file(path, content)


def _undo(root: str, written: list[tuple[str, bytes | None]]) -> None:
    for path, old in reversed(written):
        full = os.path.join(root, path)
        with suppress(OSError):
            if old is None:
                os.unlink(full)
            else:
                _replace(full, old)


def _is_new(change: TreeChange) -> bool:
    return not change.old_mode.strip("0")
