"""Represent working trees as temporary commits that include uncommitted changes."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor

from dibs.core.changes.forecasts import NotCovered, above, touched
from dibs.errors import DibsError
from dibs.git.objects import GONE, LINK, SUBMODULE, TREE, TreeEntry
from dibs.git.status import Look, look
from dibs.git.temp_objects import Filler
from dibs.local.files import regular
from dibs.services.commits.gate import nothing
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from dibs.core.changes.forecasts import ChangedPaths
    from dibs.git.attributes import Conversions
    from dibs.git.calls import GitCalls
    from dibs.git.temp_objects import TempObjects

#: The number of working trees read in parallel.
WORKERS = 4
#: With more changed paths than this, read the whole working tree.
MANY = 100
#: The number of file readers kept for the next time.
_KEPT = 4
_FILES = ("100644", "100755")
_NO_INDEX = (0, 0, 0)
#: A change to one of these affects how other files are read, so everything is read again.
_STEERING = (".gitignore", ".gitattributes", ".gitmodules")


class TreeSeen(Record):
    """The last known state of a working tree."""

    head: str
    branch: str
    entries: dict[str, TreeEntry]
    left: tuple[tuple[str, str], ...]
    #: Identifies the state of the index, which knows what is tracked.
    mark: tuple[int, int, int]
    #: Why it could not be read; the other fields are then empty.
    failed: str = ""


class CloneTrees:
    """The working trees of a clone."""

    def __init__(
        self, scratch: TempObjects, git_of: Callable[[str], GitCalls], conversions: Conversions
    ) -> None:
        self._scratch = scratch
        #: How files are converted when read; replaced when settings change.
        self.conversions = conversions
        self._git_of = git_of
        self._fillers: dict[str, Filler] = {}
        self._commits: dict[str, tuple[TreeSeen, str]] = {}
        #: The last known states, by path.
        self.seen: dict[str, TreeSeen] = {}

    def close(self) -> None:
        """End all processes."""
        while self._fillers:
            self._fillers.popitem()[1].close()

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
        self.seen |= {
            path: now._replace(entries=self._differing(now.head, now.entries))
            for path, now in read.items()
        }

    def _differing(self, head: str, entries: Mapping[str, TreeEntry]) -> dict[str, TreeEntry]:
        """Return the entries that differ from a commit."""
        return {p: entry for p, entry in entries.items() if entry != self._scratch.at(head, p)}

    def forget(self, paths: Collection[str]) -> None:
        """Forget all working trees except these."""
        for path in self.seen.keys() - set(paths):
            del self.seen[path]

    def read_again(self, changed: Mapping[str, Collection[str]]) -> None:
        """Read the changed paths of each working tree, or all of it if none are named."""
        whole = []
        for path, names in changed.items():
            if not _are_few(names) or not self._patch(path, names):
                whole.append(path)
        if whole:
            self.read(whole)

    def _patch(self, path: str, names: Collection[str]) -> bool:
        """Update the known state of a working tree; return False if it must be read completely."""
        before = self.seen.get(path)
        if before is None or before.failed:
            return False
        try:
            fresh = self._glance(path, before, names)
            again = set(names) if fresh is not None else _within(before.entries, names)
            if fresh is None:
                now = look(self._git_of(path), *sorted(names))
                if (now.head, now.branch) != (before.head, before.branch) or not now.head:
                    return False
                fresh = now.entries
            left = self._filler(path).fill(fresh, before.head)
        except (DibsError, OSError):
            return False  # reading everything will report the error
        entries = {p: e for p, e in before.entries.items() if p not in again}
        entries |= self._differing(before.head, fresh)
        known = _within((name for name, _ in before.left), names)
        others = [item for item in before.left if item[0] not in known]
        self.seen[path] = before._replace(entries=entries, left=tuple(others + left))
        return True

    def _filler(self, path: str) -> Filler:
        """Return the file reader of a working tree, and keep the last few for reuse."""
        filler = self._fillers.pop(path, None) or Filler(
            self._git_of(path), self._scratch, self.conversions
        )
        while len(self._fillers) >= _KEPT:
            self._fillers.pop(next(iter(self._fillers))).close()
        self._fillers[path] = filler  # most recently used last
        return filler

    def _glance(
        self, path: str, before: TreeSeen, names: Collection[str]
    ) -> dict[str, TreeEntry] | None:
        """Read tracked files without asking git; return None if one may be untracked."""
        if before.mark != _index(path):
            return None
        found: dict[str, TreeEntry] = {}
        for name in names:
            tracked = self._scratch.at(before.head, name)
            known = before.entries.get(name, tracked)
            entry = _on_disk(os.path.join(path, name))
            if known.mode in _FILES and entry is not None and entry.mode in {"", known.mode}:
                found[name] = entry
            elif (
                known.mode or entry != GONE or any(e.startswith(f"{name}/") for e in before.entries)
            ):
                return None
        return found

    def _read(self, path: str) -> TreeSeen:
        if not os.path.isdir(path):
            return TreeSeen("", "", {}, (), _NO_INDEX, "its folder is missing")
        git = self._git_of(path)
        index = _index(path)
        filler = Filler(git, self._scratch, self.conversions)
        try:
            now: Look = look(git)
            if not now.head:
                return TreeSeen("", now.branch, {}, (), _NO_INDEX, "it has no commits yet")
            left = filler.fill(now.entries, now.head)
        except (DibsError, OSError) as error:
            why = error.message if isinstance(error, DibsError) else str(error.strerror)
            return TreeSeen("", "", {}, (), _NO_INDEX, why)
        finally:
            filler.close()
        nested = [(name, "a separate git repository") for name in now.nested]
        return TreeSeen(now.head, now.branch, now.entries, tuple(left + nested), index)

    def commit(self, path: str) -> str:
        """Return a commit with the content of a working tree: its HEAD if nothing has changed."""
        seen = self.seen[path]
        if not seen.entries:
            return seen.head
        known = self._commits.get(path)
        if known is None or known[0] is not seen:
            known = self._commits[path] = (seen, self._scratch.commit(seen.head, seen.entries))
        return known[1]

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


def _index(path: str) -> tuple[int, int, int]:
    """Return a value that changes with the index of a working tree."""
    place = os.path.join(path, ".git")
    try:
        if not os.path.isdir(place):
            with open(place, encoding="utf-8", errors="surrogateescape", opener=regular) as file:
                pointer = file.read().removeprefix("gitdir:").strip(" \r\n")
            place = os.path.join(path, pointer)
        status = os.stat(os.path.join(place, "index"))
    except OSError:
        return _NO_INDEX
    return status.st_mtime_ns, status.st_size, status.st_ino


def _on_disk(path: str) -> TreeEntry | None:
    """Return the mode of the file at a path, GONE if there is none, or None if it is not a plain file."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return GONE
    if not stat.S_ISREG(status.st_mode):
        return None
    return TreeEntry(_FILES[1] if status.st_mode & 0o100 else _FILES[0])


def _are_few(names: Collection[str]) -> bool:
    """Return whether reading only these paths is enough."""
    steering = any(os.path.basename(name) in _STEERING for name in names)
    return 0 < len(names) <= MANY and not steering


def _within(paths: Iterable[str], names: Collection[str]) -> set[str]:
    """Return the paths that are in ``names`` or below one of them."""
    return {p for p in paths if p in names or any(folder in names for folder in above(p))}
