"""What orders commands on worktrees: locks that a dying process lets go, and names for the steps between.

One lock for each agent is held through a whole command, so whoever holds it knows that an unfinished stage
is of a process that died. The lock of the repository is held only while git's list of worktrees changes.
"""

from __future__ import annotations

import contextlib
import os

from dibs.errors import Unavailable
from dibs.workdir.lock import BoardLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

#: How long a command waits for others, in seconds.
PATIENCE = 60.0


def reach(step: str) -> None:
    """Do nothing; a test stops here as a crash would."""


@contextlib.contextmanager
def held(state: str, name: str, *, patience: float = PATIENCE) -> Iterator[None]:
    """Hold the lock ``name`` of a clone; ``Unavailable`` when somebody else has it for too long."""
    lock = BoardLock(os.path.join(state, "worktrees", f"{name}.lock"), patience)
    try:
        lock.__enter__()
    except Unavailable:
        raise Unavailable(
            f"another command has been busy with worktrees for {patience:g} s",
            code="WORKTREE_BUSY",
            hint="try again; a set-up command may take long",
        ) from None
    try:
        yield
    finally:
        lock.__exit__()


def of_agent(
    state: str, agent: str, *, patience: float = PATIENCE
) -> contextlib.AbstractContextManager[None]:
    """Hold what orders commands on the worktree of one agent."""
    return held(state, f"agent-{agent}", patience=patience)


def of_repository(state: str) -> contextlib.AbstractContextManager[None]:
    """Hold what orders changes of git's list of worktrees."""
    return held(state, "repository")
