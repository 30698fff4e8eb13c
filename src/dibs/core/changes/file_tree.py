"""Files and folders of a working tree with counts: who holds them, and where agents meet.

Pure. A pattern is resolved to files by the rule of the core (``matches``); a folder has the counts of all
files below it, and a claim that matches several of them counts once.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import takewhile

from dibs.core.patterns.filing import shared_start
from dibs.core.patterns.pattern import matches, parse
from dibs.errors import BadInput
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dibs.core.patterns.pattern import Pattern

#: How deep a listing may go.
MOST_DEEP = 20


class FilesHere(Record):
    """The files of a working tree, or below one folder of it."""

    #: Path to size in bytes; None for a file that does not exist (yet, or any more).
    sizes: Mapping[str, int | None]
    #: Path to what was done to it since the last commit.
    changed: Mapping[str, str]


class Interest(Record):
    """Patterns of one claim, one waiter, or one kind of contention."""

    patterns: tuple[Pattern, ...]
    agent: str = ""
    times: int = 1


class FileNode(Record):
    """A file, or a folder with the counts of everything below it."""

    path: str
    folder: bool
    files: int
    bytes: int
    #: How many of the files each agent holds, the most first.
    owners: tuple[tuple[str, int], ...]
    claims: int
    waiting: int
    #: How often someone was denied or had to wait.
    contention: int
    #: How many of the files would conflict if all work were merged now.
    conflicts: int
    #: How many of the files have uncommitted changes.
    changed: int
    #: Whether it is a file that does not exist.
    missing: bool


class PathFinder:
    """Sorted paths, searchable by pattern.

    An index finds the few paths that a pattern may match, and ``matches`` decides. Case is ignored in the
    index; a path that is not ASCII may match a pattern that is, so such paths are found by key.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = sorted(paths)
        self._found: dict[str, list[str]] = {}
        self._odd = [path for path in self.paths if not path.isascii()]
        #: ASCII paths by their lower-case form, and these forms in order.
        self._plain: dict[str, list[str]] = {}
        for path in self.paths:
            if path.isascii():
                self._plain.setdefault(path.lower(), []).append(path)
        self._sorted = sorted(self._plain)
        #: Other paths by key, for patterns that fold case and those that do not.
        self._keys: dict[bool, dict[str, list[str]]] = {}

    def matching(self, pattern: Pattern) -> list[str]:
        """Return the paths that a pattern matches."""
        found = self._found.get(pattern.text)
        if found is None:
            near = () if pattern.scheme else self._near(pattern)
            found = [path for path in near if matches(pattern, f"./{path}")]
            self._found[pattern.text] = found
        return found

    def _near(self, pattern: Pattern) -> Iterator[str]:
        """Yield the paths that a pattern may match."""
        if pattern.literal:
            name = pattern.path.removeprefix("./")
            for form in {name.lower(), name.casefold()}:  # "ß" folds to "ss"
                yield from self._plain.get(form, ())
            if self._odd:
                yield from self._by_key(folded=pattern.folded).get(pattern.key, ())
            return
        if not pattern.text.isascii():
            yield from self.paths
            return
        start: list[str] | None = None
        for row in pattern.rows:
            names = [str(part) for part in takewhile(lambda part: isinstance(part, str), row)]
            start = names if start is None else shared_start(start, names)
        folder = "/".join(start or ()).lower()
        if not folder:
            yield from self.paths
            return
        yield from self._odd
        yield from self._plain.get(folder, ())
        begin = bisect_left(self._sorted, f"{folder}/")
        # "0" is the next character after "/".
        for lower in self._sorted[begin : bisect_left(self._sorted, f"{folder}0", begin)]:
            yield from self._plain[lower]

    def _by_key(self, *, folded: bool) -> dict[str, list[str]]:
        found = self._keys.get(folded)
        if found is None:
            found = self._keys[folded] = {}
            for path in self._odd:
                try:
                    key = parse(path, literal=True, fold_case=folded).key
                except BadInput:
                    continue  # no claim can name it either
                found.setdefault(key, []).append(path)
        return found


class _NodeTally:
    """Counts of one node while they are collected."""

    __slots__ = (
        "bytes",
        "changed",
        "claims",
        "conflicts",
        "contention",
        "files",
        "owners",
        "waiting",
    )

    def __init__(self) -> None:
        self.files = self.bytes = self.claims = self.waiting = 0
        self.contention = self.conflicts = self.changed = 0
        self.owners: dict[str, int] = {}


class FileTree:
    """The nodes of a folder, down to some depth."""

    def __init__(self, here: FilesHere, folder: str, depth: int) -> None:
        self._here = here
        self._finder = PathFinder(here.sizes)
        self._skip = len(folder) + 1 if folder else 0
        self._depth = depth
        self._top = folder
        self._nodes: dict[str, _NodeTally] = {folder: _NodeTally()}
        #: Path to the nodes that contain it, the deepest first.
        self._chains: dict[str, tuple[str, ...]] = {}
        for path in self._finder.paths:
            for node in self._chain(path):
                tally = self._nodes.setdefault(node, _NodeTally())
                tally.files += 1
                tally.bytes += here.sizes[path] or 0
                tally.changed += path in here.changed

    def _chain(self, path: str) -> tuple[str, ...]:
        found = self._chains.get(path)
        if found is None:
            ends = [self._skip - 1]
            while len(ends) <= self._depth and ends[-1] < len(path):
                at = path.find("/", ends[-1] + 1)
                ends.append(at if at >= 0 else len(path))
            found = (*(path[:end] for end in reversed(ends[1:])), self._top)
            self._chains[path] = found
        return found

    def _touched(self, interest: Interest) -> set[str]:
        """Return the paths that one of the patterns matches."""
        return {path for one in interest.patterns for path in self._finder.matching(one)}

    def _reached(self, paths: Iterable[str]) -> set[str]:
        return {node for path in paths for node in self._chain(path)}

    def add_claims(self, claims: Iterable[Interest]) -> None:
        """Count claims and owners."""
        held: set[tuple[str, str]] = set()
        for claim in claims:
            paths = self._touched(claim)
            held.update((claim.agent, path) for path in paths)
            for node in self._reached(paths):
                self._nodes[node].claims += 1
        for agent, path in held:
            for node in self._chain(path):
                owners = self._nodes[node].owners
                owners[agent] = owners.get(agent, 0) + 1

    def add_waiting(self, waiting: Iterable[Interest]) -> None:
        """Count waiters."""
        for one in waiting:
            for node in self._reached(self._touched(one)):
                self._nodes[node].waiting += 1

    def add_contention(self, denied: Iterable[Interest]) -> None:
        """Count denials and waits."""
        for one in denied:
            for node in self._reached(self._touched(one)):
                self._nodes[node].contention += one.times

    def add_conflicts(self, paths: Iterable[str]) -> None:
        """Count files that would conflict."""
        for path in paths:
            if path in self._here.sizes:
                for node in self._chain(path):
                    self._nodes[node].conflicts += 1

    @property
    def top(self) -> FileNode:
        """The folder itself."""
        return self._node(self._top)

    def nodes(self) -> list[FileNode]:
        """Return all nodes below the folder: first its own, then the deeper ones; folders before files."""
        found = [self._node(path) for path in self._nodes if path != self._top]
        return sorted(found, key=lambda n: (n.path.count("/"), not n.folder, n.path))

    def files(self, wanted: Sequence[str]) -> list[FileNode]:
        """Return the nodes of some files."""
        return [self._node(path) for path in wanted]

    def _node(self, path: str) -> FileNode:
        t, sizes = self._nodes[path], self._here.sizes
        owners = sorted(t.owners.items(), key=lambda one: (-one[1], one[0]))
        return FileNode(
            path, path not in sizes, t.files, t.bytes, tuple(owners), t.claims, t.waiting,
            t.contention, t.conflicts, t.changed, sizes.get(path, 0) is None,
        )  # fmt: skip
