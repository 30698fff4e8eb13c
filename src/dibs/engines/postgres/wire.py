"""A connection to a PostgreSQL server on which every call has a deadline.

Statements are sent together, in libpq's pipeline mode: any number of them is one round trip, and one
transaction unless they say otherwise.
"""

from __future__ import annotations

import os
import select
import time
from itertools import count

import psycopg
from psycopg import pq

from dibs.engines.postgres.errors import ServerError, most_specific
from dibs.engines.postgres.url import each_server
from dibs.engines.shared.failures import Cut, NotSent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg.pq.abc import PGconn, PGresult

    Statement = tuple[bytes, Sequence[bytes]]
    Rows = list[tuple[bytes | None, ...]]

_FATAL = pq.ExecStatus.FATAL_ERROR
_SYNC = pq.ExecStatus.PIPELINE_SYNC
_ROWS = pq.ExecStatus.TUPLES_OK
_EVENTS = {pq.PollingStatus.READING: select.POLLIN, pq.PollingStatus.WRITING: select.POLLOUT}
_SEVERITY = pq.DiagnosticField.SEVERITY_NONLOCALIZED

#: Each statement sees what was committed before it: a stricter level has a snapshot from before a lock.
_ISOLATION = b"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED"
#: As in dibs.isolate, which does the same behind a pooler.
_BUILTINS = b"SET search_path = pg_catalog, pg_temp"
BEGIN = b"BEGIN ISOLATION LEVEL READ COMMITTED"

#: The server's process, cluster, and timeline.
_ORIGIN = (
    b"SELECT pg_catalog.pg_backend_pid(), system_identifier,"
    b" pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8)"
    b" FROM pg_catalog.pg_control_system()"
)

_monotonic = time.monotonic


class PostgresWire:
    """One connection. One thread uses it at a time."""

    __slots__ = (
        "_names", "_pg", "_pid", "_poll", "_prepared", "_warnings", "encoding", "pooled", "system",
        "timeline", "version",
    )  # fmt: skip

    def __init__(self, pg: PGconn, timeout: float, until: float) -> None:
        self._pid = os.getpid()
        self._warnings: list[str] = []
        self._names, self._prepared = count(), dict[bytes, bytes]()
        self.pooled = True
        self._pg = pg
        #: The server's version, such as 150018, and the database's encoding, such as UTF8.
        self.version = pg.server_version
        self.encoding = (pg.parameter_status(b"server_encoding") or b"UTF8").decode()
        pg.notice_handler = self._noticed
        pg.nonblocking = 1
        pg.enter_pipeline_mode()
        self._poll = select.poll()
        self._poll.register(pg.socket, select.POLLIN)
        ((row,),) = self.run((_ORIGIN, ()), until=until)
        own, self.system, self.timeline = [(value or b"").decode() for value in row]
        #: Whether a pooler is in between: it does not pass on the number of the server's process.
        self.pooled = int(own) != pg.backend_pid
        if not self.pooled:
            patience = b"SET statement_timeout = %d" % max(1, timeout * 1000)
            self.run((patience, ()), (_ISOLATION, ()), (_BUILTINS, ()), until=until)

    @property
    def usable(self) -> bool:
        """Whether the connection is open."""
        return self._pg.status == pq.ConnStatus.OK

    def is_older(self, system: str, timeline: str) -> bool:
        """Return whether this server is of the same cluster as another, which was promoted later."""
        return system == self.system and timeline > self.timeline

    def close(self) -> None:
        """Close the connection; the server rolls an open transaction back."""
        if self._pid == os.getpid():  # a process that was forked must not end its parent's session
            self._pg.finish()

    def run(self, *statements: Statement, until: float) -> list[Rows]:
        """Run statements in one round trip; return their rows.

        Raise ``NotSent`` if they had no effect, and ``Cut`` if that is unknown. An error in one of them rolls
        all of them back.
        """
        self._check()
        self._warnings.clear()
        wanted: list[bool] = []
        finished = False
        try:
            for text, values in statements:
                wanted += self._send(text, values)
            self._pg.pipeline_sync()
            results = self._results(until)
            finished = True
        except psycopg.Error as error:
            raise Cut(_plain(error)) from error
        finally:
            if not finished:
                self.close()
        for result in results:
            if result.status == _FATAL:
                self._prepared.clear()  # some may be missing
                raise _server_error(result)
        if self._warnings:  # a synchronous standby did not confirm the commit
            raise Cut(self._warnings[0])
        return [
            _rows(result) for result, is_wanted in zip(results, wanted, strict=True) if is_wanted
        ]

    def wait(self, seconds: float) -> bool:
        """Wait until the server sends a notification; return whether it did."""
        try:
            if not self._pg.notifies():
                self._poll.poll(seconds * 1000)
                self._pg.consume_input()
            return self._pg.notifies() is not None
        except psycopg.Error as error:
            self.close()
            raise Cut(_plain(error)) from error

    def _check(self) -> None:
        """Raise ``NotSent`` if the connection was lost while it was idle."""
        try:
            if self._poll.poll(0):
                self._pg.consume_input()
        except psycopg.Error as error:
            self.close()
            raise NotSent(_plain(error)) from error

    def _send(self, text: bytes, values: Sequence[bytes]) -> list[bool]:
        """Send a statement, prepared if possible; return which of its results contain its rows."""
        if any(b"\0" in value for value in values):
            raise ServerError("22021", "PostgreSQL cannot store a NUL character")
        if not values or self.pooled:  # a pooler may use another connection the next time
            self._pg.send_query_params(text, values)
            return [True]
        name = self._prepared.get(text)
        if name is not None:
            self._pg.send_query_prepared(name, values)
            return [True]
        name = self._prepared[text] = b"dibs_%d" % next(self._names)
        self._pg.send_prepare(name, text)
        self._pg.send_query_prepared(name, values)
        return [False, True]

    def _results(self, until: float) -> list[PGresult]:
        pg = self._pg
        found: list[PGresult] = []
        while True:
            unsent = pg.flush()
            while not pg.is_busy():
                result = pg.get_result()
                if result is None:
                    continue
                if result.status == _SYNC:
                    return found
                found.append(result)
                if result.status == _FATAL and _is_final(result):
                    raise Cut(_server_error(result).args[0])
            left = until - _monotonic()
            if unsent:
                self._poll.modify(pg.socket, select.POLLIN | select.POLLOUT)
            if left <= 0 or not self._poll.poll(left * 1000):
                raise Cut("timed out")
            if unsent:
                self._poll.modify(pg.socket, select.POLLIN)
            pg.consume_input()

    def _noticed(self, result: PGresult) -> None:
        if result.error_field(_SEVERITY) == b"WARNING":
            self._warnings.append(_server_error(result).args[0])


def primary(url: str, timeout: float, until: float) -> PostgresWire:
    """Connect to the server in a URL that accepts writes; of several, to the one promoted last."""
    best, *others = [PostgresWire(pg, timeout, until) for pg in connect(url, until)]
    for wire in others:
        if best.is_older(wire.system, wire.timeline):
            best, wire = wire, best  # noqa: PLW2901 - the other one is closed
        wire.close()
    return best


def connect(url: str, until: float) -> list[PGconn]:
    """Connect to all servers in a URL at once; return those that accept it, or raise ``NotSent``.

    The first may be an old primary. So the others have a tenth of the time left to respond.
    """
    servers = [pq.PGconn.connect_start(server.encode()) for server in each_server(url)]
    states = dict.fromkeys(servers, pq.PollingStatus.WRITING)
    patience = max(0.0, until - _monotonic()) / 10
    while ready := _ready(states, until):
        for pg in ready:
            states[pg] = pq.PollingStatus(pg.connect_poll())
            if states[pg] == pq.PollingStatus.OK:
                until = min(until, _monotonic() + patience)
    accepted = [pg for pg in servers if states[pg] == pq.PollingStatus.OK]
    problems = []
    for pg in servers:
        if pg not in accepted:
            silent = states[pg] in _EVENTS
            problems.append(
                "the server does not respond" if silent else _plain(pg.get_error_message())
            )
            pg.finish()
    if not accepted:
        raise most_specific(problems)
    return accepted


def _ready(states: dict[PGconn, pq.PollingStatus], until: float) -> list[PGconn]:
    """Return the connections that can continue; none if time is up."""
    trying = [pg for pg, state in states.items() if state in _EVENTS]
    if bad := [pg for pg in trying if pg.status == pq.ConnStatus.BAD]:
        return bad
    poll = select.poll()
    for pg in trying:
        poll.register(pg.socket, _EVENTS[states[pg]])
    ready = dict(poll.poll(max(0.0, until - _monotonic()) * 1000)) if trying else {}
    return [pg for pg in trying if pg.socket in ready]


def _is_final(result: PGresult) -> bool:
    """Return whether the server ended the connection."""
    return result.error_field(_SEVERITY) in {b"FATAL", b"PANIC"}


def _server_error(result: PGresult) -> ServerError:
    code = result.error_field(pq.DiagnosticField.SQLSTATE) or b""
    text = result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b""
    return ServerError(code.decode(), text.decode("utf-8", "replace"))


def _rows(result: PGresult) -> Rows:
    if result.status != _ROWS:
        return []
    columns, get = range(result.nfields), result.get_value
    return [tuple([get(row, column) for column in columns]) for row in range(result.ntuples)]


def _plain(error: object) -> str:
    """Return an error's first line, which contains no password."""
    return (str(error).strip().splitlines() or ["the connection was lost"])[0]
