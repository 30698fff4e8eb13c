"""Delete old copies of work, if the project says how long they are kept; by default that is forever.

A copy stays until the next owner of its file has seen it.
"""

from __future__ import annotations

import shutil
import time

from dibs.core.claims.ledger import Kind
from dibs.core.text.durations import show_span
from dibs.services.salvage.entries import REFS, listed
from dibs.services.state.lifecycle import STORE
from dibs.services.state.sessions import all_left

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.git.calls import GitCalls
    from dibs.services.salvage.entries import Salvaged
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: Copies are kept for a day at least, in seconds.
SHORTEST = 86_400.0
#: How many copies one run deletes, and how many the ledger names.
MOST, NAMED = 200, 20


def expire_copies(store: Store, git: GitCalls) -> list[str]:
    """Delete copies that are older than the project keeps them; return their IDs."""
    keep = store.config.salvage_keep
    if not keep:
        return []
    before = time.time() - max(keep, SHORTEST)
    needed = store.look(_needed)
    old = [one for one in listed(git) if one.at < before and one.id not in needed]
    deleted = [one.id for one in old[::-1][:MOST] if _delete(git, one)]
    if deleted:
        summary = f"deleted {len(deleted)} copies of work that were older than {show_span(keep)}"
        store.apply(
            lambda rows: rows.emit(
                STORE,
                "store",
                Kind.SALVAGE_EXPIRED,
                summary,
                copies=deleted[:NAMED],
                count=len(deleted),
            )
        )
    return deleted


def _needed(rows: Rows) -> set[str]:
    """Return the IDs of copies that the records of uncommitted files name."""
    names = {name for _, left in all_left(rows) for name in (left.salvage, left.before)}
    return {name.removeprefix(REFS) for name in names if name}


def _delete(git: GitCalls, one: Salvaged) -> bool:
    """Delete a copy, unless its ref has moved meanwhile."""
    if one.commit:
        given = f"delete {one.ref}\0{one.commit}\0".encode()
        if git.run("update-ref", "--stdin", "-z", given=given).code:
            return False
    if one.folder:
        shutil.rmtree(one.folder, ignore_errors=True)
    return True
