"""Commits and uncommitted changes as JSON."""

from __future__ import annotations

import os

from dibs.core.text.names import shown
from dibs.services.commits.values import CommitDenied, Committed
from dibs.shapes.claims import claims

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from dibs.core.changes.ownership import Dirty
    from dibs.core.claims.coverage import Blocked
    from dibs.services.commits.changes import Difference, TreeChanges
    from dibs.services.commits.values import File, Inherited

    Shape = dict[str, Any]


def commit_answer(value: Committed | CommitDenied) -> Shape:
    """Shape the result of a commit."""
    if isinstance(value, CommitDenied):
        return {
            "outcome": "refused", "code": value.code,
            "hook": value.hook or None, "blocked": blocked(value.blocked),
        }  # fmt: skip
    return {
        "outcome": "committed" if value.commit else "trial",
        "commit": value.commit or None,
        "ref": value.ref,
        "files": _files(value.files),
        "unchanged": list(value.unchanged),
        "ignored": list(value.ignored),
        "on_disk": [shown(path) for path in value.on_disk],
        "nobody": _files(value.nobody),
        "nobody_elsewhere": value.elsewhere,
        "others": blocked(value.others),
        "released": claims(value.released),
        "seq": value.seq or None,
        "repeated": value.repeated,
        "late": value.late,
        "included": _inherited(value.included),
    }


def blocked(values: Iterable[Blocked]) -> list[Shape]:
    """Shape the paths that a commit may not include, each with its reason."""
    return [
        {
            "path": shown(item.path), "why": item.why, "holder": item.holder or None,
            "pattern": item.pattern or None, "hint": item.hint,
            "expires_in": round(item.expires_in, 3) if item.holder else None,
            "reason": item.reason or None, "task": item.task or None,
            "commit": item.commit or None, "landed": list(item.landed), "yours": list(item.yours),
            "while_running": item.while_running, "lines": item.lines,
        }
        for item in values
    ]  # fmt: skip


def _inherited(values: Iterable[Inherited]) -> list[Shape]:
    return [
        {
            "path": shown(one.path), "agent": one.agent or None, "lines": one.lines,
            "salvage": one.copy or None,
        }
        for one in values
    ]  # fmt: skip


def _files(values: Iterable[File]) -> list[Shape]:
    return [{"path": shown(file.path), "what": file.what or None} for file in values]


def changed_trees(values: Iterable[TreeChanges]) -> Shape:
    """Shape the uncommitted changes in working trees, by owner."""
    return {"trees": [_tree(tree) for tree in values]}


def _tree(tree: TreeChanges) -> Shape:
    return {
        "root": tree.root,
        "branch": tree.branch,
        "agents": [
            {"agent": part.agent, "files": [changed_file(file) for file in part.files]}
            for part in tree.agents
        ],
        "nobody": [changed_file(file) for file in tree.nobody],
        "idle": [{"agent": idle.agent, "claims": idle.claims} for idle in tree.idle],
        "wrong": tree.wrong,
    }


def changed_file(file: Dirty) -> Shape:
    """Shape a changed file."""
    held = file.held
    return {
        "path": file.path, "what": file.what, "staged": file.staged, "unstaged": file.unstaged,
        "pattern": held.claim.pattern if held else "", "token": held.claim.token if held else 0,
        "expires_in": round(held.expires_in, 3) if held else 0,
        "shared_by": list(file.shared_by), "changed_by": list(file.changed_by),
    }  # fmt: skip


def difference(value: Difference) -> Shape:
    """Shape an agent's changed files, with the diff."""
    return {
        "agent": value.agent,
        "files": [changed_file(file) for file in value.files],
        "diff": os.fsdecode(value.text),
    }
