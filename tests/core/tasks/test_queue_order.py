"""The order of the lock-file queue: dependencies, priority, work behind a task, then files."""

import pytest

from dibs.core.tasks.queue_order import (
    QueueTask,
    in_turn,
    missing,
    needed_name,
    queue_graph,
    size_of,
)


def turns(tasks, held=(), done=(), failed=()):
    graph = queue_graph(tasks, dict.fromkeys(held, "bob"), done, failed)
    return in_turn(tasks, graph)


def names(tasks, **state):
    return [turn.task.name for turn in turns(tasks, **state)]


def whys(tasks, **state):
    return {turn.task.name: turn.why for turn in turns(tasks, **state)}


def task(name, *needs, **fields):
    return QueueTask(name, f"{name}.yml", dependencies=needs, **fields)


def test_without_fields_the_order_of_the_files_counts():
    assert names([task("b"), task("a"), task("c")]) == ["b", "a", "c"]


def test_the_most_urgent_task_is_first():
    tasks = [task("a"), task("b", priority="high"), task("c", priority="critical")]

    assert names(tasks) == ["c", "b", "a"]


def test_a_large_task_does_not_start_last():
    tasks = [task("a", size=0.5), task("b", size=8.0), task("c", size=3.0)]

    assert names(tasks) == ["b", "c", "a"]


def test_a_task_that_a_long_chain_waits_for_is_first():
    tasks = [task("a"), task("b"), task("c", "b"), task("d", "c"), task("e", size=2.0)]

    assert names(tasks) == ["b", "c", "e", "a", "d"]


def test_four_workers_finish_sooner_than_in_file_order():
    """The declared gap: uneven tasks leave agents idle."""
    tasks = [task(f"s{n}") for n in range(8)] + [task("big", size=4.0)]

    assert _finish(names(tasks), {"big": 4.0}) == 4.0
    assert _finish([t.name for t in tasks], {"big": 4.0}) == 6.0


def _finish(order, sizes, workers=4):
    free = [0.0] * workers
    for name in order:
        free.sort()
        free[0] += sizes.get(name, 1.0)
    return max(free)


def test_a_task_waits_until_its_dependencies_are_done():
    tasks = [task("a"), task("b", "a")]

    assert whys(tasks) == {"a": (), "b": ("waits for a, which has not started",)}
    assert whys(tasks, held=["a"])["b"] == ("waits for a, which is in progress (bob)",)
    assert whys(tasks[1:], done=["a"])["b"] == ()
    assert whys(tasks[1:], failed=["a"])["b"] == ("waits for a, which failed",)
    assert whys(tasks[1:], held=["a"])["b"] == ("waits for a, which is in progress (bob)",)


def test_a_dependency_that_does_not_exist_blocks_and_is_named():
    tasks = [task("b", "nowhere")]

    assert whys(tasks)["b"] == ("nowhere does not exist",)
    assert missing(tasks, queue_graph(tasks, {}, ())) == ["nowhere"]


def test_a_cycle_is_shown_and_blocks_only_its_tasks():
    tasks = [task("a", "b"), task("b", "a"), task("c"), task("d", "d")]

    found = whys(tasks)

    assert found["c"] == ()
    assert found["a"] == ("is in a dependency cycle: a -> b -> a",)
    assert found["d"] == ("is in a dependency cycle: d -> d",)


def test_a_broken_file_is_shown_with_its_problem():
    tasks = [task("a", broken="line 1: not YAML"), task("b")]

    assert whys(tasks) == {"a": ("line 1: not YAML",), "b": ()}


@pytest.mark.parametrize(
    ("text", "hours"),
    [("XL", 8.0), ("small", 0.5), ("90m", 1.5), ("3", 3.0), ("2h", 2.0), ("lots", 1.0), ("-1", 1.0)],
)  # fmt: skip
def test_a_size_is_a_word_a_number_or_a_duration(text, hours):
    assert size_of(text) == hours


def test_a_dependency_can_be_written_as_its_file():
    assert needed_name("tasks/pending/a.yml") == "a"
    assert needed_name(" a ") == "a"
