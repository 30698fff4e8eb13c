"""Files of a working tree as git objects: all of them, some as a patch, or byte by byte.

The user's index is read and never written, and any path works, because none is an argument.

Ignored files are left out. A repository inside of the tree is named, not taken in: its commits are its own.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile

from dibs.errors import Unavailable
from dibs.git.calls import rows_of
from dibs.git.state import common_of
from dibs.git.trees import write_entries
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dibs.git.calls import GitCalls
    from dibs.git.trees import TreeChange

#: Line ends that do not survive a commit are git's business later on, not a reason to save nothing; and a
#: private index keeps no part of itself in the git directory.
_CALM = ("-c", "core.safecrlf=false", "-c", "core.splitIndex=false")

#: Nothing of the user's settings may run a program, or colour what programs read.
_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--submodule=short")
#: How many files one call of git gives back at most: they are all in memory for a moment.
_MANY = 200


class Snapshot(Record):
    """What a working tree held at one moment."""

    #: The commit that was checked out; empty before the first one.
    head: str
    #: What was staged; empty while the index holds a conflict.
    index_tree: str
    #: The files as they were on disk.
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
    """Return whether ``tree`` is what is on disk, by reading every file again."""
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
    return os.fsdecode(place), "", _empty_tree(git)


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


# -- a patch


def patch(
    git: GitCalls, place: str, base: str, paths: Iterable[str], *, stat: bool = False
) -> bytes:
    """Return how ``paths`` in the working tree differ from the commit ``base``, empty for none yet.

    ``place`` is the git directory of the tree. With ``stat`` the lines are only counted.
    """
    given = rows_of(paths)
    if not given:
        return b""
    with tempfile.TemporaryDirectory(prefix="dibs-diff-") as folder:
        objects = os.path.join(folder, "objects")
        os.mkdir(objects)
        variables = quarantined(place, objects)
        variables["GIT_INDEX_FILE"] = os.path.join(folder, "index")
        if base:
            git.must("read-tree", "--end-of-options", base, variables=variables)
        against = base or _empty_tree(git)
        git.must(
            *_CALM, "update-index", "--add", "--remove", "--replace", "-z", "--stdin",
            given=given, variables=variables,
        )  # fmt: skip
        how = ("--stat",) if stat else ("-p", "--full-index")
        return git.must(
            "diff-index", "--cached", *_PLAIN, *how, "--end-of-options", against,
            variables=variables,
        )  # fmt: skip


def _empty_tree(git: GitCalls) -> str:
    """Return the name of the empty tree, which git knows without having it."""
    return git.must("hash-object", "-t", "tree", "--stdin").decode().strip()


# -- byte by byte, where git would convert a file


def exact_tree(
    git: GitCalls, changes: Sequence[TreeChange], variables: Mapping[str, str] | None = None
) -> str:
    """Store the files that lie on the disk otherwise than ``changes`` have them; return their tree.

    The text is empty where all of them are just so.
    """
    files = [change for change in changes if change.is_file]
    found = _stored(git, [change.path for change in files], variables)
    other = [
        change._replace(new_oid=oid)
        for change, oid in zip(files, found, strict=True)
        if oid != change.new_oid
    ]
    if not other:
        return ""
    with tempfile.TemporaryDirectory(prefix="dibs-exact-") as folder:
        index = os.path.join(folder, "index")
        write_entries(git, index, other, variables)
        own = {**(variables or {}), "GIT_INDEX_FILE": index}
        return git.must("write-tree", variables=own).decode().strip()


def _stored(git: GitCalls, paths: Sequence[str], variables: Mapping[str, str] | None) -> list[str]:
    """Store files as they are; return the names of what was stored."""
    store = ("hash-object", "-w", "--no-filters")
    # Git reads paths line by line here, so one with a line end in it is given by itself.
    plain = [path for path in paths if "\n" not in path and not path.startswith('"')]
    given = b"".join(os.fsencode(path) + b"\n" for path in plain)
    said = git.must(*store, "--stdin-paths", given=given, variables=variables) if plain else b""
    known = dict(zip(plain, said.decode().split(), strict=True))
    for path in paths:
        if path not in known:
            said = git.must(*store, "--", path, variables=variables)
            known[path] = said.decode().strip()
    return [known[path] for path in paths]


def write_exact(git: GitCalls, folder: str, files: Mapping[str, str]) -> None:
    """Fill files that are in ``folder`` with just the bytes of the objects that are named for them."""
    paths = list(files)
    for begin in range(0, len(paths), _MANY):
        some = paths[begin : begin + _MANY]
        given = "".join(f"{files[path]}\n" for path in some).encode()
        out = memoryview(git.must("cat-file", "--batch", given=given))
        for path in some:
            head, _, _ = bytes(out[:200]).partition(b"\n")
            first = len(head) + 1
            size = int(head.split()[2])
            with open(os.path.join(folder, path), "wb") as file:
                file.write(out[first : first + size])
            out = out[first + size + 1 :]
