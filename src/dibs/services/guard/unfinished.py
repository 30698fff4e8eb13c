"""Files with uncommitted changes that an agent left behind; the next owner is notified once."""

from __future__ import annotations

from dibs.core.patterns.overlap import matches
from dibs.errors import DibsError
from dibs.git.status import changed
from dibs.git.untrusted import guarded_calls
from dibs.services.state.sessions import UnfinishedFile, drop_left

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.core.patterns.pattern import Pattern
    from dibs.local.repository import Repository
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

    #: The key and the value of a row.
    Row = tuple[str, "UnfinishedFile"]


def changed_in(root: str, repository: Repository) -> list[str] | None:
    """Return the changed files of a working tree; None if git fails."""
    if not repository.common:
        return []
    try:
        return [change.path for change in changed(guarded_calls(root, repository))]
    except (DibsError, OSError):
        return None


def dirty_in(root: str, repository: Repository, patterns: Sequence[Pattern]) -> list[str] | None:
    """Return the changed files that these patterns match; None if git fails."""
    found = changed_in(root, repository)
    if found is None:
        return None
    return [path for path in found if any(matches(p, f"./{path}") for p in patterns)]


def still_dirty(repository: Repository, left: Sequence[UnfinishedFile]) -> list[UnfinishedFile]:
    """Return the files that are still uncommitted; all of them if git fails."""
    dirty: dict[str, list[str] | None] = {}
    for one in left:
        if one.root not in dirty:
            dirty[one.root] = changed_in(one.root, repository)
    return [one for one in left if (now := dirty[one.root]) is None or one.path in now]


def settle(
    store: Store, repository: Repository, agent: str, found: Iterable[Row], *, by_mail: bool = True
) -> list[UnfinishedFile]:
    """Forget files left behind that an agent now holds; return, and optionally mail, what it must know."""
    listed = dict(found)
    left = still_dirty(repository, [one for one in listed.values() if one.agent != agent])

    def step(rows: Rows) -> None:
        drop_left(rows, listed)
        if by_mail:
            mail_left(rows, agent, left)

    store.apply(step)
    return left


def mail_left(rows: Rows, agent: str, left: Sequence[UnfinishedFile]) -> None:
    """Notify an agent by message of unfinished work in its new claims."""
    if not left:
        return
    from dibs.core.claims.ledger import Kind
    from dibs.core.talk.mail import MailKind
    from dibs.services.state.mailbox import tell

    rows.emit(agent, "agent", Kind.PROGRESS_UPDATE, f"{agent} took over unfinished files")
    for one in left:
        copy = f" (backup: {one.salvage})" if one.salvage else ""
        reason = f"it has uncommitted changes{copy}"
        tell(rows, agent, MailKind.HANDED_OVER, (one.path,), sender=one.agent, reason=reason)
