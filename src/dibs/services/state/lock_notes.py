"""Notes about lock files that agents of this store pushed to the branch of the lock-file queue.

A note connects a lock file, by its nonce, with the claim on its task. So agents of one store know at once
that a lock's owner is dead, and an agent whose command was interrupted gets its task again.
"""

from __future__ import annotations

from dibs.services.state.keys import LOCKED
from dibs.services.state.own_claims import own_at
from dibs.services.state.rows import decode, encode
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
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


def put_lock_note(rows: Rows, note: LockNote) -> None:
    """Write a note about a lock file."""
    rows.txn.put(LOCKED + note.task, encode(note._asdict()))


def change_lock_note(rows: Rows, note: LockNote) -> bool:
    """Change a note unless another agent took the task in the meantime; return whether it did."""
    known = lock_note(rows, note.task)
    if known is None or known.nonce != note.nonce:
        return False
    put_lock_note(rows, note)
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
