"""The projects that the server serves.

A project is added by a person, by a hook, or by the token of one of its agents; the list survives a restart.
Parts of the server that work for each project, such as the event feed, register for every project.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from dibs.core.text.names import printable
from dibs.errors import BadInput, DibsError, NotFound
from dibs.local.files import read_file, write_file
from dibs.project.location import locate
from dibs.project.trees import OpenTrees
from dibs.services.state.serving.faults import record_failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.project.project import Lender, Project

#: How many projects one server serves.
MOST_PROJECTS = 256
_FILE = "projects.json"


class ServedProject:
    """One project, with its open working trees."""

    def __init__(self, root: str, lender: Lender) -> None:
        self.trees = OpenTrees(root, lender)
        repository = self.trees.main.project().place.repository
        self.root = repository.root
        self.state = repository.state
        self.id = project_id(repository.state)
        #: The folder's name, which people recognize.
        self.name = os.path.basename(self.root) or self.root

    def project(self, worktree: str = "") -> Project:
        """Return the project as seen from a working tree, by default the main one."""
        return self.trees.tree(worktree).project()

    def failed(self, error: DibsError) -> None:
        """Record an error, after which the project may have to be reopened."""
        self.trees.failed(error)

    def record(self, error: DibsError, doing: str) -> None:
        """Record in the ledger that git failed, or something else that is not a caller's fault."""
        with suppress(DibsError, OSError):
            record_failure(self.project().store, error, doing)

    def close(self) -> None:
        """Close the working trees; the engine stays open for its other users."""
        self.trees.close()


class Projects:
    """Finds, opens, and remembers projects."""

    def __init__(self, folder: str, lender: Lender) -> None:
        self._folder = folder
        self._lender = lender
        self._lock = threading.RLock()
        self._served: dict[str, ServedProject] = {}
        self._listeners: list[Callable[[ServedProject], None]] = []

    def on_open(self, listener: Callable[[ServedProject], None]) -> None:
        """Call ``listener`` with every project: those that are open, and each that opens later."""
        with self._lock:
            self._listeners.append(listener)
            for served in self._served.values():
                listener(served)

    def restore(self) -> None:
        """Open the projects of the last run; forget those that are gone."""
        for root in remembered(self._folder):
            with suppress(DibsError, OSError):
                self.add(root)

    def add(self, start: str) -> ServedProject:
        """Return the project of a folder; open and remember it if it is new."""
        place = locate(start)
        if not place.is_project:
            raise NotFound(
                f"{printable(place.repository.root)} is not a Dibs project",
                code="NO_PROJECT",
                hint="run: dibs init",
            )
        known = project_id(place.repository.state)
        with self._lock:
            served = self._served.get(known)
            if served is not None:
                return served
            if len(self._served) >= MOST_PROJECTS:
                raise BadInput(f"this server already has {MOST_PROJECTS} projects", code="LIMIT")
            served = self._served[known] = ServedProject(start, self._lender)
            self._remember()
            for listener in self._listeners:
                listener(served)
            return served

    def get(self, wanted: str = "") -> ServedProject:
        """Return a project by id, name, or folder; without any, the only one."""
        with self._lock:
            served = list(self._served.values())
        if not wanted:
            if len(served) == 1:
                return served[0]
            names = ", ".join(sorted(one.name for one in served)) or "none"
            raise BadInput(
                f"the request does not name its project (known: {names})",
                code="PROJECT_NEEDED",
                field="project",
                hint="add the parameter project",
            )
        found = [one for one in served if wanted in {one.id, one.root, one.name}]
        if len(found) == 1:
            return found[0]
        raise NotFound(
            f"no project {printable(wanted[:200])!r}" if not found else "the name is ambiguous",
            code="NO_PROJECT",
            field="project",
            hint="GET /api/v1/projects lists the projects",
        )

    def has(self, id_: str) -> bool:
        """Return whether a project is open."""
        return id_ in self._served

    def all(self) -> list[ServedProject]:
        """Return every project, by name."""
        with self._lock:
            return sorted(self._served.values(), key=lambda one: (one.name, one.root))

    def close(self) -> None:
        """Close every project."""
        with self._lock:
            for served in self._served.values():
                served.close()
            self._served.clear()

    def _remember(self) -> None:
        roots = sorted(one.root for one in self._served.values())
        write_file(os.path.join(self._folder, _FILE), json.dumps(roots).encode(), mode=0o600)


def project_id(state: str) -> str:
    """Return the id of the project whose state is in this folder."""
    return hashlib.sha256(os.fsencode(state)).hexdigest()[:12]


def remembered(folder: str) -> list[str]:
    """Return the folders of the projects that a server in this folder has served."""
    try:
        found = json.loads(read_file(os.path.join(folder, _FILE)))
    except (OSError, ValueError):
        return []
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
