"""Locks that serialize worktree commands; the system releases them when a process dies.

A command holds its agent's lock from start to end, so an unfinished stage found under the lock was left by a
dead process. The repository's lock is held only while git's list of worktrees changes.
"""

from __future__ import annotations

import contextlib
import os

from dibs.errors import Unavailable
from dibs.workdir.lock import BoardLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

#: How long a command waits for another one, in seconds.
PATIENCE = 60.0


def reach(step: str) -> None:
    """Do nothing; tests replace this to simulate a crash at ``step``."""


@contextlib.contextmanager
def held(state: str, name: str, *, patience: float = PATIENCE) -> Iterator[None]:
    """Hold the lock ``name`` of a clone; raise ``Unavailable`` if it stays taken."""
    lock = BoardLock(os.path.join(state, "worktrees", f"{name}.lock"), patience)
    try:
        lock.__enter__()
    except Unavailable:
        raise Unavailable(
            "another command is working on this worktree"
            + (f" (waited {patience:g}s)" if patience else ""),
            code="WORKTREE_BUSY",
            hint="try again later; a setup command may take long",
        ) from None
    try:
        yield
    finally:
        lock.__exit__()


def of_agent(
    state: str, agent: str, *, patience: float = PATIENCE
) -> contextlib.AbstractContextManager[None]:
    """Hold the lock of one agent's worktree."""
    return held(state, f"agent-{agent}", patience=patience)


def of_repository(state: str) -> contextlib.AbstractContextManager[None]:
    """Hold the lock of git's list of worktrees."""
    return held(state, "repository")
