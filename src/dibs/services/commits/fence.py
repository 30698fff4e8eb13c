"""The ref ``refs/dibs/gate`` of a clone: no commit lands that expects an older value of it."""

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
    """Give the fence a value that it never had, and return it; ``common`` is the shared git directory."""
    why = ""
    for turn in range(_TRIES):
        if turn == _TRIES - 1:
            _free(common)
        seen = value_of(git, FENCE)
        nonce = f"{clone} {os.urandom(12).hex()}\n".encode()
        value = git.must("hash-object", "-w", "--stdin", given=nonce).decode().strip()
        order = f"update {FENCE}\0{value}\0{seen or '0' * len(value)}\0"
        said = git.run("update-ref", "--stdin", "-z", given=order.encode())
        if not said.code:
            return value
        why = said.err
        time.sleep(_PAUSE)
    raise unmoved(why)


def _free(common: str) -> None:
    """Put aside the lock of a git that was killed at the fence, if it surely is dead."""
    from dibs.git.locks import find_stale, put_aside

    for lock in find_stale(common):
        if lock.path.endswith(f"/{FENCE}.lock"):
            put_aside(lock, common)


def has_landed(git: GitCalls, ref: str, commit: str) -> bool:
    """Return whether ``ref`` has ``commit`` in its history."""
    tip = value_of(git, ref)
    if not tip or tip == commit:
        return bool(tip)
    said = git.run("merge-base", "--is-ancestor", "--end-of-options", commit, tip)
    if said.code not in {0, 1}:
        raise Unavailable(f"git cannot compare commits: {last_words(said.err)}", code="GIT_FAILED")
    return not said.code


def unmoved(why: str) -> Unavailable:
    """Return the error for a ref that git does not move although nobody else has moved it."""
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
