"""The life of a task on every engine, and what rivals cannot do between two reads."""

import threading

import pytest
from tests.engines.optimistic import OptimisticEngine
from tests.services.board_crew import agrees
from tests.services.engines import common_store, on_every_engine
from tests.services.row_tasks import RowTasks
from tests.services.several_agents import caller
from tests.services.wired import wired

from dibs.config.load import Config
from dibs.core.tasks.rules import Handoff
from dibs.errors import DibsError
from dibs.services.tasks.values import Draft, NothingFree

BOSS = caller("human")


@on_every_engine
def connect(request):
    """Return a function that opens the board like another process."""
    with common_store(request) as another:
        yield lambda: RowTasks(wired(another(), Config(ttl=300)))


def test_several_processes_create_take_finish_follow_up_and_archive_a_task(connect):
    maker, worker, boss = connect(), connect(), connect()
    maker.create(
        BOSS,
        [
            Draft({"agent": "bob", "priority": "high", "dependencies": ["first"]}, id="second"),
            Draft({"title": "first", "artefacts": ["a.md"]}, id="first"),
        ],
    )
    taken = worker.take(caller("bob"), claim=True)
    assert taken.stored.id == "first"
    assert isinstance(maker.take(caller("carol")), NothingFree)
    with pytest.raises(DibsError):
        maker.done(caller("carol"), "first")

    token = taken.granted.token
    done = worker.done(caller("bob"), "first", token=token, handoff=Handoff("bob", "third"))

    (third,) = boss.stored([done.follower]).values()
    assert third.task.dependencies == ("first",)
    assert [s.id for s in boss.assign(BOSS, skip={third.id})] == ["second"]
    assert boss.hand_off(BOSS) == ([], [])
    assert maker.head() > third.version
    rows = maker.stored(maker.versions())
    assert set(rows) == {"first", "second", third.id}
    assert all(agrees(row) for row in rows.values())
    assert {s.stored.id: s.state for s in maker.all(None)} == {
        "second": "assigned",
        third.id: "new",
    }
    order = [worker.take(caller("bob")).stored.id for _ in range(2)]
    assert order == ["second", third.id]


def test_concurrent_takers_never_get_the_same_task(connect):
    connect().create(BOSS, [Draft({}, id=f"t{n:02}") for n in range(12)])
    boards = [connect() for _ in range(4)]
    got, errors = [], []

    def drain(number, board):
        me = caller(f"agent-{number}")
        try:
            while True:
                answer = board.take(me)
                if isinstance(answer, NothingFree):
                    return
                got.append(answer.stored.id)
                board.done(me, answer.stored.id, token=answer.granted.token)
        except DibsError as error:
            if error.code != "QUEUE_EMPTY":
                errors.append(error)

    threads = [threading.Thread(target=drain, args=pair) for pair in enumerate(boards)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    assert sorted(got) == [f"t{n:02}" for n in range(12)]
    assert {s.stored.task.status for s in boards[0].all(None, finished=True)} == {"done"}


class Interrupted(OptimisticEngine):
    """Lets a rival act just before the first commit of each armed step."""

    rival = None

    def commit(self, attempt):
        rival, self.rival = self.rival, None
        if rival is not None:
            rival()
        return super().commit(attempt)


@pytest.fixture
def rivals():
    engine = Interrupted()
    mine, other = RowTasks(wired(engine, Config())), RowTasks(wired(engine.connect(), Config()))

    def arm(act):
        engine.rival = act

    return mine, other, arm


def test_a_faster_rival_gets_the_task_and_we_get_the_next_one(rivals):
    mine, other, arm = rivals
    mine.create(BOSS, [Draft({}, id="a"), Draft({}, id="b")])
    arm(lambda: other.take(caller("carol")))

    assert mine.take(caller("bob")).stored.id == "b"
    assert mine.show(None, "a").holder == "carol"


def test_a_rival_orchestrator_creates_no_second_follow_up(rivals):
    mine, other, arm = rivals
    mine.create(BOSS, [Draft({}, id="a")])
    mine.start(caller("bob"), "a")
    mine.done(caller("bob"), "a")
    mine.wait_for_follow_up("a", Handoff("bob", "next"))
    made = []
    arm(lambda: made.extend(other.hand_off(BOSS)[0]))

    assert mine.hand_off(BOSS) == ([], [])
    assert len(made) == 1
    assert len(mine.versions()) == 2


def test_a_rival_orchestrator_assigns_nothing_twice(rivals):
    mine, other, arm = rivals
    mine.create(BOSS, [Draft({"agent": "bob"}, id="a"), Draft({"agent": "carol"}, id="b")])
    arm(lambda: other.assign(BOSS))

    assert mine.assign(BOSS) == []
    assert [row.attempt for row in mine.stored(["a", "b"]).values()] == [0, 0]


def test_a_result_after_a_cancellation_is_refused(rivals):
    mine, other, arm = rivals
    mine.create(BOSS, [Draft({}, id="a")])
    mine.start(caller("bob"), "a")
    arm(lambda: other.cancel(BOSS, "a", reason="stop"))

    with pytest.raises(DibsError) as caught:
        mine.done(caller("bob"), "a")

    assert caught.value.code == "FENCED"
    assert mine.show(None, "a").state == "cancelled"


def test_a_dependency_reopened_meanwhile_does_not_count_as_done(rivals):
    mine, other, arm = rivals
    mine.create(BOSS, [Draft({}, id="a"), Draft({"dependencies": ["a"]}, id="b")])
    mine.start(caller("carol"), "a")
    mine.done(caller("carol"), "a")
    arm(lambda: other.reopen(BOSS, "a"))

    assert mine.take(caller("bob")).stored.id == "a"
