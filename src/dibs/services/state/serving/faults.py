"""Record failures in the ledger as entries of kind ``error``: few for each cause, and without secrets.

Whatever fails often would fill the ledger: after an entry, the same cause is only counted for a minute, and
the next entry says how many there were.
"""

from __future__ import annotations

from contextlib import suppress

from dibs.core.claims.ledger import Kind
from dibs.core.text.names import cut, printable
from dibs.core.text.secrets import mask, mask_value
from dibs.errors import DibsError
from dibs.services.state.keys import FAULT
from dibs.services.state.rows import MAX_SUMMARY, decode, encode
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: For how long a cause is only counted after an entry, and when it is forgotten, in seconds.
QUIET, KEPT = 60.0, 86_400.0
#: Who reports errors of Dibs itself.
DIBS = "dibs"
#: Codes of failures that are not the fault of a caller or of the store: git, and what Dibs runs itself.
RECORDED = frozenset({"GIT_FAILED", "GIT_LOCKED", "SETUP_FAILED", "INTERNAL"})
#: How errors begin that quote git, whatever their code.
_GIT_FAILED = "git failed"
_LONGEST_CAUSE = 120


class ErrorCause(Record):
    """A cause of errors: its last entry, and how many errors were only counted since."""

    at: float
    more: int = 0


def record_failure(
    store: Store, error: BaseException | None, doing: str, *, agent: str = "", role: str = ""
) -> int:
    """Record that something failed, if it is a failure that people look for in the ledger."""
    if not isinstance(error, DibsError):
        return 0
    if error.code not in RECORDED and not error.message.startswith(_GIT_FAILED):
        return 0
    return record_error(
        store, f"{doing}:{error.code}", f"{doing} failed: {error.message}", agent=agent, role=role,
        code=error.code, command=doing,
    )  # fmt: skip


def record_error(
    store: Store, cause: str, summary: str, *, agent: str = "", role: str = "", **details: Any
) -> int:
    """Record a failure, and return the number of its entry; 0 if it was only counted, or if that failed.

    ``cause`` tells failures apart, such as ``handler:tests``; it never raises, because its callers are
    already handling an error.
    """
    found = 0
    with suppress(DibsError):
        found = store.apply(
            lambda rows: put_error(rows, cause, summary, agent=agent, role=role, **details)
        )
    return found


def put_error(
    rows: Rows, cause: str, summary: str, *, agent: str = "", role: str = "", **details: Any
) -> int:
    """Record a failure in a transaction of the caller; return 0 if it was only counted."""
    key = FAULT + cut(printable(cause), _LONGEST_CAUSE)
    value = rows.txn.get(key)
    last = ErrorCause(*decode(value)) if value is not None else None
    if last is not None and last.at <= rows.now < last.at + QUIET:
        rows.txn.put(key, encode(list(last._replace(more=last.more + 1))))
        return 0
    _forget_old(rows)
    rows.txn.put(key, encode(list(ErrorCause(rows.now))))
    if last is not None and last.more:
        details["more"] = last.more
    said = cut(printable(mask(" ".join(summary.split()))), MAX_SUMMARY)
    facts = mask_value({"cause": cause, **details})
    return rows.emit(
        agent or DIBS, role or (DIBS if not agent else "agent"), Kind.ERROR, said, **facts
    )


def _forget_old(rows: Rows) -> None:
    for key, value in list(rows.txn.scan((FAULT, ""))):
        if ErrorCause(*decode(value)).at + KEPT <= rows.now:
            rows.txn.delete(key)
