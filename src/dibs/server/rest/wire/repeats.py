"""Answers to writes with an ``Idempotency-Key``, for repeats of services that take no request id.

A key is recorded before the write begins, and its answer afterwards. If the server dies in between, the
write may or may not have happened: a repeat is then told so, and does not run. Nothing runs twice.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from typing import TYPE_CHECKING, Any

from dibs.errors import BadInput, DibsError, Unavailable, Unknown
from dibs.local.processes import is_there, running
from dibs.project.stopping import WaitStopped
from dibs.services.state.idempotency import KEPT, MAX_REQUEST_ID

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.server.rest.routes import Call

    Sent = tuple[int, bytes, bytes]

_FILE = "answers.db"
#: How many answers are kept, and the longest one; a longer one is only remembered as given.
MOST_ANSWERS, MOST_BYTES = 10_000, 1 << 18
_TABLE = """CREATE TABLE IF NOT EXISTS answers (
  name TEXT PRIMARY KEY, asked BLOB NOT NULL, at REAL NOT NULL, pid INTEGER NOT NULL, born INTEGER NOT NULL,
  status INTEGER NOT NULL, kind BLOB NOT NULL, body BLOB NOT NULL) WITHOUT ROWID"""


def check_key(key: str) -> str:
    """Return a key if it is valid as a request id."""
    if len(key) <= MAX_REQUEST_ID and key.isprintable() and "/" not in key:
        return key
    raise BadInput(
        f"a key must have at most {MAX_REQUEST_ID} printable characters and no slash",
        code="REQUEST_ID",
        field="Idempotency-Key",
    )


class Repeats:
    """The answers of one server."""

    def __init__(self, folder: str, clock: Callable[[], float]) -> None:
        self._path = os.path.join(folder, _FILE)
        self._clock = clock
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        process = running(os.getpid())
        self._me = os.getpid(), process.born if process else 0

    def once(self, call: Call, key: str, asked: tuple[Any, ...], act: Callable[[], Sent]) -> Sent:
        """Run ``act``, or return the answer of an earlier request with the same key."""
        project = call.served.id if call.served else ""
        name = f"{project}\0{call.caller.id}\0{call.route}\0{key}"
        digest = hashlib.sha256(repr(asked).encode()).digest()
        earlier = self._begin(name, digest)
        if earlier is not None:
            return earlier
        try:
            answer = act()
        except (DibsError, WaitStopped) as error:
            if isinstance(error, Unknown):
                self._abandon(name)
            else:
                self._forget(name)  # nothing was changed
            raise
        except BaseException:
            self._abandon(name)
            raise
        self._finish(name, answer)
        return answer

    def _begin(self, name: str, digest: bytes) -> Sent | None:
        """Record that a request begins; return the answer if it was answered before."""
        now = self._clock()
        with self._lock:
            db = self._open()
            with db:
                db.execute("BEGIN IMMEDIATE")
                db.execute("DELETE FROM answers WHERE at <= ?", (now - KEPT,))
                row = db.execute(
                    "SELECT asked, pid, born, status, kind, body FROM answers WHERE name = ?",
                    (name,),
                ).fetchone()
                if row is None:
                    self._make_room(db)
                    db.execute(
                        "INSERT INTO answers VALUES (?, ?, ?, ?, ?, 0, x'', x'')",
                        (name, digest, now, *self._me),
                    )
                    return None
        asked, pid, born, status, kind, body = row
        if asked != digest:
            raise BadInput(
                "this key was already used for a different request",
                code="REQUEST_REUSED",
                field="Idempotency-Key",
                hint="use a new key",
            )
        if status:
            return status, body, kind
        if (pid, born) == self._me or is_there(pid, born):
            raise Unavailable(
                "a request with this key is still running", code="REQUEST_RUNNING",
                field="Idempotency-Key", hint="repeat it in a moment",
            )  # fmt: skip
        raise Unknown(
            "the server failed during this request, which may or may not have happened",
            field="Idempotency-Key",
            hint="see whether it happened; repeat it with a new key if not",
        )

    def _finish(self, name: str, answer: Sent) -> None:
        status, body, kind = answer
        stored = body if len(body) <= MOST_BYTES else b'{"repeated": true}'
        with self._lock, self._open() as db:
            db.execute(
                "UPDATE answers SET status = ?, kind = ?, body = ? WHERE name = ?",
                (status, kind, stored, name),
            )

    def _abandon(self, name: str) -> None:
        """Record that nobody knows whether a request had an effect."""
        with self._lock, self._open() as db:
            db.execute("UPDATE answers SET pid = 0, born = 0 WHERE name = ?", (name,))

    def _forget(self, name: str) -> None:
        with self._lock, self._open() as db:
            db.execute("DELETE FROM answers WHERE name = ?", (name,))

    @staticmethod
    def _make_room(db: sqlite3.Connection) -> None:
        (count,) = db.execute("SELECT count(*) FROM answers").fetchone()
        if count >= MOST_ANSWERS:
            db.execute(
                "DELETE FROM answers WHERE name IN"
                " (SELECT name FROM answers WHERE status > 0 ORDER BY at LIMIT ?)",
                (count - MOST_ANSWERS + 1,),
            )

    def _open(self) -> sqlite3.Connection:
        if self._db is None:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            os.close(handle)
            self._db = sqlite3.connect(
                self._path, timeout=5, isolation_level=None, check_same_thread=False
            )
            self._db.execute("PRAGMA journal_mode = TRUNCATE")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute(_TABLE)
        return self._db
