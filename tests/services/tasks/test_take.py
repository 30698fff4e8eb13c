"""Taking tasks: who gets which, exactly once, in which order, and who waits."""

import threading
from contextlib import contextmanager

import pytest
from tests.services.board_crew import BoardCrew, agrees
from tests.services.several_agents import caller

from dibs.core.claims.agents import Agent, Caller
from dibs.core.claims.rules import Denied
from dibs.core.tasks.rules import Status
from dibs.errors import BadInput, NotAllowed, NotFound
from dibs.services.board.tasks import BoardFiles, Tasks
from dibs.services.tasks.hand_edits import hold_back
from dibs.services.tasks.take import Taking
from dibs.services.tasks.values import EditedFile, NothingFree
from dibs.taskfile.reading import read


@pytest.fixture
def crew():
    return BoardCrew()


def taken(crew, agent, **options):
    answer = crew.take(agent, **options)
    return None if isinstance(answer, NothingFree) else answer.stored.id


def test_the_most_urgent_comes_first_then_the_oldest_then_by_id(crew):
    crew.make("b", "a")
    crew.clock.advance(60)
    crew.make("late")
    crew.make("urgent", priority="critical")
    crew.make("idle", priority="low")

    order = [taken(crew, f"agent-{n}") for n in range(5)]

    assert order == ["urgent", "a", "b", "late", "idle"]


def test_among_equals_named_comes_before_kin_before_role_before_anyone(crew):
    crew.make("base", "other")
    crew.start("bob", "base")
    crew.done("bob", "base")
    crew.start("carol", "other")
    crew.done("carol", "other")
    crew.make("any")
    crew.make("role", agent="writer")
    crew.make("kin", dependencies=["base"])
    crew.make("carols", dependencies=["other"])
    crew.make("mine", agent="bob")
    crew.make("hers", agent="carol")

    order = [taken(crew, "bob", roles=["writer"]) for _ in range(5)]

    assert order == ["mine", "kin", "role", "any", "carols"]
    assert isinstance(crew.take("bob", roles=["writer"]), NothingFree)


def test_tasks_of_several_roles_come_by_age_not_by_role(crew):
    for name, role in (("z", "one"), ("y", "two"), ("x", "one")):
        crew.make(name, agent=role)
        crew.clock.advance(60)

    assert [taken(crew, "bob", roles=["two", "one"]) for _ in range(3)] == ["z", "y", "x"]


def test_the_role_with_which_an_agent_joined_counts(crew):
    crew.agents.join(Agent("bob", role="writer"))
    crew.make("a", agent="writer")

    assert taken(crew, "bob") == "a"


def test_a_task_for_another_agent_is_not_handed_out(crew):
    crew.make("a", agent="carol")

    assert isinstance(crew.take("bob"), NothingFree)
    with pytest.raises(NotAllowed) as caught:
        crew.start("bob", "a")
    assert caught.value.code == "TASK_NOT_YOURS"
    assert crew.tasks.start(Caller("bob"), "a", roles=["carol"]).stored.task.agent == "bob"


def test_a_taken_task_is_in_progress_with_the_token_of_its_claim(crew):
    crew.make("a", agent="writer")

    answer = crew.take("bob", roles=["writer"], ttl=60, reason="now")
    stored, task = answer.stored, answer.stored.task

    assert (task.status, task.agent, stored.place) == ("in_progress", "bob", "assigned/bob")
    assert task.started == task.assigned == 1_000_000.0
    assert (stored.attempt, stored.token, stored.holder) == (1, answer.granted.token, "bob")
    assert stored.asked == "writer"
    assert agrees(stored)
    assert crew.held() == {("bob", "task:a")}


def test_a_task_is_ready_only_when_all_its_dependencies_are_done(crew):
    crew.make("a", "b")
    crew.make("c", dependencies=["a", "b"], priority="critical")
    assert {taken(crew, "bob"), taken(crew, "bob")} == {"a", "b"}
    crew.done("bob", "a")
    assert taken(crew, "carol") is None

    crew.done("bob", "b")

    assert taken(crew, "carol") == "c"


def test_an_archived_dependency_counts_if_done_and_not_if_cancelled(crew):
    crew.make("a", "b")
    crew.start("bob", "a")
    crew.done("bob", "a")
    crew.tasks.cancel(caller("human"), "b")
    crew.clock.advance(40 * 86_400)
    assert len(crew.tasks.archive(caller("human"))) == 2

    crew.make("c", dependencies=["a"])
    crew.make("d", dependencies=["b"])

    assert taken(crew, "bob") == "c"
    assert crew.tasks.show(None, "d").why == ("waits for b, which was cancelled",)


def test_reopening_a_dependency_makes_its_dependents_wait_again(crew):
    crew.make("a")
    crew.make("b", dependencies=["a"])
    crew.start("bob", "a")
    crew.done("bob", "a")
    crew.tasks.reopen(caller("human"), "a")

    assert taken(crew, "bob") == "a"
    assert taken(crew, "bob") is None


def test_starting_a_waiting_task_is_refused_with_the_reason(crew):
    crew.make("a")
    crew.make("b", dependencies=["a"])

    with pytest.raises(BadInput) as caught:
        crew.start("human", "b")

    assert caught.value.code == "TASK_DEPENDENCY"
    assert "waits for a, which has not started" in caught.value.message


def test_a_held_task_is_denied_with_its_owner_and_expiry(crew):
    crew.make("a")
    crew.start("bob", "a", ttl=60)

    answer = crew.start("carol", "a")

    assert isinstance(answer, Denied)
    assert [(c.holder, c.expires_in) for c in answer.conflicts] == [("bob", 60)]


def test_starting_your_own_task_continues_the_same_attempt(crew):
    crew.make("a", artefacts=["x.py"])
    first = crew.start("bob", "a")

    again = crew.start("bob", "a", claim=True)

    assert (again.stored.attempt, again.granted.claims[0].token) == (1, first.granted.token)
    assert crew.held() == {("bob", "task:a"), ("bob", "x.py")}
    crew.done("bob", "a")
    assert crew.held() == set()


def test_a_task_whose_name_is_claimed_is_skipped(crew):
    crew.make("a", "b")
    crew.claim("carol", "task:a")

    assert taken(crew, "bob") == "b"
    assert taken(crew, "carol") == "a"


@pytest.mark.parametrize("case", ["insensitive", "sensitive"])
def test_a_task_can_be_named_in_another_case_than_its_file(case):
    crew = BoardCrew(case=case)
    crew.make("Audit")
    first = crew.start("bob", "AUDIT")

    again = crew.start("bob", "audit")

    assert (again.stored.attempt, again.granted.token) == (1, first.granted.token)
    assert isinstance(crew.start("carol", "aUDIT"), Denied)
    assert crew.done("bob", "audit", token=first.granted.token).id == "Audit"
    assert crew.held() == set()


# -- with artefacts


def test_a_task_is_claimed_with_its_artefacts_all_or_none(crew):
    crew.make("a", artefacts=["src/a.py", "docs/*.md"])
    crew.make("b", artefacts=["src/b.py"])
    crew.claim("carol", "docs/index.md")

    assert taken(crew, "bob", claim=True) == "b"
    assert crew.held() >= {("bob", "task:b"), ("bob", "src/b.py")}
    assert isinstance(crew.take("dave", claim=True), NothingFree)
    assert ("dave", "src/a.py") not in crew.held()
    assert "lock_denied" not in crew.kinds()


def test_artefacts_are_released_with_the_task_except_those_held_before(crew):
    crew.make("a", artefacts=["src/a.py", "src/b.py"])
    crew.claim("bob", "src/b.py")
    crew.take("bob", claim=True)

    crew.done("bob", "a")

    assert crew.held() == {("bob", "src/b.py")}


def test_an_artefact_of_two_tasks_is_held_until_both_are_finished(crew):
    crew.make("a", "b", artefacts=["src/a.py"])
    crew.make("c", artefacts=["src/*.py"])
    assert [taken(crew, "bob", claim=True), taken(crew, "bob", claim=True)] == ["a", "b"]

    crew.done("bob", "a")

    assert crew.held() == {("bob", "task:b"), ("bob", "src/a.py")}
    assert isinstance(crew.take("carol", claim=True), NothingFree)
    crew.tasks.cancel(caller("human"), "b", reason="not needed")
    assert crew.held() == set()
    assert taken(crew, "carol", claim=True) == "c"


def test_a_task_with_unclaimable_artefacts_is_skipped_and_start_says_why(crew):
    crew.make("a", artefacts=["**"], priority="critical")
    crew.make("b")

    assert taken(crew, "bob", claim=True) == "b"
    with pytest.raises(NotAllowed) as caught:
        crew.start("bob", "a", claim=True)
    assert caught.value.code == "GLOB_TOO_BROAD"
    assert taken(crew, "bob") == "a"


# -- nothing to take


def test_an_empty_board_says_so(crew):
    with pytest.raises(NotFound) as caught:
        crew.take("bob")

    assert caught.value.code == "QUEUE_EMPTY"


def test_a_caller_that_gets_no_task_learns_which_exist_and_why(crew):
    crew.make("a")
    crew.make("b", dependencies=["a"])
    crew.make("c", agent="dave")
    crew.start("bob", "a", ttl=60)

    answer = crew.take("carol")

    assert isinstance(answer, NothingFree)
    assert {(s.stored.id, s.state, s.holder, s.expires_in, s.ready) for s in answer.tasks} == {
        ("a", "in_progress", "bob", 60, False),
        ("b", "blocked", "", 0, False),
        ("c", "new", "", 0, True),
    }


def test_a_failing_take_writes_no_entry(crew):
    crew.make("a", agent="dave")
    crew.take("carol")
    before = crew.kinds()

    crew.take("carol")

    assert crew.kinds() == before


# -- dead agents


def test_a_dead_agents_task_is_available_at_the_next_take(crew):
    crew.make("a", agent="writer")
    crew.take("bob", roles=["writer"], ttl=60)
    crew.clock.advance(59)
    assert taken(crew, "carol", roles=["writer"]) is None
    crew.clock.advance(1)

    answer = crew.take("carol", roles=["writer"])

    assert (answer.stored.id, answer.stored.attempt, answer.stored.failures) == ("a", 2, 1)
    assert answer.stored.asked == "writer"


def test_an_agent_that_sends_heartbeats_keeps_its_task(crew):
    crew.make("a")
    crew.take("bob", ttl=60)
    for _ in range(5):
        crew.clock.advance(50)
        crew.agents.beat(caller("bob"))
        assert taken(crew, "carol") is None
    assert crew.tasks.sweep() == []


def test_releasing_only_the_claim_makes_the_task_available_again(crew):
    crew.make("a")
    crew.take("bob")
    crew.release("bob", "task:a")

    assert taken(crew, "carol") == "a"


def test_an_attempt_continues_under_the_agent_that_receives_the_claim(crew):
    crew.make("a")
    crew.take("bob")
    crew.agents.join(Agent("carol"))
    crew.transfer("bob", "task:a", to="carol")

    assert crew.tasks.sweep() == []
    assert (crew.row("a").holder, crew.row("a").place) == ("carol", "assigned/carol")
    assert crew.done("carol", "a").doer == "carol"


# -- repeats and races


def test_repeating_a_request_id_gets_the_same_task(crew):
    crew.make("a", "b")

    first = crew.take("bob", request_id="r1")
    again = crew.take("bob", request_id="r1")

    assert first.granted == again.granted
    assert again.stored.id == "a"
    assert crew.statuses() == {"a": Status.IN_PROGRESS, "b": Status.NEW}


def test_concurrent_callers_get_different_tasks(crew):
    crew.make(*(f"t{n}" for n in range(16)))
    got = []
    threads = [
        threading.Thread(target=lambda n=n: got.append(taken(crew, f"agent-{n}")))
        for n in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(filter(None, got)) == sorted(f"t{n}" for n in range(16))
    assert got.count(None) == 4


# -- waiting


def test_a_new_task_wakes_a_waiter_and_each_try_is_one_board_command(crew):
    entered = []

    class Files(BoardFiles):
        @contextmanager
        def command(self, caller, **_):
            entered.append("in")
            yield
            entered.append("out")

    tasks = Tasks(crew.store, Files())
    got = []
    waiter = threading.Thread(
        target=lambda: got.append(tasks.take(caller("bob"), wait=60).stored.id)
    )
    crew.make("held")
    crew.start("carol", "held")
    waiter.start()
    until(lambda: crew.waiting() == ["bob"])

    crew.make("a")
    waiter.join(20)

    assert got == ["a"]
    assert crew.waiting() == []
    assert entered == ["in", "out"] * (len(entered) // 2)
    assert len(entered) >= 4


def test_a_later_caller_leaves_tasks_for_an_earlier_waiter(crew):
    crew.make("held")
    crew.start("carol", "held")
    draw_ticket(crew, "bob", roles=["writer"])
    crew.make("a", agent="writer", priority="low")
    crew.make("b", agent="reader")

    assert taken(crew, "dave", roles=["writer"]) is None
    assert taken(crew, "dave", roles=["reader"]) == "b"
    assert taken(crew, "bob", roles=["writer"]) == "a"
    assert crew.waiting() == []


def test_a_task_that_an_earlier_waiter_cannot_take_is_available_to_others(crew):
    crew.make("held")
    crew.start("carol", "held")
    crew.claim("carol", "x.py")
    draw_ticket(crew, "bob", claim=True)
    crew.make("a", artefacts=["x.py"])
    crew.make("b", "c")

    assert taken(crew, "dave") == "a"
    assert taken(crew, "dave") == "c"
    assert taken(crew, "dave") is None
    assert taken(crew, "bob", claim=True) == "b"


def test_a_waiter_that_gives_up_leaves_no_trace(crew):
    crew.make("held")
    crew.start("carol", "held")
    before = {key for key, _ in crew.rows()}

    answer = crew.take("bob", wait=1)

    assert answer.waited
    assert {key for key, _ in crew.rows()} - before == {"agent/bob", "beat/bob", "worker/bob"}


def draw_ticket(crew, agent, **options):
    """Queue an agent as a waiter, without a thread."""
    roles, claim = options.get("roles", ()), options.get("claim")
    Taking(crew.store, caller(agent), roles, claim, None, "", "").next(600.0)
    assert agent in crew.waiting()


def until(condition):
    for _ in range(2_000):
        if condition():
            return
        threading.Event().wait(0.005)
    raise AssertionError("it never came true")


def test_a_task_that_someone_works_on_by_hand_is_not_started(crew):
    text = "title: x\nagent: bob\nstatus: in_progress\n"
    file = EditedFile("a", "assigned/bob", "a.yaml", read(text.encode(), "a.yaml"))
    assert crew.tasks.accept(caller("human"), [file])[0].stored

    with pytest.raises(BadInput) as refused:
        crew.start("carol", "a")

    assert refused.value.code == "TASK_TRANSITION"
    assert crew.row("a").task.agent == "bob"


def test_a_task_whose_file_is_set_aside_is_not_started(crew):
    crew.make("a")
    crew.store.apply(lambda rows: hold_back(rows, caller("human"), {"a": "its file is broken"}))

    with pytest.raises(BadInput) as refused:
        crew.start("bob", "a")

    assert refused.value.code == "TASK_ASIDE"
    assert taken(crew, "bob") is None
