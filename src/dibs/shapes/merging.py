"""Merge results as JSON, and the next step after a refusal."""

from __future__ import annotations

from dibs.core.text.names import shown
from dibs.services.merging.conflicts import said_of
from dibs.services.merging.values import FINE, End
from dibs.shapes import claims

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.core.changes.merges import Outside
    from dibs.services.merging.queue import MergeOverview
    from dibs.services.merging.values import MergeReport, MergeVerdict

    Shape = dict[str, Any]

#: The error code of each refusal.
CODES = {
    End.SCOPE: "SCOPE",
    End.HELD: "HELD",
    End.CONFLICT: "MERGE_CONFLICT",
    End.TESTS: "TESTS_FAILED",
    End.DIRTY: "TREE_DIRTY",
    End.MOVED: "CONFLICT",
}


def report(value: MergeReport) -> Shape:
    """Shape the result of a merge."""
    return {
        "into": value.into, "old": value.old, "new": value.new, "tree": shown(value.tree),
        "branches": [verdict(one) for one in value.verdicts],
        "notes": [shown(note) for note in value.notes],
    }  # fmt: skip


def overview(value: MergeOverview) -> Shape:
    """Shape the merge queue and the last results."""
    return {
        "running": [claims.held(one) for one in value.running],
        "waiting": [claims.queued(one) for one in value.waiting],
        "results": [claims.entry(one) for one in value.results],
    }


def verdict(value: MergeVerdict) -> Shape:
    """Shape the result for one branch."""
    shape: Shape = {
        "branch": value.branch, "agent": value.agent, "outcome": value.end,
        "code": CODES.get(value.end, ""), "commit": value.commit,
        "paths": [shown(path) for path in value.paths],
        "outside": [_outside(one) for one in value.outside],
        "conflicts": [
            {"path": shown(c.path), "kind": c.kind, "hunks": c.hunks} for c in value.clashes
        ],
        "others": list(value.others), "task": value.task,
        "notes": [shown(note) for note in value.notes], "next": next_step(value),
    }  # fmt: skip
    if value.run is not None:
        run = value.run
        shape["tests"] = {"how": run.how, "log": shown(run.log), "tail": list(run.tail)}
    return shape


def _outside(value: Outside) -> Shape:
    return {**value._asdict(), "path": shown(value.path), "expires_in": round(value.expires_in, 3)}


def next_step(value: MergeVerdict) -> str:
    """Return what to do about a refusal, or an empty text if the branch was not refused."""
    if value.end in FINE:
        return ""
    steps = {
        End.SCOPE: value.outside[0].hint if value.outside else "",
        End.HELD: value.outside[0].hint if value.outside else "",
        End.CONFLICT: f"merge the integration branch into {value.branch}, resolve the conflicts, "
        f"then run: dibs merge {value.branch}",
        End.TESTS: f"fix {value.branch}, then run: dibs merge {value.branch}"
        if value.task
        else "fix the tests on the integration branch first",
        End.DIRTY: "commit or stash these changes, or set [merge] into to another branch",
        End.MOVED: f"try again: dibs merge {value.branch}",
    }
    return steps[value.end]


def headline(value: MergeVerdict) -> str:
    """Return the result for a branch in a few words."""
    words = {
        End.MERGED: f"merged as {value.commit[:10]}",
        End.WOULD_MERGE: "would be merged",
        End.CONTAINED: "nothing to merge",
    }
    return words.get(value.end) or said_of(value)
