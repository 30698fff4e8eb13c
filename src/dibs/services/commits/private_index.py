"""The index, and for the short way the git directory, that one commit has to itself."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import time

from dibs.core.text.names import printable
from dibs.errors import Unavailable
from dibs.git.calls import rows_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dibs.git.calls import GitCalls
    from dibs.git.state import TreeState
    from dibs.git.status import PathStatus

_PRIVATE = "dibs-commit-"
#: After how many seconds a private index surely belongs to a killed process: a hook may work for long.
_OLD = 24 * 3600.0
#: How long git may read files or sign: a file may be huge and pass a filter, and somebody may have to type a
#: passphrase.
PATIENCE = 600.0
#: What of a working tree's own git directory decides how its files are read.
_OWN = ("config.worktree", "info/sparse-checkout")

#: A file's mode, size, times and inode: one of them changes when its content does.
Stat = tuple[int, int, int, int, int]


@contextlib.contextmanager
def private_index(git_dir: str) -> Iterator[str]:
    """Give out the path of an index that nobody else uses; remove it and what lies beside it at the end."""
    _sweep(git_dir)
    path = os.path.join(git_dir, f"{_PRIVATE}{os.getpid()}-{os.urandom(4).hex()}")
    try:
        yield path
    finally:
        shutil.rmtree(f"{path}.d", ignore_errors=True)
        for left in (path, f"{path}.lock", f"{path}.msg"):
            with contextlib.suppress(OSError):
                os.unlink(left)


def _sweep(git_dir: str) -> None:
    """Remove what killed processes left, long enough ago to be sure of it."""
    for name in os.listdir(git_dir):
        if name.startswith(_PRIVATE):
            path = os.path.join(git_dir, name)
            with contextlib.suppress(OSError):
                if os.lstat(path).st_mtime + _OLD >= time.time():
                    continue
                if os.path.isdir(path):
                    shutil.rmtree(path)
                else:
                    os.unlink(path)


def stats(tree: str, paths: Iterable[str]) -> dict[str, Stat | None]:
    """Return by what each file is known to be unchanged; None for one that is not there."""
    found: dict[str, Stat | None] = {}
    for path in paths:
        try:
            s = os.lstat(os.path.join(tree, path))
        except OSError:
            found[path] = None
        else:
            found[path] = (s.st_mode, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino)
    return found


def index_stat(git_dir: str) -> Stat | None:
    """Return by what the shared index is known to be unchanged."""
    return stats(git_dir, ["index"])["index"]


def fill(git: GitCalls, index: str, head: str) -> None:
    """Fill a private index with a commit, or with nothing where there is none yet."""
    what = ("--end-of-options", head) if head else ("--empty",)
    git.must("read-tree", *what, variables={"GIT_INDEX_FILE": index})


def add(git: GitCalls, index: str, chosen: Sequence[PathStatus]) -> None:
    """Put the files as they are on disk into a private index."""
    variables = {"GIT_INDEX_FILE": index}
    gone = {change.path for change in chosen if _is_gone(git.tree, change)}
    if gone:
        git.must(
            "update-index", "--force-remove", "-z", "--stdin",
            given=rows_of(gone), variables=variables,
        )  # fmt: skip
    there = [change.path for change in chosen if change.path not in gone]
    if there:
        said = git.patient(PATIENCE).run(
            "update-index", "--add", "--replace", "-z", "--stdin",
            given=rows_of(there), variables=variables,
        )  # fmt: skip
        if said.code:
            raise _unreadable(said.err)


def _is_gone(tree: str, change: PathStatus) -> bool:
    """Return whether a commit drops a file: it is not on disk, or out of the index and ignored."""
    if change.code == "D.":
        return True
    try:
        mode = os.lstat(os.path.join(tree, change.path)).st_mode
    except OSError:
        return True
    if _behind_link(tree, change.path):
        return True
    folder = stat.S_ISDIR(mode)
    return folder and not os.path.lexists(os.path.join(tree, change.path, ".git"))


def _behind_link(tree: str, path: str) -> bool:
    """Return whether a symbolic link has taken the place of a folder on the way to the path."""
    folder = os.path.dirname(path)
    while folder:
        if os.path.islink(os.path.join(tree, folder)):
            return True
        folder = os.path.dirname(folder)
    return False


def _unreadable(said: str) -> Unavailable:
    first = next((line for line in said.splitlines() if line.strip()), "")
    why = printable(first.removeprefix("error: ").removeprefix("fatal: "))
    return Unavailable(
        f"a file cannot be added: {why or 'git does not say why'}",
        code="GIT_FAILED",
        hint="nothing was committed",
    )


def private_directory(state: TreeState, place: str) -> Stat | None:
    """Make a git directory with a HEAD and a copy of the shared index, which shares all else.

    Return by what the shared index was known when it was copied.
    """
    os.mkdir(place, 0o700)
    with open(os.path.join(place, "HEAD"), "w", encoding="ascii") as file:
        file.write(f"{state.head}\n")
    with open(os.path.join(place, "commondir"), "wb") as raw:
        raw.write(os.fsencode(state.common) + b"\n")
    for name in _OWN:
        source = os.path.join(state.git_dir, name)
        if os.path.exists(source):
            os.makedirs(os.path.dirname(os.path.join(place, name)), exist_ok=True)
            os.symlink(source, os.path.join(place, name))
    made_from = index_stat(state.git_dir)
    with contextlib.suppress(FileNotFoundError):
        shutil.copy2(os.path.join(state.git_dir, "index"), os.path.join(place, "index"))
    return made_from
