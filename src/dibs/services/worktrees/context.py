"""What all work on the worktrees of one clone stands on: the store, the main tree, git, and its list."""

from __future__ import annotations

import os
import shlex

from dibs.core.changes.worktrees import agent_of
from dibs.core.text.names import quote
from dibs.errors import NotFound, Unavailable
from dibs.git.untrusted import guarded_calls
from dibs.git.worktrees import WorktreeEntry, entries, git_dir_of, is_linked, owner_of
from dibs.local.repository import clone_id, main_tree, shared_state
from dibs.services.state.worktrees import WorktreeRow, all_rows, forgets, row_of
from dibs.services.worktrees.inspect import Looker
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.git.untrusted import SafeGit
    from dibs.local.repository import Repository
    from dibs.services.state.store import Store

#: How long one call of git may take: a checkout of a large repository takes its time.
_TIMEOUT = 900.0


class CloneTree(Record):
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
    #: Why it cannot be looked into, such as a folder that belongs to another clone; usually empty.
    wrong: str = ""
    #: What the store knows of it, if Dibs made it.
    row: WorktreeRow | None = None


class WorktreeContext:
    """One clone, seen from its main working tree."""

    def __init__(self, store: Store, repository: Repository) -> None:
        if not repository.common:
            raise Unavailable(
                "this project is not in git: it has no worktrees",
                code="REPO_STATE",
                hint="run git init",
            )
        self.store = store
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

    def git(self, folder: str = "") -> SafeGit:
        """Return what runs git in a folder, by default in the main tree."""
        return guarded_calls(folder or self.main, timeout=_TIMEOUT)

    def looker(self) -> Looker:
        """Return what looks into worktrees of this clone."""
        return Looker(self.git, self.main, self.store.config.worktree_copy)

    def entry_at(self, *paths: str) -> WorktreeEntry | None:
        """Return the working tree that git knows at one of these places."""
        return next((entry for entry in entries(self.git()) if entry.path in paths), None)

    def admin_of(self, *paths: str) -> str:
        """Return the git directory of a linked working tree, empty if there is none."""
        return next((found for path in paths if (found := git_dir_of(self.common, path))), "")

    def check_linked(self, path: str) -> None:
        """Raise unless the folder ``path`` is a linked working tree of this clone."""
        wrong = _wrong(path, self.common)
        if wrong:
            broken = not os.path.isdir(owner_of(path))
            raise Unavailable(
                f"{path} is left as it is: {wrong}",
                code="REPO_STATE",
                hint=f"git worktree repair {shlex.quote(path)} may help" if broken else "",
            )

    def integration(self) -> str:
        """Return the branch that work is merged into, empty where that cannot be told."""
        return self.store.config.merge_into or entries(self.git())[0].branch

    def row(self, agent: str) -> WorktreeRow | None:
        """Return what the store knows of an agent's worktree."""
        return self.store.look(lambda rows: row_of(rows, agent))

    def rows(self) -> list[WorktreeRow]:
        """Return the worktrees of this clone that Dibs made."""
        return [row for row in self.store.look(all_rows) if row.clone == self.clone]

    def rows_elsewhere(self) -> list[WorktreeRow]:
        """Return the worktrees of other clones that share the store."""
        return [row for row in self.store.look(all_rows) if row.clone != self.clone]

    def trees(self) -> list[CloneTree]:
        """Return all working trees of this clone, the main one first, and rows that git knows nothing of."""
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
        """Return the worktree of this clone that an agent or a path names."""
        path = os.path.realpath(named)
        for tree in self.trees():
            if tree.row and (named == tree.agent or path in {tree.path, tree.row.path}):
                return tree.row._replace(path=tree.row.path if tree.row.aside else tree.path)
        hint = "`dibs worktree ls` names them; others are for git worktree"
        where = ""
        for row in self.rows_elsewhere():
            if row.agent == named:
                where = f"; its worktree is in another clone, on {row.host}: {row.path}"
                hint = f"if it is no more, a human says {forgets(named)}"
        raise NotFound(
            f"Dibs made no worktree here for {quote(named)}{where}", code="NO_WORKTREE", hint=hint
        )


def _wrong(path: str, common: str) -> str:
    """Say why a folder that git has in its list is no working tree of this clone, empty if it is one."""
    if is_linked(common, path):
        return ""
    owner = owner_of(path)
    if os.path.isdir(owner):
        return f"it belongs to the repository of {owner}"
    return "its link to the repository is broken"


def _row_for(entry: WorktreeEntry, known: list[WorktreeRow]) -> WorktreeRow | None:
    """Return the row of a working tree: by its place, or by its branch if somebody moved it."""
    for row in known:
        if entry.path in {row.path, row.aside}:
            return row
    gone = (row for row in known if row.branch == entry.branch and not os.path.lexists(row.path))
    return next(gone, None) if entry.branch else None
