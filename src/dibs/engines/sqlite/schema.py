"""Tables of a SQLite store."""

from __future__ import annotations

from dibs.engines.shared.format import FORMAT, other_format
from dibs.errors import Misconfigured

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw

#: "dibs" in ASCII; identifies our files.
APPLICATION_ID = 0x64696273

# One statement, so that all three values come from one snapshot: another process may be creating
# the tables.
_IDENTITY = """
SELECT tables, application_id, user_version
FROM (SELECT count(*) AS tables FROM sqlite_schema), pragma_application_id, pragma_user_version
"""


def is_complete(db: apsw.Connection, path: str) -> bool:
    """Return whether the file has its tables; refuse other programs' files, and other formats."""
    ((tables, application, version),) = db.execute(_IDENTITY)
    if application != APPLICATION_ID:
        if tables or application or version:
            raise Misconfigured(f"{path} is not a Dibs database", code="STORE_FOREIGN")
        return False
    if version != FORMAT:
        raise other_format(path, version)
    return True


def create(db: apsw.Connection) -> None:
    """Create the tables; the caller holds the transaction."""
    db.execute("CREATE TABLE kv(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
    db.execute(
        "CREATE TABLE ledger(seq INTEGER PRIMARY KEY, at REAL NOT NULL, agent TEXT NOT NULL,"
        " role TEXT NOT NULL, kind TEXT NOT NULL, summary TEXT NOT NULL, details TEXT NOT NULL)"
    )
    db.execute("CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {FORMAT}")


def continue_after(db: apsw.Connection, seq: int) -> None:
    """Start an empty ledger with an entry ``seq``, so that the next number follows it."""
    summary = "this store replaces a lost one; its numbers continue from here"
    db.execute(
        "INSERT INTO ledger VALUES (?, unixepoch('subsec'), '', '', 'ledger_restarted', ?, '{}')",
        (seq, summary),
    )
