"""The commits of the lock-file queue: what each step writes to the branch, given the queue as it is there."""

from __future__ import annotations

from dibs.core.tasks.lock_files import FAILED, LOCK_ENDINGS, LOCKS, PENDING, render_lock, stamp
from dibs.core.text.names import quote
from dibs.errors import BadInput
from dibs.startup.records import Record
from dibs.taskfile.queue_list import without

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.core.tasks.lock_files import LockFile
    from dibs.core.tasks.queue_order import QueueTask
    from dibs.git.objects import TreeEntry
    from dibs.services.tasks.lock_queue.snapshot import Lock, QueueSnapshot

#: How many tasks a message names.
LISTED = 5


class Change(Record):
    """One commit: what its message says, and the files that it writes, moves, or deletes."""

    message: str
    #: New content, an entry of the tree, or None for a deletion, by path.
    files: Mapping[str, bytes | TreeEntry | None]


def lock_path(name: str) -> str:
    """Return the path of a task's lock file."""
    return f"{LOCKS}/{name}{LOCK_ENDINGS[0]}"


def claim_change(name: str, lock: LockFile) -> Change:
    """Return the commit that locks a task."""
    return Change(f"claim: {name} by {lock.agent}", {lock_path(name): render_lock(lock, name)})


def expire_change(lock: Lock) -> Change:
    """Return the commit that removes an expired lock."""
    since = f" since {stamp(lock.file.claimed)}" if lock.file.claimed else ""
    return Change(f"expire: {lock.name}, held by {lock.file.agent}{since}", {lock.path: None})


def end_change(
    found: QueueSnapshot, lock: Lock, verb: str, agent: str, folder: str, words: str
) -> Change:
    """Return the commit that deletes a task's lock and moves its file to ``folder``, if there is one."""
    task = found.tasks.get(lock.name)
    files: dict[str, bytes | TreeEntry | None] = {lock.path: None}
    if folder and task is not None:
        files |= _moved(found, task, folder)
    return Change(_message(verb, lock.name, agent, words), files)


def retry_change(found: QueueSnapshot, name: str, agent: str, words: str) -> Change:
    """Return the commit that moves a failed task's file back."""
    file = found.failed.get(name)
    if not file:
        state = "done" if name in found.done else "in progress"
        raise BadInput(
            f"task {quote(name)} is {state}; `retry` is not possible",
            code="TASK_TRANSITION",
            field="status",
        )
    old = f"{FAILED}/{file}"
    files = {old: None, f"{PENDING}/{file}": found.entries[old]}
    return Change(_message("retry", name, agent, words), files)


def _message(verb: str, name: str, agent: str, words: str = "") -> str:
    return f"{verb}: {name} by {agent}" + (f"\n\n{words}" if words else "")


def _moved(
    found: QueueSnapshot, task: QueueTask, folder: str
) -> dict[str, bytes | TreeEntry | None]:
    """Return the files that move a task to ``folder``, from its own file or from a list."""
    old = f"{PENDING}/{task.file}"
    if old in found.entries:
        return {old: None, f"{folder}/{task.file}": found.entries[old]}
    files: dict[str, bytes | TreeEntry | None] = {}
    for path, content, items in found.lists:
        for item in items:
            if item.task.name == task.name:
                files[path] = without(content, item, items)
    own = {} if files else {old: None}
    return {**own, **files, f"{folder}/{task.name}.yml": found.texts[task.name]}
