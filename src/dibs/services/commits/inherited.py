"""Separate a caller's own changes from uncommitted content that was in a file before the caller claimed it.

The store records such content with its author and a copy (``UnfinishedFile``). The caller's own part is what
changed after the copy (core/changes/separation.py).
"""

from __future__ import annotations

import os
import tempfile

from dibs.core.changes.separation import without
from dibs.core.claims.coverage import Blocked, inherited_path
from dibs.core.claims.rules import view_command
from dibs.core.text.names import printable
from dibs.git.objects import ABSENT, FILES, GONE, LINK, TreeEntry
from dibs.git.snapshot import quarantined
from dibs.git.untrusted import refuse_filters
from dibs.local.files import read_file
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dibs.git.status import PathStatus
    from dibs.git.untrusted import SafeGit
    from dibs.services.commits.scope import Origin
    from dibs.services.state.sessions import UnfinishedFile


class Inherited(Record):
    """Uncommitted content of a file that is older than the caller's claim on it."""

    path: str
    #: Its author; empty for a person, or if nobody knows.
    agent: str
    #: How many lines it changes; 0 if unknown.
    lines: int = 0
    #: The ref of a copy; empty if there is none.
    copy: str = ""
    #: The key of its record.
    key: str = ""


class Separated(Record):
    """The files of a commit, without what other agents wrote before the caller's claim."""

    chosen: tuple[PathStatus, ...]
    #: What to commit instead of the file on disk, by path.
    own: dict[str, TreeEntry]
    #: Other agents' content that the commit leaves out, or includes.
    excluded: tuple[Inherited, ...] = ()
    included: tuple[Inherited, ...] = ()
    #: Files whose content cannot be separated.
    blocked: tuple[Blocked, ...] = ()


def separate(
    git: SafeGit,
    common: str,
    chosen: Sequence[PathStatus],
    found: Mapping[str, Sequence[Origin]],
    *,
    whole: bool,
    trial: bool,
) -> Separated:
    """Separate the files to commit from other agents' content, unless the caller wants them ``whole``.

    A person's content is always included. A ``trial`` does not write objects.
    """
    refuse_filters(git, [change.path for change in chosen if change.path in found])
    kept: list[PathStatus] = []
    own: dict[str, TreeEntry] = {}
    excluded, included, blocked = list[Inherited](), list[Inherited](), list[Blocked]()
    with tempfile.TemporaryDirectory(prefix="dibs-parts-") as folder:
        parts = _Parts(git, common, folder, trial=trial)
        for change in chosen:
            if change.path not in found:
                kept.append(change)
                continue
            records = found[change.path]
            older = [parts.about(change, records, one) for one in records if not one.own]
            if whole or not any(one.foreign for one in records):
                kept.append(change)
                included += older
                continue
            theirs = [about for about in older if about.agent]
            part = parts.own(change, records)
            if part is None:
                blocked.append(inherited_path(change.path, theirs[-1].agent, view(theirs[-1])))
                continue
            entry, lines = part
            if entry != _last(change):
                kept.append(change)
                included += [about for about in older if not about.agent]
                own[change.path] = entry
            if lines or entry == _last(change):
                excluded += [theirs[0]._replace(lines=lines)] if not theirs[1:] else theirs
            else:
                del own[change.path]  # the last commit already has the other agent's content
    return Separated(tuple(kept), own, tuple(excluded), tuple(included), tuple(blocked))


def view(about: Inherited) -> str:
    """Return the command that shows an agent's uncommitted content."""
    return view_command(about.copy if about.copy.startswith("refs/") else "", about.path)


def _last(change: PathStatus) -> TreeEntry:
    """Return what the last commit has at a path."""
    return GONE if change.head_mode == ABSENT else TreeEntry(change.head_mode, change.head_oid)


class _Parts:
    """Compares versions of files in a temporary object store."""

    def __init__(self, git: SafeGit, common: str, folder: str, *, trial: bool) -> None:
        objects = os.path.join(folder, "objects")
        os.mkdir(objects)
        self._git = git
        self._quarantine = quarantined(common, objects)
        self._result = self._quarantine if trial else {}

    def own(self, change: PathStatus, records: Sequence[Origin]) -> tuple[TreeEntry, int] | None:
        """Return the file without other agents' changes, and how many lines these have.

        Each record is a version by its author. None if the changes cannot be separated.
        """
        disk = entry = self._on_disk(change)
        versions = [self._copied(one.left) for one in records]
        end = len(records)
        while end:
            begin = end
            while begin and records[begin - 1].foreign:
                begin -= 1
            if begin < end:
                copy, before = versions[end - 1], versions[begin - 1] if begin else _last(change)
                if entry != copy and not begin:
                    before = self._copied(records[end - 1].left, "^")
                part = before if entry == copy else self._without(entry, copy, before)
                if part is None:
                    return None
                entry = part
            end = max(begin - 1, 0)
        return entry, self._lines(entry, disk) or int(entry != disk)

    def _without(
        self, entry: TreeEntry, copy: TreeEntry | None, before: TreeEntry | None
    ) -> TreeEntry | None:
        """Return a version without the changes from ``before`` to ``copy``; None if that is impossible."""
        if copy is None or before is None:
            return None
        if copy == before:
            return entry
        if any(one.mode not in FILES for one in (entry, copy, before)):
            return None
        oid = self._merged(before.oid, copy.oid, entry.oid)
        mode = entry.mode if entry.mode != copy.mode else before.mode
        return TreeEntry(mode, oid) if oid else None

    def about(self, change: PathStatus, records: Sequence[Origin], one: Origin) -> Inherited:
        """Return what a record says, with the number of lines that its author changed."""
        left, at, lines = one.left, records.index(one), one.left.lines
        if not lines or at:  # the record counts from the last commit
            before = self._copied(records[at - 1].left) if at else _last(change)
            copy = self._copied(left)
            lines = lines if copy is None or before is None else self._lines(before, copy)
        return Inherited(left.path, left.agent, lines, left.salvage, one.key)

    def _on_disk(self, change: PathStatus) -> TreeEntry:
        place = os.path.join(self._git.tree, change.path)
        if not os.path.lexists(place) or os.path.isdir(place):
            return GONE
        if os.path.islink(place):
            return TreeEntry(LINK, self._stored(os.fsencode(os.readlink(place))))
        oid = self._stored(read_file(place), change.path)
        executable = os.stat(place).st_mode & 0o100
        usual = "100755" if executable else "100644"
        return TreeEntry(change.work_mode if change.work_mode in FILES else usual, oid)

    def _copied(self, left: UnfinishedFile, parent: str = "") -> TreeEntry | None:
        """Return the copied version as git would commit it, or its ``parent``; None without a copy."""
        if not left.salvage.startswith("refs/"):
            return None
        commit = f"{left.salvage}{parent}"
        words = ("ls-tree", "-z", "--full-tree", "--end-of-options", commit, "--", left.path)
        found = self._git.run(*words)
        if found.code:
            return None
        if not found.out:
            return GONE
        mode, _, oid = found.out.partition(b"\t")[0].decode().split(" ")
        if mode in FILES:
            oid = self._stored(self._git.must("cat-file", "blob", oid), left.path)
        return TreeEntry(mode, oid)

    def _stored(self, content: bytes, path: str = "") -> str:
        """Write content to the temporary store, filtered as the file ``path``; return its name."""
        as_file = [f"--path={path}"] if path else ["--no-filters"]
        words = ("hash-object", "-w", *as_file, "--stdin")
        return self._git.must(*words, given=content, variables=self._quarantine).decode().strip()

    def _merged(self, before: str, copy: str, entry: str) -> str:
        """Return a version without the changes from ``before`` to ``copy``; empty if they are mixed."""
        names = (before, copy, entry)
        texts = [self._git.must("cat-file", "blob", n, variables=self._quarantine) for n in names]
        merged = without(*texts)
        if merged is None:
            return ""
        words = ("hash-object", "-w", "--no-filters", "--stdin")
        return self._git.must(*words, given=merged, variables=self._result).decode().strip()

    def _lines(self, one: TreeEntry, other: TreeEntry) -> int:
        """Return how many lines differ; a changed line counts once."""
        names = [entry.oid or self._stored(b"") for entry in (one, other)]
        words = ("diff", "--numstat", "--end-of-options", *names)
        out = self._git.run(*words, variables=self._quarantine).out.decode(errors="replace")
        counts = [int(word) for word in out.split("\t")[:2] if word.isdigit()]
        return max(counts, default=0)


def named(found: Sequence[Inherited]) -> str:
    """Return the authors of content, for a message."""
    return ", ".join(sorted({printable(about.agent) for about in found}))
