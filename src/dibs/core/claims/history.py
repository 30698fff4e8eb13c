"""Which landed commits an agent may not remove from a branch: the rule for rewritten history.

Pure. The gate records each commit that it lands, with its agent and branch. A commit is removed if its branch
no longer has it, or if no branch has it.
"""

from __future__ import annotations

from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable


class LandedCommit(Record):
    """A commit that the gate landed, and that an update takes off a branch."""

    oid: str
    agent: str
    #: The branch on which it landed.
    ref: str
    #: Whether no other ref has it.
    lost: bool = False


def removed(found: Iterable[LandedCommit], ref: str) -> list[LandedCommit]:
    """Return the commits that an update of ``ref`` removes; the others are still on their own branch."""
    return [commit for commit in found if commit.lost or commit.ref == ref]


def kept_from(
    found: Iterable[LandedCommit], own: Container[str], *, rewrites: bool
) -> list[LandedCommit]:
    """Return the removed commits for which an agent's update is refused.

    ``own`` are the ids of the agent and its subagents. Their own commits they may replace if the update
    ``rewrites`` them: it ends a rebase, or moves a branch that is not the main working tree's.
    """
    return [commit for commit in found if not (rewrites and commit.agent in own)]


def refusal(
    found: Iterable[LandedCommit], what: str, ref: str, *, own: Container[str]
) -> list[str]:
    """Return the lines of a refusal: what is refused, each commit with its agent, and what to do next."""
    commits = list(found)
    branch = ref.removeprefix("refs/heads/")
    lines = [f"dibs: {what} refused: it would remove landed commits from {branch}:"]
    lines += [f"  {commit.oid[:10]} by {commit.agent}" for commit in commits[:_SHOWN]]
    if len(commits) > _SHOWN:
        lines.append(f"  and {len(commits) - _SHOWN} more")
    if all(commit.agent in own for commit in commits):
        lines.append('  to change your own work, commit on top: dibs commit -m "MESSAGE"')
    else:
        lines.append(f"  to undo one, commit its opposite: git revert {commits[0].oid[:10]}")
    lines.append("  to work on another version of the history: dibs worktree new")
    return lines


#: The most commits shown.
_SHOWN = 10
