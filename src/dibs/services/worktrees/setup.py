"""The command that makes a new worktree fit for work, such as ``npm ci``: no shell reads it."""

from __future__ import annotations

import os
import shlex
import subprocess

from dibs.core.text.names import quote
from dibs.errors import BadInput, Unavailable
from dibs.local.processes import end_group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_STDERR = 2
#: How long a command has to end by itself after an interruption, in seconds.
_GRACE = 5.0


def words_of(command: str) -> list[str]:
    """Return the words of a command as a shell would split them, and nothing else that a shell does."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BadInput(
            f"the set-up command {quote(command)} cannot be read: {error}",
            code="SETUP",
            field="setup",
        ) from None
    if not words:
        raise BadInput("the set-up command is empty", code="SETUP", field="setup")
    return words


def run_setup(command: str, folder: str, variables: Mapping[str, str], again: str) -> None:
    """Run a command in a worktree, in a group of its own; what it says goes to standard error."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") and name != "PORT"
    }
    words = words_of(command)
    try:
        process = subprocess.Popen(  # noqa: S603 - the user's own words, without a shell
            words,
            cwd=folder,
            env={**kept, **variables},
            stdin=subprocess.DEVNULL,
            stdout=_STDERR,
            start_new_session=True,
        )
    except OSError as error:
        raise _failed(f"{words[0]} cannot be run: {error.strerror}", again) from error
    try:
        status = process.wait()
    finally:
        if process.poll() is None:  # the caller was interrupted
            end_group(process, _GRACE)
    if status:
        how = f"ended with {status}" if status > 0 else f"was ended by signal {-status}"
        raise _failed(f"{quote(command)} {how}", again)


def _failed(what: str, again: str) -> Unavailable:
    return Unavailable(
        f"the worktree is made, but its set-up failed: {what}",
        code="SETUP_FAILED",
        hint=f"repeat it with `{again}`",
    )
