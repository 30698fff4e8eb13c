"""Keep the lock-file queue in order: renew an agent's locks when they are due, and check the queue.

A renewal is a commit, so a lock is renewed at most once per half of its age, by the commands that its owner
runs anyway; all locks of an agent share one push.
"""

from __future__ import annotations

from dibs.core.tasks.lock_files import LOCKS, PENDING, RENEW_AFTER, render_lock, stamp
from dibs.core.text.findings import Finding, Level
from dibs.core.text.names import plural, printable
from dibs.errors import DibsError
from dibs.services.state.lock_notes import change_lock_note, lock_notes, noted_claim
from dibs.services.tasks.lock_queue.changes import LISTED, Change
from dibs.services.tasks.lock_queue.layout import on_disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.services.state.lock_notes import LockNote
    from dibs.services.state.rows import Rows
    from dibs.services.tasks.lock_queue.snapshot import QueueSnapshot
    from dibs.services.tasks.lock_queue.tasks import LockTasks

_NAME = "lock files"


def renew_due(locks: LockTasks, agent: str) -> list[str]:
    """Renew the lock files of an agent that are due; return their tasks.

    Nothing is sent unless one is due. A remote that does not answer is left to the agent's next command.
    """
    queue, store = locks.queue, locks.store
    now = queue.clock()

    def due(rows: Rows) -> list[LockNote]:
        return [
            note
            for note in lock_notes(rows)
            if note.agent == agent
            and not note.process
            and note.until - now < queue.age * (1 - RENEW_AFTER)
            and noted_claim(rows, note, locks.pattern(note.task)) is not None
        ]

    notes = store.look(due)
    if not notes or not queue.exists():
        return []
    renewed: list[LockNote] = []
    until = now + queue.age

    def plan(found: QueueSnapshot) -> Sequence[Change]:
        renewed.clear()
        files: dict[str, bytes] = {}
        for note in notes:
            lock = found.locks.get(note.task)
            if lock is not None and lock.file.nonce == note.nonce:
                renewed.append(note)
                if lock.file.expires < int(until):
                    files[lock.path] = render_lock(lock.file._replace(expires=until), note.task)
        names = ", ".join(note.task for note in renewed[:LISTED])
        return [Change(f"renew: {names} by {agent}", files)] if files else ()

    try:
        queue.write(plan)
    except DibsError:
        return []
    if renewed:
        store.apply(lambda rows: _put(rows, [note._replace(until=until) for note in renewed]))
    return [note.task for note in renewed]


def check_queue(locks: LockTasks) -> list[Finding]:
    """Return what ``dibs doctor`` and ``dibs init`` say about the queue; nothing if there is none."""
    queue = locks.queue
    try:
        if not queue.exists():
            return []
        found = queue.look()
    except DibsError as error:
        return [Finding(Level.WARN, _NAME, f"the lock-file queue cannot be used: {error.message}")]
    place = printable(queue.place)
    if found is None:
        if not on_disk(queue.root):
            return []
        text = f"{PENDING} and {LOCKS} are not on {place} yet; commit and push them to share them"
        return [Finding(Level.WARN, _NAME, text)]
    now = queue.clock()
    over = [lock for lock in found.locks.values() if lock.until <= now]
    counts = (
        f"lock-file queue on {place}: {plural(len(found.tasks), 'task')},"
        f" {plural(len(found.locks), 'lock')}, {len(over)} expired"
    )
    if queue.stale:
        return [Finding(Level.WARN, _NAME, f"{counts} (as last known: {printable(queue.stale)})")]
    findings = [Finding(Level.OK, _NAME, counts)]
    broken = [task.file for task in found.tasks.values() if task.broken]
    if broken:
        listed = printable(", ".join(broken[:LISTED]))
        text = (
            f"{plural(len(broken), 'task file')} cannot be read: {listed} (dibs task ls shows why)"
        )
        findings.append(Finding(Level.WARN, _NAME, text))
    findings += [
        Finding(
            Level.WARN,
            _NAME,
            f"{printable(lock.path)} of {lock.file.agent} expired at {stamp(lock.until)}; the next"
            " `dibs task take` removes it",
        )
        for lock in over[:LISTED]
    ]
    return findings


def _put(rows: Rows, notes: Sequence[LockNote]) -> None:
    for note in notes:
        change_lock_note(rows, note)
