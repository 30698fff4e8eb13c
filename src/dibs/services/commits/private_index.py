"""The private index of one commit, and its private git directory."""

from __future__ import annotations

import contextlib
import os
import shutil
import time

from dibs.core.text.names import printable
from dibs.errors import Unavailable
from dibs.git.calls import rows_of
from dibs.services.commits.keep import is_on_disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dibs.git.calls import GitCalls
    from dibs.git.state import TreeState
    from dibs.git.status import PathStatus

_PRIVATE = "dibs-commit-"
#: After this many seconds, a private index certainly belongs to a dead process; a hook may run for long.
_OLD = 24 * 3600.0
#: The timeout for reading files and signing: files may be huge, and the user may have to type a passphrase.
PATIENCE = 600.0
#: Files of a working tree's git directory that affect how its files are read.
_OWN = ("config.worktree", "info/sparse-checkout")

#: A file's mode, size, times, and inode: one of them changes when its content does.
Stat = tuple[int, int, int, int, int]


@contextlib.contextmanager
def private_index(git_dir: str) -> Iterator[str]:
    """Provide the path of a private index; remove it and its companion files at the end."""
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
    """Remove old files of dead processes."""
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
    """Return the stat of each file, or None for a missing one."""
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
    """Return the stat of the shared index."""
    return stats(git_dir, ["index"])["index"]


def fill(git: GitCalls, index: str, head: str) -> None:
    """Fill a private index from a commit, or empty it if there is none yet."""
    what = ("--end-of-options", head) if head else ("--empty",)
    git.must("read-tree", *what, variables={"GIT_INDEX_FILE": index})


def add(
    git: GitCalls,
    index: str,
    chosen: Sequence[PathStatus],
    objects: Mapping[str, str] | None = None,
) -> None:
    """Add the files on disk to a private index; ``objects`` are variables that say where objects go."""
    variables = {**(objects or {}), "GIT_INDEX_FILE": index}
    gone = {change.path for change in chosen if _is_gone(git.tree, change)}
    if gone:
        git.must(
            "update-index", "--force-remove", "-z", "--stdin",
            given=rows_of(gone), variables=variables,
        )  # fmt: skip
    there = [change.path for change in chosen if change.path not in gone]
    if there:
        result = git.patient(PATIENCE).run(
            "update-index", "--add", "--replace", "-z", "--stdin",
            given=rows_of(there), variables=variables,
        )  # fmt: skip
        if result.code:
            raise _unreadable(result.err)


def _is_gone(tree: str, change: PathStatus) -> bool:
    """Return whether a commit deletes a file: it is not on disk, or removed from the index and ignored."""
    if change.code == "D.":
        return True
    if is_on_disk(tree, change.path):
        return False
    place = os.path.join(tree, change.path)
    return not (os.path.isdir(place) and os.path.lexists(os.path.join(place, ".git")))


def _unreadable(errors: str) -> Unavailable:
    first = next((line for line in errors.splitlines() if line.strip()), "")
    why = printable(first.removeprefix("error: ").removeprefix("fatal: "))
    return Unavailable(
        f"nothing was committed: git cannot add a file: {why or 'no reason given'}",
        code="GIT_FAILED",
    )


def private_directory(state: TreeState, place: str) -> Stat | None:
    """Create a git directory with its own HEAD and a copy of the shared index.

    Return the stat of the shared index when it was copied.
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
