"""Files with their owners, their queue, and where agents met in the last day."""

from __future__ import annotations

import math
import os

from dibs.core.changes.file_tree import FileNode, FilesHere, FileTree, Interest, PathFinder
from dibs.core.claims.event_filters import paths_of
from dibs.core.claims.ledger import Kind
from dibs.core.claims.log_filters import ContentFilter
from dibs.core.claims.rules import Claim, Held
from dibs.core.patterns.pattern import overlap, parse
from dibs.errors import BadInput, NotFound
from dibs.services.claims.views import held_in, queue_in
from dibs.services.files.working_tree import files_here, is_tracked
from dibs.services.history.service import History
from dibs.services.state.ledger import Query
from dibs.services.state.worktrees import all_warnings
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.core.claims.ledger import Entry
    from dibs.core.claims.rules import Waiter
    from dibs.core.patterns.pattern import Pattern
    from dibs.local.repository import Repository
    from dibs.services.state.ledger import Ledger
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: Contention is counted over this many seconds.
RECENT = 86_400.0
#: How many nodes an answer has unless the caller says otherwise, and at most.
SHOWN, MOST = 2_000, 10_000
#: How many ledger entries the page of a file has.
LOGGED = 200


class FileListing(Record):
    """A folder, or the files that a search found."""

    folder: str
    seq: int
    total: FileNode
    nodes: list[FileNode]
    #: How many were left out.
    more: int


class ForecastPair(Record):
    """Two agents whose work would conflict in a file."""

    agents: tuple[str, ...]


class FileDetails(Record):
    """One file: its owners, its queue, and its history."""

    node: FileNode
    seq: int
    tracked: bool
    #: What was done to it since the last commit; empty if nothing.
    change: str
    holders: list[Held]
    queue: list[Waiter]
    conflicts: list[ForecastPair]
    #: The newest entries about it, newest first.
    entries: list[Entry]


class _Crew(Record):
    """What the store knows about files."""

    seq: int
    held: list[Held]
    queue: list[Waiter]
    contention: list[Interest]
    forecast: list[tuple[tuple[str, ...], tuple[str, ...]]]


class ProjectFiles:
    """Reads the files of one working tree."""

    def __init__(self, store: Store, repository: Repository, ledger: Ledger) -> None:
        self._store = store
        self._repository = repository
        self._ledger = ledger

    def folder(
        self, folder: str = "", depth: int = 1, limit: int = SHOWN, at: str = ""
    ) -> FileListing:
        """Return the children of a folder, or more levels; the deepest are left out first.

        With ``at``, the owners are those at that time; the files are those of now.
        """
        crew, tree, _ = self._tree(folder, depth, at)
        nodes = tree.nodes()
        if folder and not nodes:
            raise NotFound(
                f"there is no folder {folder!r} with files", code="NO_FILE", field="folder",
                hint="GET /api/v1/files lists the top folder",
            )  # fmt: skip
        return FileListing(folder, crew.seq, tree.top, nodes[:limit], max(0, len(nodes) - limit))

    def search(self, text: str, folder: str = "", limit: int = SHOWN, at: str = "") -> FileListing:
        """Return the files whose path contains a text, or matches a glob at any depth."""
        crew, tree, here = self._tree(folder, 0, at)
        wanted = self._matching(text, here)
        shown = wanted[:limit]
        only = FilesHere({path: here.sizes[path] for path in shown}, here.changed)
        nodes = self._counted(crew, only, "", _deepest(shown)).files(shown)
        return FileListing(folder, crew.seq, tree.top, nodes, len(wanted) - len(shown))

    def show(self, path: str) -> FileDetails:
        """Return one file, whether it exists or not."""
        crew = self._store.look(_crew)
        here = files_here(self._repository, path)
        size = here.sizes.get(path)
        only = FilesHere({path: size}, {p: w for p, w in here.changed.items() if p == path})
        (node,) = self._counted(crew, only, "", path.count("/") + 1).files([path])
        pattern = parse(path, literal=True, fold_case=self._store.fold_case)
        meets = _about(pattern, fold_case=self._store.fold_case)
        return FileDetails(
            node, crew.seq, is_tracked(self._repository, path), here.changed.get(path, ""),
            [one for one in crew.held if meets(one.claim.pattern)],
            [one for one in crew.queue if any(map(meets, one.ticket.patterns))],
            [ForecastPair(agents) for agents, paths in crew.forecast if path in paths],
            self._ledger.select(Query(content=ContentFilter(globs=(pattern,))), LOGGED),
        )  # fmt: skip

    def _tree(self, folder: str, depth: int, at: str) -> tuple[_Crew, FileTree, FilesHere]:
        crew = self._crew_at(at) if at else self._store.look(_crew)
        here = files_here(self._repository, folder)
        here = here._replace(sizes={**here.sizes, **self._expected(crew, here, folder)})
        return crew, self._counted(crew, here, folder, depth), here

    def _crew_at(self, at: str) -> _Crew:
        """Return what the history knows about a moment."""
        then = History(self._store).timeline(at, at)
        crew = self._store.look(lambda rows: _crew(rows, then.until))
        held = [
            Held(Claim("", one.pattern, one.mode, one.agent, one.token, 0.0, one.begin), 0.0, 0.0)
            for one in then.spans.claims
        ]
        return crew._replace(held=held, queue=[], forecast=[])

    def _expected(self, crew: _Crew, here: FilesHere, folder: str) -> dict[str, None]:
        """Return the claimed files that do not exist yet."""
        found: dict[str, None] = {}
        for one in crew.held:
            pattern = self._parsed(one.claim.pattern)
            if pattern is None or pattern.scheme or not pattern.literal:
                continue
            path = pattern.path.removeprefix("./")
            inside = not folder or path.startswith(f"{folder}/")
            there = path in here.sizes or os.path.isdir(f"{self._repository.root}/{path}")
            if inside and not there:
                found[path] = None
        return found

    def _counted(self, crew: _Crew, here: FilesHere, folder: str, depth: int) -> FileTree:
        tree = FileTree(here, folder, depth)
        tree.add_claims(self._interest((o.claim.pattern,), o.claim.agent) for o in crew.held)
        tree.add_waiting(self._interest(o.ticket.patterns, o.ticket.agent) for o in crew.queue)
        tree.add_contention(crew.contention)
        tree.add_conflicts({path for _, paths in crew.forecast for path in paths})
        return tree

    def _interest(self, texts: tuple[str, ...], agent: str) -> Interest:
        found = (self._parsed(text) for text in texts)
        return Interest(tuple(one for one in found if one is not None), agent)

    def _parsed(self, text: str) -> Pattern | None:
        return _stored(text, fold_case=self._store.fold_case)

    def _matching(self, text: str, here: FilesHere) -> list[str]:
        if any(character in text for character in "*?[{"):
            glob = text if "/" in text else f"**/{text}"
            return PathFinder(here.sizes).matching(parse(glob, fold_case=self._store.fold_case))
        wanted = text.casefold()
        return sorted(path for path in here.sizes if wanted in path.casefold())


def _about(pattern: Pattern, *, fold_case: bool) -> Callable[[str], bool]:
    """Return a test whether a stored pattern overlaps ``pattern``; it remembers its answers."""
    known: dict[str, bool] = {}

    def meets(text: str) -> bool:
        answer = known.get(text)
        if answer is None:
            other = _stored(text, fold_case=fold_case)
            answer = known[text] = other is not None and overlap(other, pattern) is not None
        return answer

    return meets


def _stored(text: str, *, fold_case: bool) -> Pattern | None:
    """Return a pattern from the store or the ledger; None for a damaged or shortened one."""
    try:
        return parse(text, fold_case=fold_case)
    except BadInput:
        return None


def _deepest(paths: list[str]) -> int:
    return max((path.count("/") + 1 for path in paths), default=1)


def _crew(rows: Rows, until: float = math.inf) -> _Crew:
    held = list(held_in(rows))
    newest = next(rows.events(newest_first=True), None)
    times: dict[tuple[str, ...], int] = {}
    for entry in rows.events(newest_first=True, kinds=(Kind.LOCK_DENIED, Kind.LOCK_QUEUED)):
        if entry.at < min(rows.now, until) - RECENT:
            break
        if entry.at > until:
            continue
        texts = tuple(sorted(paths_of(entry)))
        times[texts] = times.get(texts, 0) + 1
    contention = []
    for texts, count in times.items():
        found = (_stored(text, fold_case=rows.fold_case) for text in texts)
        contention.append(Interest(tuple(p for p in found if p is not None), times=count))
    forecast = [
        (agents, tuple(map(str, row.get("files_named") or row.get("paths", ()))))
        for agents, row in all_warnings(rows)
    ]
    return _Crew(
        0 if newest is None else newest.seq, held, queue_in(rows, held), contention, forecast
    )
