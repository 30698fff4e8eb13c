"""A whole working tree as a git tree, untracked files with it; the user's index is read and never written.

Ignored files are left out. A repository inside of the tree is named, not taken in: its commits are its own.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile

from dibs.errors import Unavailable
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dibs.git.calls import GitCalls

#: Line ends that do not survive a commit are git's business later on, not a reason to save nothing; and a
#: private index keeps no part of itself in the git directory.
_CALM = ("-c", "core.safecrlf=false", "-c", "core.splitIndex=false")


class Snapshot(Record):
    """What a working tree held at one moment."""

    #: The commit that was checked out; empty before the first one.
    head: str
    #: What was staged; empty while the index holds a conflict.
    index_tree: str
    #: The files as they lay on the disk.
    tree: str
    #: Whether one of these differs from the commit.
    dirty: bool
    #: The tree of the commit that was checked out; the empty tree before the first one.
    head_tree: str = ""
    #: Repositories inside of the tree that it does not know; what they hold is not in ``tree``.
    nested: tuple[str, ...] = ()


def snapshot(
    git: GitCalls, *, objects: str = "", thorough: bool = False, extra: Sequence[str] = ()
) -> Snapshot:
    """Write the working tree of ``git`` as it is now; nobody sees a change.

    New objects go to the folder ``objects`` if it is given, else to the repository. With ``thorough`` git
    also looks at files of which it was told that they do not change. ``extra`` are ignored files to take in.
    """
    place, head, head_tree = _heads(git)
    variables = quarantined(place, objects) if objects else {}
    with _private_index(place) as index:
        variables["GIT_INDEX_FILE"] = index
        index_tree = _written(git, variables, may_conflict=True)
        if thorough:
            _reveal(git, variables)
        git.must(*_CALM, "add", "--update", "--sparse", "--", ".", variables=variables)
        nested = _add_untracked(git, variables, extra)
        tree = _written(git, variables)
    dirty = bool(nested) or not tree == index_tree == head_tree
    return Snapshot(head, index_tree, tree, dirty, head_tree, nested)


def still_holds(git: GitCalls, tree: str) -> bool:
    """Tell whether ``tree`` is what lies on the disk, by reading every file again."""
    place, _, _ = _heads(git)
    with _private_index(place) as index:
        variables = {"GIT_INDEX_FILE": index}
        # An index from a tree knows no moments of files, so git has to look into each.
        git.must(*_CALM, "read-tree", "--end-of-options", tree, variables=variables)
        git.must(*_CALM, "add", "--update", "--sparse", "--", ".", variables=variables)
        _add_untracked(git, variables)
        return _written(git, variables) == tree


def quarantined(place: str, objects: str) -> dict[str, str]:
    """Return variables by which git reads the objects of a git directory and writes new ones elsewhere."""
    shared = os.path.join(common_of(place), "objects")
    quoted = shared.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return {"GIT_OBJECT_DIRECTORY": objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{quoted}"'}


def common_of(place: str) -> str:
    """Return the git directory that all worktrees of the git directory ``place`` share."""
    try:
        with open(os.path.join(place, "commondir"), "rb") as file:
            return os.path.realpath(os.path.join(place, os.fsdecode(file.read().rstrip(b"\r\n"))))
    except FileNotFoundError:
        return place


def _heads(git: GitCalls) -> tuple[str, str, str]:
    """Return the git directory, the commit that is checked out, and its tree."""
    said = git.run("rev-parse", "--absolute-git-dir", "HEAD^{commit}", "HEAD^{tree}")
    if not said.code:
        # A folder may have line ends in its name, so the lines are counted from the end.
        place, head, tree = said.out.rstrip(b"\n").rsplit(b"\n", 2)
        return os.fsdecode(place), head.decode(), tree.decode()
    place = git.must("rev-parse", "--absolute-git-dir").removesuffix(b"\n")
    if not git.run("rev-parse", "--verify", "--quiet", "HEAD").code:
        raise Unavailable("git cannot read the commit that is checked out", hint="run git fsck")
    empty = git.must("hash-object", "-t", "tree", "--stdin")
    return os.fsdecode(place), "", empty.decode().strip()


@contextlib.contextmanager
def _private_index(place: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="dibs-snapshot-") as folder:
        index = os.path.join(folder, "index")
        with contextlib.suppress(FileNotFoundError):
            # With its moment: by that git knows which files it must look into.
            shutil.copy2(os.path.join(place, "index"), index)
        yield index


def _written(git: GitCalls, variables: dict[str, str], *, may_conflict: bool = False) -> str:
    said = git.run(*_CALM, "write-tree", variables=variables)
    if not said.code:
        return said.out.decode().strip()
    if may_conflict and git.must("ls-files", "--unmerged", "-z", variables=variables):
        return ""
    raise Unavailable(f"git write-tree failed: {said.err}")


def _reveal(git: GitCalls, variables: dict[str, str]) -> None:
    """Let git look again at the files that somebody told it to take for unchanged."""
    listed = git.must("ls-files", "-v", "-z", variables=variables).split(b"\0")
    tagged = [(line[:1], line[2:]) for line in listed if line]
    unwatched = [path for tag, path in tagged if tag.islower()]
    left_out = [path for tag, path in tagged if tag in b"Ss" and _is_there(git.tree, path)]
    for option, paths in (
        ("--no-assume-unchanged", unwatched),
        ("--no-skip-worktree", left_out),
    ):
        if paths:
            given = b"\0".join(paths) + b"\0"
            git.must(
                *_CALM, "update-index", option, "-z", "--stdin", given=given, variables=variables
            )


def _is_there(tree: str, path: bytes) -> bool:
    return os.path.lexists(os.path.join(os.fsencode(tree), path))


def _add_untracked(
    git: GitCalls, variables: dict[str, str], extra: Sequence[str] = ()
) -> tuple[str, ...]:
    """Put the untracked files into the index; return the repositories that lie among them."""
    listed = git.must(
        "ls-files", "--others", "--exclude-standard", "-z", variables=variables
    ).split(b"\0")
    files = [path for path in listed if path and not path.endswith(b"/")]
    files += [os.fsencode(path) for path in extra]
    if files:
        given = b"\0".join(files) + b"\0"
        git.must(*_CALM, "update-index", "--add", "-z", "--stdin", given=given, variables=variables)
    return tuple(os.fsdecode(path[:-1]) for path in listed if path.endswith(b"/"))
