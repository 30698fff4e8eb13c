"""Leases: when several servers share a store, one of them runs each job, once per interval.

A server takes a job in one transaction, for a limited time. If the server dies, the lease runs out, and
another one takes the job; on the machine of the dead server, immediately.
"""

from __future__ import annotations

import os

from dibs.local.processes import is_there, realm, running
from dibs.services.state.deadlines import job, put_job
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: A timer that runs a little early still counts: this share of the interval, and at most so many seconds.
_EARLY, _EARLY_AT_MOST = 0.1, 1.0


class JobLease(Record):
    """A job's last run, or the current one."""

    #: The server that runs it; empty if none does.
    owner: str
    #: When that run began.
    started: float
    #: When another server may take the job although that run has not ended.
    until: float


class Leases:
    """Takes the jobs of one project for one server."""

    def __init__(self, store: Store, owner: str = "") -> None:
        self._store = store
        self._owner = owner or this_process()

    def take(self, name: str, every: float, lease: float) -> bool:
        """Return whether to run a job now: it is due, and no other server runs it.

        ``every`` is its interval, and ``lease`` how long a run may take without ``keep``; both in seconds.
        Call ``done`` afterwards.
        """
        if not self._store.look(lambda rows: self._is_free(rows, name, every)):
            return False

        def step(rows: Rows) -> bool:
            if not self._is_free(rows, name, every):
                return False
            _put(rows, name, JobLease(self._owner, rows.now, rows.now + lease))
            return True

        return self._store.apply(step)

    def lead(self, name: str, lease: float) -> bool:
        """Return whether this server is the one that runs a job, until it dies or calls ``done``.

        Half of the ``lease`` passes between two writes, so this suits jobs that run often.
        """

        def leads(rows: Rows) -> bool:
            found = _get(rows, name)
            return found is not None and found.owner == self._owner and rows.now < found.until

        def is_fresh(rows: Rows) -> bool:
            found = _get(rows, name)
            return leads(rows) and found is not None and found.until - rows.now > lease / 2

        def step(rows: Rows) -> bool:
            if leads(rows) or self._is_free(rows, name, 0.0):
                _put(rows, name, JobLease(self._owner, rows.now, rows.now + lease))
                return True
            return False

        if self._store.look(is_fresh):
            return True
        if not self._store.look(lambda rows: leads(rows) or self._is_free(rows, name, 0.0)):
            return False
        return self._store.apply(step)

    def keep(self, name: str, lease: float) -> bool:
        """Extend the lease of a job that takes long; return whether this server still has it."""

        def step(rows: Rows) -> bool:
            found = _get(rows, name)
            if found is None or found.owner != self._owner:
                return False
            _put(rows, name, found._replace(until=rows.now + lease))
            return True

        return self._store.apply(step)

    def done(self, name: str) -> None:
        """End a run, whether it succeeded or failed; the next one is due after the interval."""

        def step(rows: Rows) -> None:
            found = _get(rows, name)
            if found is not None and found.owner == self._owner:
                _put(rows, name, found._replace(owner="", until=rows.now))

        self._store.apply(step)

    def _is_free(self, rows: Rows, name: str, every: float) -> bool:
        found = _get(rows, name)
        if found is None:
            return True
        if found.owner and found.owner != self._owner:
            return rows.now >= found.until or is_dead(found.owner)
        return rows.now >= found.started + every - min(_EARLY * every, _EARLY_AT_MOST)


def this_process() -> str:
    """Return a name for this process that no other process has, on any machine."""
    pid = os.getpid()
    found = running(pid)
    return f"{realm()} {pid} {found.born if found is not None else 0}"


def is_dead(owner: str) -> bool:
    """Return whether the process that took a job ran on this machine and has ended."""
    place, _, process = owner.partition(" ")
    words = process.split()
    if place != realm() or len(words) != 2 or not all(word.isdigit() for word in words):  # noqa: PLR2004
        return False
    return not is_there(int(words[0]), int(words[1]))


def _get(rows: Rows, name: str) -> JobLease | None:
    found = job(rows, name)
    return None if found is None else JobLease(found["owner"], found["started"], found["until"])


def _put(rows: Rows, name: str, lease: JobLease) -> None:
    put_job(rows, name, lease._asdict())
