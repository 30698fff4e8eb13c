"""The scheduler: jobs on time, never twice at once, and independent of each other."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest
from tests.server.conftest import until

from dibs.errors import Unavailable
from dibs.server import scheduler as module
from dibs.server.scheduler import Job, JobState, Scheduler
from dibs.testing import ManualClock

if TYPE_CHECKING:
    from collections.abc import Iterator

SOON = 20.0


class Work:
    """A job's work: counts runs, and can be held up."""

    def __init__(self, answer: float | None = None) -> None:
        self.runs = 0
        self.at_once = self.most_at_once = 0
        self.started = threading.Semaphore(0)
        self.gate = threading.Event()
        self.gate.set()
        self.answer = answer
        self.failure: Exception | None = None

    def __call__(self) -> float | None:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.runs += 1
        self.started.release()
        self.gate.wait(SOON)
        self.at_once -= 1
        if self.failure is not None:
            raise self.failure
        return self.answer


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_000.0)


@pytest.fixture
def jobs(clock: ManualClock) -> Iterator[Scheduler]:
    made = Scheduler(clock=clock, wall=clock)
    yield made
    made.stop(0.1)


def state(jobs: Scheduler, id_: str) -> JobState:
    return next(one for one in jobs.registered() if one.id == id_)


def run_due(jobs: Scheduler) -> None:
    jobs.tick()
    until(lambda: not any(one.running for one in jobs.registered()) and not jobs._line)


def test_a_job_runs_at_once_and_then_after_each_interval(
    jobs: Scheduler, clock: ManualClock
) -> None:
    work = Work()
    jobs.register(Job("a", 60.0, work))
    run_due(jobs)
    assert work.runs == 1
    for moved, runs in ((59.0, 1), (1.0, 2), (59.9, 2), (0.2, 3)):
        clock.now += moved
        run_due(jobs)
        assert work.runs == runs
    assert state(jobs, "a").next_run == clock.now + 60.0


def test_a_job_can_ask_to_run_earlier_than_its_interval(
    jobs: Scheduler, clock: ManualClock
) -> None:
    work = Work(answer=5.0)
    jobs.register(Job("a", 60.0, work))
    run_due(jobs)
    assert state(jobs, "a").next_run == clock.now + 5.0
    work.answer = 500.0
    clock.now += 5.0
    run_due(jobs)
    assert state(jobs, "a").next_run == clock.now + 60.0


def test_a_job_never_overlaps_itself_however_late_it_is(
    jobs: Scheduler, clock: ManualClock
) -> None:
    work = Work()
    work.gate.clear()
    jobs.register(Job("a", 1.0, work))
    jobs.tick()
    assert work.started.acquire(timeout=SOON)
    for _ in range(20):
        clock.now += 10.0
        jobs.soon("a")
        jobs.tick()
    work.gate.set()
    until(lambda: not state(jobs, "a").running)
    run_due(jobs)
    assert (work.most_at_once, work.runs) == (1, 2)


def test_a_wake_up_during_a_run_causes_another_run(jobs: Scheduler) -> None:
    work = Work()
    work.gate.clear()
    jobs.register(Job("a", 3_600.0, work))
    jobs.tick()
    assert work.started.acquire(timeout=SOON)
    assert jobs.soon("a")
    work.gate.set()
    until(lambda: not state(jobs, "a").running)
    run_due(jobs)
    assert work.runs == 2
    run_due(jobs)
    assert work.runs == 2


def test_a_job_can_be_wanted_earlier_but_not_later(jobs: Scheduler, clock: ManualClock) -> None:
    work = Work()
    jobs.register(Job("a", 60.0, work))
    run_due(jobs)
    for within in (10.0, 5.0, 40.0):
        jobs.soon("a", within)
    assert state(jobs, "a").next_run == clock.now + 5.0
    work.gate.clear()
    clock.now += 5.0
    jobs.tick()
    until(lambda: work.runs == 2)
    jobs.soon("a", 7.0)
    work.gate.set()
    until(lambda: not state(jobs, "a").running)
    assert state(jobs, "a").next_run == clock.now + 7.0


def test_a_failing_job_is_reported_and_runs_again(jobs: Scheduler, clock: ManualClock) -> None:
    work, other = Work(), Work()
    work.failure = Unavailable("the store is away")
    jobs.register(Job("a", 60.0, work))
    jobs.register(Job("b", 60.0, other))
    run_due(jobs)
    failed = state(jobs, "a")
    assert (failed.last_error, failed.failures, other.runs) == ("the store is away", 1, 1)
    work.failure = ValueError("a bug")
    clock.now += 60.0
    run_due(jobs)
    assert state(jobs, "a").last_error == "ValueError: a bug"
    work.failure = None
    clock.now += 60.0
    run_due(jobs)
    assert (state(jobs, "a").last_error, state(jobs, "a").runs, other.runs) == ("", 3, 3)


def test_hanging_jobs_do_not_delay_the_others(jobs: Scheduler, clock: ManualClock) -> None:
    stuck = [Work() for _ in range(3 * module.WORKERS)]
    for number, work in enumerate(stuck):
        work.gate.clear()
        jobs.register(Job(f"stuck-{number}", 1.0, work))
    for work in stuck:
        jobs.tick()
        assert work.started.acquire(timeout=SOON)
        clock.now += 2 * module.SLOW  # those that run are slow now
    quick = Work()
    jobs.register(Job("quick", 1.0, quick))
    jobs.tick()
    assert quick.started.acquire(timeout=SOON)
    clock.now += 2 * module.HANGS
    assert state(jobs, "stuck-0").hangs
    assert not state(jobs, "quick").hangs
    for _ in range(5):
        clock.now += 10.0
        jobs.tick()
    assert [work.runs for work in stuck] == [1] * len(stuck)
    for work in stuck:
        work.gate.set()


def test_a_replaced_job_does_not_overlap_its_predecessor(
    jobs: Scheduler, clock: ManualClock
) -> None:
    old, new = Work(), Work()
    old.gate.clear()
    jobs.register(Job("a", 1.0, old))
    jobs.tick()
    assert old.started.acquire(timeout=SOON)
    assert jobs.unregister("a")
    jobs.register(Job("a", 2.0, new))
    clock.now += 5.0
    jobs.tick()
    assert not new.started.acquire(timeout=0.02)
    old.gate.set()
    until(lambda: not state(jobs, "a").running)
    run_due(jobs)
    clock.now += 2.0
    run_due(jobs)
    assert (old.runs, new.runs, [one.every for one in jobs.registered()]) == (1, 2, [2.0])


def test_an_unregistered_job_does_not_run_again(jobs: Scheduler, clock: ManualClock) -> None:
    work = Work()
    jobs.register(Job("a", 1.0, work))
    run_due(jobs)
    assert jobs.unregister("a")
    assert not jobs.unregister("a")
    assert not jobs.soon("a")
    clock.now += 10.0
    run_due(jobs)
    assert (work.runs, jobs.registered()) == (1, [])


def test_stop_waits_for_a_running_job_but_not_for_one_that_hangs(clock: ManualClock) -> None:
    jobs = Scheduler(clock=clock)
    work, stuck = Work(), Work()
    work.gate.clear()
    stuck.gate.clear()
    jobs.register(Job("a", 1.0, work))
    jobs.register(Job("b", 1.0, stuck))
    jobs.tick()
    assert work.started.acquire(timeout=SOON)
    assert stuck.started.acquire(timeout=SOON)
    threading.Timer(0.02, work.gate.set).start()
    before = time.monotonic()
    jobs.stop(0.1)
    assert time.monotonic() - before < 2.0
    assert (work.at_once, stuck.at_once) == (0, 1)
    clock.now += 10.0
    jobs.tick()
    stuck.gate.set()
    assert (work.runs, stuck.runs) == (1, 1)


def test_the_timer_starts_jobs_by_itself() -> None:
    jobs = Scheduler()
    work, woken = Work(), Work()
    jobs.register(Job("a", 0.01, work))
    jobs.register(Job("b", 3_600.0, woken))
    jobs.start()
    until(lambda: work.runs >= 3 and woken.runs == 1)
    jobs.soon("b")
    until(lambda: woken.runs == 2)
    jobs.stop()
    runs = work.runs
    time.sleep(0.03)
    assert work.runs == runs
