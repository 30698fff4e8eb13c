"""Other authors' lines in the files of a commit that no commit has yet.

A record (``UnfinishedFile``) names the author of uncommitted content, with a copy and with what the author
found. Lines that have landed by any route, or are gone from the file, are nobody's concern any more.
``dibs commit`` and the git hook ask the same function.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections import Counter

from dibs.core.changes.lines import (
    counted,
    in_order,
    lines_of,
    unlanded_added,
    unlanded_removed,
)
from dibs.git.objects import ABSENT, FILES, GONE, LINK, TreeEntry
from dibs.git.snapshot import quarantined
from dibs.git.trees import contents, parsed
from dibs.local.last_read import last_read, note_read
from dibs.services.commits.keep import is_on_disk
from dibs.services.commits.scope import origins
from dibs.services.commits.values import Foreign, Inherited, Leftovers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dibs.core.changes.lines import Lines
    from dibs.core.claims.agents import Caller
    from dibs.core.claims.coverage import Blocked
    from dibs.git.calls import GitCalls
    from dibs.git.trees import TreeChange
    from dibs.local.repository import Repository
    from dibs.services.commits.scope import Origin
    from dibs.services.state.rows import Rows
    from dibs.services.state.sessions import UnfinishedFile
    from dibs.services.state.store import Store

    Origins = Mapping[str, Sequence[Origin]]

#: The most lines of each version in a refusal.
SHOWN = 20
_REFS = "refs/"


@contextlib.contextmanager
def scratch(common: str) -> Iterator[dict[str, str]]:
    """Provide variables that make git write new objects to a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="dibs-lines-") as folder:
        objects = os.path.join(folder, "objects")
        os.mkdir(objects)
        yield quarantined(common, objects)


def leftovers_in(
    git: GitCalls,
    common: str,
    found: Origins,
    changes: Sequence[TreeChange],
    variables: Mapping[str, str] | None = None,
) -> Leftovers:
    """Return what ``changes`` would land of other authors' lines, according to the records ``found``.

    ``common`` is the shared git directory. ``variables`` say where the objects of the changes are, if not in
    the repository.
    """
    others = {path for path, some in found.items() if not all(one.own for one in some)}
    if not others:
        return Leftovers()
    foreign: list[Foreign] = []
    persons: list[Inherited] = []
    with contextlib.ExitStack() as stack:
        there = variables or stack.enter_context(scratch(common))
        versions = _Versions(git, common, there)
        moved = versions.renamed(changes, {path: found[path] for path in others})
        asked = [(change, found[path]) for path, change in moved.items()]
        asked += [(c, found[c.path]) for c in changes if c.path in others - moved.keys()]
        for change, records in asked:
            for one, lines in versions.unlanded(change, records):
                if one.about.agent:
                    foreign.append(one)
                elif lines:
                    persons.append(one.about)
    return Leftovers(tuple(foreign), tuple(persons), tuple(moved))


class _Versions:
    """Compares the versions of files, as git stores them."""

    def __init__(self, git: GitCalls, common: str, variables: Mapping[str, str]) -> None:
        self._git = git
        self._common = common
        self._there = variables
        self._copies: dict[tuple[str, str, int], TreeEntry | None] = {}
        self._texts: dict[str, bytes] = {}

    def renamed(self, changes: Sequence[TreeChange], found: Origins) -> dict[str, TreeChange]:
        """Return the new file to which each missing file was renamed, as a change of the missing file.

        As for git, a new file is a renamed one if it has half of the old lines.
        """
        new = [change for change in changes if change.old_mode == ABSENT and change.is_file]
        moved: dict[str, TreeChange] = {}
        for path, records in found.items() if new else ():
            copy = self._text(self._copy(records[-1].left) or GONE)
            if not copy or is_on_disk(self._git.tree, path):
                continue
            lines = counted(copy)
            for change in new:
                text = self._text(_entry(*change.after)) or b""
                if (lines & counted(text)).total() * 2 >= lines.total():
                    head = self._at("HEAD", path) or GONE
                    mode, oid = (head.mode, head.oid) if head != GONE else change.before
                    moved[path] = change._replace(old_mode=mode, old_oid=oid)
                    break
        return moved

    def unlanded(
        self, change: TreeChange, records: Sequence[Origin]
    ) -> Iterator[tuple[Foreign, int]]:
        """Yield each record of another author whose lines the change would land, with their number."""
        head, source = _entry(*change.before), _entry(*change.after)
        judged: list[tuple[UnfinishedFile, Lines, Lines]] = []
        unknown: list[UnfinishedFile] = []
        for one in records:
            if one.own:
                continue
            lines = self._judged(one.left, head, source)
            settled = self._is_settled if lines is None else self._keeps_mode
            if lines is not None and any(line.strip() for part in lines for line in part):
                judged.append((one.left, *lines))
            elif not settled(one.left, head, source):
                unknown.append(one.left)
        others: Lines = Counter()
        for _, added, _ in judged:
            others |= added
        yours = self._added(head, source) - others if judged or unknown else others
        mine = self._shown(source, yours)
        for left, added, removed in judged:
            count = max(added.total(), removed.total())
            theirs = self._theirs(left, head, added, removed)
            yield Foreign(_about(left, change.path, count), theirs, mine), count
        for left in unknown:
            yield Foreign(_about(left, change.path, 0), (), mine), 1

    def _judged(
        self, left: UnfinishedFile, head: TreeEntry, source: TreeEntry
    ) -> tuple[Lines, Lines] | None:
        """Return an author's lines that would land, added and removed; None if this is not about text."""
        copy, base = self._copy(left), self._base(left)
        found = self._found(left)
        if copy is None or base is None or GONE in {copy, source}:
            return None
        versions = [self._text(one) for one in (copy, base, found, head, source)]
        if any(text is None for text in versions):
            return None
        end, last, before, landed, new = (counted(text or b"") for text in versions)
        # What landed before the author left is not the author's, even if the copy that it found is older.
        added = unlanded_added(end, before | last, landed, new)
        return added, unlanded_removed(end, before & last, landed, new)

    def _keeps_mode(self, left: UnfinishedFile, head: TreeEntry, source: TreeEntry) -> bool:
        """Return whether a commit lands no change of the file's mode by the author."""
        copy, found = self._copy(left) or GONE, self._found(left)
        return copy.mode in {head.mode, found.mode} or source.mode != copy.mode or head == GONE

    def _is_settled(self, left: UnfinishedFile, head: TreeEntry, source: TreeEntry) -> bool:
        """Return whether content that is not text has landed, or is gone from the source."""
        copy = self._copy(left)
        if copy is None:
            return False
        return (
            copy in {head, self._found(left)}
            or source == self._found(left)
            or self._has_landed(left, copy)
        )

    def _has_landed(self, left: UnfinishedFile, copy: TreeEntry) -> bool:
        """Return whether a commit since then had exactly this content."""
        if not left.salvage.startswith(_REFS):
            return False
        result = self._git.run(
            "log", "--raw", "-z", "--no-abbrev", "--no-renames", "-m", "--format=", "--end-of-options",
            f"{left.salvage}^..HEAD", "--", left.path,
        )  # fmt: skip
        entries = () if result.code else parsed(result.out)
        return any(_entry(*change.after) == copy for change in entries)

    # -- versions

    def _copy(self, left: UnfinishedFile) -> TreeEntry | None:
        """Return the author's version; None without a copy."""
        return self._named(left.salvage, left.path)

    def _base(self, left: UnfinishedFile) -> TreeEntry | None:
        """Return what the last commit had when the author left."""
        return self._named(left.salvage, left.path, 1)

    def _found(self, left: UnfinishedFile) -> TreeEntry:
        """Return what the author found: an older copy, or what the last commit had."""
        older = self._named(left.before, left.path) if left.before else None
        return older if older is not None else self._base(left) or GONE

    def _named(self, name: str, path: str, parent: int = 0) -> TreeEntry | None:
        key = (name, path, parent)
        if key not in self._copies:
            private = bool(name) and not name.startswith(_REFS)
            if private:
                self._copies[key] = GONE if parent else self._private(name, path)
            else:
                self._copies[key] = self._in_tree(name, path, parent) if name else None
        return self._copies[key]

    def _in_tree(self, name: str, path: str, parent: int) -> TreeEntry | None:
        """Return what a copy has at a path, as git would commit it, or what its parent has."""
        entry = self._at(f"{name}^{{commit}}^" if parent else name, path)
        if entry is None:  # a copy of files before the first commit has no parent
            return GONE if parent and self._named(name, path) is not None else None
        if entry.mode in FILES and not parent:  # copies have the bytes on disk
            text = contents(self._git, [entry.oid])[entry.oid]
            entry = entry._replace(oid=self._stored(text, path))
        return entry

    def _at(self, commit: str, path: str) -> TreeEntry | None:
        """Return what a commit has at a path; None if there is no such commit."""
        words = ("ls-tree", "-z", "--full-tree", "--end-of-options", commit, "--", path)
        found = self._git.run(*words)
        if found.code:
            return None
        if not found.out:
            return GONE
        mode, _, oid = found.out.partition(b"\t")[0].decode().split(" ")
        return TreeEntry(mode, oid)

    def _private(self, name: str, path: str) -> TreeEntry | None:
        """Return a version of a file that git ignored when it was copied."""
        from dibs.services.salvage.private import private_entry, unpacked

        entry = private_entry(self._common, name)
        about = next((one for one in entry.files if one.path == path), None) if entry else None
        if entry is None or about is None:
            return None
        content = b"".join(unpacked(entry.copy_of(path)))
        if stat.S_ISLNK(about.mode):
            return TreeEntry(LINK, self._stored(content))
        mode = "100755" if about.mode & 0o100 else "100644"
        return TreeEntry(mode, self._stored(content, path))

    def _stored(self, content: bytes, path: str = "") -> str:
        """Store content as git would commit it; return its object."""
        as_file = [f"--path={path}"] if path else ["--no-filters"]
        words = ("hash-object", "-w", *as_file, "--stdin")
        return self._git.must(*words, given=content, variables=self._there).decode().strip()

    # -- texts

    def _text(self, entry: TreeEntry) -> bytes | None:
        """Return the text of a version; None if it is a link, a submodule, or binary."""
        if entry == GONE:
            return b""
        if entry.mode not in FILES:
            return None
        if entry.oid not in self._texts:
            self._texts |= contents(self._git, [entry.oid], self._there)
        text = self._texts.get(entry.oid)
        return None if text is None or b"\0" in text else text

    def _added(self, head: TreeEntry, source: TreeEntry) -> Lines:
        return counted(self._text(source) or b"") - counted(self._text(head) or b"")

    def _shown(self, entry: TreeEntry, wanted: Lines) -> tuple[str, ...]:
        lines = in_order(lines_of(self._text(entry) or b""), wanted, SHOWN)
        return tuple(line.decode("utf-8", "replace") for line in lines)

    def _theirs(
        self, left: UnfinishedFile, head: TreeEntry, added: Lines, removed: Lines
    ) -> tuple[str, ...]:
        copy = self._copy(left) or GONE
        gone = tuple(f"(removed) {line}" for line in self._shown(head, removed))
        return (*self._shown(copy, added), *gone)[:SHOWN]


def _entry(mode: str, oid: str) -> TreeEntry:
    return GONE if mode == ABSENT else TreeEntry(mode, oid)


def _about(left: UnfinishedFile, path: str, lines: int) -> Inherited:
    return Inherited(path, left.agent, lines, left.salvage)


# -- plain commits


def refuse_including(
    store: Store,
    repository: Repository,
    git: GitCalls,
    caller: Caller,
    changes: Sequence[TreeChange],
    parent: str,
) -> list[Blocked]:
    """Return the paths at which a plain commit on ``parent`` would land other agents' lines; only once.

    What is returned is shown in the refusal, so it counts as known to the caller from now on.
    """
    paths = {change.path for change in changes}

    def look(rows: Rows) -> dict[str, list[Origin]]:
        return origins(rows, caller.id, repository.root, paths) if rows.is_anything_left() else {}

    found = store.look(look)
    seen = last_read(repository, caller.id) if found else {}
    stops: dict[str, Blocked] = {}
    for one in leftovers_in(git, repository.common, found, changes).foreign:
        name = f"/{one.about.copy}/{one.about.agent}/{one.about.path}"  # never the path of a file
        if name not in seen:
            stops[name] = one.blocked
    if stops:
        note_read(repository, caller.id, stops, parent)
    return list(stops.values())
