"""List the files of a working tree: tracked and new ones, but none that git ignores."""

from __future__ import annotations

import os

from dibs.core.changes.file_tree import FilesHere
from dibs.git.status import begin_changed, parsed
from dibs.git.untrusted import guarded_calls
from dibs.services.commits.changes import dirty_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.local.repository import Repository

#: Folders of git and Dibs, which are not part of a project without git.
_OWN = frozenset({".git", ".dibs"})


def files_here(repository: Repository, below: str = "") -> FilesHere:
    """Return the files below a folder (or one file), with sizes and uncommitted changes."""
    root = repository.root
    if not repository.common:
        found = sorted(_walked(root, below))
        return FilesHere({path: _size(root, path) for path in found}, {})
    git = guarded_calls(root, repository)
    within = (below,) if below else ()
    status = begin_changed(git, *within)
    listed = git.must("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *within)
    changed = {c.path: dirty_file(c).what for c in parsed(status.must()) if not c.nested}
    names = (os.fsdecode(name) for name in listed.split(b"\0"))
    paths = dict.fromkeys(name for name in names if name and not name.endswith("/"))
    paths |= dict.fromkeys(changed)
    return FilesHere({path: _size(root, path) for path in paths}, changed)


def is_tracked(repository: Repository, path: str) -> bool:
    """Return whether git's index has a file."""
    if not repository.common:
        return False
    git = guarded_calls(repository.root, repository)
    return bool(git.must("ls-files", "-z", "--cached", "--", path))


def _size(root: str, path: str) -> int | None:
    try:
        return os.lstat(f"{root}/{path}").st_size
    except (OSError, ValueError):
        return None


def _walked(root: str, below: str) -> Iterator[str]:
    """Yield the files of a folder that is not in git."""
    top = os.path.join(root, below) if below else root
    if not os.path.isdir(top):
        if os.path.lexists(top):
            yield below
        return
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name not in _OWN]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), root)
