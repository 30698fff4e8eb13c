"""Record in the ledger which files an agent's tools edit and read, if ``ledger.files`` asks for it.

Off by default without a server: each entry would be one more transaction, and claims and commits already show
who works on what. ``dibs serve`` collects these observations and writes many at once, so there they are on.
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
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.core.toolcalls.values import HookEvent
    from dibs.services.guard.call_paths import CallPaths
    from dibs.services.guard.sessions import HookCaller
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: The values of ``ledger.files``.
OFF, AUTO, EDITS, ALL = "off", "auto", "edits", "all"
#: The most paths that an entry names.
_NAMED = 20


class Observation(Record):
    """A tool call that edited or read files by name."""

    #: When it was observed, on the engine's clock.
    at: float
    agent: str
    role: str
    kind: str
    summary: str
    #: The first files, and how many there are.
    paths: tuple[str, ...]
    total: int


def log_files(
    store: Store,
    paths: CallPaths,
    heard: HookEvent,
    who: HookCaller,
    observe: Callable[[Observation], None] | None = None,
) -> None:
    """Record a tool call that edited or read files by name, at once or with ``observe``."""
    kind = _kind(heard, store.config.ledger_files)
    if not kind:
        return
    reads = kind == Kind.FILE_READ
    hows = {How.READ} if reads else {How.WRITE, How.DELETE, How.CLEAN}
    names = [one.path for one in paths.named(heard) if one.path and one.how in hows]
    if not names:
        return

    def seen(rows: Rows) -> Observation | None:
        session = get_session(rows, row_of(rows, heard, who))
        if session is None:
            return None
        agent, did = session.id, "read" if reads else "edited"
        said = f"{agent} {did} {printable(few(names))}"
        return Observation(
            rows.now, agent, role_of(rows, agent), kind, said, tuple(names[:_NAMED]), len(names)
        )

    def step(rows: Rows) -> None:
        found = seen(rows)
        if found is not None:
            put_observation(rows, found)

    with suppress(Unavailable, Unknown):  # the call itself has already been decided
        if observe is None:
            store.apply(step)
        elif (found := store.look(seen)) is not None:
            observe(found)


def put_observation(rows: Rows, seen: Observation) -> None:
    """Write an observation to the ledger; one that was made earlier says when."""
    earlier = {"at": seen.at} if seen.at < rows.now else {}
    rows.emit(
        seen.agent, seen.role, seen.kind, seen.summary, paths=list(seen.paths), count=seen.total,
        **earlier,
    )  # fmt: skip


def _kind(heard: HookEvent, files: str) -> str:
    """Return the kind of the entry for a call, or an empty text."""
    if is_read(heard):
        wanted = files in {ALL, AUTO} and heard.moment == EventKind.BEFORE
        return Kind.FILE_READ if wanted else ""
    return Kind.FILE_EDIT if heard.moment == EventKind.AFTER else ""
