"""The open working trees of one repository, for a process that runs for days.

Settings change and stores move meanwhile, so a project is reopened when its
``dibs.toml`` has changed, or after a call found that the store is missing.
"""

from __future__ import annotations

import os
from threading import Lock
from typing import TYPE_CHECKING

from dibs.core.text.names import printable
from dibs.errors import BadInput, NotFound
from dibs.project.committed_settings import settings_version
from dibs.project.engines import is_recorded
from dibs.project.location import locate
from dibs.project.project import open_at

if TYPE_CHECKING:
    from dibs.errors import DibsError
    from dibs.local.repository import Repository
    from dibs.project.project import Lender, Project

    Stamp = tuple[str, tuple[int, int, int] | None]

#: How many working trees can be open.
MOST_TREES = 64
#: Errors after which the project must be reopened.
_LOST = frozenset({"STORE_REPLACED", "STORE_MISSING", "STORE_FORKED"})


class OpenTree:
    """The project of one working tree, seen from one folder in it."""

    def __init__(self, start: str, lender: Lender | None = None) -> None:
        self._start = start
        self._lender = lender
        self._lock = Lock()
        self._stale = False
        self._past: list[Project] = []
        self._place = locate(start).repository
        self._stamp = _stamp(self._place)
        self._project = open_at(locate(start), lender)

    def project(self) -> Project:
        """Return the open project, reopened if needed."""
        with self._lock:
            stamp = _stamp(self._place)  # before reading, so that a later change is noticed
            if self._stale or stamp != self._stamp:
                project = open_at(locate(self._start), self._lender)
                self._past.append(self._project)  # other threads may still use it
                self._project, self._stamp, self._stale = project, stamp, False
            is_recorded(self._project.place)  # the clone may use another store by now
            return self._project

    def failed(self, error: DibsError) -> None:
        """Record an error, after which the project may have to be reopened."""
        self._stale = self._stale or error.code in _LOST

    def close(self) -> None:
        """Close every project that was opened."""
        for project in (*self._past, self._project):
            project.close()


class OpenTrees:
    """The working trees of one repository, which share their state."""

    def __init__(self, repo: str, lender: Lender | None = None) -> None:
        self._lender = lender
        self.main = OpenTree(locate(repo).repository.root, lender)
        self._others: dict[str, OpenTree] = {}
        self._lock = Lock()

    def tree(self, name: str) -> OpenTree:
        """Return a working tree by its folder, by default the server's own."""
        if not name:
            return self.main
        with self._lock:
            found = self._others.get(name)
            if found is None:
                found = self._others[name] = self._opened(name)
            return found

    def _opened(self, name: str) -> OpenTree:
        if not os.path.isabs(name):
            raise _no_tree(name)
        try:
            place = locate(name)
        except NotFound:
            raise _no_tree(name) from None
        if place.repository.state != self.main.project().place.repository.state:
            raise _no_tree(name)
        if len(self._others) >= MOST_TREES:
            message = f"this server already has {MOST_TREES} working trees open"
            raise BadInput(message, code="LIMIT", field="Dibs-Worktree")
        return OpenTree(place.repository.root, self._lender)

    def failed(self, error: DibsError) -> None:
        """Pass an error to every tree; they share one store."""
        with self._lock:
            trees = [self.main, *self._others.values()]
        for tree in trees:
            tree.failed(error)

    def close(self) -> None:
        """Close all of them."""
        for tree in (*self._others.values(), self.main):
            tree.close()


def _stamp(place: Repository) -> Stamp:
    """Return a value that changes with the settings: the file, or its version in the last commit."""
    committed = settings_version(place)
    try:
        found = os.stat(os.path.join(place.root, "dibs.toml"))
    except OSError:
        return committed, None
    return committed, (found.st_mtime_ns, found.st_size, found.st_ino)


def _no_tree(name: str) -> BadInput:
    return BadInput(
        f"{printable(name[:200])} is not a working tree of this repository",
        code="NO_WORKTREE",
        field="Dibs-Worktree",
        hint="use the absolute path of its folder, or omit it for the main one",
    )
