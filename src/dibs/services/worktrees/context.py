"""Access to the worktrees of one clone: the store, the main tree, git, and git's list of worktrees."""

from __future__ import annotations

import os
import shlex

from dibs.core.changes.worktrees import agent_of
from dibs.core.text.names import quote
from dibs.errors import NotFound, Unavailable
from dibs.git.untrusted import guarded_calls
from dibs.git.worktrees import WorktreeEntry, entries, git_dir_of, is_linked, owner_of
from dibs.local.repository import clone_id, main_tree
from dibs.services.state.worktrees import WorktreeRow, all_rows, forget_command, row_of
from dibs.services.worktrees.inspect import WorktreeInspector
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.git.untrusted import SafeGit
    from dibs.local.repository import Repository
    from dibs.services.state.store import Store

#: The timeout of one git call, in seconds: checking out a large repository takes long.
_TIMEOUT = 900.0


class CloneTree(Record):
    """A working tree of this clone."""

    #: Its agent, from its row or its branch, or an empty text.
    agent: str
    path: str
    #: The branch's short name, empty when HEAD is detached.
    branch: str
    head: str
    main: bool = False
    #: Whether its folder is missing.
    missing: bool = False
    locked: bool = False
    #: Why it cannot be read, for example because the folder belongs to another clone; usually empty.
    wrong: str = ""
    #: Its row in the store, if Dibs created it.
    row: WorktreeRow | None = None


class WorktreeContext:
    """One clone, seen from its main working tree."""

    def __init__(self, store: Store, repository: Repository) -> None:
        if not repository.common:
            raise Unavailable(
                "worktrees require a git repository",
                code="REPO_STATE",
                hint="create one: git init",
            )
        self.store = store
        self.common = repository.common
        self.main = main_tree(repository)
        self.state = repository.state
        self._clone = ""

    @property
    def clone(self) -> str:
        """The ID of this clone."""
        if not self._clone:
            self._clone = clone_id(self.state)
        return self._clone

    def git(self, folder: str = "") -> SafeGit:
        """Return git for a folder, by default the main tree."""
        return guarded_calls(folder or self.main, timeout=_TIMEOUT)

    def inspector(self) -> WorktreeInspector:
        """Return an inspector for the worktrees of this clone."""
        return WorktreeInspector(self.git, self.main, self.store.config.worktree_copy)

    def entry_at(self, *paths: str) -> WorktreeEntry | None:
        """Return git's entry for a working tree at one of these paths."""
        return next((entry for entry in entries(self.git()) if entry.path in paths), None)

    def admin_of(self, *paths: str) -> str:
        """Return the git directory of a linked working tree, or an empty text."""
        return next((found for path in paths if (found := git_dir_of(self.common, path))), "")

    def check_linked(self, path: str) -> None:
        """Raise unless the folder ``path`` is a linked working tree of this clone."""
        wrong = _wrong(path, self.common)
        if wrong:
            broken = not os.path.isdir(owner_of(path))
            raise Unavailable(
                f"{path} is not a worktree of this clone: {wrong}",
                code="REPO_STATE",
                hint=f"this may repair it: git worktree repair {shlex.quote(path)}"
                if broken
                else "",
            )

    def integration(self) -> str:
        """Return the integration branch, or an empty text if it is unknown."""
        return self.store.config.merge_into or entries(self.git())[0].branch

    def row(self, agent: str) -> WorktreeRow | None:
        """Return the row of an agent's worktree."""
        return self.store.look(lambda rows: row_of(rows, agent))

    def rows(self) -> list[WorktreeRow]:
        """Return the rows of the worktrees that Dibs created in this clone."""
        return [row for row in self.store.look(all_rows) if row.clone == self.clone]

    def rows_elsewhere(self) -> list[WorktreeRow]:
        """Return the rows of worktrees in other clones that share the store."""
        return [row for row in self.store.look(all_rows) if row.clone != self.clone]

    def trees(self) -> list[CloneTree]:
        """Return all working trees of this clone, the main one first, and rows that git does not know."""
        known = self.rows()
        found: list[CloneTree] = []
        for place, entry in enumerate(entries(self.git())):
            row = _row_for(entry, known)
            found.append(
                CloneTree(
                    row.agent if row else agent_of(entry.branch),
                    entry.path,
                    entry.branch,
                    entry.head,
                    main=place == 0,
                    missing=entry.missing and not entry.bare,
                    locked=entry.locked,
                    wrong=_wrong(entry.path, self.common) if place and not entry.missing else "",
                    row=row,
                )
            )
        matched = {tree.row.agent for tree in found if tree.row}
        found += [
            CloneTree(row.agent, row.path, row.branch, "", missing=True, row=row)
            for row in known
            if row.agent not in matched
        ]
        return found

    def find(self, named: str) -> WorktreeRow:
        """Return the row of the worktree named by its agent or path."""
        path = os.path.realpath(named)
        for tree in self.trees():
            if tree.row and (named == tree.agent or path in {tree.path, tree.row.path}):
                return tree.row._replace(path=tree.row.path if tree.row.aside else tree.path)
        hint = "`dibs worktree ls` lists worktrees; use `git worktree` for those that git created"
        where = ""
        for row in self.rows_elsewhere():
            if row.agent == named:
                where = f"; its worktree is in another clone, on {row.host}: {row.path}"
                hint = f"if it no longer exists, a human can run {forget_command(named)}"
        raise NotFound(
            f"{quote(named)} has no worktree created by Dibs in this clone{where}",
            code="NO_WORKTREE",
            hint=hint,
        )


def entry_of(tree: CloneTree) -> WorktreeEntry:
    """Return a working tree as git lists it."""
    ref = f"refs/heads/{tree.branch}" if tree.branch else ""
    return WorktreeEntry(tree.path, tree.head, ref, locked=tree.locked)


def _wrong(path: str, common: str) -> str:
    """Return why a folder is not a working tree of this clone, or an empty text if it is one."""
    if is_linked(common, path):
        return ""
    owner = owner_of(path)
    if os.path.isdir(owner):
        return f"it belongs to the repository {owner}"
    return "its link to the repository is broken"


def _row_for(entry: WorktreeEntry, known: list[WorktreeRow]) -> WorktreeRow | None:
    """Return the row of a working tree, found by its path, or by its branch if the folder was moved."""
    for row in known:
        if entry.path in {row.path, row.aside}:
            return row
    gone = (row for row in known if row.branch == entry.branch and not os.path.lexists(row.path))
    return next(gone, None) if entry.branch else None
