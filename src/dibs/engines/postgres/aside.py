"""Setting a project's store in a PostgreSQL database aside, under another name."""

from __future__ import annotations

import time

from dibs.engines.postgres.errors import MISSING, ServerError, unavailable
from dibs.engines.postgres.url import place
from dibs.engines.postgres.wire import BEGIN, primary
from dibs.engines.shared.failures import Cut, NotSent
from dibs.engines.shared.format import FORMAT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.engines.postgres.wire import PostgresWire

_ISOLATED = (BEGIN, b"SET LOCAL search_path = pg_catalog, pg_temp")
_FORMAT = b"SELECT max(number) FROM dibs.version"
_LOCK = b"SELECT pg_advisory_xact_lock(1684628083, id) FROM dibs.project WHERE name = $1"
_NEW = (
    b"INSERT INTO dibs.project"
    b" (name, life, version, nonce, newest, base, latest, shift, timeline, replicated)"
    b" SELECT $2::text, life, version, nonce, newest, base, latest, shift, timeline, replicated"
    b" FROM dibs.project WHERE name = $1"
)
_MOVE = (
    b"UPDATE dibs.%s SET project = (SELECT id FROM dibs.project WHERE name = $2)"
    b" WHERE project = (SELECT id FROM dibs.project WHERE name = $1)"
)
#: The project keeps its number, so that connections of running processes find an empty store.
_EMPTY = (
    b"UPDATE dibs.project SET life = NULL, version = 0, nonce = '', newest = 0, base = 0, latest = 0,"
    b" shift = 0, timeline = '', replicated = false WHERE name = $1"
)


def rename_store(
    url: str, project: str, stamp: str, timeout: float, check: Callable[[], None]
) -> str:
    """Rename a project, or a schema of another format; return the new name, or "" if there is neither.

    ``check`` may refuse that; meanwhile, nobody can write to the project.
    """
    until = time.monotonic() + timeout
    try:
        wire = primary(url, timeout, until)
        try:
            number = _format(wire, until)
            if not number:
                return ""
            if number != FORMAT:
                schema = f"dibs_{stamp.replace('-', '_')}"
                statement = b"ALTER SCHEMA dibs RENAME TO %s" % schema.encode()
                wire.run((statement, ()), until=until)
                return f"schema {schema}"
            return _rename_project(wire, project, f"{project}-{stamp}", check, until)
        finally:
            wire.close()
    except (NotSent, Cut) as problem:
        raise unavailable(f"the PostgreSQL server at {place(url)}", problem) from problem


def _format(wire: PostgresWire, until: float) -> int:
    """Return the format of the database's schema; 0 if it has none."""
    try:
        (((number,),),) = wire.run((_FORMAT, ()), until=until)
    except ServerError as error:
        if error.code not in MISSING:
            raise
        return 0
    return int(number or 0)


def _rename_project(
    wire: PostgresWire, old: str, new: str, check: Callable[[], None], until: float
) -> str:
    names = (old.encode(), new.encode())
    begin = [(text, ()) for text in _ISOLATED]
    *_, locked = wire.run(*begin, (_LOCK, names[:1]), until=until)
    if not locked:
        return ""
    check()
    moves = [(_MOVE % table, names) for table in (b"kv", b"ledger", b"step")]
    wire.run((_NEW, names), *moves, (_EMPTY, names[:1]), (b"COMMIT", ()), until=until)
    return f"project {new}"
