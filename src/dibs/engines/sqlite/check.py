"""Inspection of a SQLite store."""

from __future__ import annotations

import apsw

from dibs.core.text.findings import Finding, Level
from dibs.engines.shared.mark import mark_problem
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
        findings += [
            Finding(Level.BAD, "rows", f"the row {key} contains invalid UTF-8")
            for key in _not_text(db)
        ]
        if opened.gate is None:
            findings.append(Finding(Level.BAD, "access", f"{options.path} is read-only"))
        return findings
    finally:
        opened.close()


def _not_text(db: apsw.Connection) -> list[str]:
    """Return the keys of rows with bytes that are not UTF-8, as readable text."""
    found = []
    for key, value in db.execute("SELECT CAST(key AS BLOB), CAST(value AS BLOB) FROM kv"):
        assert isinstance(key, bytes)
        assert isinstance(value, bytes)
        try:
            key.decode()
            value.decode()
        except UnicodeDecodeError:
            found.append(key.decode("utf-8", "backslashreplace"))
    return found


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
