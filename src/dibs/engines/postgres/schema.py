"""The tables of a PostgreSQL database that contains Dibs projects, and their format."""

from __future__ import annotations

import os

from dibs.engines.postgres.errors import MISSING, ServerError
from dibs.engines.postgres.wire import BEGIN
from dibs.engines.shared.format import FORMAT, other_format
from dibs.errors import Misconfigured, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.engines.postgres.wire import PostgresWire

#: The oldest server that is supported.
OLDEST = 130000
_FIND = b"SELECT version.number, project.id FROM dibs.version LEFT JOIN dibs.project ON project.name = $1"
_NEW = b"INSERT INTO dibs.project (name) VALUES ($1) ON CONFLICT DO NOTHING"
_BEGIN = (
    BEGIN,
    b"SET LOCAL search_path = pg_catalog, pg_temp",
    b"SELECT pg_advisory_xact_lock(1684628083, 0)",
    b"CREATE SCHEMA IF NOT EXISTS dibs",
    b"CREATE TABLE IF NOT EXISTS dibs.version (number integer NOT NULL)",
    b"INSERT INTO dibs.version SELECT 0 WHERE NOT EXISTS (SELECT FROM dibs.version)",
    b"SELECT number FROM dibs.version",
)


def project_id(wire: PostgresWire, name: str, until: float) -> int:
    """Return the number of a project; create it, and the schema, if they do not exist."""
    if wire.version < OLDEST:
        raise Misconfigured(
            f"the server is PostgreSQL {wire.version // 10000}: Dibs needs {OLDEST // 10000} or newer",
            code="POSTGRES_VERSION", field="engine",
        )  # fmt: skip
    if wire.encoding not in {"UTF8", "SQL_ASCII"}:  # the latter stores all bytes as they are
        raise Misconfigured(
            f"the database has the encoding {wire.encoding}, which lacks some characters: Dibs needs UTF8",
            code="POSTGRES_ENCODING", field="engine",
            hint="create one with: CREATE DATABASE dibs ENCODING 'UTF8' TEMPLATE template0",
        )  # fmt: skip
    while True:
        try:
            (rows,) = wire.run((_FIND, (name.encode(),)), until=until)
        except ServerError as error:
            if error.code not in MISSING:
                raise
            rows = [(None, None)]
        if len(rows) != 1:
            raise Unavailable(
                f"the schema dibs was not restored correctly: dibs.version has {len(rows)} rows instead of 1",
                code="STORE_DAMAGED",
                hint="restore the backup again while no agent works",
            )
        ((number, project),) = rows
        if not number or number == b"0":
            _create(wire, until)
        elif int(number) != FORMAT:
            raise other_format("the schema dibs of the database", int(number))
        elif project is None:
            wire.run((_NEW, (name.encode(),)), until=until)
        else:
            return int(project)


def _create(wire: PostgresWire, until: float) -> None:
    """Create the schema; another process may do the same."""
    *_, ((number,),) = wire.run(*((text, ()) for text in _BEGIN), until=until)
    statements: list[bytes] = []
    if not int(number or 0):
        path = os.path.join(os.path.dirname(__file__), "schema.sql")
        with open(path, "rb") as file:  # each paragraph is a statement
            statements = file.read().split(b"\n\n")
        statements.append(b"UPDATE dibs.version SET number = %d" % FORMAT)
    wire.run(*((text, ()) for text in (*statements, b"COMMIT")), until=until)
