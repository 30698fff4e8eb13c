"""What the gate asks of git, and the turn that the processes of a clone take at it."""

from __future__ import annotations

import contextlib
import os

from dibs.errors import Unavailable
from dibs.git.calls import last_words
from dibs.git.refs import value_of
from dibs.local.locks import FileLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.git.calls import GitCalls


def holds(git: GitCalls, ref: str, commit: str) -> bool:
    """Tell whether ``ref`` has ``commit`` in its history."""
    tip = value_of(git, ref)
    if not tip or tip == commit:
        return bool(tip)
    said = git.run("merge-base", "--is-ancestor", "--end-of-options", commit, tip)
    if said.code not in {0, 1}:
        raise Unavailable(f"git cannot compare commits: {last_words(said.err)}", code="GIT_FAILED")
    return not said.code


def refused(why: str) -> Unavailable:
    """Return that git does not move a ref which nobody else has moved."""
    locked = next((line for line in why.splitlines() if ".lock" in line), "")
    if locked:
        return Unavailable(
            f"git cannot lock the branch: {last_words(locked)}",
            code="GIT_LOCKED",
            hint="another git command is at work; that of a killed one goes by `dibs doctor --fix`",
        )
    return Unavailable(
        f"git does not move the branch: {last_words(why) or 'no reason given'}", code="GIT_FAILED"
    )


@contextlib.contextmanager
def turn_taken(state: str, patience: float) -> Iterator[None]:
    """Be the one process of a clone at its gate; after ``patience`` go on without it."""
    os.makedirs(state, mode=0o700, exist_ok=True)
    lock = FileLock(os.path.join(state, "gate.lock"))
    lock.take(patience)
    try:
        yield
    finally:
        lock.release()
