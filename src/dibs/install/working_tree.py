"""The working tree that files are written to: what lies inside of it, and what git thinks of it."""

from __future__ import annotations

import os

from dibs.git.calls import GitCalls
from dibs.git.worktrees import present
from dibs.local.repository import shared_state, with_own_state
from dibs.services.worktrees.place import is_ignored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.local.repository import Repository


class WorkingTree:
    """One working tree."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._git = GitCalls(repository.root) if repository.common else None
        self._tracked: set[str] | None = None

    def inside(self, path: str) -> str | None:
        """Return where a path really lies, relative to the root; None if it leads out, or into git's own."""
        root = self.repository.root
        place = os.path.realpath(os.path.join(root, path))
        if not place.startswith(root.rstrip("/") + "/"):
            return None
        found = os.path.relpath(place, root)
        return None if found.partition("/")[0].lower() == ".git" else found

    def is_tracked(self, path: str) -> bool:
        """Tell whether the file is in git's index."""
        if self._git is None:
            return False
        if self._tracked is None:
            told = self._git.must("ls-files", "-z", "--full-name", "--", ".")
            self._tracked = set(os.fsdecode(told).split("\0"))
        return path in self._tracked

    def is_ignored(self, path: str) -> bool:
        """Tell whether git overlooks the file; where there is no git, nobody sees it."""
        return self._git is None or is_ignored(self._git, path)


def is_main(repository: Repository) -> bool:
    """Tell whether this is the main working tree of a git repository."""
    return with_own_state(repository).state == shared_state(repository) and bool(repository.common)


def others(repository: Repository) -> list[str]:
    """Return the other working trees of the repository whose folders are there."""
    if not repository.common:
        return []
    places = [os.path.realpath(tree.path) for tree in present(GitCalls(repository.root))]
    return [place for place in places if place != repository.root]
