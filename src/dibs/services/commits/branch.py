"""Refuse a commit if someone checked out another branch since the agent claimed its files."""

from __future__ import annotations

import os

from dibs.core.claims.ledger import Kind
from dibs.core.patterns.pattern import matches
from dibs.core.text.names import printable, shown
from dibs.errors import Unavailable
from dibs.git.refs import is_in, value_of
from dibs.local.files import read_or_empty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.core.claims.coverage import OwnedPattern
    from dibs.core.claims.rules import Claim
    from dibs.git.calls import GitCalls
    from dibs.git.state import TreeState
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

_HEADS = "refs/heads/"
#: What git writes to the reflog when it renames a branch.
_RENAMED = "Branch: renamed "
#: How many ledger entries are searched for who switched the branch.
_SEARCHED = 2_000


def refuse_other_branch(
    store: Store, git: GitCalls, state: TreeState, own: Iterable[OwnedPattern], paths: Iterable[str]
) -> None:
    """Raise ``Unavailable`` if one of ``paths`` was claimed on another branch in this working tree."""
    now = state.ref or state.head
    moved = [held for held in own if held.claim.branch not in {"", now}]
    if not moved:
        return
    here = store.look(lambda rows: rows.tree_name(git.tree))
    moved = [held for held in moved if held.claim.tree == here]
    for path in paths:
        for held in moved:
            fits = matches(held.pattern, f"./{path}")
            if fits and not _is_same(git, state, held.claim.branch):
                raise _refusal(store, path, held.claim, state)


def _is_same(git: GitCalls, state: TreeState, branch: str) -> bool:
    """Return whether the branch only has another name now, or HEAD is still detached on the same history."""
    if not branch.startswith(_HEADS):
        return state.detached and is_in(git, branch, state.head)
    if value_of(git, branch):
        return False
    return state.unborn or _renamed(state.git_dir, branch) == state.ref


def _renamed(git_dir: str, branch: str) -> str:
    """Return the newest name of a branch according to the reflog of HEAD."""
    log = read_or_empty(os.path.join(git_dir, "logs", "HEAD")).decode("utf-8", "replace")
    for line in (row.partition("\t")[2].strip() for row in log.split("\n")):
        old, _, new = line.removeprefix(_RENAMED).partition(" to ")
        if line.startswith(_RENAMED) and old == branch:
            branch = new
    return branch


def _refusal(store: Store, path: str, claim: Claim, state: TreeState) -> Unavailable:
    from shlex import quote

    before, after = _name(claim.branch), _name(state.ref)
    who = store.look(lambda rows: _mover(rows, claim)) or "someone"
    branch = claim.branch.removeprefix(_HEADS)
    back = f"git switch {'' if branch != claim.branch else '--detach '}{quote(printable(branch))}"
    return Unavailable(
        f"nothing was committed: you claimed {shown(path)} on {before}, and {who} checked out {after} since",
        code="REPO_STATE",
        hint=f"switch back (`{back}`), or add --anyway to commit to {after}",
    )


def _name(ref: str) -> str:
    return printable(ref.removeprefix(_HEADS)) if ref.startswith(_HEADS) else "a detached HEAD"


def _mover(rows: Rows, claim: Claim) -> str:
    """Return who moved HEAD in a claim's working tree since it was granted, if the ledger says so."""
    for count, entry in enumerate(rows.events(newest_first=True)):
        if count >= _SEARCHED or entry.at < claim.since:
            break
        if entry.kind == Kind.HEAD_MOVED and entry.details.get("tree") == claim.tree:
            return entry.agent
    return ""
