"""Read a project's settings: those that decide what agents may do come from the last commit."""

from __future__ import annotations

import os

from dibs.config import committed_settings, load
from dibs.config.cache import NAME
from dibs.errors import DibsError
from dibs.local.loose_objects import head_commit
from dibs.local.repository import checked_out, main_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.config.cache import Written
    from dibs.config.load import Loaded
    from dibs.git.calls import GitCalls
    from dibs.local.repository import Repository

#: The time limit for git, in seconds.
_PATIENCE = 5.0
#: The largest object that is read without git, in bytes.
_LARGEST = 4 << 20


def load_settings(
    repository: Repository,
    environ: Mapping[str, str],
    flags: Mapping[str, object] | None = None,
    *,
    lenient: bool = False,
) -> Loaded:
    """Return the settings in effect for a working tree; if ``lenient``, despite an invalid file."""
    guards = _guards(repository)
    root, state = repository.root, repository.state
    return load.load(root, state, environ, flags or {}, guards, lenient=lenient)


def settings_version(repository: Repository) -> str:
    """Return a text that changes with ``dibs.toml`` in the last commit; empty if it has none."""
    commit = _commit(repository)
    if not commit:
        return ""

    def ask(commit: str) -> str:
        from dibs.git.objects import GONE, headers, members_of

        try:
            tree = _loose(repository, headers(_loose(repository, commit), "tree")[0])
            return members_of(tree, len(commit) // 2).get(NAME, GONE).oid
        except (OSError, ValueError, IndexError):  # packed, or damaged
            from dibs.git.refs import value_of

            return value_of(_git(repository), f"{commit}:{NAME}")

    try:
        return committed_settings.object_of(repository.state, commit, ask)
    except DibsError:  # git is missing or slow
        return ""


def _guards(repository: Repository) -> Written | None:
    """Return the committed settings; None if there are none, or they are invalid."""
    blob = settings_version(repository)
    if not blob and os.path.exists(os.path.join(repository.root, NAME)):
        # A commit from before the file, or without it, does not make an uncommitted file count.
        blob = committed_settings.last_object(repository.state)
    if not blob:
        return None

    def read(blob: str) -> bytes:
        try:
            return _loose(repository, blob)
        except (OSError, ValueError):
            return _git(repository).must("cat-file", "blob", blob)

    try:
        return committed_settings.settings_of(repository.state, blob, load.parsed, read)
    except DibsError:
        return None


def _commit(repository: Repository) -> str:
    """Return the commit whose settings count: that of the branch checked out here.

    With a detached HEAD, which an agent may have in its own worktree, it is the main working tree's.
    """
    main = main_tree(repository)
    if repository.root != main and not checked_out(repository.root).startswith("refs/"):
        return head_commit(main, repository.common)
    return head_commit(repository.root, repository.common)


def _loose(repository: Repository, oid: str) -> bytes:
    """Return the content of an object with a file of its own, as those of a new commit; needs no git."""
    from zlib import error

    from dibs.git.objects import read_loose

    try:
        kind, content = read_loose(f"{repository.common}/objects", oid, _LARGEST)
    except error as damaged:
        raise ValueError(str(damaged)) from damaged
    if not kind:
        raise ValueError("the object is empty")
    return content


def _git(repository: Repository) -> GitCalls:
    """Return calls for objects that are packed, which only git reads."""
    from dibs.git.calls import GitCalls

    return GitCalls(repository.root, timeout=_PATIENCE)
