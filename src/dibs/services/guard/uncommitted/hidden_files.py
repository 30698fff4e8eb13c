"""What another agent's folder or glob claim covers, and `git status` does not list as changed.

These are ignored files, files that the index marks as unchanged, and files that were changed and committed.
Ignored output such as ``*.pyc``, and folders that are ignored as a whole, count only for a claim that names
them.
"""

from __future__ import annotations

import os
import time

from dibs.core.claims.coverage import Cover
from dibs.core.toolcalls.people import is_output
from dibs.errors import DibsError
from dibs.git.calls import GitCalls
from dibs.git.status import begin_changed, compared_with, ignored_of, parsed
from dibs.git.untrusted import guarded_calls
from dibs.local.own_writes import stat_of
from dibs.services.guard.ignored import as_path
from dibs.services.guard.ignored import ignored as ignored_by_git
from dibs.services.guard.uncommitted.differing import differing
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from dibs.core.claims.coverage import OwnedPattern
    from dibs.local.repository import Repository
    from dibs.services.guard.uncommitted.before_call import TreeSnapshots

#: Time limit for git, and for looking through ignored folders, in seconds.
_PATIENCE, _WALK = 1.0, 0.15
#: The most hidden files that are watched, and the most entries of ignored folders that are looked at.
_MOST, _MOST_SEEN = 500, 10_000


class TreeStatus(Record):
    """What `git status` says about a working tree."""

    #: The changed files, and whether they are untracked.
    dirty: dict[str, bool]
    #: Ignored files, and folders that are ignored as a whole, with a slash at the end.
    ignored: list[str]
    #: The commit that is checked out; empty before the first one.
    head: str


def read_status(repository: Repository, *, ignored: bool) -> TreeStatus | None:
    """Return the state of a working tree; None if git fails or takes too long."""
    try:
        git = guarded_calls(repository.root, repository, timeout=_PATIENCE)
        out = begin_changed(git, ignored="matching" if ignored else "").must()
    except (DibsError, OSError):
        return None
    dirty = {c.path: c.untracked for c in parsed(out) if not c.nested}
    return TreeStatus(dirty, ignored_of(out) if ignored else [], compared_with(out))


class HiddenFiles:
    """The hidden files of one working tree that claims on folders and globs cover."""

    def __init__(
        self, repository: Repository, marks: TreeSnapshots, claims: Iterable[OwnedPattern]
    ) -> None:
        self._repository = repository
        self._marks = marks
        self._wide = [held for held in claims if not held.pattern.literal]
        self._cover = Cover(self._wide)

    def __bool__(self) -> bool:
        """Whether there is a claim on a folder or a glob."""
        return bool(self._wide)

    def ignored(self, listed: Sequence[str]) -> list[str]:
        """Return the ignored files among these, and in these folders, that a claim covers."""
        if not (self._wide and listed):
            return []
        root, common = self._repository.root, self._repository.common
        texts = {held.pattern.text: as_path(held.pattern.text) for held in self._wide}
        said = ignored_by_git(root, common, list(texts.values()), "--no-index")
        named = {text for text, path in texts.items() if path in said}
        bases = [path.partition("*")[0].lower() for path in texts.values() if path in said]
        found = []
        for path in listed:
            if not path.endswith("/"):
                held = [one.pattern.text for one in self._cover.of(path)]
                if held and (not is_output(path) or not named.isdisjoint(held)):
                    found.append(path)
            elif any(base.startswith(path.lower()) for base in bases):
                found += [file for file in self._below(path) if any(self._cover.of(file))]
        return found[:_MOST]

    def _below(self, folder: str) -> Iterator[str]:
        """Yield the files below an ignored folder, within limits."""
        until, left, pending = time.monotonic() + _WALK, _MOST_SEEN, [folder]
        while pending and left > 0 and time.monotonic() < until:
            place = pending.pop()
            try:
                with os.scandir(os.path.join(self._repository.root, place)) as entries:
                    for entry in entries:
                        left -= 1
                        if entry.is_dir(follow_symlinks=False):
                            pending.append(f"{place}{entry.name}/")
                        else:
                            yield f"{place}{entry.name}"
            except OSError:
                continue

    def marked_unchanged(self) -> list[str]:
        """Return the covered files that git does not check (skip-worktree, assume-unchanged)."""
        if not self._wide:
            return []
        common, root = self._repository.common, self._repository.root
        index = os.path.join(common, "index") if common.startswith(f"{root}/") else ""
        about = stat_of("", index) if index else None
        known = self._marks.unchecked()
        if about is None or known.get("index") != about:
            known = {"index": about or [], "paths": self._flagged()}
            if about is not None:
                self._marks.note_unchecked(known)
        return [path for path in known["paths"] if any(self._cover.of(path))][:_MOST]

    def newly_marked(self, known: Container[str]) -> list[str]:
        """Return these files, without ``known`` ones and those that are unchanged since the last commit.

        A command may mark files and change them, or remove them, as ``git sparse-checkout`` does.
        """
        found = [path for path in self.marked_unchanged() if path not in known]
        return differing(self._repository.root, found) if found else []

    def _flagged(self) -> list[str]:
        try:
            said = GitCalls(self._repository.root, timeout=_PATIENCE).run("ls-files", "-v", "-z")
        except (DibsError, OSError):
            return []
        rows = (row for row in said.out.split(b"\0") if row)
        return [os.fsdecode(row[2:]) for row in rows if row[:1] == b"S" or row[:1].islower()]

    def committed(self, old: str, new: str) -> list[str]:
        """Return the covered files that differ between two commits: a command changed and committed them."""
        if not self._wide or not old or not new or old == new:
            return []
        from dibs.git.trees import differences

        try:
            git = GitCalls(self._repository.root, timeout=_PATIENCE)
            return [one.path for one in differences(git, old, new) if any(self._cover.of(one.path))]
        except (DibsError, OSError):
            return []
