"""Store the files of a working tree as git objects, as a patch, or byte by byte.

The user's index is read and never written. Any path works, because none is a command-line argument. Ignored
files are not included. A nested repository is reported, but not included.
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

#: Do not fail because of line endings, and keep the private index in one file.
_CALM = ("-c", "core.safecrlf=false", "-c", "core.splitIndex=false")

#: The user's settings must not run a program or color the output.
_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--submodule=short")
#: The most files that one git call returns, because all are in memory at once.
_MANY = 200


class Snapshot(Record):
    """The contents of a working tree at one moment."""

    #: The commit that was checked out; empty before the first one.
    head: str
    #: What was staged; empty while the index has a conflict.
    index_tree: str
    #: The files as they were on disk.
    tree: str
    #: Whether one of these differs from the commit.
    dirty: bool
    #: The tree of the commit that was checked out; the empty tree before the first one.
    head_tree: str = ""
    #: Nested repositories that the tree does not know; their contents are not in ``tree``.
    nested: tuple[str, ...] = ()


def snapshot(git: GitCalls, *, objects: str = "", thorough: bool = False) -> Snapshot:
    """Store the working tree of ``git`` as it is now, without visible changes.

    New objects go to the folder ``objects``, or else to the repository. With ``thorough``, git also checks
    files that are marked as unchanged.
    """
    place, head, head_tree = _heads(git)
    variables = quarantined(place, objects) if objects else {}
    with _private_index(place) as index:
        variables["GIT_INDEX_FILE"] = index
        index_tree = _written(git, variables, may_conflict=True)
        if thorough:
            _reveal(git, variables)
        git.must(*_CALM, "add", "--update", "--sparse", "--", ".", variables=variables)
        nested = _add_untracked(git, variables)
        tree = _written(git, variables)
    dirty = bool(nested) or not tree == index_tree == head_tree
    return Snapshot(head, index_tree, tree, dirty, head_tree, nested)


def still_holds(git: GitCalls, tree: str) -> bool:
    """Return whether ``tree`` matches the disk, by reading every file again."""
    place, _, _ = _heads(git)
    with _private_index(place) as index:
        variables = {"GIT_INDEX_FILE": index}
        # An index made from a tree has no timestamps, so git reads every file.
        git.must(*_CALM, "read-tree", "--end-of-options", tree, variables=variables)
        git.must(*_CALM, "add", "--update", "--sparse", "--", ".", variables=variables)
        _add_untracked(git, variables)
        return _written(git, variables) == tree


def quarantined(place: str, objects: str) -> dict[str, str]:
    """Return variables that make git read a git directory's objects and write new ones elsewhere."""
    shared = os.path.join(common_of(place), "objects")
    quoted = shared.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return {"GIT_OBJECT_DIRECTORY": objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{quoted}"'}


def _heads(git: GitCalls) -> tuple[str, str, str]:
    """Return the git directory, the commit that is checked out, and its tree."""
    result = git.run("rev-parse", "--absolute-git-dir", "HEAD^{commit}", "HEAD^{tree}")
    if not result.code:
        # A folder's name may contain newlines, so count lines from the end.
        place, head, tree = result.out.rstrip(b"\n").rsplit(b"\n", 2)
        return os.fsdecode(place), head.decode(), tree.decode()
    place = git.must("rev-parse", "--absolute-git-dir").removesuffix(b"\n")
    if not git.run("rev-parse", "--verify", "--quiet", "HEAD").code:
        raise Unavailable("git cannot read the commit that is checked out", hint="run `git fsck`")
    return os.fsdecode(place), "", _empty_tree(git)


@contextlib.contextmanager
def _private_index(place: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="dibs-snapshot-") as folder:
        index = os.path.join(folder, "index")
        with contextlib.suppress(FileNotFoundError):
            # Git needs its timestamp to know which files to read.
            shutil.copy2(os.path.join(place, "index"), index)
        yield index


def _written(git: GitCalls, variables: dict[str, str], *, may_conflict: bool = False) -> str:
    result = git.run(*_CALM, "write-tree", variables=variables)
    if not result.code:
        return result.out.decode().strip()
    if may_conflict and git.must("ls-files", "--unmerged", "-z", variables=variables):
        return ""
    raise Unavailable(f"git write-tree failed: {result.err}", code="GIT_FAILED")


def _reveal(git: GitCalls, variables: dict[str, str]) -> None:
    """Make git check files again that are marked as unchanged."""
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


def _add_untracked(git: GitCalls, variables: dict[str, str]) -> tuple[str, ...]:
    """Add the untracked files to the index; return the nested repositories among them."""
    listed = git.must(
        "ls-files", "--others", "--exclude-standard", "-z", variables=variables
    ).split(b"\0")
    files = [path for path in listed if path and not path.endswith(b"/")]
    if files:
        given = b"\0".join(files) + b"\0"
        git.must(*_CALM, "update-index", "--add", "-z", "--stdin", given=given, variables=variables)
    return tuple(os.fsdecode(path[:-1]) for path in listed if path.endswith(b"/"))


# -- a patch


def patch(
    git: GitCalls, place: str, base: str, paths: Iterable[str], *, stat: bool = False
) -> bytes:
    """Return the diff of ``paths`` in the working tree against the commit ``base``, if there is one.

    ``place`` is the git directory of the tree. With ``stat``, return only line counts.
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
    """Return the name of the empty tree, which git knows without storing it."""
    return git.must("hash-object", "-t", "tree", "--stdin").decode().strip()


# -- exact bytes of files that git would convert


def exact_tree(
    git: GitCalls, changes: Sequence[TreeChange], variables: Mapping[str, str] | None = None
) -> str:
    """Store files whose bytes on disk differ from ``changes``; return their tree, or an empty text."""
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
    """Store files without conversion, and return the object names."""
    store = ("hash-object", "-w", "--no-filters")
    # Git reads one path per line here, so a path with a newline needs its own call.
    plain = [path for path in paths if "\n" not in path and not path.startswith('"')]
    given = b"".join(os.fsencode(path) + b"\n" for path in plain)
    output = git.must(*store, "--stdin-paths", given=given, variables=variables) if plain else b""
    known = dict(zip(plain, output.decode().split(), strict=True))
    for path in paths:
        if path not in known:
            output = git.must(*store, "--", path, variables=variables)
            known[path] = output.decode().strip()
    return [known[path] for path in paths]


def write_exact(git: GitCalls, folder: str, files: Mapping[str, str]) -> None:
    """Overwrite files in ``folder`` with the exact bytes of the given objects."""
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
