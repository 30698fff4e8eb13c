"""Files byte by byte, where git would store or write them otherwise: other line ends, encodings, idents."""

from __future__ import annotations

import os
import tempfile

from dibs.git.trees import index_info

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dibs.git.calls import GitCalls
    from dibs.git.trees import TreeChange

#: How many files one call of git gives back at most: they are all in memory for a moment.
_MANY = 200


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
        index = {**(variables or {}), "GIT_INDEX_FILE": os.path.join(folder, "index")}
        git.must("update-index", "-z", "--index-info", given=index_info(other), variables=index)
        return git.must("write-tree", variables=index).decode().strip()


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
