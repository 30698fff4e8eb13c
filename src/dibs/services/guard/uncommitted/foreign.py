"""Another agent's file that changed during a call, and the report of it to the ledger and both agents."""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.talk.mail import MailKind
from dibs.core.text.names import few, printable
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.services.state.rows import Rows


class ForeignChange(Record):
    """Another agent's file that changed during a call."""

    path: str
    holder: str
    #: The ref with the old content; empty if the last commit has it.
    salvage: str = ""
    #: Whether the owner cannot have made the change.
    sure: bool = True
    #: Whether the old content could not be saved: it was too large, or git failed.
    lost: bool = False


def tell_foreign(
    rows: Rows, agent: str, foreign: Sequence[ForeignChange], ref: str, where: str = ""
) -> None:
    """Write a ledger entry, and notify the owner and the writer of files with one owner.

    ``ref`` has the old content, unless ``where`` says where it is.
    """
    from dibs.services.state.mailbox import tell

    holder = foreign[0].holder
    paths = tuple(one.path for one in foreign)
    sure = all(one.sure for one in foreign)
    shown = printable(few(list(paths)))
    summary = f"{agent}'s command changed {shown}, held by {holder}"
    if not sure:
        summary = f"{shown}, held by {holder}, changed while {agent} ran a command"
    rows.emit(
        agent, "agent", Kind.FOREIGN_WRITE, summary,
        paths=list(paths[:20]), count=len(paths), holder=holder, salvage=ref, sure=sure,
        lost=[one.path for one in foreign if one.lost][:20],
    )  # fmt: skip
    for box, sender, told in ((holder, agent, "holder"), (agent, holder, "writer")):
        tell(
            rows, box, MailKind.FOREIGN_WRITE, paths, sender=sender, told=told, sure=sure,
            salvage=ref, reason=where or _where(foreign, ref),
        )  # fmt: skip


def _where(foreign: Sequence[ForeignChange], ref: str) -> str:
    """Return where the old content is."""
    lost = [one.path for one in foreign if one.lost]
    found = "the old content is in the last commit"
    if ref:
        found = (
            f"to see the old content, run `dibs salvage show {ref.removeprefix('refs/salvage/')}`"
        )
    if not lost:
        return found
    gone = f"no backup of {few(lost)} could be saved; the last commit may have it"
    return gone if len(lost) == len(foreign) else f"{found}; {gone}"
