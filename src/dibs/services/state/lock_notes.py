"""Notes about lock files that agents of this store pushed to the branch of the lock-file queue.

A note connects a lock file, by its nonce, with the claim on its task. So agents of one store know at once
that a lock's owner is dead, and an agent whose command was interrupted gets its task again.
"""

from __future__ import annotations

import os

from dibs.services.state.keys import LOCKED
from dibs.services.state.own_claims import own_at
from dibs.services.state.rows import decode, encode
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.core.claims.rules import Granted
    from dibs.core.patterns.pattern import Pattern
    from dibs.services.state.own_claims import Filed
    from dibs.services.state.rows import Rows


class LockNote(Record):
    """What the store knows of a lock file that one of its agents pushed, or is about to push."""

    task: str
    agent: str
    token: int
    nonce: str
    #: The host and the process that push it; 0 once the agent knows that it has the task.
    host: str = ""
    process: int = 0
    #: When the lock file expires, in seconds since 1970 on this machine's clock.
    until: float = 0.0
    #: The nonce of the lock file that it replaces, whose owner in this store is dead.
    replaces: str = ""


def lock_note(rows: Rows, task: str) -> LockNote | None:
    """Return the note about a task's lock file."""
    value = rows.txn.get(LOCKED + task)
    return None if value is None else LockNote(**decode(value))


def lock_notes(rows: Rows) -> list[LockNote]:
    """Return all notes about lock files."""
    return [LockNote(**decode(value)) for _, value in rows.txn.scan((LOCKED, ""))]


def note_lock(rows: Rows, granted: Granted, task: str) -> None:
    """Note the lock file that the caller is about to push for a claim, unless it did so before."""
    claim, known = granted.claims[0], lock_note(rows, task)
    if known is not None and known.token == granted.token:
        return
    nonce, dead = os.urandom(12).hex(), known.nonce if known is not None else ""
    host = os.uname().nodename
    _put(rows, LockNote(task, claim.agent, granted.token, nonce, host, os.getpid(), replaces=dead))


def interrupted(rows: Rows, agent: str, pattern_of: Callable[[str], Pattern]) -> str:
    """Return the task whose take by ``agent`` was interrupted after the claim; empty if there is none."""
    for note in lock_notes(rows):
        mine = note.agent == agent and note.process and not _is_running(note)
        if mine and noted_claim(rows, note, pattern_of(note.task)) is not None:
            return note.task
    return ""


def change_lock_note(rows: Rows, note: LockNote) -> bool:
    """Change a note unless another agent took the task in the meantime; return whether it did."""
    known = lock_note(rows, note.task)
    if known is None or known.nonce != note.nonce:
        return False
    _put(rows, note)
    return True


def drop_lock_note(rows: Rows, task: str, agent: str, nonce: str = "") -> None:
    """Delete the note about an agent's lock file, or only about the one with this nonce."""
    known = lock_note(rows, task)
    if known is not None and known.agent == agent and known.nonce == (nonce or known.nonce):
        rows.txn.delete(LOCKED + task)


def noted_claim(rows: Rows, note: LockNote, pattern: Pattern) -> Filed | None:
    """Return the live claim that a lock file belongs to; None if its owner lost it, released it, or died."""
    for key, claim in own_at(rows, note.agent, pattern):
        if claim.token == note.token and rows.is_live(claim):
            return key, claim
    return None


def _put(rows: Rows, note: LockNote) -> None:
    rows.txn.put(LOCKED + note.task, encode(note._asdict()))


def _is_running(note: LockNote) -> bool:
    """Return whether the process that takes a task still runs; another host's is a container that is gone."""
    if note.host != os.uname().nodename or note.process == os.getpid():
        return False
    from dibs.local.processes import running

    return running(note.process) is not None
