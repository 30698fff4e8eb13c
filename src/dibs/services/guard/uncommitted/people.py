"""Protect uncommitted work that a call would take away and its agent did not make.

Such work is a person's, unless another agent is known to have made it. Before a call discards or overwrites
it, a copy is saved, and the agent is notified. What a command does without showing it is detected afterwards;
see services/guard/uncommitted/attribution.py.
"""

from __future__ import annotations

from dibs.core.claims.coverage import Cover
from dibs.core.claims.ledger import Kind
from dibs.core.claims.plain_commits import pattern_of
from dibs.core.patterns.overlap import matches
from dibs.core.text.names import few, printable
from dibs.core.toolcalls.people import PERSON, author_of, is_output
from dibs.core.toolcalls.values import How
from dibs.git.objects import ABSENT, SUBMODULE
from dibs.git.status import begin_changed, compared_with, ignored_of, parsed
from dibs.git.untrusted import guarded_calls
from dibs.local.own_writes import stat_of
from dibs.local.processes import realm
from dibs.services.guard.shared_tree import is_in
from dibs.services.guard.uncommitted.before_call import TreeSnapshots
from dibs.services.guard.uncommitted.differing import differing
from dibs.services.salvage.files import keep_files
from dibs.services.salvage.origins import copy_before
from dibs.services.state.ownership import is_family
from dibs.services.state.sessions import UnfinishedFile, left_at, put_left
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.core.claims.coverage import OwnedPattern
    from dibs.core.patterns.pattern import Pattern
    from dibs.git.status import PathStatus
    from dibs.local.own_writes import Stat
    from dibs.local.repository import Repository
    from dibs.services.guard.touched import TouchedPath
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: The time limit for `git status`, in seconds.
_PATIENCE = 5.0
#: The largest ignored file that is copied, and their number: many are a program's output.
_LARGEST_IGNORED, _MOST_IGNORED = 1024 * 1024, 200


class OthersWork(Record):
    """The uncommitted work in one working tree that an agent did not make and no one else's claim covers."""

    root: str
    #: The author of each file; empty for a person.
    files: dict[str, str]
    #: Mode and object of what is staged, but neither on disk nor committed.
    staged: dict[str, list[str]]
    #: All changed files (None if unknown), and the untracked ones among them.
    dirty: list[str] | None
    untracked: frozenset[str]
    #: Ignored files, and folders that are ignored as a whole.
    ignored: list[str]
    #: The commit that is checked out.
    head: str


class KeptWork(Record):
    """A copy of one author's files."""

    author: str
    paths: tuple[str, ...]
    ref: str
    #: What the copy contains if it is not files on disk: "staged", or a branch or stash.
    what: str = ""


def _stats(root: str, changes: Sequence[PathStatus], listed: Sequence[str]) -> dict[str, Stat]:
    """Return the states of changed files, and of small ignored ones that are not a program's output."""
    files = {c.path: stat_of(root, c.path) for c in changes if c.work_mode != SUBMODULE}
    ignored = [path for path in listed if not (path.endswith("/") or is_output(path))]
    for path in ignored[:_MOST_IGNORED]:
        about = stat_of(root, path)
        if about is not None and about[1] <= _LARGEST_IGNORED:
            files[path] = about
    return files


class PeoplesWork:
    """The work of people, and of agents without a claim, in one project."""

    def __init__(self, store: Store, repository: Repository) -> None:
        self._store = store
        self._repository = repository

    def look(
        self,
        agent: str,
        claims: Sequence[OwnedPattern],
        *,
        root: str = "",
        paths: Sequence[str] = (),
        fresh: Sequence[Pattern] = (),
    ) -> OthersWork:
        """Return the work of others in a working tree, or only in ``paths``.

        ``fresh`` are patterns that the agent has claimed for this call.
        """
        root = root or self._repository.root
        git = guarded_calls(root, self._repository, timeout=_PATIENCE)
        out = begin_changed(git, *paths, ignored="matching").must()
        changes = [change for change in parsed(out) if not change.nested]
        listed = ignored_of(out)
        files = _stats(root, changes, listed)
        marks = TreeSnapshots(self._repository._replace(root=root))
        own, others = marks.own(agent), marks.by_others(agent)
        moved = set(marks.moved(own, files))
        cover, mine = self._cover(claims, root), {agent, self._parent(agent)}
        found: dict[str, str] = {}
        for path, about in files.items():
            held = cover.holder(path)
            new = any(matches(pattern, f"./{path}") for pattern in fresh)
            author = author_of(
                "" if new and held in mine else held, mine,
                unchanged=path in own and path not in moved,
                known=next((who for who, left in others.get(path, ()) if left == about), ""),
            )  # fmt: skip
            if author is not None:
                found[path] = author
        family = self._family(agent, set(found.values()))
        shared = [path for path in found if path in own and found[path] in family]
        for path in dict.fromkeys([*shared, *self._kept(root, list(found))]):
            del found[path]
        untracked = frozenset(c.path for c in changes if c.untracked)
        staged = _only_staged(changes, found)
        return OthersWork(
            root, found, staged, [c.path for c in changes], untracked, listed, compared_with(out)
        )

    def _cover(self, claims: Sequence[OwnedPattern], root: str) -> Cover:
        """Return the claims of agents that work in a tree: elsewhere, they protect nothing here."""

        def here(rows: Rows) -> list[OwnedPattern]:
            return [held for held in claims if is_in(rows, held.claim, root)]

        return Cover(self._store.look(here) if claims else ())

    def _kept(self, root: str, paths: Sequence[str]) -> list[str]:
        """Return the files that are as another agent left them, according to the copy, if there is one."""
        fold = self._store.fold_case

        def step(rows: Rows) -> dict[str, str]:
            if not rows.is_anything_left():
                return {}
            patterns = [pattern_of(path, fold_case=fold) for path in paths]
            found = [left for _, left in left_at(rows, patterns) if left.root in {"", root}]
            return {left.path: left.salvage for left in found if left.agent or left.salvage}

        kept = self._store.look(step) if paths else {}
        there = [path for path in paths if kept.get(path)]
        changed = differing(root, there, kept) if there else []
        return [path for path in paths if path in kept and path not in changed]

    def _parent(self, agent: str) -> str:
        known = self._store.look(lambda rows: rows.agent(agent)) if agent else None
        return known.parent if known is not None else ""

    def _family(self, agent: str, others: set[str]) -> set[str]:
        """Return the agents that are the parent of an agent, or a subagent of it."""
        names = sorted(others - {""})
        if not names:
            return set()
        return self._store.look(lambda rows: {one for one in names if is_family(rows, agent, one)})

    def unrecorded(self, root: str, paths: Sequence[str]) -> list[str]:
        """Return the files that have no record of a person's changes yet."""
        fold = self._store.fold_case
        patterns = [pattern_of(path, fold_case=fold) for path in paths]
        found = self._store.look(lambda rows: left_at(rows, patterns)) if paths else []
        known = {left.path for _, left in found if left.root in {"", root} and not left.agent}
        return [path for path in paths if path not in known]

    def save(
        self, agent: str, work: OthersWork, paths: Sequence[str], before: str = "a command"
    ) -> tuple[list[KeptWork], list[str]]:
        """Save copies of files; return them, and the files of which no copy could be saved."""
        found: list[KeptWork] = []
        lost: list[str] = []
        for author in dict.fromkeys(work.files[path] for path in paths):
            theirs = tuple(path for path in paths if work.files[path] == author)
            about = f"uncommitted changes to {few(theirs)} before {before} of {agent}"
            saved = keep_files(
                work.root, self._repository, author or PERSON, theirs,
                at=self._store.now(), about=about,
            )  # fmt: skip
            lost += saved.missing
            if saved.id:
                found.append(KeptWork(author, theirs, saved.name))
        return found, lost

    def record(
        self, agent: str, root: str, copies: Sequence[KeptWork], written: Iterable[str] = ()
    ) -> None:
        """Record saved copies, and which of the ``written`` files contain a person's changes."""
        writes = set(written)
        fold = self._store.fold_case

        def step(rows: Rows) -> None:
            for copy in copies:
                rows.emit(
                    agent, "agent", Kind.WORK_SALVAGED,
                    f"saved {copy.author or 'a person'}'s uncommitted changes to "
                    f"{printable(few(list(copy.paths)))} before a call of {agent}",
                    ref=copy.ref, paths=list(copy.paths[:20]), count=len(copy.paths),
                )  # fmt: skip
                for path in copy.paths if not (copy.author or copy.what) else ():
                    pattern = pattern_of(path, fold_case=fold)
                    known = [left for _, left in left_at(rows, [pattern]) if left.root == root]
                    if path in writes and all(left.agent for left in known):
                        here = UnfinishedFile(path, "", rows.now, copy.ref, root, realm=realm())
                        put_left(rows, pattern, here._replace(before=copy_before("", known)))

        if copies:
            self._store.apply(step)


def at_risk(work: OthersWork, touches: Iterable[TouchedPath]) -> list[str]:
    """Return others' files that a call would overwrite or delete, by its command line."""
    exact: set[str] = set()
    patterns: dict[str, Pattern] = {}
    for one in touches:
        if one.how in {How.READ, How.MAYBE} or one.stays or one.elsewhere not in {"", work.root}:
            continue
        if one.pattern.literal:
            exact.add(one.path)
        patterns[one.pattern.key] = one.pattern
    wide = [pattern for pattern in patterns.values() if not pattern.literal]
    return [
        path
        for path in work.files
        if path in exact or any(matches(pattern, f"./{path}") for pattern in wide)
    ]


def _only_staged(changes: Iterable[PathStatus], files: Iterable[str]) -> dict[str, list[str]]:
    """Return the mode and object of what only the index has."""
    theirs = set(files)
    return {
        c.path: [c.index_mode, c.index_oid]
        for c in changes
        if c.staged and c.code[1] != "." and not c.unmerged and c.path in theirs
        and c.index_mode not in {ABSENT, SUBMODULE}
    }  # fmt: skip
