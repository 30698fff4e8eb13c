"""Record in the ledger which files an agent's tools edit and read, if ``ledger.files`` asks for it.

Off by default: each entry is one more transaction, and claims and commits already show who works on what.
An edit is recorded after the tool has run, a read when the tool is called.
"""

from __future__ import annotations

from contextlib import suppress

from dibs.core.claims.ledger import Kind
from dibs.core.text.names import few, printable
from dibs.core.toolcalls.values import EventKind, How
from dibs.errors import Unavailable, Unknown
from dibs.services.guard.call_paths import is_read
from dibs.services.guard.sessions import row_of
from dibs.services.state.presence import role_of
from dibs.services.state.sessions import get_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.toolcalls.values import HookEvent
    from dibs.services.guard.call_paths import CallPaths
    from dibs.services.guard.sessions import HookCaller
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: The values of ``ledger.files``.
OFF, EDITS, ALL = "off", "edits", "all"
#: The most paths that an entry names.
_NAMED = 20


def log_files(store: Store, paths: CallPaths, heard: HookEvent, who: HookCaller) -> None:
    """Record a tool call that edited or read files by name."""
    kind = _kind(heard, store.config.ledger_files)
    if not kind:
        return
    reads = kind == Kind.FILE_READ
    names = [one.path for one in paths.named(heard) if one.path and (one.how == How.READ) == reads]
    if not names:
        return

    def step(rows: Rows) -> None:
        session = get_session(rows, row_of(rows, heard, who))
        if session is not None:
            agent, did = session.id, "read" if reads else "edited"
            rows.emit(
                agent, role_of(rows, agent), kind, f"{agent} {did} {printable(few(names))}",
                paths=names[:_NAMED], count=len(names),
            )  # fmt: skip

    with suppress(Unavailable, Unknown):  # the call itself has already been decided
        store.apply(step)


def _kind(heard: HookEvent, files: str) -> str:
    """Return the kind of the entry for a call, or an empty text."""
    if is_read(heard):
        return Kind.FILE_READ if files == ALL and heard.moment == EventKind.BEFORE else ""
    return Kind.FILE_EDIT if heard.moment == EventKind.AFTER else ""
