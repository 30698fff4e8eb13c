"""What all work on the worktrees of one clone stands on: the store, the main tree, git, and its list."""

from __future__ import annotations

import os

from dibs.core.values import Record
from dibs.core.worktrees import agent_of
from dibs.errors import NotFound, Unavailable
from dibs.git.worktrees import Entry, entries, git_dir_of
from dibs.repository import main_tree, shared_state
from dibs.services.clone import clone_id
from dibs.services.guarded import guarded_calls
from dibs.services.worktree_look import Looker
from dibs.services.worktree_rows import Row, row_of, rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.repository import Repository
    from dibs.services.desk import Desk
    from dibs.services.guarded import GuardedCalls

#: How long one call of git may take: a checkout of a large repository takes its time.
_TIMEOUT = 900.0


class Tree(Record):
    """A working tree of this clone."""

    #: Whose it is, by its row or by its branch; empty for one that is nobody's in particular.
    agent: str
    path: str
    #: The branch's short name, empty when HEAD is detached.
    branch: str
    head: str
    main: bool = False
    #: Whether its folder is gone.
    missing: bool = False
    locked: bool = False
    #: What the store knows of it, if Dibs made it.
    row: Row | None = None


class Ground:
    """One clone, seen from its main working tree."""

    def __init__(self, desk: Desk, repository: Repository) -> None:
        if not repository.common:
            raise Unavailable(
                "this project is not in git: it has no worktrees",
                code="REPO_STATE",
                hint="run git init",
            )
        self.desk = desk
        self.common = repository.common
        self.main = main_tree(repository)
        self.state = shared_state(repository)
        self._clone = ""

    @property
    def clone(self) -> str:
        """The id of this clone."""
        if not self._clone:
            self._clone = clone_id(self.state)
        return self._clone

    def git(self, folder: str = "") -> GuardedCalls:
        """Return what runs git in a folder, by default in the main tree."""
        return guarded_calls(folder or self.main, timeout=_TIMEOUT)

    def looker(self) -> Looker:
        """Return what looks into worktrees of this clone."""
        return Looker(self.git, self.main)

    def entry_at(self, *paths: str) -> Entry | None:
        """Return the working tree that git knows at one of these places."""
        return next((entry for entry in entries(self.git()) if entry.path in paths), None)

    def admin_of(self, *paths: str) -> str:
        """Return the git directory of a linked working tree, empty if there is none."""
        return next((found for path in paths if (found := git_dir_of(self.common, path))), "")

    def integration(self) -> str:
        """Return the branch that work is merged into, empty where that cannot be told."""
        return self.desk.config.merge_into or entries(self.git())[0].branch

    def row(self, agent: str) -> Row | None:
        """Return what the store knows of an agent's worktree."""
        return self.desk.look(lambda book: row_of(book, agent))

    def rows(self) -> list[Row]:
        """Return the worktrees of this clone that Dibs made."""
        return [row for row in self.desk.look(rows) if row.clone == self.clone]

    def trees(self) -> list[Tree]:
        """Return all working trees of this clone, the main one first, and rows that git knows nothing of."""
        known = self.rows()
        found: list[Tree] = []
        for place, entry in enumerate(entries(self.git())):
            row = _row_for(entry, known)
            found.append(
                Tree(
                    row.agent if row else agent_of(entry.branch),
                    entry.path,
                    entry.branch,
                    entry.head,
                    main=place == 0,
                    missing=entry.missing and not entry.bare,
                    locked=entry.locked,
                    row=row,
                )
            )
        matched = {tree.row.agent for tree in found if tree.row}
        found += [
            Tree(row.agent, row.path, row.branch, "", missing=True, row=row)
            for row in known
            if row.agent not in matched
        ]
        return found

    def find(self, named: str) -> Row:
        """Return the worktree of this clone that an agent or a path names."""
        path = os.path.realpath(named)
        for tree in self.trees():
            if tree.row and (named == tree.agent or path in {tree.path, tree.row.path}):
                return tree.row._replace(path=tree.row.path if tree.row.aside else tree.path)
        elsewhere = self.row(named) if "/" not in named else None
        where = f"; its worktree is in another clone, on {elsewhere.host}" if elsewhere else ""
        raise NotFound(
            f"Dibs made no worktree here for {named}{where}",
            code="NO_WORKTREE",
            hint="`dibs worktree ls` names them; others are for git worktree",
        )


def _row_for(entry: Entry, known: list[Row]) -> Row | None:
    """Return the row of a working tree: by its place, or by its branch if somebody moved it."""
    for row in known:
        if entry.path in {row.path, row.aside}:
            return row
    gone = (row for row in known if row.branch == entry.branch and not os.path.lexists(row.path))
    return next(gone, None) if entry.branch else None
