"""Clean up orphaned worktrees: those that Dibs created, and whose agent has ended or is dead.

Worktrees that people created are never touched. Work in an orphaned worktree stays where it is; if the caller
asks for it, that work is salvaged and the worktree removed. Every step can be killed and repeated.
"""

from __future__ import annotations

import os
import time

from dibs.core.changes.worktrees import WorktreeStage, in_the_way
from dibs.errors import Unavailable, system_error
from dibs.services.salvage.save import sweep
from dibs.services.state.presence import arrive
from dibs.services.state.worktrees import is_abandoned, is_awaited
from dibs.services.worktrees import locks
from dibs.services.worktrees.context import entry_of
from dibs.services.worktrees.remove import KeptWorktree, Removed, Remover, kept
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.core.claims.agents import Caller
    from dibs.services.state.worktrees import WorktreeRow
    from dibs.services.worktrees.context import WorktreeContext


class Skipped(Record):
    """A worktree that a cleanup skipped, and why."""

    row: WorktreeRow
    why: str


class OrphanCleaner:
    """Removes orphaned worktrees in one clone, or with ``dry_run`` says what it would remove.

    With ``salvage``, it saves the work in them first; otherwise it keeps those that contain work.
    """

    def __init__(
        self, context: WorktreeContext, caller: Caller, *, dry_run: bool, salvage: bool
    ) -> None:
        self._context = context
        self._caller = caller
        self._dry_run = dry_run
        self._salvage = salvage
        self._remover = Remover(context)

    def all(
        self, progress: Callable[[str, int, int], None]
    ) -> list[Removed | KeptWorktree | Skipped]:
        """Clean up this clone's worktrees, and forget those of clones that were deleted."""
        if not self._dry_run:
            self._context.store.apply(lambda rows: arrive(rows, self._caller))
            sweep(self._context.common, time.time())
        rows = self._context.rows()
        own = []
        for number, row in enumerate(rows):
            progress(f"checking the worktree of {row.agent}", number, len(rows))
            own.append(self._clean(row))
        gone = [row for row in self._context.rows_elsewhere() if self._is_lost(row)]
        return own + [
            Removed(row) if self._dry_run else self._remover.disown(self._caller, row)
            for row in gone
        ]

    def _clean(self, row: WorktreeRow) -> Removed | KeptWorktree | Skipped:
        if not self._is_orphaned(row):
            unfinished = row.stage not in {WorktreeStage.READY, WorktreeStage.SETUP}
            if not unfinished or self._dry_run:
                return Skipped(row, self._why_not(row))
        try:
            with locks.of_agent(self._context.state, row.agent, patience=0.0):
                return self._would_clean(row) if self._dry_run else self._clean_held(row)
        except Unavailable as error:
            return Skipped(row, error.message)
        except OSError as error:  # the others can still be cleaned up
            return Skipped(row, system_error(error).message)

    def _clean_held(self, row: WorktreeRow) -> Removed | KeptWorktree | Skipped:
        """Clean up one worktree while holding its lock, so no living process is at work on it."""
        notes = self._remover.settle(self._caller, row.agent)
        if notes and self._context.row(row.agent) is None:
            return Removed(row, notes=tuple(notes))
        row = self._context.find(row.agent)
        if not self._is_orphaned(row):
            return Skipped(row, "; ".join(notes) or self._why_not(row))
        if not os.path.isdir(os.path.dirname(row.path)):
            return Skipped(row, "its parent folder is missing; the disk may not be mounted")
        why = "its agent has ended"
        return self._remover.remove(self._caller, row, force=self._salvage, why=why)

    def _would_clean(self, row: WorktreeRow) -> Removed | KeptWorktree | Skipped:
        tree = next((tree for tree in self._context.trees() if tree.row == row), None)
        if row.stage not in {WorktreeStage.READY, WorktreeStage.SETUP}:
            return Skipped(row, "an interrupted command would be finished or undone")
        if tree is None or tree.missing:
            return Removed(row)
        if tree.wrong:
            return Skipped(row, tree.wrong)
        seen = self._context.inspector().look(entry_of(tree), self._context.admin_of(tree.path))
        blocked = in_the_way(seen.held, force=self._salvage)
        return kept(row, blocked) if blocked else Removed(row)

    def _is_orphaned(self, row: WorktreeRow) -> bool:
        return self._context.store.look(lambda rows: is_abandoned(rows, row))

    def _is_lost(self, row: WorktreeRow) -> bool:
        """Return whether a worktree belongs to a clone that was deleted from this host."""
        return row.is_missing_on(self._caller.host) and self._is_orphaned(row)

    def _why_not(self, row: WorktreeRow) -> str:
        """Return why a worktree is not orphaned."""
        if row.human:
            return "it belongs to a person"
        awaited = self._context.store.look(lambda rows: is_awaited(rows, row))
        return "its agent has not started yet" if awaited else "its agent is active"
