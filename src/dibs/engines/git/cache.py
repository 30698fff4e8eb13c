"""What this machine knows about the branch, in a SQLite file that its processes share.

It contains the rows and the ledger at one commit, the tip; this machine's commits that wait to be
pushed, and what became of them; and what must be remembered between calls. All but the last can be
rebuilt from the repository.
"""

from __future__ import annotations

import contextlib
import json
import os
import time

import apsw

from dibs.engines.git.errors import start_again
from dibs.engines.git.head import CommitFate, Head
from dibs.engines.shared import sqlite
from dibs.engines.shared.folders import prepare_folder
from dibs.engines.shared.turns import Turns, jitter
from dibs.errors import DibsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_SCHEMA = """
CREATE TABLE IF NOT EXISTS kv(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS place(key TEXT PRIMARY KEY, path TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_path ON place(path);
CREATE TABLE IF NOT EXISTS ledger(seq INTEGER PRIMARY KEY, at REAL NOT NULL, agent TEXT NOT NULL,
    role TEXT NOT NULL, kind TEXT NOT NULL, summary TEXT NOT NULL, details TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS fate(n INTEGER PRIMARY KEY AUTOINCREMENT, oid TEXT NOT NULL,
    verdict TEXT NOT NULL, why TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS object(oid TEXT PRIMARY KEY, kind TEXT NOT NULL, size INTEGER NOT NULL,
    content BLOB NOT NULL, n INTEGER NOT NULL, packed INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_commit ON object(n);
CREATE TABLE IF NOT EXISTS meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
PRAGMA user_version = 1;
"""
#: How many outcomes are kept, so that a slow process still finds its own.
_FATES = 10_000


class Cache:
    """One connection to the shared file, with its locks."""

    __slots__ = ("_gate", "_path", "_remote_lock", "db", "run")

    def __init__(self, folder: str, timeout: float) -> None:
        self._path = path = f"{folder}/cache.db"
        # Its locks and its monotonic clock belong to one machine, but a home folder may be shared
        # by several.
        prepare_folder(folder, create=True, allow_network=False)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.close(handle)
        self.db = apsw.Connection(path)
        self.db.set_busy_timeout(int(timeout * 1000))
        self.db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self.run = self.db.cursor().execute
        self._gate = Turns(path)
        self._remote_lock = Turns(f"{folder}/remote")
        try:
            with translated(path):
                if not _int(self.db.pragma("user_version")):
                    self._create()
                self.db.pragma("synchronous", "normal")
        except DibsError:
            self.close()
            raise

    def _create(self) -> None:
        if not self._gate.enter(time.monotonic(), 5.0):
            raise sqlite.busy(self._path)
        try:
            self.db.pragma("journal_mode", "wal")
            self.db.execute(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT")
        finally:
            self._gate.leave()

    # -- transactions

    @contextlib.contextmanager
    def writing(self, deadline: float) -> Iterator[Head]:
        """Become this machine's only writer; what is written is kept unless the block raises."""
        started = time.monotonic()
        with translated(self._path):
            if not self._gate.enter(started, max(0.01, deadline - started)):
                raise sqlite.busy(self._path)
            try:
                self.run("BEGIN IMMEDIATE")
                yield self.head()
                if self.db.in_transaction:
                    self.run("COMMIT")
            finally:
                if self.db.in_transaction:
                    self.run("ROLLBACK")
                self._gate.leave()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Head]:
        """Read one snapshot, whatever is written meanwhile."""
        with translated(self._path):
            try:
                self.run("BEGIN")
                yield self.head()
            finally:
                if self.db.in_transaction:
                    self.run("ROLLBACK")

    def undo(self) -> None:
        """Roll back what was written in this block."""
        self.run("ROLLBACK")

    @contextlib.contextmanager
    def talking(self, patience: float) -> Iterator[bool]:
        """Become this machine's only process that uses the remote; yield whether that succeeded in time."""
        mine = self._remote_lock.enter(time.monotonic(), patience)
        try:
            yield mine
        finally:
            if mine:
                self._remote_lock.leave()

    def close(self) -> None:
        """Close the file and the locks."""
        self.db.close(True)
        self._gate.close()
        self._remote_lock.close()

    # -- what is remembered

    def head(self) -> Head:
        """Return what this machine knows about the remote."""
        for (text,) in self.run("SELECT value FROM meta WHERE name = 'head'").fetchall():
            return Head(**json.loads(str(text)))
        return Head()

    def set_head(self, head: Head) -> None:
        """Store what this machine knows about the remote."""
        text = json.dumps(head._asdict())
        self.run("INSERT OR REPLACE INTO meta VALUES ('head', ?)", (text,))

    # -- outcomes of this machine's commits

    def next_fate(self) -> int:
        """Return the number of this machine's next commit."""
        for (number,) in self.run("SELECT seq FROM sqlite_sequence WHERE name = 'fate'").fetchall():
            return _int(number) + 1
        return 1

    def add_fate(self, number: int, oid: str) -> None:
        """Record a commit that waits to be pushed."""
        self.run("INSERT INTO fate VALUES (?, ?, 'pending', '')", (number, oid))
        if number % 1000 == 0:
            self.run("DELETE FROM fate WHERE n <= ? AND verdict != 'pending'", (number - _FATES,))

    def first_pending(self) -> int:
        """Return the number of the oldest commit that waits to be pushed, or 0."""
        waiting = "SELECT coalesce(min(n), 0) FROM fate WHERE verdict = 'pending'"
        ((number,),) = self.run(waiting).fetchall()
        return _int(number)

    def fate(self, number: int) -> tuple[str, str]:
        """Return the outcome of a commit, and the reason."""
        # Fetch all rows: an unfinished statement keeps the file from shrinking.
        told = self.run("SELECT verdict, why FROM fate WHERE n = ?", (number,)).fetchall()
        for verdict, why in told:
            return str(verdict), str(why)
        return CommitFate.UNKNOWN, ""

    def open_fates(self) -> list[tuple[int, str]]:
        """Return the commits whose outcome is unknown, oldest first."""
        rows = self.run("SELECT n, oid FROM fate WHERE verdict IN ('pending', 'unknown')")
        return sorted((_int(number), str(oid)) for number, oid in rows.fetchall())

    def decide(self, verdict: str, why: str = "", *, upto: int = 1 << 62) -> None:
        """Record the outcome of pending commits for the processes that wait for them."""
        self.run(
            "UPDATE fate SET verdict = ?, why = ? WHERE n <= ? AND verdict = 'pending'",
            (verdict, why, upto),
        )

    def decide_one(self, number: int, verdict: str) -> None:
        """Record the outcome of one commit, even if it was unknown before."""
        self.run("UPDATE fate SET verdict = ? WHERE n = ?", (verdict, number))

    # -- rows of files

    def set_rows(self, path: str, rows: dict[str, str]) -> None:
        """Replace the rows of a file."""
        old = self.run("SELECT key FROM place WHERE path = ?", (path,)).fetchall()
        for (key,) in old:
            if key not in rows:
                self.run("DELETE FROM kv WHERE key = ?", (key,))
                self.run("DELETE FROM place WHERE key = ?", (key,))
        for key, value in rows.items():
            self.run("INSERT OR REPLACE INTO kv VALUES (?, ?)", (key, value))
            self.run("INSERT OR REPLACE INTO place VALUES (?, ?)", (key, path))

    def rows_of(self, path: str) -> dict[str, str]:
        """Return the rows of a file, in key order."""
        return dict(
            self.run(
                "SELECT key, value FROM place JOIN kv USING (key) WHERE path = ? ORDER BY key",
                (path,),
            )
        )

    def set_entries(self, first: int, upto: int, rows: list[tuple[Any, ...]]) -> None:
        """Replace a part of the ledger."""
        self.run("DELETE FROM ledger WHERE seq >= ? AND seq < ?", (first, upto))
        for row in rows:
            self.run("INSERT OR REPLACE INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def clear(self) -> None:
        """Delete all rows and entries."""
        for table in ("kv", "place", "ledger"):
            self.run(f"DELETE FROM {table}")  # noqa: S608 - one of three words


@contextlib.contextmanager
def translated(path: str) -> Iterator[None]:
    """Translate SQLite's errors about the file into Dibs errors."""
    try:
        yield
    except apsw.Error as error:
        found = sqlite.translate(error, path)
        if found.code == "STORE_DAMAGED":
            found.hint = start_again(os.path.dirname(path))
        raise found from error


def pause(seconds: float, deadline: float) -> None:
    """Sleep for about this long, but not beyond ``deadline``."""
    time.sleep(max(0.0, min(jitter(seconds), deadline - time.monotonic())))


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value
