"""Tables of a SQLite store, their migrations, and views for people."""

from __future__ import annotations

from dibs.errors import Misconfigured

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    import apsw

#: "dibs" in ASCII; identifies our files.
APPLICATION_ID = 0x64696273


def version_of(db: apsw.Connection, path: str) -> int:
    """Return the schema version of the file, or 0 if it is empty; refuse other programs' files."""
    ((tables, application, version),) = db.execute(_IDENTITY)
    if application != APPLICATION_ID:
        if tables or application or version:
            raise Misconfigured(f"{path} is not a Dibs database", code="STORE_FOREIGN")
        return 0
    if version > len(MIGRATIONS):
        raise Misconfigured(
            f"{path} has schema version {version}, but this version of Dibs only supports up to"
            f" {len(MIGRATIONS)}",
            code="VERSION",
            hint="upgrade Dibs",
        )
    return int(version)


def migrate(db: apsw.Connection, version: int) -> None:
    """Upgrade the tables from ``version``; the caller holds the transaction."""
    for step in MIGRATIONS[version:]:
        step(db)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def continue_after(db: apsw.Connection, seq: int) -> None:
    """Start an empty ledger with an entry ``seq``, so that the next number follows it."""
    summary = "this store replaces a lost one; its numbers continue from here"
    db.execute(
        "INSERT INTO ledger VALUES (?, unixepoch('subsec'), '', '', 'ledger_restarted', ?, '{}')",
        (seq, summary),
    )


def _first(db: apsw.Connection) -> None:
    db.execute("CREATE TABLE kv(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
    db.execute(
        "CREATE TABLE ledger(seq INTEGER PRIMARY KEY, at REAL NOT NULL, agent TEXT NOT NULL,"
        " role TEXT NOT NULL, kind TEXT NOT NULL, summary TEXT NOT NULL, details TEXT NOT NULL)"
    )
    db.execute("CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
    db.execute(_FILE_LOCKS)
    db.execute(_ACTIVITY_LOG)


# One statement, so that all three values come from one snapshot: another process may be creating
# the tables.
_IDENTITY = """
SELECT tables, application_id, user_version
FROM (SELECT count(*) AS tables FROM sqlite_schema), pragma_application_id, pragma_user_version
"""

# A heartbeat's value is an array: the time first, the role last.
_FILE_LOCKS = """
CREATE VIEW file_locks AS
WITH life AS (
    SELECT substr(key, 6) AS agent, json_extract(value, '$[0]') AS seen,
           json_extract(value, '$[5]') AS role
    FROM kv WHERE key >= 'beat/' AND key < 'beat0' AND json_valid(value)
), claim AS (
    SELECT json_extract(value, '$.pattern') AS pattern, json_extract(value, '$.agent') AS agent,
           json_extract(value, '$.reason') AS reason, json_extract(value, '$.since') AS since,
           json_extract(value, '$.ttl') AS ttl, json_extract(value, '$.hard') AS hard
    FROM kv
    WHERE ((key >= 'at/' AND key < 'at0') OR (key >= 'in/' AND key < 'in0'))
      AND CASE WHEN json_valid(value) THEN json_extract(value, '$.token') END IS NOT NULL
), held AS (
    SELECT pattern, claim.agent AS agent, coalesce(role, '') AS role, reason, since,
           min(max(coalesce(seen, since), since) + ttl, coalesce(hard, 1e18)) AS expires
    FROM claim LEFT JOIN life ON life.agent = claim.agent
)
SELECT pattern AS file_path, agent AS agent_id, role AS agent_role, reason,
       strftime('%Y-%m-%d %H:%M:%S', since, 'unixepoch') AS acquired_at,
       strftime('%Y-%m-%d %H:%M:%S', expires, 'unixepoch') AS expires_at
FROM held
WHERE expires > (julianday('now') - 2440587.5) * 86400.0
"""

_ACTIVITY_LOG = """
CREATE VIEW activity_log AS
SELECT seq AS id, agent AS agent_id, role AS agent_role, kind AS action_type, summary, details,
       strftime('%Y-%m-%d %H:%M:%S', at, 'unixepoch') AS timestamp
FROM ledger
"""

#: Entry n upgrades version n to version n + 1.
MIGRATIONS: tuple[Callable[[apsw.Connection], None], ...] = (_first,)
