"""Worktrees and salvaged work as JSON."""

from __future__ import annotations

from dibs.core.changes.worktrees import WorktreeStage
from dibs.services.worktrees.service import KeptWorktree, Removed, SharedTree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.core.changes.worktrees import Holding
    from dibs.services.salvage.entries import Salvaged, SalvageView
    from dibs.services.state.worktrees import WorktreeRow
    from dibs.services.worktrees.service import CreatedWorktree, Listed, Skipped

    Shape = dict[str, Any]


def row(value: WorktreeRow) -> Shape:
    """Shape a worktree that Dibs created."""
    return {
        "agent": value.agent, "path": value.path, "branch": value.branch, "base": value.base,
        "slot": value.slot, "made": value.made, "ready": value.stage == WorktreeStage.READY,
    }  # fmt: skip


def made(value: CreatedWorktree | SharedTree) -> Shape:
    """Shape the result of ``dibs worktree new``: a worktree, or the shared tree and why."""
    if isinstance(value, SharedTree):
        return {
            "worktree": None, "new": False, "notes": [], "path": value.path, "shared": True,
            "reason": value.reason, "code": value.code,
        }  # fmt: skip
    return {
        "worktree": row(value.row), "new": value.new, "notes": list(value.notes),
        "path": value.row.path, "shared": False,
    }  # fmt: skip


def holding(value: Holding) -> Shape:
    """Shape one kind of a worktree's contents."""
    return {"kind": value.kind, "count": value.number, "names": list(value.names)}


def listed(value: Listed) -> Shape:
    """Shape a row of the listing."""
    tree = value.tree
    return {
        "agent": tree.agent, "path": tree.path, "branch": tree.branch, "head": tree.head,
        "made_by_dibs": tree.row is not None, "missing": tree.missing, "locked": tree.locked,
        "wrong": tree.wrong, "ready": tree.row is None or tree.row.stage == WorktreeStage.READY,
        "held": [holding(h) for h in value.held], "unpushed": value.unpushed,
        "committed_at": value.at, "subject": value.subject,
        "made": tree.row.made if tree.row else None, "orphaned": value.orphaned,
    }  # fmt: skip


def listing(values: Sequence[Listed]) -> Shape:
    """Shape the listing of worktrees."""
    return {"worktrees": [listed(tree) for tree in values]}


def cleaned(values: Sequence[Removed | KeptWorktree | Skipped]) -> Shape:
    """Shape the result of a clean-up."""
    return {"worktrees": [outcome(value) for value in values]}


def outcome(value: Removed | KeptWorktree | Skipped) -> Shape:
    """Shape the result of a removal."""
    if isinstance(value, Removed):
        return {
            "removed": True, "worktree": row(value.row), "salvage": value.salvage or None,
            "branch_gone": value.branch_gone, "notes": list(value.notes),
        }  # fmt: skip
    if isinstance(value, KeptWorktree):
        return {
            "removed": False, "code": value.code, "worktree": row(value.row),
            "held": [holding(h) for h in value.held],
        }  # fmt: skip
    return {"removed": False, "worktree": row(value.row), "why": value.why}


def salvage(values: Sequence[Salvaged]) -> Shape:
    """Shape the listing of salvaged work."""
    return {"salvaged": [salvaged(value) for value in values]}


def salvaged(value: Salvaged) -> Shape:
    """Shape an entry of salvaged work."""
    return {
        "id": value.id, "ref": value.ref, "commit": value.commit, "at": value.at,
        "subject": value.subject, "ignored_in": value.folder or None,
    }  # fmt: skip


def restored(value: Salvaged, what: str, place: str) -> Shape:
    """Shape restored work: ``what`` is ``folder`` or ``branch``, and ``place`` is its name."""
    return {**salvaged(value), what: place}


def shown(value: SalvageView) -> Shape:
    """Shape salvaged work in detail."""
    changes = [{"path": c.path, "gone": c.gone, "ignored": False} for c in value.changes]
    if value.ignored is not None:
        changes += [{"path": f.path, "gone": False, "ignored": True} for f in value.ignored.files]
    return {
        **salvaged(value.found), "message": value.message, "head": value.head, "changes": changes,
    }  # fmt: skip
