"""Drop old records of the claims behind commits, so that the store does not grow forever.

Merges and git hooks need them until a commit is merged. The ledger and its monthly files keep them.
"""

from __future__ import annotations

from dibs.errors import Unavailable, Unknown
from dibs.services.state.commits import commits, forget_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.git.calls import GitCalls
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

_DAY = 24 * 3600.0
#: How long to keep the record of a commit that is on no unmerged branch.
KEPT = 30 * _DAY
#: The same for a commit of another clone, whose branches are not visible here.
KEPT_ELSEWHERE = 365 * _DAY
#: The most records dropped at once, and the number of ledger entries between two cleanups.
MOST, EVERY = 500, 64
#: The commit that is checked out in the main working tree.
_MAIN = "main-worktree/HEAD"


def forget_old(store: Store, git: GitCalls, clone: str) -> int:
    """Drop the records of old commits that are on no unmerged branch, and return how many."""
    try:
        old = store.look(lambda rows: _old(rows, clone))
        if not old:
            return 0
        under_way = _unmerged(git, store.config.merge_into)
        gone = [oid for oid in old if oid not in under_way][:MOST]
        store.apply(lambda rows: forget_commits(rows, gone))
    except (Unavailable, Unknown):
        return 0
    return len(gone)


def _old(rows: Rows, clone: str) -> list[str]:
    found = []
    for oid, row in commits(rows):
        kept = KEPT if row.get("clone") == clone else KEPT_ELSEWHERE
        if row.get("at", 0.0) + kept < rows.now:
            found.append(oid)
    return found


def _unmerged(git: GitCalls, into: str) -> set[str]:
    """Return the commits on any ref that the integration branch does not have."""
    main = f"refs/heads/{into}" if into else _MAIN
    return set(
        git.must("rev-list", "--all", "--end-of-options", f"^{main}").decode("ascii").split()
    )
