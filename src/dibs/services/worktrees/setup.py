"""Run the setup command of a new worktree, such as ``npm ci``, without a shell."""

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
#: How long an interrupted command gets to exit, in seconds.
_GRACE = 5.0


def words_of(command: str) -> list[str]:
    """Split a command into words as a shell would, without expansions."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BadInput(
            f"invalid setup command {quote(command)}: {error}",
            code="SETUP",
            field="setup",
        ) from None
    if not words:
        raise BadInput("the setup command is empty", code="SETUP", field="setup")
    return words


def run_setup(command: str, folder: str, variables: Mapping[str, str], again: str) -> None:
    """Run a command in a worktree, in its own process group, with its output on standard error."""
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
        raise _failed(f"cannot run {words[0]}: {error.strerror}", again) from error
    try:
        status = process.wait()
    finally:
        if process.poll() is None:  # the caller was interrupted
            end_group(process, _GRACE)
    if status:
        how = f"exit status {status}" if status > 0 else f"killed by signal {-status}"
        raise _failed(f"{quote(command)}: {how}", again)


def _failed(what: str, again: str) -> Unavailable:
    return Unavailable(
        f"created the worktree, but its setup failed: {what}",
        code="SETUP_FAILED",
        hint=f"run it again: {again}",
    )
