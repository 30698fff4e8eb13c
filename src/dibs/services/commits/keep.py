"""Check that a tree keeps what landed: a line that is in the last commit and in the source is in the commit.

The source is what a commit is made from: the files on disk, or for a merge the two branches. ``build`` writes
only commits that were checked here (``Kept``), so no commit, merge, or board commit can skip the check.
"""

from __future__ import annotations

import os

from dibs.core.changes.lines import counted, dropped, in_order, lines_of
from dibs.core.text.names import printable, shown
from dibs.errors import DibsError
from dibs.git.objects import ABSENT, FILES, GONE, LINK, SUBMODULE, TreeEntry
from dibs.git.status import ignored_among
from dibs.git.trees import contents, differences, parsed
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dibs.git.calls import GitCalls
    from dibs.git.merge_tree import MergeOutcome
    from dibs.git.trees import TreeChange

#: Up to this many paths are named to git; for more, it compares everything.
_FEW = 500
#: The most lines and files in a message.
SHOWN, _FILES = 20, 5


class Kept(Record):
    """A tree that may land on its parents; only this module makes one."""

    tree: str
    #: The first is the commit whose lines it keeps; none before the first commit.
    parents: tuple[str, ...]
    #: How it differs from the first parent.
    changes: tuple[TreeChange, ...]


class DroppedLines(DibsError):
    """A tree does not keep what landed."""

    def __init__(self, found: Mapping[str, tuple[str, ...]]) -> None:
        """``found`` has the missing lines by path; none for a file that is not text."""
        names = [
            f"{shown(path)}: {printable(lines[0]) if lines else 'its content'}"
            for path, lines in list(found.items())[:_FILES]
        ]
        super().__init__(
            f"nothing was committed: the commit would lack what has landed ({'; '.join(names)})",
            code="INTERNAL",
            hint="your files are unchanged; report this",
        )
        self.found = dict(found)


def keep_files(
    git: GitCalls, head: str, tree: str, index: str, changes: Sequence[TreeChange]
) -> Kept:
    """Return a tree made from files on disk; raise ``DroppedLines`` if it lacks what landed.

    ``index`` is the private index that has the tree. Git names the entries that differ from the disk; only
    these are compared. Without an index, all files are.
    """
    there = [change for change in changes if not change.gone]
    modes = _differing(git, index, there) if index else _modes(git, there)
    sources = _sources(git, modes)
    wrong = _wrong(git, [change for change in there if change.path in sources], sources)
    wrong |= _deleted(git, [change for change in changes if change.gone])
    if wrong:
        raise DroppedLines(wrong)
    return Kept(tree, (head,) if head else (), tuple(changes))


def _differing(git: GitCalls, index: str, changes: Sequence[TreeChange]) -> dict[str, str]:
    """Return the mode on disk of the paths that differ from the index."""
    if not changes:
        return {}
    wanted = {change.path for change in changes}
    few = sorted(wanted) if len(wanted) <= _FEW else ()
    out = git.must(
        "diff-files", "--raw", "-z", "--no-renames", "--no-abbrev", "--", *few,
        variables={"GIT_INDEX_FILE": index},
    )  # fmt: skip
    return {change.path: change.new_mode for change in parsed(out) if change.path in wanted}


def _modes(git: GitCalls, changes: Iterable[TreeChange]) -> dict[str, str]:
    """Return the mode on disk of each path, as git would store it."""
    found: dict[str, str] = {}
    for change in changes:
        place = os.path.join(git.tree, change.path)
        found[change.path] = ABSENT
        if os.path.islink(place):
            found[change.path] = LINK
        elif os.path.isfile(place):
            found[change.path] = FILES[os.stat(place).st_mode & 0o100 != 0]
    return found


def _sources(git: GitCalls, modes: Mapping[str, str]) -> dict[str, TreeEntry]:
    """Return what is on disk, as git would commit it; a missing file has no mode."""
    files = [path for path, mode in modes.items() if mode in FILES]
    oids = on_disk(git, files)
    found = {path: TreeEntry(modes[path], oid) for path, oid in oids.items()}
    for path, mode in modes.items():
        if mode == ABSENT or (mode in FILES and path not in oids):
            found[path] = GONE
        elif mode == LINK:
            found[path] = TreeEntry(mode, _link(git, path))
        elif mode == SUBMODULE:
            head = git.run("-C", os.path.join(".", path), "rev-parse", "--verify", "HEAD^{commit}")
            found[path] = TreeEntry(mode, head.out.decode().strip())
    return found


def on_disk(
    git: GitCalls, paths: Iterable[str], variables: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Store regular files as git would commit them; return the objects of those that still exist."""
    found: dict[str, str] = {}
    plain = [path for path in paths if os.path.isfile(os.path.join(git.tree, path))]
    lined = [path for path in plain if "\n" not in path and not path.startswith('"')]
    if lined:
        given = b"".join(os.fsencode(path) + b"\n" for path in lined)
        result = git.run("hash-object", "-w", "--stdin-paths", given=given, variables=variables)
        if not result.code:
            found = dict(zip(lined, result.out.decode().split(), strict=True))
    for path in plain:
        if path not in found:  # one line names one path, and a file may be deleted meanwhile
            one = git.run("hash-object", "-w", "--", path, variables=variables)
            if not one.code:
                found[path] = one.out.decode().strip()
    return found


def _link(git: GitCalls, path: str) -> str:
    try:
        target = os.fsencode(os.readlink(os.path.join(git.tree, path)))
    except OSError:
        return ""
    return git.must("hash-object", "-w", "--stdin", given=target).decode().strip()


def _wrong(
    git: GitCalls, changes: Sequence[TreeChange], sources: Mapping[str, TreeEntry]
) -> dict[str, tuple[str, ...]]:
    """Return what is in the last commit and on disk, but not in the commit."""
    asked = [
        (change, sources[change.path])
        for change in changes
        if change.old_mode != ABSENT and sources[change.path].mode
    ]
    asked = [(change, source) for change, source in asked if change.after != tuple(source)]
    texts = contents(git, (oid for c, s in asked for oid in (c.old_oid, c.new_oid, s.oid)))
    found: dict[str, tuple[str, ...]] = {}
    for change, source in asked:
        lines = _missing(change, source, texts)
        if lines is not None:
            found[change.path] = lines
    return found


def _missing(
    change: TreeChange, source: TreeEntry, texts: Mapping[str, bytes]
) -> tuple[str, ...] | None:
    """Return the missing lines of a path, none for one that is not text; None if nothing is missing."""
    versions = [texts.get(oid) for oid in (change.old_oid, source.oid, change.new_oid)]
    modes = {change.old_mode, change.new_mode, source.mode}
    known = [text for text in versions if text is not None and b"\0" not in text]
    if not modes.issubset(FILES) or len(known) < len(versions):
        return None if change.after == tuple(source) else ()
    head, disk, commit = known
    lines = dropped(counted(head), counted(disk), counted(commit))
    if lines:
        ordered = in_order(lines_of(head), lines, SHOWN)
        return tuple(line.decode("utf-8", "replace") for line in ordered)
    return None if change.new_mode in {change.old_mode, source.mode} else ()


def _deleted(git: GitCalls, changes: Sequence[TreeChange]) -> dict[str, tuple[str, ...]]:
    """Return the deleted paths that are still on disk, except ignored ones: these only left the index."""
    there = [change for change in changes if is_on_disk(git.tree, change.path)]
    if not there:
        return {}
    ignored = ignored_among(git, [change.path for change in there])
    wrong = [change for change in there if change.path not in ignored]
    texts = contents(git, (change.old_oid for change in wrong))
    return {
        change.path: tuple(
            line.decode("utf-8", "replace")
            for line in lines_of(texts.get(change.old_oid, b""))[:SHOWN]
        )
        for change in wrong
    }


def is_on_disk(tree: str, path: str) -> bool:
    """Return whether there is a file or a link at a path, and no link on the way to it."""
    place = os.path.join(tree, path)
    if not os.path.lexists(place) or (os.path.isdir(place) and not os.path.islink(place)):
        return False
    folder = os.path.dirname(path)
    while folder and not os.path.islink(os.path.join(tree, folder)):
        folder = os.path.dirname(folder)
    return not folder


# -- merges


def keep_merge(git: GitCalls, ours: str, theirs: str, outcome: MergeOutcome) -> Kept:
    """Return a merged tree; raise ``DroppedLines`` if it lacks what only one side changed.

    Such a path must be as that side has it, unless a side renamed it. Lines are not counted: both sides may
    have moved them.
    """
    changes = tuple(differences(git, ours, outcome.tree))
    bases = git.must("merge-base", "--all", "--end-of-options", ours, theirs).decode().split()
    result = {change.path: change.after for change in changes}
    mine: dict[str, tuple[str, str]] = {}
    other: dict[str, tuple[str, str]] = {}
    for base in bases:  # what differs from any of them
        mine |= {change.path: change.after for change in differences(git, base, ours)}
        other |= {change.path: change.after for change in differences(git, base, theirs)}
    lost = {p for p in other.keys() - mine.keys() if result.get(p) != other[p]}
    wrong = lost | (result.keys() - other.keys())
    for base in bases if wrong else ():
        wrong -= _renamed(git, base, (ours, theirs))
    if wrong:
        raise DroppedLines(dict.fromkeys(sorted(wrong), ()))
    return Kept(outcome.tree, (ours, theirs), changes)


def _renamed(git: GitCalls, base: str, sides: Iterable[str]) -> set[str]:
    """Return the new names of the files that one of the sides renamed."""
    found: set[str] = set()
    for side in sides:
        out = git.must(
            "diff-tree", "-r", "-z", "--name-status", "-M", "-l0", "--diff-filter=R",
            "--end-of-options", base, side,
        )  # fmt: skip
        found.update(os.fsdecode(out).split("\0")[2::3])
    return found
