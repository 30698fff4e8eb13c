"""Choose the folder of a worktree, never behind a symbolic link, and check its ports."""

from __future__ import annotations

import errno
import os
import socket

from dibs.core.text.names import quote
from dibs.errors import BadInput
from dibs.git.status import ignored_among
from dibs.local.paths import cannot_hold, is_beneath

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.git.calls import GitCalls


def choose(git: GitCalls, main: str, common: str, *, agent: str, folder: str, given: str) -> str:
    """Return the folder of a new worktree: ``given``, or else the agent's in the configured ``folder``."""
    base = os.path.join(main, os.path.expanduser(folder)) if folder else f"{main}.worktrees"
    path = os.path.abspath(given) if given else os.path.join(os.path.abspath(base), agent)
    if not _is_text(path):
        raise _refused(path, "its name is not valid UTF-8", code="PATH_ENCODING")
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    if is_beneath(path, main) and not is_beneath(real, main):
        raise _refused(path, "a symbolic link leads out of the repository")
    if why := cannot_hold(real, common):
        raise _refused(path, f"it {why}")
    if real == main:
        raise _refused(path, "it is the repository itself")
    if os.path.islink(real):
        raise _refused(path, "it is a symbolic link")
    if os.path.lexists(real) and (not os.path.isdir(real) or os.listdir(real)):
        raise _refused(path, "it exists and is not empty")
    if is_beneath(real, main) and not is_ignored(git, _inside(real, main)):
        raise _refused(path, "it is inside the repository, and git does not ignore it")
    return real


def _inside(path: str, main: str) -> str:
    """Return a path inside a folder that does not exist yet, because ignore rules apply to files in it."""
    return os.path.join(os.path.relpath(path, main), "file")


def is_ignored(git: GitCalls, path: str) -> bool:
    """Return whether git ignores ``path``, relative to the working tree."""
    return bool(ignored_among(git, [path]))


def _is_text(path: str) -> bool:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _refused(path: str, why: str, code: str = "WORKTREE_FOLDER") -> BadInput:
    return BadInput(
        f"cannot create a worktree at {quote(path)}: {why}",
        code=code,
        field="path",
        hint="choose another folder with --path, or with [worktree] folder in dibs.toml",
    )


def ports_in_use(first: int, count: int) -> list[int]:
    """Return the ports in use among ``count`` ports starting at ``first``."""
    return [port for port in range(first, first + count) if _is_in_use(port)]


def _is_in_use(port: int) -> bool:
    with socket.socket() as probe:
        # Without this, a port that was closed a moment ago would count as used.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except (
            OSError
        ) as error:  # other errors, such as for root's ports, do not mean that it is in use
            return error.errno == errno.EADDRINUSE
    return False
