"""Where a worktree's folder may lie: beside the repository, or where the user says; never behind a link."""

from __future__ import annotations

import os

from dibs.core.names import quote
from dibs.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.git.calls import GitCalls


def choose(git: GitCalls, main: str, common: str, *, agent: str, folder: str, given: str) -> str:
    """Return the folder of a new worktree: ``given``, else one for the agent in the setting ``folder``."""
    base = os.path.join(main, os.path.expanduser(folder)) if folder else f"{main}.worktrees"
    path = os.path.abspath(given) if given else os.path.join(os.path.abspath(base), agent)
    if not _is_text(path):
        raise _refused(path, "has a name that is no text", code="PATH_ENCODING")
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    if is_beneath(path, main) and not is_beneath(real, main):
        raise _refused(path, "leads out of the repository through a symbolic link")
    if is_beneath(real, common) or real == main:
        raise _refused(path, "is a place of git's own")
    if os.path.islink(real):
        raise _refused(path, "is a symbolic link")
    if os.path.lexists(real) and (not os.path.isdir(real) or os.listdir(real)):
        raise _refused(path, "is there already, and not empty")
    if is_beneath(real, main) and not is_ignored(git, _inside(real, main)):
        raise _refused(path, "is inside the repository, and git does not ignore it")
    return real


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
        f"no worktree can be made at {quote(path)}: it {why}",
        code=code,
        field="path",
        hint="name another folder with --path, or set [worktree] folder",
    )
