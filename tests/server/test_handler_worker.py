"""One handler with its queue: failures, calls that hang, dropped events, and several servers."""

from __future__ import annotations

import threading

import pytest
from tests.server.conftest import until
from tests.services.engines import common_store, memory, on, redis

from dibs.config.load import Config
from dibs.core.claims.ledger import Kind
from dibs.errors import Unavailable
from dibs.server.pipeline import worker as worker_module
from dibs.server.pipeline.worker import ELSEWHERE, IDLE, PARKED, Worker
from dibs.services.pipeline import progress as progress_module
from dibs.services.pipeline.handlers import Handler, HandlerFailed
from dibs.services.pipeline.progress import MOST_WAITING, HandlerProgress
from dibs.services.state.ledger import Ledger, Query
from dibs.services.state.serving.handlers import get_handler
from dibs.services.state.store import Store

engines = on(memory, redis)


class Bench:
    """A store with events, and servers that run one handler."""

    def __init__(self, engine):
        self.store = Store(engine, Config(ledger_limit=100_000))
        self.workers = []

    def server(self, act, name="h", *, owner="one", store=None, dead=(), **options):
        handler = Handler(
            name, frozenset({Kind.COMMITTED}), act, options.pop("timeout", 5.0), **options
        )
        found = HandlerProgress(lambda: store or self.store, owner, lambda other: other in dead)
        found.adopt([name])
        worker = Worker(handler, found, pause=0.001, spare=0.0)
        self.workers.append(worker)
        return worker

    def happen(self, count=1, kind=Kind.COMMITTED, **details):
        def step(rows):
            return [rows.emit("bob", "agent", kind, f"event {n}", **details) for n in range(count)]

        return self.store.apply(step)

    def feed(self, worker):
        row = self.row(worker.handler.name)
        after = max(worker.offered, row.seq)
        entries, missed, _ = Ledger(self.store).waiting(after, worker.handler.kinds, MOST_WAITING)
        worker.offer(entries, missed)

    def row(self, name="h"):
        return self.store.look(lambda rows: get_handler(rows, name))

    def errors(self):
        return Ledger(self.store).newest(Query(kinds=frozenset({Kind.ERROR})), 100)

    def settled(self, worker):
        until(lambda: not worker.waiting and worker.state == IDLE and worker._thread is None)


@pytest.fixture
def bench():
    from dibs.engines.memory import MemoryEngine

    made = Bench(MemoryEngine())
    yield made
    for worker in made.workers:
        worker.stop()
        worker.join(5)


def test_events_are_handled_once_and_in_order(bench):
    seen = []
    worker = bench.server(lambda batch: seen.extend(entry.seq for entry in batch))
    numbers = bench.happen(50)
    bench.feed(worker)
    bench.feed(worker)
    bench.settled(worker)
    assert seen == numbers
    assert (bench.row().seq, bench.row().handled) == (numbers[-1], 50)


def test_a_new_handler_begins_with_the_next_event(bench):
    bench.happen(3)
    seen = []
    worker = bench.server(seen.extend)
    bench.happen(1)
    bench.feed(worker)
    bench.settled(worker)
    assert len(seen) == 1


def test_a_failed_call_is_repeated_and_then_its_event_is_skipped_with_an_error(bench):
    tries = []

    def act(batch):
        tries.append(batch[0].seq)
        if batch[0].seq == bad:
            raise HandlerFailed("exit status 2", ["token=ghp_0123456789abcdefghij0123", "boom"])

    worker = bench.server(act, retries=2)
    bad, good = bench.happen(2)
    bench.feed(worker)
    bench.settled(worker)
    assert tries == [bad, bad, bad, good]
    (error,) = bench.errors()
    assert "exit status 2" in error.summary
    assert error.details["output"][1] == "boom"
    assert "ghp_" not in str(error)
    assert (bench.row().skipped, bench.row().handled, bench.row().seq) == (1, 1, good)


@pytest.mark.parametrize("problem", [ValueError("odd"), OSError(5, "io"), Unavailable("no")])
def test_whatever_a_handler_raises_only_concerns_its_own_event(bench, problem):
    def act(batch):
        if batch[0].seq % 2:
            raise problem

        def finish(_):
            raise problem

        return finish if not isinstance(problem, Unavailable) else None

    worker = bench.server(act, retries=0)
    bench.happen(2)
    bench.feed(worker)
    bench.settled(worker)
    assert bench.row().skipped + bench.row().handled == 2
    assert bench.row().skipped


def test_a_handler_that_never_returns_does_not_delay_another(bench):
    forever = threading.Event()
    seen = []
    stuck = bench.server(lambda _: forever.wait(), "stuck", timeout=0.05, retries=0)
    other = bench.server(seen.extend, "other")
    bench.happen(5)
    bench.feed(stuck)
    bench.feed(other)
    bench.settled(other)
    assert len(seen) == 5
    until(lambda: stuck.state == PARKED)  # three calls hang; no fourth one is started
    assert bench.row("stuck").skipped == 3
    assert "does not return" in bench.errors()[0].summary
    forever.set()
    bench.settled(stuck)
    assert bench.row("stuck").skipped + bench.row("stuck").handled == 5


def test_ten_thousand_events_wait_and_then_the_oldest_are_dropped_with_one_warning(bench):
    go, seen = threading.Event(), []

    def act(batch):
        go.wait()
        seen.extend(entry.seq for entry in batch)

    worker = bench.server(act, timeout=30.0)
    first = bench.happen(1)
    bench.feed(worker)
    until(lambda: worker.state == "running")
    numbers = bench.happen(MOST_WAITING)
    bench.feed(worker)
    worker.tend()
    assert bench.errors() == []
    numbers += bench.happen(7)
    bench.feed(worker)
    worker.tend()
    numbers += bench.happen(3)
    bench.feed(worker)
    worker.tend()
    worker.stop()
    (warning,) = bench.errors()
    assert "oldest are dropped" in warning.summary
    assert bench.row().dropped == 10
    assert worker.waiting == MOST_WAITING
    assert worker._queue[0].seq == numbers[10]
    go.set()
    worker.join(5)
    assert seen == first


def test_waiting_events_are_taken_all_at_once_if_the_handler_wants_that(bench):
    go, batches = threading.Event(), []

    def act(batch):
        go.wait()
        batches.append(len(batch))

    worker = bench.server(act, all_at_once=True)
    bench.happen(1)
    bench.feed(worker)
    until(lambda: worker.state == "running")
    bench.happen(4)
    bench.feed(worker)
    go.set()
    bench.settled(worker)
    assert batches == [1, 4]


def test_what_a_handler_wrote_is_not_an_event_for_handlers(bench):
    seen = []
    worker = bench.server(seen.extend)
    bench.happen(1, handler="other")
    bench.happen(1)
    bench.feed(worker)
    bench.settled(worker)
    assert len(seen) == 1


def test_a_result_is_written_once_even_if_the_call_is_repeated(bench, monkeypatch):
    """The store fails after the handler acted: the handler is not called again."""
    calls, worker = [], None
    real, failures = HandlerProgress.done, [Unavailable("down"), Unavailable("down")]

    def done(self, *args):
        if failures:
            raise failures.pop()
        return real(self, *args)

    monkeypatch.setattr(HandlerProgress, "done", done)

    def act(batch):
        calls.append(batch)
        return lambda rows: rows.emit("dibs", "dibs", Kind.TESTS_PASSED, "ok", handler="h")

    worker = bench.server(act)
    bench.happen(1)
    bench.feed(worker)
    bench.settled(worker)
    assert len(calls) == 1
    assert len(Ledger(bench.store).newest(Query(kinds=frozenset({Kind.TESTS_PASSED})), 9)) == 1


def test_after_a_restart_the_next_server_continues_where_the_last_one_was(bench):
    started, go, seen = threading.Event(), threading.Event(), []

    def act(batch):
        if batch[0].seq == numbers[2]:
            started.set()
            go.wait()
        seen.append(batch[0].seq)

    numbers = []
    first = bench.server(act, owner="one")
    numbers += bench.happen(5)
    bench.feed(first)
    started.wait()
    # The first server is killed here: its call of the third event never ends.
    again = []
    second = bench.server(lambda batch: again.append(batch[0].seq), owner="two", dead={"one"})
    bench.feed(second)
    bench.settled(second)
    assert seen == numbers[:2]
    assert again == numbers[2:]
    first.stop()
    go.set()
    first.join(5)
    assert bench.row().handled == 5  # the late result of the first server does not count


def test_a_server_waits_while_another_one_handles_the_events(bench, monkeypatch):
    monkeypatch.setattr(worker_module, "ASK_EVERY", 0.01)
    go, seen, other = threading.Event(), [], []

    def act(batch):
        go.wait()
        seen.append(batch[0].seq)

    first = bench.server(act, owner="one")
    second = bench.server(lambda batch: other.append(batch[0].seq), owner="two")
    numbers = bench.happen(3)
    bench.feed(first)
    until(lambda: first.state == "running")
    bench.feed(second)
    until(lambda: second.state == ELSEWHERE)
    go.set()
    bench.settled(first)
    until(lambda: second.waiting == 0)
    assert (seen, other) == (numbers, [])


def test_a_lease_is_kept_during_a_long_call(bench, monkeypatch):
    monkeypatch.setattr(progress_module, "LASTS", 0.2)
    go, other = threading.Event(), []
    first = bench.server(lambda _: go.wait(), owner="one", timeout=30.0)
    bench.happen(1)
    bench.feed(first)
    until(lambda: first.state == "running")
    second = bench.server(other.append, owner="two")
    bench.feed(second)
    end = threading.Event()

    def tending():
        while not end.wait(0.02):
            first.tend()

    keeper = threading.Thread(target=tending)
    keeper.start()
    threading.Event().wait(0.5)
    end.set()
    keeper.join()
    assert other == []
    go.set()
    bench.settled(first)
    assert bench.row().handled == 1


@engines
def opened(request):
    with common_store(request) as another:
        yield another


def test_two_servers_handle_every_event_once(opened, monkeypatch):
    monkeypatch.setattr(worker_module, "ASK_EVERY", 0.01)
    ours, theirs = Bench(opened()), Bench(opened())
    seen = []
    first = ours.server(lambda batch: seen.append(batch[0].seq), owner="one")
    second = theirs.server(lambda batch: seen.append(batch[0].seq), owner="two")
    numbers = []
    for _ in range(10):
        numbers += ours.happen(10)
        ours.feed(first)
        theirs.feed(second)
    ours.settled(first)
    until(lambda: not second.waiting)
    for one in (first, second):
        one.stop()
        one.join(5)
    assert sorted(seen) == numbers
