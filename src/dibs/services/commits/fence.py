"""The fence of a clone, ``refs/dibs/gate``: a commit that expects an older value of it cannot land."""

from __future__ import annotations

import os
import time

from dibs.errors import Unavailable
from dibs.git.calls import last_words
from dibs.git.refs import value_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.git.calls import GitCalls

FENCE = "refs/dibs/gate"
_TRIES, _PAUSE = 8, 0.02


def raise_fence(git: GitCalls, clone: str, common: str) -> str:
    """Set the fence to a new value, and return it; ``common`` is the shared git directory."""
    why = ""
    for turn in range(_TRIES):
        if turn == _TRIES - 1:
            _free(common)
        seen = value_of(git, FENCE)
        nonce = f"{clone} {os.urandom(12).hex()}\n".encode()
        value = git.must("hash-object", "-w", "--stdin", given=nonce).decode().strip()
        order = f"update {FENCE}\0{value}\0{seen or '0' * len(value)}\0"
        result = git.run("update-ref", "--stdin", "-z", given=order.encode())
        if not result.code:
            return value
        why = result.err
        time.sleep(_PAUSE)
    raise unmoved(why)


def _free(common: str) -> None:
    """Move away a lock on the fence if the git that took it is certainly dead."""
    from dibs.git.locks import find_stale, put_aside

    for lock in find_stale(common):
        if lock.path.endswith(f"/{FENCE}.lock"):
            put_aside(lock, common)


def has_landed(git: GitCalls, ref: str, commit: str) -> bool:
    """Return whether ``ref`` has ``commit`` in its history."""
    tip = value_of(git, ref)
    if not tip or tip == commit:
        return bool(tip)
    result = git.run("merge-base", "--is-ancestor", "--end-of-options", commit, tip)
    if result.code not in {0, 1}:
        raise Unavailable(
            f"git cannot compare commits: {last_words(result.err)}", code="GIT_FAILED"
        )
    return not result.code


def unmoved(why: str) -> Unavailable:
    """Return the error for a ref that git does not move, although no one else has moved it."""
    locked = next((line for line in why.splitlines() if ".lock" in line), "")
    if locked:
        return Unavailable(
            f"git cannot lock the branch: {last_words(locked)}",
            code="GIT_LOCKED",
            hint="wait for the other git command; if it was killed, run `dibs doctor --fix`",
        )
    return Unavailable(
        f"git cannot move the branch: {last_words(why) or 'no reason given'}", code="GIT_FAILED"
    )
