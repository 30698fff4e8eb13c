"""Opening a SQLite store: connect, create its tables, agree on a clock."""

from __future__ import annotations

import os
import stat
import time

import apsw

from dibs.engines.shared import clock as clocks
from dibs.engines.shared import folders
from dibs.engines.shared.sqlite import busy, not_a_database, read_only, translate
from dibs.engines.shared.turns import Turns, jitter
from dibs.engines.sqlite import schema
from dibs.errors import Misconfigured
from dibs.startup import quickjson
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from dibs.engines.base import Txn

    T = TypeVar("T")


#: Before this version, two connections to a WAL file could corrupt it.
_OLDEST_SQLITE = (3, 51, 3)
#: Enough for about ten thousand claims, so that a wide glob does not read them from disk again.
_CACHE = "PRAGMA cache_size = -16384"


class OpenOptions(Record):
    """Options for opening a store."""

    path: str
    clock: Callable[[], float] | None
    sources: clocks.Sources | None
    synchronous: str
    timeout: float
    create: bool
    allow_network: bool
    first_seq: int
    #: The file with the store's high-water mark, and the step that starts a new life.
    mark: str
    renew: Callable[[Txn, str], None] | None


class OpenStore(Record):
    """An open store; without a gate if it is read-only."""

    db: apsw.Connection
    gate: Turns | None
    clock: Callable[[], float]
    identity: os.stat_result

    def close(self) -> None:
        """Close the file and the gate."""
        self.db.close(True)
        if self.gate is not None:
            self.gate.close()


def open_store(options: OpenOptions) -> OpenStore:
    """Open the store that ``options`` describe; create it if they allow that."""
    check_sqlite(apsw.sqlite_lib_version())
    folders.prepare_folder(
        os.path.dirname(options.path), create=options.create, allow_network=options.allow_network
    )
    try:
        return patiently(lambda: _open(options), options.timeout)
    except apsw.NotADBError as error:
        raise not_a_database(options.path) from error
    except apsw.Error as error:
        raise translate(error, options.path) from error


def _open(options: OpenOptions) -> OpenStore:
    db, writable = _connect(options)
    gate = opened = None
    try:
        identity = os.stat(options.path)
        schema.is_complete(db, options.path)
        if writable:
            db.execute(f"PRAGMA synchronous = {options.synchronous}")
            db.execute(_CACHE)
            gate = _make_gate(options.path)
            _create(db, gate, options)
        opened = OpenStore(db, gate, options.clock or _clock(db, gate, options), identity)
    finally:
        if opened is None:
            db.close(True)
            if gate is not None:
                gate.close()
    return opened


def _make_gate(path: str) -> Turns:
    try:
        return Turns(path)
    except OSError as error:
        raise Misconfigured(
            f"cannot open {error.filename}: {error.strerror}",
            code="STORE_PERMISSIONS",
            hint="it must be next to the store and have the same owner",
        ) from error


def check_sqlite(version: str) -> None:
    """Refuse a SQLite version whose write-ahead log is not safe."""
    if tuple(map(int, version.split("."))) < _OLDEST_SQLITE:
        needed = ".".join(map(str, _OLDEST_SQLITE))
        raise Misconfigured(
            f"SQLite {version} can corrupt a shared file; Dibs needs {needed} or newer",
            hint="upgrade the apsw package",
        )


def patiently(call: Callable[[], T], timeout: float) -> T:
    """Call until SQLite is not busy, or for at most ``timeout`` seconds."""
    deadline = time.monotonic() + timeout
    pause = 0.0002
    while True:
        try:
            return call()
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(jitter(pause))
            pause = min(pause * 1.5, 0.01)


def _connect(options: OpenOptions) -> tuple[apsw.Connection, bool]:
    path = options.path
    found = _look(path)
    if found is None and not options.create:
        raise folders.missing(path)
    if os.access(os.path.dirname(path), os.W_OK) and (found is None or os.access(path, os.W_OK)):
        db = apsw.Connection(path, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
        if found is None:
            os.chmod(path, 0o600)  # SQLite gives its other files the same mode
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        return db, True
    if found is None:
        raise read_only(path)
    return _connect_for_reading(path), False


def _look(path: str) -> os.stat_result | None:
    try:
        found = os.lstat(path)  # SQLite would write through a link
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        from shlex import quote

        raise Misconfigured(
            f"not a file: {path}", code="STORE_NAME",
            hint=f"move it away: mv {quote(path)} {quote(f'{path}.old')}",
        )  # fmt: skip
    folders.refuse_writable(path, found)
    return found


def _connect_for_reading(path: str) -> apsw.Connection:
    """Connect read-only, without even SQLite's shared memory."""
    if os.path.exists(path + "-wal"):
        return apsw.Connection(path, apsw.SQLITE_OPEN_READONLY)
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return apsw.Connection(
        f"file:{quoted}?immutable=1", apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    )


def _create(db: apsw.Connection, gate: Turns, options: OpenOptions) -> None:
    complete = schema.is_complete(db, options.path)
    ((mode,),) = db.execute("PRAGMA journal_mode")
    if complete and mode == "wal":
        return

    def create() -> None:
        if schema.is_complete(db, options.path):
            return
        schema.create(db)
        if options.first_seq > 1:
            schema.continue_after(db, options.first_seq - 1)

    if mode != "wal":
        db.execute("PRAGMA auto_vacuum = incremental")  # only a new file can shrink in small steps
        db.execute("PRAGMA journal_mode = wal")
    _alone(db, gate, options, create)


def _clock(db: apsw.Connection, gate: Turns | None, options: OpenOptions) -> Callable[[], float]:
    sources = options.sources or clocks.system_sources()
    anchor = _stored_anchor(db)
    if anchor is None or not clocks.still_valid(anchor, sources):
        if gate is None:
            anchor = clocks.choose(sources, _latest(db, anchor))
        else:
            anchor = _alone(db, gate, options, lambda: _agree(db, sources))
    return clocks.reader(anchor, sources)


def _agree(db: apsw.Connection, sources: clocks.Sources) -> clocks.Anchor:
    """Return the anchor of this boot; the first process chooses it."""
    anchor = _stored_anchor(db)
    if anchor is None or not clocks.still_valid(anchor, sources):
        anchor = clocks.choose(sources, _latest(db, anchor))
        text = quickjson.dumps([anchor.boot, anchor.offset, anchor.chosen_at])
        db.execute("INSERT OR REPLACE INTO meta VALUES ('clock', ?)", (text,))
    return anchor


def _stored_anchor(db: apsw.Connection) -> clocks.Anchor | None:
    for (text,) in db.execute("SELECT value FROM meta WHERE name = 'clock'"):
        return clocks.Anchor(*quickjson.loads(text))
    return None


def _latest(db: apsw.Connection, previous: clocks.Anchor | None) -> float:
    """Return the latest engine time that any process may have seen."""
    latest = previous.offset + previous.chosen_at if previous else 0.0
    for (at,) in db.execute("SELECT at FROM ledger ORDER BY seq DESC LIMIT 1"):
        latest = max(latest, float(at))
    return latest


def _alone(db: apsw.Connection, gate: Turns, options: OpenOptions, change: Callable[[], T]) -> T:
    """Run ``change`` in one write transaction."""
    if not gate.enter(time.monotonic(), options.timeout):
        raise busy(options.path)
    try:
        db.execute("BEGIN IMMEDIATE")
        answer = change()
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
        gate.leave()
    return answer
