"""One open connection to a SQLite store, and how it runs a step."""

from __future__ import annotations

import os
import time

import apsw

from dibs.engines.shared import sqlite
from dibs.engines.shared.mark import Mark, start_of_life
from dibs.engines.shared.sqlite import SqliteTxn, SqliteView
from dibs.engines.sqlite.open import OpenOptions, open_store, patiently
from dibs.engines.sqlite.schema import continue_after
from dibs.local.files import regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from dibs.engines.base import Txn
    from dibs.errors import DibsError

    T = TypeVar("T")


#: A write-ahead log larger than this (in bytes) is moved into the file when its last handle closes.
_LONG_LOG = 512 * 1024
#: SQLite's smallest file is one page.
_PAGE = 4096
#: The bytes before the log's first frame, and before each frame's page.
_LOG_HEADER, _FRAME_HEADER = 32, 24

#: Seconds between two checks that the log is still the one that was opened: a check costs as much as a read.
LOG_EVERY = 0.01

#: Seconds in which a checkpoint writes all pages.
CHECKPOINT = 0.5

_monotonic = time.monotonic
_stat = os.stat


class _LostError(Exception):
    """The store is below its mark: it lost its newest changes."""


class SqliteConnection:
    """An open connection. Its owner ensures that one thread uses it at a time."""

    __slots__ = (
        "_clock", "_db", "_device", "_gate", "_highest", "_inode", "_log", "_log_due", "_mark", "_path",
        "_renew", "_run", "_size", "_timeout", "broken",
    )  # fmt: skip

    def __init__(self, options: OpenOptions) -> None:
        self._path = options.path
        self._timeout = options.timeout
        self._db, self._gate, self._clock, identity = open_store(options)
        self._inode, self._device = identity.st_ino, identity.st_dev
        self._run = self._db.cursor().execute
        #: The write-ahead log that SQLite opened; while a handle is open, SQLite does not delete it.
        self._log = _inode(options.path + "-wal")
        self._log_due = 0.0
        self._mark = Mark(options.mark)
        #: The highest number that this handle knows of; every handle's own numbers are in the mark as well.
        self._highest = self._mark.read()
        self._renew = options.renew
        self._size = _PAGE
        #: Whether SQLite's view of the file can no longer be trusted and a new connection is needed.
        self.broken = False

    def write(self, step: Callable[[Txn], T]) -> T:
        """Run ``step`` in a write transaction; if the store lost data, start a new life first."""
        while True:
            try:
                return self._write(step)
            except _LostError:
                self._begin_life()

    def _write(self, step: Callable[[Txn], T]) -> T:
        gate, run, txn, committing = self._gate, self._run, None, False
        if gate is None:
            raise sqlite.read_only(self._path)
        started = _monotonic()
        try:
            if not gate.enter(started, self._timeout):
                raise sqlite.busy(self._path)
            self._check_file()
            try:
                run("BEGIN IMMEDIATE")
            except apsw.BusyError:
                left = started + self._timeout - _monotonic()
                patiently(lambda: run("BEGIN IMMEDIATE"), left)
            txn = SqliteTxn(self._db, run, self._clock())
            answer = step(txn)
            if txn.first and txn.first <= self._highest:
                raise _LostError
            txn.flush()
            committing = True
            run("COMMIT")
            if txn.last:
                self._highest = txn.last
                self._mark.raise_to(txn.last)
        except apsw.Error as error:
            raise self._failure(error, committing=committing) from error
        else:
            return answer
        finally:
            self._finish(txn)
            gate.leave()

    def read(self, step: Callable[[Txn], T]) -> T:
        """Run ``step`` on a snapshot; if the store lost data, start a new life first."""
        while True:
            try:
                return self._read(step)
            except _LostError:
                self._begin_life()

    def _read(self, step: Callable[[Txn], T]) -> T:
        txn = None
        try:
            self._check_file()
            newest = patiently(self._take_snapshot, self._timeout)
            if newest < self._highest:
                raise _LostError
            self._highest = newest
            txn = SqliteView(self._db, self._run, self._clock())
            return step(txn)
        except apsw.Error as error:
            raise self._failure(error) from error
        finally:
            self._finish(txn)

    def newest(self) -> int:
        """Return the newest sequence number, or 0 if the ledger is empty."""
        try:
            self._check_file()
            return patiently(self._read_newest, self._timeout)
        except apsw.Error as error:
            raise self._failure(error) from error

    def close(self) -> None:
        """Close the connection and the gate."""
        try:
            if _size(self._path + "-wal") > _LONG_LOG and not self._is_log_replaced():
                self._db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
            self._db.close(True)
        finally:
            self._mark.close()
            gate, self._gate = self._gate, None
            if gate is not None:
                gate.close()

    def _check_file(self) -> None:
        """Raise an error if the path no longer leads to the open file."""
        try:
            found = _stat(self._path)
        except OSError as error:
            raise sqlite.replaced(self._path) from error
        size = found.st_size
        if found.st_ino != self._inode or found.st_dev != self._device:
            raise sqlite.replaced(self._path)
        if size < self._size and self._is_cut_off():
            raise sqlite.replaced(self._path)
        self._size = size
        now = _monotonic()
        if now >= self._log_due:
            self._log_due = now + LOG_EVERY
            if self._is_log_replaced():
                self.broken = True
                raise sqlite.replaced(self._path)

    def _is_cut_off(self) -> bool:
        """Return whether pages of the file are lost; while a checkpoint extends it, they only seem so."""
        until = _monotonic() + CHECKPOINT
        while _lacks_pages(self._path):
            if _monotonic() >= until:
                return True
            time.sleep(0.005)
        return False

    def _is_log_replaced(self) -> bool:
        """Return whether others use another log: they do not see this handle's changes, nor it theirs."""
        return self._log != 0 and _inode(self._path + "-wal") != self._log

    def _failure(self, error: apsw.Error, *, committing: bool = False) -> DibsError:
        if isinstance(error, apsw.IOError | apsw.CorruptError | apsw.NotADBError):
            self.broken = True
        return sqlite.translate(error, self._path, committing=committing)

    def _finish(self, txn: SqliteTxn | None) -> None:
        if txn is not None:
            txn.end()
        if self._db.in_transaction:
            try:
                self._run("ROLLBACK")
            except apsw.Error:
                self.broken = True  # closing the connection also rolls back

    def _begin_life(self) -> None:
        """Start a new life of a store that lost its newest changes, unless another process does it first.

        The old claims are void, and the numbers continue above the mark.
        """
        gate, run = self._gate, self._run
        if gate is None:
            raise sqlite.outdated(self._path)
        if not gate.enter(_monotonic(), self._timeout):
            raise sqlite.busy(self._path)
        txn = None
        try:
            patiently(lambda: run("BEGIN IMMEDIATE"), self._timeout)
            newest = self._read_newest()
            if newest < self._highest:
                start = start_of_life(max(self._highest, self._mark.read()))
                continue_after(self._db, start)
                txn = SqliteTxn(self._db, run, self._clock())
                if self._renew is not None:
                    self._renew(txn, "its newest changes are missing")
                    txn.flush()
                if txn.last:
                    run("DELETE FROM ledger WHERE seq = ?", (start,))
                run("COMMIT")
                newest = txn.last or start
                self._mark.raise_to(newest)
            self._highest = newest
        except apsw.Error as error:
            raise self._failure(error) from error
        finally:
            self._finish(txn)
            gate.leave()

    def _take_snapshot(self) -> int:
        """Fix the snapshot with its first read; return its newest number."""
        if not self._db.in_transaction:
            self._run("BEGIN")
        return self._read_newest()

    def _read_newest(self) -> int:
        ((seq,),) = self._run("SELECT coalesce(max(seq), 0) FROM ledger").fetchall()
        assert isinstance(seq, int)
        return seq


def _lacks_pages(path: str) -> bool:
    """Return whether a file is smaller than its header says, and the log does not contain the missing pages.

    While others read, a checkpoint leaves out pages that have changed again, so a file can lack its end.
    """
    with open(path, "rb", opener=regular) as file:
        header = file.read(32)
        size = os.fstat(file.fileno()).st_size
    page = int.from_bytes(header[16:18], "big")
    page = page if page > 1 else 1 << 16
    missing = set(range(size // page + 1, int.from_bytes(header[28:32], "big") + 1))
    start = _LOG_HEADER
    try:
        with open(f"{path}-wal", "rb", opener=regular) as log:
            while missing and (frame := os.pread(log.fileno(), 4, start)):
                missing.discard(int.from_bytes(frame, "big"))
                start += _FRAME_HEADER + page
    except FileNotFoundError:
        pass
    return size < _PAGE or bool(missing)


def _inode(path: str) -> int:
    try:
        return _stat(path).st_ino
    except OSError:
        return 0


def _size(path: str) -> int:
    try:
        return _stat(path).st_size
    except OSError:
        return 0
