"""What the gate asks of git, and the turn that the processes of a clone take at it."""

from __future__ import annotations

import contextlib
import os
import time

from dibs.errors import Unavailable
from dibs.git.calls import last_words
from dibs.git.refs import value_of

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.git.calls import GitCalls

_SHORTEST, _LONGEST = 0.0005, 0.02


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
    if fcntl is None:
        yield
        return
    os.makedirs(state, mode=0o700, exist_ok=True)
    place = os.path.join(state, "gate.lock")
    file = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _wait_for(file, patience)
        yield
    finally:
        os.close(file)


def _wait_for(file: int, patience: float) -> None:
    give_up, pause = time.monotonic() + patience, _SHORTEST
    while time.monotonic() < give_up:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST)
        else:
            return
