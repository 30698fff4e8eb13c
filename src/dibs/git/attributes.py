"""Which attributes paths have, by git's own reading of ``.gitattributes``."""

from __future__ import annotations

import os
import tempfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.git.calls import GitCalls

_NOTHING = frozenset(("unspecified", "unset", "set"))


def attributes(
    git: GitCalls, name: str, paths: Iterable[str] | None, *, tree: str = ""
) -> dict[str, str]:
    """Return the value of one attribute for those of ``paths`` that have one.

    The files of the working tree decide; with ``tree``, the id of a tree or a commit, those in it do, and
    None for ``paths`` means all that it holds.
    """
    if not tree:
        return _asked(git, (name,), _listed(paths or ()), {})
    with tempfile.TemporaryDirectory(prefix="dibs-attributes-") as folder:
        index = {"GIT_INDEX_FILE": os.path.join(folder, "index")}
        git.must("read-tree", "--end-of-options", tree, variables=index)
        given = git.must("ls-files", "-z", variables=index) if paths is None else _listed(paths)
        return _asked(git, ("--cached", name), given, index)


def attribute_files(git: GitCalls) -> list[str]:
    """Return the paths of all files of attributes that git tracks in a working tree."""
    any_folder = {"GIT_LITERAL_PATHSPECS": "0"}
    said = git.must("ls-files", "-z", "--", ":(top,glob)**/.gitattributes", variables=any_folder)
    return [os.fsdecode(path) for path in said.split(b"\0") if path]


def _listed(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def _asked(
    git: GitCalls, options: tuple[str, ...], given: bytes, variables: dict[str, str]
) -> dict[str, str]:
    if not given:
        return {}
    out = git.must("check-attr", "-z", "--stdin", *options, given=given, variables=variables)
    words = out.split(b"\0")
    found = zip(words[::3], words[2::3], strict=False)
    values = {os.fsdecode(path): os.fsdecode(value) for path, value in found}
    return {path: value for path, value in values.items() if value not in _NOTHING}
