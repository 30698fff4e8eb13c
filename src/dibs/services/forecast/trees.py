"""Represent working trees as temporary commits that include uncommitted changes."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from dibs.core.changes.forecasts import NotCovered, above, touched
from dibs.errors import DibsError
from dibs.git.objects import LINK, SUBMODULE, TREE, TreeEntry
from dibs.git.status import Look, look
from dibs.git.temp_objects import Filler
from dibs.services.commits.gate import nothing
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dibs.core.changes.forecasts import ChangedPaths
    from dibs.git.attributes import Conversions
    from dibs.git.calls import GitCalls
    from dibs.git.temp_objects import TempObjects

#: The number of working trees read in parallel.
WORKERS = 4
_FILES = ("100644", "100755")


class TreeSeen(Record):
    """The state of a working tree."""

    head: str
    branch: str
    entries: dict[str, TreeEntry]
    left: tuple[tuple[str, str], ...]
    #: Why it could not be read; the other fields are then empty.
    failed: str = ""


class CloneTrees:
    """The working trees of a clone."""

    def __init__(
        self, scratch: TempObjects, git_of: Callable[[str], GitCalls], conversions: Conversions
    ) -> None:
        self._scratch = scratch
        self._conversions = conversions
        self._git_of = git_of
        #: The states, by path.
        self.seen: dict[str, TreeSeen] = {}

    def read(
        self, paths: Iterable[str], progress: Callable[[str, int, int], None] = nothing
    ) -> None:
        """Read whole working trees in parallel; ``progress`` is called after each."""
        wanted = list(paths)
        read: dict[str, TreeSeen] = {}
        with ThreadPoolExecutor(WORKERS, "dibs-forecast") as workers:
            for path, now in zip(wanted, workers.map(self._read, wanted), strict=True):
                read[path] = now
                progress("reading worktrees", len(read), len(wanted))
        self._scratch.foresee((now.head, now.entries) for now in read.values() if now.head)
        # A change that was staged and then reverted on disk is not a change.
        self.seen = {
            path: now._replace(entries=self._differing(now.head, now.entries))
            for path, now in read.items()
        }

    def _differing(self, head: str, entries: Mapping[str, TreeEntry]) -> dict[str, TreeEntry]:
        """Return the entries that differ from a commit."""
        return {p: entry for p, entry in entries.items() if entry != self._scratch.at(head, p)}

    def _read(self, path: str) -> TreeSeen:
        if not os.path.isdir(path):
            return TreeSeen("", "", {}, (), "its folder is missing")
        git = self._git_of(path)
        filler = Filler(git, self._scratch, self._conversions)
        try:
            now: Look = look(git)
            if not now.head:
                return TreeSeen("", now.branch, {}, (), "it has no commits yet")
            left = filler.fill(now.entries, now.head)
        except (DibsError, OSError) as error:
            why = error.message if isinstance(error, DibsError) else str(error.strerror)
            return TreeSeen("", "", {}, (), why)
        finally:
            filler.close()
        nested = [(name, "a separate git repository") for name in now.nested]
        return TreeSeen(now.head, now.branch, now.entries, tuple(left + nested))

    def commit(self, path: str) -> str:
        """Return a commit with the content of a working tree: its HEAD if nothing has changed."""
        seen = self.seen[path]
        return self._scratch.commit(seen.head, seen.entries) if seen.entries else seen.head

    def touched(self, path: str, commit: str) -> ChangedPaths:
        """Return how a working tree, represented by ``commit``, differs from its HEAD."""
        seen = self.seen[path]
        changes = [
            (name, self._how(seen.head, name, entry)) for name, entry in seen.entries.items()
        ]
        emptied = {folder for name, how in changes if how == "D" for folder in above(name)}
        at = self._scratch.at
        return touched(changes, [folder for folder in emptied if at(commit, folder).mode != TREE])

    def _how(self, head: str, path: str, entry: TreeEntry) -> str:
        if not entry.mode:
            return "D"
        return "M" if self._scratch.at(head, path).mode in {*_FILES, LINK, SUBMODULE} else "A"


def left_of(party: str, standing: TreeSeen) -> list[NotCovered]:
    """Return what the forecast does not cover in a working tree."""
    if standing.failed:
        return [NotCovered(party, "", standing.failed)]
    return [NotCovered(party, path, why) for path, why in standing.left]
