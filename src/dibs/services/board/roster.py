"""Who has what on the board, as this machine last saw it: kept up by looking only at tasks that changed."""

from __future__ import annotations

import json
from contextlib import suppress

from dibs.core.tasks.rules import Status
from dibs.local.files import write_file
from dibs.services.state.tasks import several, standing, versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.services.state.store import Store


class Roster:
    """Status and worker of each task that is not archived; ``head`` is the last change that it knows of."""

    def __init__(self, store: Store, path: str) -> None:
        self._store = store
        self._path = path
        self.head = -1
        self._known: dict[str, tuple[int, str, str]] = {}

    def refresh(self) -> bool:
        """Look at what changed since the last save; tell whether anything did."""
        head = self._store.look(standing)[0]
        if self.head < 0:
            self._load()
        if head == self.head:
            return False
        there = self._store.look(versions)
        known = {id_: seen for id_, seen in self._known.items() if there.get(id_) == seen[0]}
        new = [id_ for id_ in there if id_ not in known]
        rows = self._store.look(lambda rows: several(rows, new))
        for id_, row in rows.items():
            known[id_] = (row.version, row.task.status, row.holder or row.task.agent)
        self.head, self._known = head, known
        return True

    def work(self) -> list[tuple[str, str, str]]:
        """Return id, status and worker of each task."""
        return [(id_, status, who) for id_, (_, status, who) in self._known.items()]

    def in_progress(self) -> list[str]:
        """Return the tasks that somebody works on, with a claim or by hand."""
        return [id_ for id_, known in self._known.items() if known[1] == Status.IN_PROGRESS]

    def save(self) -> None:
        """Keep it for the next process; without it, that looks at every task once."""
        with suppress(OSError):
            write_file(self._path, json.dumps([self.head, self._known]))

    def _load(self) -> None:
        try:
            with open(self._path, encoding="utf-8") as file:
                head, known = json.load(file)
            self._known = {id_: (int(v), str(s), str(w)) for id_, (v, s, w) in known.items()}
            self.head = int(head)
        except (OSError, ValueError, TypeError, AttributeError):
            self.head, self._known = -1, {}
