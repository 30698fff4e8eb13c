"""Find what a worktree contains that exists nowhere else, or that prevents its removal.

Inspecting does not change the repository: new objects go to a temporary folder.
"""

from __future__ import annotations

import os
import tempfile

from dibs.core.changes.worktrees import Holding, WorktreeContent
from dibs.git import refs
from dibs.git.objects import ABSENT
from dibs.git.refs import HEADS
from dibs.git.snapshot import quarantined, snapshot
from dibs.git.state import under_way
from dibs.git.status import changed
from dibs.git.trees import differences
from dibs.local.processes import lasting_in, processes_in
from dibs.services.worktrees.ignored import Ignored, ignored, repositories_in
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dibs.git.calls import GitCalls
    from dibs.git.worktrees import WorktreeEntry


class InspectedWorktree(Record):
    """The contents of a worktree at one moment."""

    held: tuple[Holding, ...]
    ignored: Ignored
    #: Commits that only this worktree's reflog names.
    left_behind: tuple[str, ...]
    #: Whether this system can list the processes in it.
    sees_processes: bool = True
    #: Whether submodules are checked out in it.
    submodules: bool = False


class WorktreeInspector:
    """Inspects worktrees; ``calls`` runs git in a folder, ``main`` is the main tree.

    ``copied`` names the files that each worktree received from the main tree.
    """

    def __init__(
        self, calls: Callable[[str], GitCalls], main: str, copied: Sequence[str] = ()
    ) -> None:
        self._calls = calls
        self._main = main
        self._copied = copied

    def look(self, entry: WorktreeEntry, git_dir: str, *, folder: str = "") -> InspectedWorktree:
        """Inspect a worktree, which may have been moved to ``folder``."""
        place = folder or entry.path
        git = self._calls(place)
        held = [*_locked(entry), *_files(git, git_dir), *_under_way(git_dir)]
        links = _gitlinks(git)
        held += [*_commits(git, entry), *_stashes(git, entry)]
        held += self._submodules(git, git_dir, links)
        kept = ignored(git, self._main, self._copied)
        if kept.large:
            held.append(_holding(WorktreeContent.LARGE, kept.large))
        inner = repositories_in(place, kept.folders)
        if inner:
            held.append(_holding(WorktreeContent.NESTED, inner))
        working = lasting_in(place)
        if working:
            held.append(_holding(WorktreeContent.PROCESS, map(str, working)))
        left = () if entry.missing and not folder else refs.left_behind(git, entry.ref)
        filled = any(os.path.exists(os.path.join(place, path, ".git")) for path in links)
        return InspectedWorktree(tuple(held), kept, tuple(left), working is not None, filled)

    def glance(self, entry: WorktreeEntry, git_dir: str) -> list[Holding]:
        """Return what a listing shows, with few git calls."""
        git = self._calls(entry.path)
        changes = changed(git)
        sorts = {
            WorktreeContent.STAGED: [c.path for c in changes if c.staged and not c.unmerged],
            WorktreeContent.CHANGED: [
                c.path for c in changes if not c.untracked and c.code[1] != "."
            ],
            WorktreeContent.UNTRACKED: [c.path for c in changes if c.untracked],
            WorktreeContent.CONFLICT: [c.path for c in changes if c.unmerged],
            WorktreeContent.PROCESS: [str(process) for process in processes_in(entry.path) or ()],
        }
        held = [_holding(kind, names) for kind, names in sorts.items() if names]
        held += [*_locked(entry), *_under_way(git_dir)]
        return [*held, *_commits(git, entry), *_stashes(git, entry)]

    def _submodules(self, git: GitCalls, git_dir: str, links: list[str]) -> list[Holding]:
        """Return the submodules with unsaved work; removing the worktree would delete their commits."""
        found = [path for path in links if self._is_busy(git.tree, self._main, path)]
        modules = os.path.join(git_dir, "modules")
        if not found and os.path.isdir(modules):
            filled = any(os.path.exists(os.path.join(git.tree, path, ".git")) for path in links)
            found = [] if filled else os.listdir(modules)
        return [_holding(WorktreeContent.SUBMODULE, found)] if found else []

    def _is_busy(self, above: str, main: str, path: str) -> bool:
        """Return whether a submodule, or one inside it, has work that no remote and no main tree has."""
        place, there = os.path.join(above, path), os.path.join(main, path)
        if not os.path.exists(os.path.join(place, ".git")):
            return False
        git = self._calls(place)
        kept = ignored(git, there)
        if kept.files or kept.large or repositories_in(place, kept.folders):
            return True
        if any(self._is_busy(place, there, inner) for inner in _gitlinks(git)):
            return True
        with tempfile.TemporaryDirectory(prefix="dibs-look-") as objects:
            if snapshot(git, objects=objects, thorough=True).dirty:
                return True
        result = git.run(
            "rev-list", "--count", "--branches", "--tags", "--glob=refs/stash", "--not", "--remotes",
            "--not", "--end-of-options", "HEAD",
        )  # fmt: skip
        return result.out.strip() != b"0"


def _gitlinks(git: GitCalls) -> list[str]:
    """Return the paths of all submodules."""
    rows = git.must("ls-files", "--stage", "-z").split(b"\0")
    return [os.fsdecode(row.partition(b"\t")[2]) for row in rows if row.startswith(b"160000")]


def _holding(kind: str, names: Iterable[str]) -> Holding:
    every = tuple(names)
    return Holding(kind, len(every), every[:10])


def _locked(entry: WorktreeEntry) -> list[Holding]:
    if not entry.locked:
        return []
    return [Holding(WorktreeContent.LOCKED, 1, (entry.why_locked,) if entry.why_locked else ())]


def _files(git: GitCalls, git_dir: str) -> list[Holding]:
    with tempfile.TemporaryDirectory(prefix="dibs-look-") as objects:
        seen = snapshot(git, objects=objects, thorough=True)
        if not seen.dirty:
            return []
        there = quarantined(git_dir, objects)
        staged: list[str] = []
        if seen.index_tree:
            staged = [c.path for c in differences(git, seen.head_tree, seen.index_tree, there)]
        changes = differences(git, seen.index_tree or seen.head_tree, seen.tree, there)
    sorts = {
        WorktreeContent.STAGED: staged,
        WorktreeContent.CHANGED: [c.path for c in changes if c.old_mode != ABSENT],
        WorktreeContent.UNTRACKED: [c.path for c in changes if c.old_mode == ABSENT],
        WorktreeContent.NESTED: list(seen.nested),
    }
    found = [_holding(kind, names) for kind, names in sorts.items() if names]
    if not seen.index_tree:
        found.append(Holding(WorktreeContent.CONFLICT, 1))
    return found


def _under_way(git_dir: str) -> list[Holding]:
    what = under_way(git_dir)
    return [Holding(WorktreeContent.UNDER_WAY, 1, (what,))] if what else []


def _commits(git: GitCalls, entry: WorktreeEntry) -> list[Holding]:
    if not entry.head:
        return []
    if entry.ref:
        count = refs.unmerged(git, HEADS + entry.branch, entry.branch)
        return [Holding(WorktreeContent.UNMERGED, count)] if count else []
    count = refs.unnamed(git, entry.head)
    return [Holding(WorktreeContent.DETACHED, count)] if count else []


def _stashes(git: GitCalls, entry: WorktreeEntry) -> list[Holding]:
    found = refs.stashes(git, entry.branch) if entry.ref else []
    return [Holding(WorktreeContent.STASHED, len(found))] if found else []
