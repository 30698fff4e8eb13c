"""The SQLite engine: state in one file, for one machine, without a server."""

from __future__ import annotations

import os
import time
from _thread import allocate_lock
from _weakref import ref

from dibs.engines.shared.folders import check_name
from dibs.engines.shared.sqlite import busy
from dibs.engines.sqlite.connection import SqliteConnection
from dibs.engines.sqlite.open import OpenOptions
from dibs.errors import Misconfigured, Unavailable, Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from dibs.core.text.findings import Finding
    from dibs.engines.base import Txn
    from dibs.engines.shared.clock import Sources

    T = TypeVar("T")


class SqliteEngine:
    """Stores state in the SQLite file ``path``, shared by all processes on this machine.

    A call takes at most about ``timeout`` seconds in addition to the step itself; a store that
    others keep busy longer is ``Unavailable``. ``synchronous`` is ``"full"`` or ``"normal"``, with
    which a power failure can undo the newest changes, each as a whole. A new store numbers its
    ledger from ``first_seq``, so that it never repeats the numbers of a lost store. ``mark`` is the file
    with the highest number that the store issued, by default next to it; a store below it has lost
    data, and ``renew`` is the step that starts its new life.
    """

    __slots__ = ("__weakref__", "_closed", "_link", "_lock", "_lost", "_options")

    as_of: float | None = None
    shortest_ttl = 0.0

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        clock: Callable[[], float] | None = None,
        synchronous: str = "normal",
        timeout: float = 5.0,
        create: bool = True,
        allow_network: bool = False,
        first_seq: int = 1,
        sources: Sources | None = None,
        mark: str = "",
        renew: Callable[[Txn, str], None] | None = None,
    ) -> None:
        if synchronous not in {"normal", "full"}:
            raise Misconfigured(f"synchronous must be 'normal' or 'full', not {synchronous!r}")
        name = os.fspath(path)
        check_name(name)
        name = os.path.abspath(name)
        self._options = OpenOptions(
            name, clock, sources, synchronous, timeout, create, allow_network, first_seq,
            mark or f"{name}.mark", renew,
        )  # fmt: skip
        self._lock = allocate_lock()
        self._closed = self._lost = False
        self._link: SqliteConnection | None = SqliteConnection(self._options)
        _engines.append(ref(self, _engines.remove))

    def transact(self, step: Callable[[Txn], T]) -> T:
        """Apply ``step`` atomically, make it durable, and return its result."""
        answer: T = self._call(SqliteConnection.write, step)
        return answer

    def view(self, step: Callable[[Txn], T]) -> T:
        """Run ``step`` on a consistent snapshot; raise an error if it writes."""
        answer: T = self._call(SqliteConnection.read, step)
        return answer

    def wait(self, after: int, timeout: float) -> int:
        """Block until the ledger has moved past ``after``; return the newest number."""
        deadline = time.monotonic() + timeout
        pause = 0.005
        while True:
            newest: int = self._call(SqliteConnection.newest)
            left = deadline - time.monotonic()
            if newest > after or left <= 0:
                return newest
            time.sleep(min(pause, left))
            pause = min(pause * 1.2, 0.025)

    def close(self) -> None:
        """Close the files; a closed engine cannot be used again."""
        self._await_lock()
        with self._lock:
            self._closed = True
            self._shut()

    def inspect(self) -> list[Finding]:
        """Report what this store guarantees as it is configured."""
        from dibs.engines.sqlite.check import inspect

        return inspect(self._options)

    def _call(self, act: Callable[..., Any], *step: Callable[[Txn], Any]) -> Any:
        """Use the connection in one thread at a time; replace a broken one at the next call."""
        if self._lock.locked():
            self._await_lock()
        with self._lock:  # acquire() could be interrupted before a try
            try:
                return act(self._link or self._reopen(), *step)
            except (Unavailable, Unknown):
                if self._link is not None and self._link.broken:
                    self._shut()
                raise

    def _await_lock(self) -> None:
        """Wait until no other thread uses the connection."""
        if not self._lock.acquire(True, self._options.timeout):
            raise busy(self._options.path)
        self._lock.release()

    def _reopen(self) -> SqliteConnection:
        if self._closed:
            raise RuntimeError("the engine is closed")
        if self._lost:
            raise Unavailable(
                "this process was forked during one of its parent's transactions",
                code="STORE_FORKED",
                hint="open the store after the fork",
            )
        self._link = link = SqliteConnection(self._options)
        return link

    def _shut(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()

    def _leave_to_parent(self) -> None:
        """Drop a connection inherited through a fork; even closing it would harm the parent."""
        _carried_over.append(self._link)
        self._link = None
        self._lost = True
        self._lock = allocate_lock()


# SQLite must not see a fork: a child that opens the same file would share locks that only its
# parent holds. So every connection is closed before a fork, and both processes reopen theirs when
# needed.
_engines: list[ref[SqliteEngine]] = []
_held: list[SqliteEngine] = []
_carried_over: list[SqliteConnection | None] = []


def _before_fork() -> None:
    for found in tuple(_engines):
        engine = found()
        if engine is not None and engine._lock.acquire(True, 1.0):  # noqa: SLF001
            _held.append(engine)
            engine._shut()  # noqa: SLF001


def _after_fork() -> None:
    while _held:
        _held.pop()._lock.release()  # noqa: SLF001


def _after_fork_in_child() -> None:
    for found in tuple(_engines):
        engine = found()
        if engine is not None and engine not in _held:
            engine._leave_to_parent()  # noqa: SLF001
    _after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child
    )
