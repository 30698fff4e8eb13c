"""Where a worktree can be: its folder, never behind a symbolic link, and its ports."""

from __future__ import annotations

import errno
import os
import socket

from dibs.core.text.names import quote
from dibs.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.git.calls import GitCalls


#: How many bytes the path of a folder may have, so that there is room for what it will hold; and a name.
MAX_FOLDER = 1024
MAX_NAME = 255


def choose(git: GitCalls, main: str, common: str, *, agent: str, folder: str, given: str) -> str:
    """Return the folder of a new worktree: ``given``, else one for the agent in the setting ``folder``."""
    base = os.path.join(main, os.path.expanduser(folder)) if folder else f"{main}.worktrees"
    path = os.path.abspath(given) if given else os.path.join(os.path.abspath(base), agent)
    if not _is_text(path):
        raise _refused(path, "has a name that is no text", code="PATH_ENCODING")
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    if is_beneath(path, main) and not is_beneath(real, main):
        raise _refused(path, "leads out of the repository through a symbolic link")
    if why := cannot_hold(real, common):
        raise _refused(path, why)
    if real == main:
        raise _refused(path, "is the repository itself")
    if os.path.islink(real):
        raise _refused(path, "is a symbolic link")
    if os.path.lexists(real) and (not os.path.isdir(real) or os.listdir(real)):
        raise _refused(path, "is there already, and not empty")
    if is_beneath(real, main) and not is_ignored(git, _inside(real, main)):
        raise _refused(path, "is inside the repository, and git does not ignore it")
    return real


def cannot_hold(path: str, common: str) -> str:
    """Return why files of the user cannot lie in a folder of that path, empty if they can."""
    if is_beneath(path, common):
        return "is a place of git's own"
    longest = max(len(os.fsencode(name)) for name in path.split("/"))
    if len(os.fsencode(path)) > MAX_FOLDER or longest > MAX_NAME:
        return "has too long a name"
    return ""


def _inside(path: str, main: str) -> str:
    """Return a path in a folder that is not there yet: rules for folders apply to what is in them."""
    return os.path.join(os.path.relpath(path, main), "file")


def is_beneath(path: str, folder: str) -> bool:
    """Tell whether a path is a folder, or in it, by its name alone."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def is_ignored(git: GitCalls, path: str) -> bool:
    """Tell whether git ignores ``path``, relative to the working tree."""
    # This command refuses literal pathspecs; a name behind ./ has no other magic.
    said = git.run(
        "check-ignore", "-z", "--stdin", given=b"./" + os.fsencode(path) + b"\0",
        variables={"GIT_LITERAL_PATHSPECS": "0"},
    )  # fmt: skip
    return bool(said.out)


def _is_text(path: str) -> bool:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _refused(path: str, why: str, code: str = "WORKTREE_FOLDER") -> BadInput:
    return BadInput(
        f"no worktree can be at {quote(path)}: it {why}",
        code=code,
        field="path",
        hint="name another with --path, or as [worktree] folder",
    )


def ports_in_use(first: int, count: int) -> list[int]:
    """Return those of ``count`` ports from ``first`` on that a program listens on."""
    return [port for port in range(first, first + count) if _is_in_use(port)]


def _is_in_use(port: int) -> bool:
    with socket.socket() as probe:
        # Without this, a port whose last user has just gone would count too.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:  # a port that only root may use is no other program's
            return error.errno == errno.EADDRINUSE
    return False
