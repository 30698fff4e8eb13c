"""Inspection and repair of a SQLite store."""

from __future__ import annotations

import apsw

from dibs.core.claims.ledger import UNREADABLE
from dibs.core.text.findings import Finding, Level
from dibs.engines.shared.mark import mark_problem
from dibs.engines.shared.sqlite import translate
from dibs.engines.sqlite.open import OpenOptions, open_store

_DURABLE = {
    "full": Finding(Level.OK, "durability", "a confirmed change survives a power failure"),
    "normal": Finding(
        Level.OK,
        "durability",
        "survives any process crash; a power failure can undo the newest changes"
        ' (to prevent that, set synchronous = "full" under [store])',
    ),
}


def inspect(options: OpenOptions) -> list[Finding]:
    """Report what the store guarantees."""
    opened = open_store(options)
    try:
        db = opened.db
        findings = [
            Finding(Level.OK, "store", f"{options.path}, SQLite {apsw.sqlite_lib_version()}"),
            Finding(Level.OK, "reach", "every process on this machine; no other machine"),
            Finding(Level.OK, "clock", "monotonic clock: unaffected by clock changes"),
            _DURABLE[options.synchronous],
            _integrity(db),
            _memory(options.mark),
        ]
        remedy = "`dibs engine repair` moves it to a file"
        findings += [
            Finding(Level.BAD, "rows", f"the row {key} contains invalid UTF-8; {remedy}")
            for _, _, key, _ in _not_text(db)
        ]
        if opened.gate is None:
            findings.append(Finding(Level.BAD, "access", f"{options.path} is read-only"))
        return findings
    finally:
        opened.close()


def repair(options: OpenOptions) -> list[str]:
    """Move the write-ahead log into the file; leave a damaged file unchanged."""
    opened = open_store(options)
    try:
        if opened.gate is None or _integrity(opened.db).level != Level.OK:
            return []
        rewritten = _make_readable(opened.db)
        _, moved = opened.db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    except apsw.Error as error:
        raise translate(error, options.path) from error
    else:
        pages = f"moved {moved} pages from the write-ahead log into {options.path}"
        return [*rewritten, *([pages] if moved > 0 else [])]
    finally:
        opened.close()


def _not_text(db: apsw.Connection) -> list[tuple[bytes, bytes, str, str]]:
    """Return the rows with bytes that are not UTF-8: key and value, and both as readable text."""
    found = []
    for key, value in db.execute("SELECT CAST(key AS BLOB), CAST(value AS BLOB) FROM kv"):
        assert isinstance(key, bytes)
        assert isinstance(value, bytes)
        try:
            key.decode()
            value.decode()
        except UnicodeDecodeError:
            name, text = (part.decode("utf-8", "backslashreplace") for part in (key, value))
            found.append((key, value, name, UNREADABLE + text))
    return found


def _make_readable(db: apsw.Connection) -> list[str]:
    """Replace bytes that are not UTF-8 by text that shows them, which no one takes for a valid row."""
    done = []
    with db:
        for key, _, name, text in _not_text(db):
            db.execute("DELETE FROM kv WHERE CAST(key AS BLOB) = ?", (key,))
            db.execute("INSERT OR REPLACE INTO kv VALUES (?, ?)", (name, text))
            done.append(f"escaped the bytes of the row {name!r} that are not UTF-8")
    return done


def _memory(mark: str) -> Finding:
    problem = mark_problem(mark)
    if problem:
        text = f"{problem}, so a restored copy of the store is not detected"
        return Finding(Level.WARN, "memory", f"{text}; fix that, or delete the file")
    return Finding(
        Level.OK, "memory", f"lost changes are detected (by {mark}) and start a new life"
    )


def _integrity(db: apsw.Connection) -> Finding:
    try:
        found = [str(row[0]) for row in db.execute("PRAGMA quick_check(5)")]
    except apsw.Error as error:
        found = [str(error)]
    if found == ["ok"]:
        return Finding(Level.OK, "integrity", "the file is intact")
    return Finding(Level.BAD, "integrity", "; ".join(found)[:300])
