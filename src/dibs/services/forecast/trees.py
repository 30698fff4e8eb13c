"""Working trees as commits that hold what is not committed yet; only what changed is read again."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor

from dibs.core.changes.forecasts import NotCovered, above, touched
from dibs.errors import DibsError
from dibs.git.objects import GONE, LINK, SUBMODULE, TREE, TreeEntry
from dibs.git.status import Look, look
from dibs.git.temp_objects import Filler
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from dibs.core.changes.forecasts import ChangedPaths
    from dibs.git.attributes import Conversions
    from dibs.git.calls import GitCalls
    from dibs.git.temp_objects import TempObjects

#: How many working trees are read at once.
HANDS = 4
#: More changed paths than these are not asked for one by one.
MANY = 100
#: How many processes that read files are kept for the next time.
_KEPT = 4
#: Files by which others are read otherwise; after a change of one everything is looked at.
_FILES = ("100644", "100755")
_NO_INDEX = (0, 0, 0)
_STEERING = (".gitignore", ".gitattributes", ".gitmodules")


class TreeSeen(Record):
    """A working tree as it was seen last."""

    head: str
    branch: str
    entries: dict[str, TreeEntry]
    left: tuple[tuple[str, str], ...]
    #: The index at that moment: git's knowledge of what is tracked.
    mark: tuple[int, int, int]
    #: Why it could not be read; then the rest says nothing.
    failed: str = ""


class CloneTrees:
    """The working trees of a clone."""

    def __init__(
        self, scratch: TempObjects, git_of: Callable[[str], GitCalls], conversions: Conversions
    ) -> None:
        self._scratch = scratch
        #: How files are read; to be set anew when settings have changed.
        self.conversions = conversions
        self._git_of = git_of
        self._fillers: dict[str, Filler] = {}
        self._commits: dict[str, tuple[TreeSeen, str]] = {}
        #: What each was like, by its path.
        self.seen: dict[str, TreeSeen] = {}

    def close(self) -> None:
        """End all processes."""
        while self._fillers:
            self._fillers.popitem()[1].close()

    def read(self, paths: Iterable[str]) -> None:
        """Look at whole working trees, several at once."""
        wanted = list(paths)
        with ThreadPoolExecutor(HANDS, "dibs-forecast") as hands:
            read = dict(zip(wanted, hands.map(self._read, wanted), strict=True))
        self._scratch.foresee((now.head, now.entries) for now in read.values() if now.head)
        # What was staged and then taken back on the disk is as it was.
        self.seen |= {
            path: now._replace(entries=self._differing(now.head, now.entries))
            for path, now in read.items()
        }

    def _differing(self, head: str, entries: Mapping[str, TreeEntry]) -> dict[str, TreeEntry]:
        """Return those entries that are not as a commit has them."""
        return {p: entry for p, entry in entries.items() if entry != self._scratch.at(head, p)}

    def forget(self, paths: Collection[str]) -> None:
        """Keep only these."""
        for path in self.seen.keys() - set(paths):
            del self.seen[path]

    def read_again(self, changed: Mapping[str, Collection[str]]) -> None:
        """Look at the paths that are said to have changed; at everything where none is named."""
        whole = []
        for path, names in changed.items():
            if not _are_few(names) or not self._patch(path, names):
                whole.append(path)
        if whole:
            self.read(whole)

    def _patch(self, path: str, names: Collection[str]) -> bool:
        """Bring what is known of a working tree up to date; tell whether that could be done."""
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
            return False  # a look at everything tells what is wrong
        entries = {p: e for p, e in before.entries.items() if p not in again}
        entries |= self._differing(before.head, fresh)
        known = _within((name for name, _ in before.left), names)
        others = [item for item in before.left if item[0] not in known]
        self.seen[path] = before._replace(entries=entries, left=tuple(others + left))
        return True

    def _filler(self, path: str) -> Filler:
        """Return the reader of files of a working tree; a few stay for the next time."""
        filler = self._fillers.pop(path, None) or Filler(
            self._git_of(path), self._scratch, self.conversions
        )
        while len(self._fillers) >= _KEPT:
            self._fillers.pop(next(iter(self._fillers))).close()
        self._fillers[path] = filler  # the last one used stands last
        return filler

    def _glance(
        self, path: str, before: TreeSeen, names: Collection[str]
    ) -> dict[str, TreeEntry] | None:
        """Look at files that git is known to count in, without asking it; None if one may be new to it."""
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
            return TreeSeen("", "", {}, (), _NO_INDEX, "its folder is gone")
        git = self._git_of(path)
        index = _index(path)
        filler = Filler(git, self._scratch, self.conversions)
        try:
            now: Look = look(git)
            if not now.head:
                return TreeSeen("", now.branch, {}, (), _NO_INDEX, "it has no commit yet")
            left = filler.fill(now.entries, now.head)
        except (DibsError, OSError) as error:
            said = error.message if isinstance(error, DibsError) else str(error.strerror)
            return TreeSeen("", "", {}, (), _NO_INDEX, said)
        finally:
            filler.close()
        nested = [(name, "is a repository of its own") for name in now.nested]
        return TreeSeen(now.head, now.branch, now.entries, tuple(left + nested), index)

    def commit(self, path: str) -> str:
        """Return the commit that stands for a working tree: its own, if nothing differs from that."""
        seen = self.seen[path]
        if not seen.entries:
            return seen.head
        known = self._commits.get(path)
        if known is None or known[0] is not seen:
            known = self._commits[path] = (seen, self._scratch.commit(seen.head, seen.entries))
        return known[1]

    def touched(self, path: str, commit: str) -> ChangedPaths:
        """Return how a working tree, for which ``commit`` stands, differs from its own commit."""
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
    """Return what of a working tree is not covered."""
    if standing.failed:
        return [NotCovered(party, "", standing.failed)]
    return [NotCovered(party, path, why) for path, why in standing.left]


def _index(path: str) -> tuple[int, int, int]:
    """Return a mark that changes with the index of a working tree."""
    place = os.path.join(path, ".git")
    try:
        if not os.path.isdir(place):
            with open(place, encoding="utf-8", errors="surrogateescape") as file:
                pointer = file.read().removeprefix("gitdir:").strip(" \r\n")
            place = os.path.join(path, pointer)
        status = os.stat(os.path.join(place, "index"))
    except OSError:
        return _NO_INDEX
    return status.st_mtime_ns, status.st_size, status.st_ino


def _on_disk(path: str) -> TreeEntry | None:
    """Return what stands at a path as far as that is seen from outside; None for no plain file."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return GONE
    if not stat.S_ISREG(status.st_mode):
        return None
    return TreeEntry(_FILES[1] if status.st_mode & 0o100 else _FILES[0])


def _are_few(names: Collection[str]) -> bool:
    """Tell whether a look at these paths alone is enough."""
    steering = any(os.path.basename(name) in _STEERING for name in names)
    return 0 < len(names) <= MANY and not steering


def _within(paths: Iterable[str], names: Collection[str]) -> set[str]:
    """Return those paths that are one of ``names``, or below one."""
    return {p for p in paths if p in names or any(folder in names for folder in above(p))}
