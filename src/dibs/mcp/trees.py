"""The working trees that one HTTP server serves: its own, and others of the same repository."""

from __future__ import annotations

import os
from threading import Lock
from typing import TYPE_CHECKING

from dibs.core.names import printable
from dibs.errors import BadInput, NotFound
from dibs.project import locate, open_project

if TYPE_CHECKING:
    from dibs.project import Project

#: As many working trees as are kept open.
MOST_TREES = 64


class Trees:
    """Open projects, one for each working tree; all of them have the same state."""

    def __init__(self, repo: str) -> None:
        root = locate(repo).repository.root
        self._main = open_project(root)
        self._others: dict[str, Project] = {}
        self._lock = Lock()

    def project(self, tree: str) -> Project:
        """Return the project of a working tree, by default the server's own."""
        if not tree:
            return self._main
        with self._lock:
            found = self._others.get(tree)
            if found is None:
                found = self._others[tree] = self._opened(tree)
            return found

    def _opened(self, tree: str) -> Project:
        if not os.path.isabs(tree):
            raise _no_tree(tree)
        try:
            place = locate(tree)
        except NotFound:
            raise _no_tree(tree) from None
        if place.repository.state != self._main.place.repository.state:
            raise _no_tree(tree)
        if len(self._others) >= MOST_TREES:
            raise BadInput(
                f"this server has {MOST_TREES} working trees open",
                code="LIMIT",
                field="Dibs-Worktree",
            )
        return open_project(place.repository.root)

    def close(self) -> None:
        """Close all of them."""
        for project in (*self._others.values(), self._main):
            project.close()


def _no_tree(tree: str) -> BadInput:
    return BadInput(
        f"{printable(tree[:200])} is no working tree of this repository",
        code="NO_WORKTREE",
        field="Dibs-Worktree",
        hint="name its folder by an absolute path, or leave the header out",
    )
