"""The tree and the commit: built in an index of their own, so that nothing of others can be in them."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import time

from dibs.core.text.names import printable
from dibs.errors import Misconfigured, Unavailable
from dibs.git.trees import differences, index_info
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dibs.git.calls import GitCalls
    from dibs.git.status import FileChange
    from dibs.git.trees import TreeChange

_PRIVATE = "dibs-commit-"
#: After how many seconds a private index is surely nobody's: a hook may work for long.
_OLD = 24 * 3600.0
#: How long git may take to read files or to sign: they may be huge and pass a filter, and somebody may have
#: to type a passphrase.
PATIENCE = 600.0
_NO_IDENTITY = (
    "tell me who you are",
    "empty ident name",
    "auto-detect",
    "invalid ident",
    "ident name",
    "disallowed characters",
)

#: A file's mode, size, moments and place: what is changed when its content is.
Stat = tuple[int, int, int, int, int]


class Built(Record):
    """A tree on top of a commit, and what it changes there."""

    parent: str
    tree: str
    changes: tuple[TreeChange, ...]


@contextlib.contextmanager
def private_index(git_dir: str) -> Iterator[str]:
    """Give out the path of an index that nobody else uses; afterwards it is gone."""
    _sweep(git_dir)
    path = os.path.join(git_dir, f"{_PRIVATE}{os.getpid()}-{os.urandom(4).hex()}")
    try:
        yield path
    finally:
        for left in (path, f"{path}.lock", f"{path}.msg"):
            with contextlib.suppress(OSError):
                os.unlink(left)


def _sweep(git_dir: str) -> None:
    """Remove the indexes of processes that were killed, long enough ago to be sure of it."""
    for name in os.listdir(git_dir):
        if name.startswith(_PRIVATE):
            path = os.path.join(git_dir, name)
            with contextlib.suppress(OSError):
                if os.lstat(path).st_mtime + _OLD >= time.time():
                    continue
                if os.path.isdir(path):  # the git directory of a short way
                    shutil.rmtree(path)
                else:
                    os.unlink(path)


def fill(git: GitCalls, index: str, head: str) -> None:
    """Fill a private index with a commit, or with nothing where there is none yet."""
    what = ("--end-of-options", head) if head else ("--empty",)
    git.must("read-tree", *what, variables={"GIT_INDEX_FILE": index})


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


def add(git: GitCalls, index: str, chosen: Sequence[FileChange]) -> None:
    """Put the files as they are on disk into a private index."""
    variables = {"GIT_INDEX_FILE": index}
    gone = [change.path for change in chosen if _is_gone(git.tree, change)]
    if gone:
        git.must(
            "update-index", "--force-remove", "-z", "--stdin",
            given=rows_of(gone), variables=variables,
        )  # fmt: skip
    left = set(gone)
    there = [change.path for change in chosen if change.path not in left]
    if there:
        said = git.patient(PATIENCE).run(
            "update-index", "--add", "--replace", "-z", "--stdin",
            given=rows_of(there), variables=variables,
        )  # fmt: skip
        if said.code:
            raise _unreadable(said.err)


def _is_gone(tree: str, change: FileChange) -> bool:
    """Tell whether a file goes from the commit: not on disk, or taken out of the index and ignored."""
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
    """Tell whether a symbolic link stands where a folder of the path was."""
    folder = os.path.dirname(path)
    while folder:
        if os.path.islink(os.path.join(tree, folder)):
            return True
        folder = os.path.dirname(folder)
    return False


def _unreadable(said: str) -> Unavailable:
    lines = [line for line in said.splitlines() if line.strip()]
    why = (
        printable(lines[0].removeprefix("error: ").removeprefix("fatal: "))
        if lines
        else "git does not say why"
    )
    return Unavailable(
        f"a file cannot be added: {why}", code="GIT_FAILED", hint="nothing was committed"
    )


def finish(git: GitCalls, index: str, parent: str) -> Built:
    """Write the tree of a private index, and find out what it changes."""
    tree = git.must("write-tree", variables={"GIT_INDEX_FILE": index}).decode().strip()
    return Built(parent, tree, tuple(differences(git, parent, tree)))


def rebase(git: GitCalls, index: str, changes: Sequence[TreeChange], parent: str) -> Built:
    """Build the same changes on another commit: all other paths are as they are there."""
    variables = {"GIT_INDEX_FILE": index}
    fill(git, index, parent)
    git.must("update-index", "-z", "--index-info", given=index_info(changes), variables=variables)
    return finish(git, index, parent)


def write_commit(git: GitCalls, built: Built, message: str, sign: Sequence[str]) -> str:
    """Write the commit and return its name; it is on no branch yet."""
    return write(git, built.tree, [built.parent] if built.parent else [], message, sign)


def write(
    git: GitCalls, tree: str, parents: Sequence[str], message: str, sign: Sequence[str]
) -> str:
    """Write a commit of any number of parents; raise what git says of whoever commits."""
    check_identity(os.environ.items())
    calls = git.patient(PATIENCE) if sign else git
    above = [word for parent in parents for word in ("-p", parent)]
    said = calls.run(
        "-c", "i18n.commitEncoding=UTF-8", "commit-tree", *sign, *above, "-F", "-", tree,
        given=message.encode("utf-8", "surrogateescape"), variables=dates(),
    )  # fmt: skip
    if not said.code:
        return said.out.decode().strip()
    if any(words in said.err for words in _NO_IDENTITY):
        raise Misconfigured(
            "git does not know who you are, or the name has no letter in it",
            code="IDENTITY",
            hint="git config user.name NAME; git config user.email ADDRESS",
        )
    last = printable(said.err.splitlines()[-1]) if said.err else f"exit status {said.code}"
    raise Unavailable(f"the commit cannot be written: {last}", code="GIT_FAILED")


def dates() -> dict[str, str]:
    """Return the moments that the caller's surroundings name for a commit."""
    names = ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE")
    return {name: os.environ[name] for name in names if os.environ.get(name)}


def check_identity(variables: Iterable[tuple[str, str]]) -> None:
    """Refuse a name or an address that would break the commit's own lines."""
    for name, value in variables:
        ours = name.startswith(("GIT_AUTHOR_", "GIT_COMMITTER_"))
        if ours and not set("\n\r<>\0").isdisjoint(value):
            raise Misconfigured(
                f"{name} has a line's end or one of < and > in it",
                code="IDENTITY",
                hint=f"set {name} anew",
            )


def rows_of(paths: Iterable[str]) -> bytes:
    """Return paths as git reads them with ``-z``."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)
