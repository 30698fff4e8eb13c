"""Runs jobs on time: one timer thread, and workers that are started when there is work.

A job never overlaps itself. One that is slow, hangs, or fails does not affect the others: a run that takes
long no longer counts as one of the few workers, and a job that hangs is reported, never started again on
top of itself.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from dibs.errors import DibsError

if TYPE_CHECKING:
    from collections.abc import Callable

_log = logging.getLogger("dibs.server")

#: How many runs of ordinary length happen at once, and how many threads there can be at most.
WORKERS, MOST_THREADS = 4, 256
#: A run that takes longer than this many seconds is slow: another worker takes its place.
SLOW = 1.0
#: A run hangs if it takes longer than this many seconds, and longer than three intervals of its job.
HANGS = 60.0
#: How long a worker waits for more work, and how long ``stop`` waits for running jobs, in seconds.
IDLE, STOP_WITHIN = 10.0, 5.0
#: The timer looks at least this often, in case the machine was suspended.
LOOK_EVERY = 1.0
#: The maximum length of an error in the list of jobs.
_ERROR = 300


class Job(NamedTuple):
    """Something to do regularly."""

    #: Unique; the job of one project is called ``PROJECT/NAME``.
    id: str
    #: Seconds from the start of a run to the start of the next.
    every: float
    #: Does it. If it returns a number, the next run is due in that many seconds at the latest.
    run: Callable[[], float | None]
    #: Seconds until the first run.
    first: float = 0.0


class JobState(NamedTuple):
    """A registered job, and how its last run went. Times are Unix times; 0 means never."""

    id: str
    every: float
    next_run: float
    last_run: float
    #: How long the last run took; of a running job, how long it has been running.
    duration: float
    #: Why the last run failed; empty if it succeeded.
    last_error: str
    runs: int
    failures: int
    running: bool
    #: Whether the current run takes unreasonably long.
    hangs: bool


class _Entry:
    """A job and its runs."""

    def __init__(self, job: Job, due: float) -> None:
        self.job = job
        self.due = due
        self.started: float | None = None
        #: Whether it is in the line of jobs that wait for a worker, or running.
        self.busy = False
        #: Whether its next time was set during the current run, and when someone wants it at the latest.
        self.is_set, self.wanted = False, math.inf
        self.last_run = self.duration = 0.0
        self.error = ""
        self.runs = self.failures = 0


def boottime() -> float:
    """Return seconds that also pass while the machine is suspended, if the system counts them."""
    return time.clock_gettime(_BOOTTIME) if _BOOTTIME is not None else time.monotonic()


_BOOTTIME: int | None = getattr(time, "CLOCK_BOOTTIME", None)


class Scheduler:
    """Runs jobs at their times."""

    def __init__(
        self, *, clock: Callable[[], float] = boottime, wall: Callable[[], float] = time.time
    ) -> None:
        self._clock, self._wall = clock, wall
        self._jobs: dict[str, _Entry] = {}
        self._running: set[_Entry] = set()
        self._line: deque[_Entry] = deque()
        self._changed = threading.Condition()
        self._threads = self._idle = 0
        self._timer: threading.Thread | None = None
        #: Called with the id of a job and its error when a job begins to fail.
        self.on_failure: Callable[[str, str], object] = lambda *_: None
        #: Set when the server stops; a long job should look at it.
        self.stopping = threading.Event()

    # -- jobs

    def register(self, job: Job) -> None:
        """Add a job, or replace the one with the same id; its first run never overlaps a last one of that."""
        with self._changed:
            known = self._jobs.get(job.id)
            due = self._clock() + job.first
            if known is None:
                known = next((one for one in self._running if one.job.id == job.id), None)
            if known is None:
                known = _Entry(job, due)
            elif known in self._line:
                self._line.remove(known)
                known.busy = False
            known.job, known.due, known.error, known.is_set = job, due, "", True
            self._jobs[job.id] = known
            self._changed.notify_all()

    def unregister(self, id_: str) -> bool:
        """Remove a job; return whether it was there. A current run ends by itself."""
        with self._changed:
            known = self._jobs.pop(id_, None)
            if known is not None and known in self._line:
                self._line.remove(known)
                known.busy = False
            return known is not None

    def soon(self, id_: str, within: float = 0.0) -> bool:
        """Start a job in at most so many seconds, again if it is running; return whether there is one."""
        with self._changed:
            known = self._jobs.get(id_)
            if known is None:
                return False
            wanted = self._clock() + within
            if wanted < min(known.due, known.wanted) or known.started is not None:
                known.wanted = min(known.wanted, wanted)
                known.due = min(known.due, wanted)
                self._changed.notify_all()
            return True

    def registered(self) -> list[JobState]:
        """Return all jobs, by id."""
        with self._changed:
            now, wall = self._clock(), self._wall()
            return [self._state(self._jobs[id_], now, wall) for id_ in sorted(self._jobs)]

    def _state(self, one: _Entry, now: float, wall: float) -> JobState:
        running = one.started is not None
        took = now - one.started if one.started is not None else one.duration
        return JobState(
            one.job.id, one.job.every, wall + max(0.0, one.due - now), one.last_run, took, one.error,
            one.runs, one.failures, running, hangs=running and took > max(HANGS, 3 * one.job.every),
        )  # fmt: skip

    # -- the timer

    def start(self) -> None:
        """Start the timer."""
        if self._timer is None:
            self._timer = threading.Thread(target=self._keep_time, name="jobs", daemon=True)
            self._timer.start()

    def stop(self, within: float = STOP_WITHIN) -> None:
        """Start nothing anymore, and wait for the running jobs, but not for one that hangs."""
        until = time.monotonic() + within
        self.stopping.set()
        with self._changed:
            self._line.clear()
            self._changed.notify_all()
            while self._running and (left := until - time.monotonic()) > 0:
                self._changed.wait(left)
            for one in self._running:
                _log.warning("job %s did not end in %g s", one.job.id, within)
        if self._timer is not None:
            self._timer.join(max(0.0, until - time.monotonic()) + 1.0)

    def tick(self) -> float:
        """Start the jobs that are due; return the seconds until the next look."""
        with self._changed:
            now = self._clock()
            due = [one for one in self._jobs.values() if not one.busy and one.due <= now]
            for one in sorted(due, key=lambda one: one.due):
                one.busy = True
                self._line.append(one)
            self._hire(now)
            times = [one.due - now for one in self._jobs.values() if not one.busy]
            most = SLOW / 2 if self._line else LOOK_EVERY
            return max(0.0, min([most, *times]))

    def _keep_time(self) -> None:
        with self._changed:  # no change is missed between the look and the pause
            while not self.stopping.is_set():
                if (pause := self.tick()) > 0:
                    self._changed.wait(pause)

    # -- the workers

    def _hire(self, now: float) -> None:
        """Wake or start workers for the jobs in line."""
        if not self._line or self.stopping.is_set():
            return
        self._changed.notify_all()
        slow = sum(
            1 for one in self._running if one.started is not None and now - one.started > SLOW
        )
        while (
            self._idle < len(self._line)
            and self._threads - slow < WORKERS
            and self._threads < MOST_THREADS
        ):
            self._threads += 1
            self._idle += 1
            threading.Thread(target=self._work, name="job", daemon=True).start()

    def _work(self) -> None:
        """Run jobs in line until there are none for a while."""
        while (found := self._next()) is not None:
            (one, job), error = found, ""
            try:
                wanted = job.run()
            except Exception as failure:  # noqa: BLE001 - a job that fails must not stop the others
                wanted, error = None, _text(failure)
                if error != one.error:
                    _log.warning("job %s failed: %s", job.id, error, exc_info=_unexpected(failure))
                    self.on_failure(job.id, error)
            with self._changed:
                self._ended(one, wanted, error)

    def _next(self) -> tuple[_Entry, Job] | None:
        """Return the next job in line, marked as running; None if this worker is not needed."""
        with self._changed:
            until = time.monotonic() + IDLE
            while not self._line:
                left = until - time.monotonic()
                if left <= 0 or self.stopping.is_set():
                    self._threads -= 1
                    self._idle -= 1
                    return None
                self._changed.wait(left)
            self._idle -= 1
            one = self._line.popleft()
            one.started, one.last_run = self._clock(), self._wall()
            one.is_set, one.wanted = False, math.inf
            self._running.add(one)
            return one, one.job

    def _ended(self, one: _Entry, wanted: float | None, error: str) -> None:
        now = self._clock()
        started = one.started if one.started is not None else now
        self._idle += 1
        self._running.discard(one)
        one.started, one.busy = None, False
        one.duration, one.error = now - started, error
        one.runs += 1
        one.failures += bool(error)
        if not one.is_set:
            one.due = min(_after(one.job, started, now, wanted), one.wanted)
        self._changed.notify_all()


def _after(job: Job, started: float, now: float, wanted: float | None) -> float:
    """Return when a job is next due; a run that took longer than the interval is followed by a pause."""
    due = started + job.every if started + job.every > now else now + job.every
    return due if wanted is None else min(due, now + max(0.0, wanted))


def _unexpected(failure: Exception) -> bool:
    return not isinstance(failure, DibsError)


def _text(failure: Exception) -> str:
    text = (
        str(failure) if isinstance(failure, DibsError) else f"{type(failure).__name__}: {failure}"
    )
    return " ".join(text.split())[:_ERROR]
