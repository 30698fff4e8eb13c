"""Refuse FIFOs, devices, and sockets where git expects files: git would wait, or read without an end.

Anyone who can write to a repository can create one. Dibs detects it before it starts git, and names it. The
timeout of each call covers a file that changes in between, and one in a subfolder.
"""

from __future__ import annotations

import os
import stat

from dibs.core.text.names import quote
from dibs.errors import Misconfigured
from dibs.local.files import read_or_empty

#: What git reads in a working tree, in its git directory, and in the common git directory.
_IN_TREE = (".gitignore", ".gitattributes", ".gitmodules", ".mailmap")
_IN_GIT_DIR = (
    "HEAD", "index", "config.worktree", "commondir", "gitdir", "logs/HEAD",
    "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "ORIG_HEAD",
)  # fmt: skip
_IN_COMMON = (
    "config", "packed-refs", "shallow", "info/exclude", "info/attributes", "info/sparse-checkout",
    "info/refs", "info/grafts", "objects/info/alternates", "objects/info/commit-graph",
    "logs/refs/stash", "refs/stash",
)  # fmt: skip
_FILE_OR_FOLDER = (stat.S_IFREG, stat.S_IFDIR)
#: The longest file that names a git directory or a branch, in bytes.
_POINTER_MAX = 65_536


def refuse_special(tree: str) -> None:
    """Raise if git would read something other than a file in this working tree or git directory."""
    own = os.path.join(tree, ".git")
    kind = _kind(own)
    if kind == stat.S_IFREG:
        own = os.path.join(tree, _pointer(own).removeprefix("gitdir:").strip())
    elif kind != stat.S_IFDIR:
        own = tree  # a git directory, or a folder below the top
    _refuse(tree, _IN_TREE)
    _refuse(own, _IN_GIT_DIR)
    common = own
    if _kind(os.path.join(own, "commondir")):
        common = os.path.join(own, _pointer(os.path.join(own, "commondir")))
    _refuse(common, _IN_COMMON)
    branch = _pointer(os.path.join(own, "HEAD")).removeprefix("ref:").strip()
    if branch.startswith("refs/") and ".." not in branch:
        _refuse(common, (branch, f"logs/{branch}"))


def _refuse(folder: str, names: tuple[str, ...]) -> None:
    for name in names:
        path = f"{folder}/{name}"
        kind = _kind(path)
        if kind and kind not in _FILE_OR_FOLDER and not _is_null(path):
            from shlex import quote as quoted

            raise Misconfigured(
                f"{quote(os.path.normpath(path))} is not a regular file, so git could wait for it forever",
                code="REPO_STATE",
                hint=f"remove it: rm {quoted(os.path.normpath(path))}",
            )


def _kind(path: str) -> int:
    """Return the type of what is at ``path``, following links; 0 if there is nothing."""
    try:
        return stat.S_IFMT(os.stat(path).st_mode)
    except (OSError, ValueError):
        return 0


def _is_null(path: str) -> bool:
    """Return whether this is the null device, which reads as an empty file."""
    return os.stat(path).st_rdev == os.stat(os.devnull).st_rdev


def _pointer(path: str) -> str:
    return os.fsdecode(read_or_empty(path, _POINTER_MAX)).strip()
