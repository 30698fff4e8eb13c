"""The plain queue: who gets which task, and what happens to it."""

import threading

import pytest
from tests.services.queues import PlainQueue
from tests.services.several_agents import Crew, caller

from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import Granted
from dibs.core.tasks.rules import Status
from dibs.errors import BadInput, DibsError, Fenced, NotFound
from dibs.services.board.tasks import Tasks
from dibs.services.tasks.plain_queue import DONE, FREE, HELD, MAX_FILE
from dibs.services.tasks.values import QUEUE, NothingFree, TakenTask


@pytest.fixture
def queue(crew):
    return PlainQueue(crew.store)


def put(crew, *files):
    """Put files where the git engine would have them from ``tasks/pending``."""

    def step(txn):
        for file in files:
            txn.put(f"queue/{file}", f"title: {file}\n")

    crew.engine.transact(step)


def names(tasks, state=None):
    return [task.name for task in tasks if state in {None, task.state}]


def test_tasks_are_taken_in_order_of_file_name(crew, queue):
    put(crew, "b.yml", "a-1.yml", "a.yaml", "c.yml")

    taken = [queue.take(caller(f"agent-{n}")) for n in range(4)]

    assert [t.stored.id for t in taken] == ["a-1", "a", "b", "c"]
    assert taken[0].stored.text == "title: a-1.yml\n"
    assert crew.held() >= {("agent-0", "task:a-1"), ("agent-3", "task:c")}


def test_a_task_that_another_agent_holds_is_skipped(crew, queue):
    put(crew, "a.yml", "b.yml")
    crew.claim("bob", "task:a")

    assert queue.take(caller("carol")).stored.id == "b"


def test_a_task_that_the_caller_holds_is_not_handed_out_again(crew, queue):
    put(crew, "a.yml", "b.yml")

    assert queue.take(caller("bob")).stored.id == "a"
    assert queue.take(caller("bob")).stored.id == "b"
    busy = queue.take(caller("bob"))
    assert isinstance(busy, NothingFree)
    assert [task.holder for task in busy.queue] == ["bob", "bob"]


def test_a_caller_that_gets_no_task_learns_who_holds_what_and_until_when(crew, queue):
    put(crew, "a.yml", "b.yml")
    queue.take(caller("bob"), ttl=60, reason="first")
    queue.take(caller("carol"), ttl=90)

    busy = queue.take(caller("dave"))

    assert isinstance(busy, NothingFree)
    assert [(t.name, t.state, t.holder, t.reason, t.expires_in) for t in busy.queue] == [
        ("a", HELD, "bob", "first", 60),
        ("b", HELD, "carol", "", 90),
    ]


def test_an_empty_queue_gives_no_task_and_says_so(crew, queue):
    with pytest.raises(NotFound) as caught:
        queue.take(caller("bob"))

    assert caught.value.code == "QUEUE_EMPTY"
    assert crew.held() == set()


def test_take_removes_every_expired_claim_on_the_queue(crew, queue):
    put(crew, "a.yml", "b.yml")
    for agent in ("bob", "carol"):
        queue.take(caller(agent), ttl=30)
    crew.clock.advance(30)

    assert queue.take(caller("dave")).stored.id == "a"
    assert crew.kinds().count(Kind.LOCK_EXPIRED) == 2
    assert [key for key, _ in crew.rows() if key.startswith("at/:task/b//")] == []
    assert queue.take(caller("erin")).stored.id == "b"


def test_a_done_task_leaves_the_queue_in_the_same_step(crew, queue):
    put(crew, "a.yml", "b.yml")
    queue.take(caller("bob"))

    task = queue.done(caller("bob"), "a", note="easy")

    assert (task.name, task.state) == ("a", DONE)
    rows = dict(crew.rows())
    assert rows["finished/a.yml"] == "title: a.yml\n"
    assert "queue/a.yml" not in rows
    assert crew.held() == set()
    assert crew.kinds()[-2:] == [Kind.TASK_COMPLETED, Kind.LOCK_RELEASED]


def test_a_done_task_cannot_be_taken_again_even_if_its_file_reappears(crew, queue):
    put(crew, "a.yml")
    queue.take(caller("bob"))
    queue.done(caller("bob"), "a")
    put(crew, "a.yml", "A.yaml")

    with pytest.raises(NotFound) as caught:
        queue.take(caller("carol"))

    assert caught.value.code == "QUEUE_EMPTY"


def test_only_the_owner_can_finish_a_task(crew, queue):
    put(crew, "a.yml")
    queue.take(caller("bob"))
    before = dict(crew.rows())

    with pytest.raises(Fenced):
        queue.done(caller("carol"), "a")

    after = dict(crew.rows())
    assert {k: v for k, v in after.items() if "carol" not in k} == before


def test_a_late_owner_cannot_finish_a_task_that_another_agent_took(crew, queue):
    put(crew, "a.yml")
    queue.take(caller("bob"), ttl=30)
    crew.clock.advance(31)
    queue.take(caller("carol"))

    with pytest.raises(Fenced, match="carol"):
        queue.done(caller("bob"), "a")

    assert "queue/a.yml" in dict(crew.rows())


def test_done_with_the_token_of_an_earlier_grant_is_fenced(crew, queue):
    put(crew, "a.yml")
    first = queue.take(caller("bob"))
    queue.release(caller("bob"), "a")
    second = queue.take(caller("bob"))

    with pytest.raises(Fenced):
        queue.done(caller("bob"), "a", token=first.granted.token)
    assert queue.done(caller("bob"), "a", token=second.granted.token).state == DONE


def test_done_without_a_file_says_so_and_keeps_the_claim(crew, queue):
    crew.claim("bob", "task:a")

    with pytest.raises(NotFound) as caught:
        queue.done(caller("bob"), "a")

    assert caught.value.code == "NO_TASK"
    assert crew.held() == {("bob", "task:a")}


def test_repeating_done_with_its_request_id_gets_the_same_result(crew, queue):
    put(crew, "a.yml")
    queue.take(caller("bob"))

    first = queue.done(caller("bob"), "a", request_id="r1")

    assert queue.done(caller("bob"), "a", request_id="r1") == first
    assert crew.kinds().count(Kind.TASK_COMPLETED) == 1


def test_repeating_done_with_its_request_id_succeeds_even_without_the_file(crew, queue):
    put(crew, "a.yml")
    queue.take(caller("bob"))
    first = queue.done(caller("bob"), "a", request_id="r1")
    crew.engine.transact(lambda txn: txn.delete("finished/a.yml"))

    again = queue.done(caller("bob"), "a", request_id="r1")

    assert again == first._replace(file="")
    assert crew.kinds().count(Kind.TASK_COMPLETED) == 1


@pytest.mark.parametrize("spelled", ["fix", "FIX"])
def test_done_returns_the_file_names_spelling_of_the_task(crew, queue, spelled):
    put(crew, "Fix.yml")
    queue.take(caller("bob"))

    done = queue.done(caller("bob"), spelled)

    assert (done.name, done.file, done.state) == ("Fix", "Fix.yml", DONE)


def test_repeating_take_with_its_request_id_takes_one_task(crew, queue):
    put(crew, "a.yml", "b.yml")

    first = queue.take(caller("bob"), request_id="r1")
    again = queue.take(caller("bob"), request_id="r1")

    assert again.granted == first.granted
    assert again.stored.text == "title: a.yml\n"
    assert crew.held() == {("bob", "task:a")}


def test_a_queued_file_is_released_and_finished_like_a_task_on_the_board(crew, queue):
    put(crew, "a.yml")
    tasks = Tasks(crew.store)
    queue.take(caller("bob"))

    back = tasks.release(caller("bob"), "a")
    queue.take(caller("bob"))
    done = tasks.done(caller("bob"), "a", summary="easy")

    assert (back.task.status, back.file, back.place) == (Status.NEW, "a.yml", QUEUE)
    assert (done.task.status, done.task.summary, done.file) == (Status.DONE, "easy", "a.yml")
    with pytest.raises(NotFound, match="on the board"):
        tasks.done(caller("bob"), "b")


def test_a_released_task_is_the_next_one(crew, queue):
    put(crew, "a.yml", "b.yml")
    queue.take(caller("bob"))
    queue.release(caller("bob"), "a")

    assert queue.take(caller("carol")).stored.id == "a"


def test_the_list_shows_unclaimed_held_and_done_tasks(crew, queue):
    put(crew, "a.yml", "b.yml", "c.yml")
    queue.take(caller("bob"))
    queue.done(caller("bob"), "a")
    queue.take(caller("bob"))

    tasks = queue.all()

    assert [(t.name, t.state) for t in tasks] == [("b", HELD), ("c", FREE), ("a", DONE)]


def test_rows_that_are_not_tasks_are_ignored(crew, queue):
    put(crew, ".hidden.yml", "notes.txt", "a\x07.yml", "..yml", "good.yml")

    assert names(queue.all()) == ["good"]
    assert queue.take(caller("bob")).stored.id == "good"


def test_a_wildcard_in_a_task_name_is_literal(crew, queue):
    put(crew, "*.yml", "a.yml")

    assert queue.take(caller("bob")).stored.id == "*"
    assert queue.take(caller("carol")).stored.id == "a"
    assert queue.done(caller("bob"), "*").name == "*"


def test_files_are_added_all_or_none_without_being_parsed(crew, queue):
    added = queue.add(caller("bob"), {"a.yml": b"a: &x [*x]\n", "b.yaml": b"\xff\x00"})

    assert names(added) == ["a", "b"]
    assert queue.take(caller("carol")).stored.text == "a: &x [*x]\n"
    with pytest.raises(BadInput) as caught:
        queue.add(caller("bob"), {"c.yml": b"", "A.yaml": b""})
    assert caught.value.code == "TASK_EXISTS"
    assert names(queue.all()) == ["a", "b"]


@pytest.mark.parametrize(
    "file", ["a.txt", ".yml", "..yml", ".a.yml", "a\n.yml", "x" * 251 + ".yml", "a/b.yml"]
)
def test_a_file_that_cannot_be_a_task_is_refused(crew, queue, file):
    with pytest.raises(BadInput) as caught:
        queue.add(caller("bob"), {file: b""})

    assert caught.value.code == "TASK_FILE"
    assert dict(crew.rows()) == {}


def test_a_file_above_the_limit_is_refused(crew, queue):
    queue.add(caller("bob"), {"a.yml": b"x" * MAX_FILE})

    with pytest.raises(BadInput, match="at most"):
        queue.add(caller("bob"), {"b.yml": b"x" * (MAX_FILE + 1)})


# -- waiting


def waiter(queue, agent, got):
    def run():
        try:
            got[agent] = queue.take(caller(agent), wait=20)
        except DibsError as error:
            got[agent] = error

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def until(condition):
    limit = threading.Event()
    for _ in range(2000):
        if condition():
            return
        limit.wait(0.005)
    raise AssertionError("it never came to that")


def test_waiters_get_tasks_in_order_of_arrival(crew, queue):
    put(crew, "a.yml")
    queue.take(caller("bob"))
    got = {}
    threads = []
    for place, agent in enumerate(("carol", "dave"), 1):
        threads.append(waiter(queue, agent, got))
        until(lambda place=place: len(crew.waiting()) == place)

    queue.release(caller("bob"), "a")
    threads[0].join(10)
    assert isinstance(got["carol"], TakenTask)
    assert "dave" not in got
    queue.add(caller("bob"), {"z.yml": b""})
    threads[1].join(10)

    assert got["dave"].stored.id == "z"
    assert crew.waiting() == []


def test_a_later_caller_does_not_overtake_a_waiter_but_gets_the_rest(crew, queue):
    put(crew, "a.yml", "b.yml")
    crew.claim("bob", "task:a", "task:b")
    queue._store.apply(lambda rows: _stand_in_line(rows, "carol"))
    crew.release("bob", "task:a")

    busy = queue.take(caller("dave"))

    assert isinstance(busy, NothingFree)
    assert busy.ahead == 1
    crew.release("bob", "task:b")
    assert queue.take(caller("dave")).stored.id == "b"
    assert queue.take(caller("carol")).stored.id == "a"
    assert crew.waiting() == []


def _stand_in_line(rows, agent):
    from dibs.core.claims.rules import EXCLUSIVE, Request
    from dibs.services.claims.acquire import WaitOptions, queue_up
    from dibs.services.state.presence import arrive
    from dibs.services.tasks.take import turn_at

    beat = arrive(rows, caller(agent))
    wish = Request(agent, (turn_at(fold_case=True),), EXCLUSIVE, 60.0)
    queue_up(rows, wish, beat, None, WaitOptions(rows.now + 100, 30.0, standing=False))


def test_a_dead_waiter_blocks_nobody(crew, queue):
    put(crew, "a.yml")
    queue._store.apply(lambda rows: _stand_in_line(rows, "carol"))

    assert isinstance(queue.take(caller("dave")), NothingFree)
    crew.clock.advance(30)
    assert queue.take(caller("dave")).stored.id == "a"
    assert crew.waiting() == []


def test_a_wait_that_times_out_leaves_no_ticket_and_reports_what_is_held(crew, queue):
    put(crew, "a.yml")
    queue.take(caller("bob"))

    busy = queue.take(caller("carol"), wait=0.05)

    assert isinstance(busy, NothingFree)
    assert busy.waited
    assert crew.waiting() == []


def test_a_wait_on_an_empty_queue_ends_with_queue_empty(crew, queue):
    with pytest.raises(NotFound) as caught:
        queue.take(caller("carol"), wait=0.05)

    assert caught.value.code == "QUEUE_EMPTY"
    assert crew.waiting() == []


def test_concurrent_threads_never_take_a_task_twice():
    crew = Crew()
    put(crew, *[f"t{n}.yml" for n in range(20)])
    got = []
    start = threading.Barrier(8)

    def work(agent):
        queue = PlainQueue(crew.store)
        start.wait()
        while isinstance(answer := queue.take(caller(agent)), TakenTask):
            assert isinstance(answer.granted, Granted)
            got.append(answer.stored.id)

    threads = [threading.Thread(target=work, args=(f"agent-{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(got) == sorted(f"t{n}" for n in range(20))
