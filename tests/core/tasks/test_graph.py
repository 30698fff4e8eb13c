"""The task graph agrees with brute force, and explains why tasks wait."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from tests.core.tasks.graph_oracle import (
    boards,
    cycles,
    longest_chain,
    open_edges,
    reaches,
    widest,
)

from dibs.core.tasks import graph as taskgraph
from dibs.core.tasks.graph import Graph, TaskObstacle, Width, cycle_text, unmet
from dibs.core.tasks.rules import Status, Task


def a_graph(*lines, past=None, **changes):
    """Build tasks from lines such as ``a: b c``; ``changes`` are fields by id."""
    tasks = []
    for line in lines:
        task_id, _, needed = line.partition(":")
        fields = changes.get(task_id, {})
        tasks.append(Task(task_id, dependencies=tuple(needed.split()), **fields))
    return Graph(tasks, past)


def whys(graph, task_id):
    return [obstacle.why for obstacle in graph.obstacles(task_id)]


@given(boards())
def test_cycles_are_real_and_each_task_on_a_cycle_is_on_one_of_them(tasks):
    found = Graph(tasks).cycles()
    there = cycles(open_edges(tasks))

    assert set(found) <= there
    assert len(set(found)) == len(found)
    assert {i for cycle in found for i in cycle} == {i for cycle in there for i in cycle}


@given(boards())
def test_the_cycle_of_a_task_begins_with_it_and_is_its_obstacle(tasks):
    graph = Graph(tasks)
    cycled = {i for cycle in cycles(open_edges(tasks)) for i in cycle}

    for task in tasks:
        cycle = graph.cycle_of(task.id)
        assert bool(cycle) == (task.id in cycled)
        if cycle:
            assert cycle[0] == task.id
            assert (
                graph.obstacles(task.id)[0].why == f"is in a dependency cycle: {cycle_text(cycle)}"
            )


@given(boards())
def test_order_contains_each_task_once_after_its_dependencies(tasks):
    order = Graph(tasks).order()
    pairs = reaches(open_edges(tasks))

    assert sorted(order) == sorted(task.id for task in tasks)
    for task, needed in pairs:
        if (needed, task) not in pairs:
            assert order.index(needed) < order.index(task)


@given(boards(cycles=False))
def test_order_keeps_the_given_order_where_it_can(tasks):
    order = Graph(tasks).order()
    given_at = {task.id: at for at, task in enumerate(tasks)}
    needs = {
        t.id: set() if t.status in {Status.DONE, Status.CANCELLED} else {*t.dependencies} - {"x"}
        for t in tasks
    }

    for at, task_id in enumerate(order):
        possible = [i for i in order[at:] if needs[i] <= set(order[:at])]
        assert task_id == min(possible, key=given_at.__getitem__)


@given(boards(cycles=False))
def test_the_critical_path_is_a_longest_chain(tasks):
    edges = open_edges(tasks)

    chain = Graph(tasks).critical_path()

    assert all(a in edges[b] for a, b in pairwise(chain))
    assert len(chain) == longest_chain(edges)


@pytest.mark.parametrize("seed", range(8))
def test_the_width_of_larger_graphs_is_exact(seed):
    random = Random(seed)
    for _ in range(10):
        count, share = 10, random.random() / 2
        edges = {
            str(at): [str(i) for i in range(at) if random.random() < share] for at in range(count)
        }
        tasks = [Task(task_id, dependencies=tuple(needed)) for task_id, needed in edges.items()]

        assert Graph(tasks).width().tasks == widest(edges)


@given(boards())
def test_waves_contain_tasks_behind_no_cycle_and_each_waits_for_the_previous_wave(tasks):
    graph = Graph(tasks)
    edges, pairs = open_edges(tasks), reaches(open_edges(tasks))
    levels = graph.levels()
    wave = {task_id: at for at, level in enumerate(levels) for task_id in level}

    never = {i for i in edges if any(a == i and (b, b) in pairs for a, b in pairs)}

    assert set(graph.never()) == never
    assert set(wave) == set(edges) - never
    for task_id, at in wave.items():
        assert at == max((wave[needed] + 1 for needed in edges[task_id]), default=0)


@given(boards())
def test_open_tasks_with_done_dependencies_are_ready(tasks):
    done = {task.id for task in tasks if task.status == Status.DONE}

    expected = [
        task.id
        for task in tasks
        if task.status in {Status.NEW, Status.ASSIGNED} and done.issuperset(task.dependencies)
    ]

    assert Graph(tasks).ready() == expected


@given(boards())
def test_a_task_has_obstacles_if_and_only_if_a_dependency_is_not_done(tasks):
    graph = Graph(tasks)
    statuses = {task.id: task.status for task in tasks}

    for task in tasks:
        held = task.status not in {Status.DONE, Status.CANCELLED} and unmet(task, statuses.get)
        assert bool(graph.obstacles(task.id)) == bool(held)


@given(boards())
def test_dependents_are_all_tasks_that_reach_a_task(tasks):
    graph = Graph(tasks)
    edges = {t.id: set(t.dependencies) for t in tasks if t.id in open_edges(tasks)}
    pairs = reaches(edges | {i: set() for t in tasks for i in t.dependencies if i not in edges})

    for task_id in {*"abcdefgx"}:
        expected = {a for a, b in pairs if b == task_id and a != task_id}
        assert set(graph.dependents(task_id)) == expected


def test_a_reason_names_the_dependency_and_its_state():
    graph = a_graph(
        "a: run asg new bad off halt gone old",
        *("run", "asg", "new", "bad", "off", "halt"),
        past={"old": "cancelled"},
        run={"status": "in_progress", "agent": "bob"},
        asg={"status": "assigned", "agent": "eve"},
        bad={"status": "error", "error": "no disk\nTraceback"},
        off={"status": "cancelled", "reason": "not wanted"},
        halt={"status": "blocked", "reason": "\x1b[2J by law"},
    )

    assert whys(graph, "a") == [
        "waits for run, which is in progress (bob)",
        "waits for asg, which is assigned (eve)",
        "waits for new, which has not started",
        "waits for bad, which failed: no disk",
        "waits for off, which was cancelled: not wanted",
        "waits for halt, which is blocked: \\x1b[2J by law",
        "gone does not exist",
        "waits for old, which was cancelled",
    ]


def test_a_reason_names_the_root_cause_that_needs_attention():
    graph = a_graph("a: b", "b: run c", "c: d", "d", "run", run={"status": "in_progress"})
    failed = a_graph(
        "a: b", "b: run c", "c: d", "d", "run", d={"status": "error"}, run={"status": "in_progress"}
    )

    assert whys(graph, "a") == ["waits for b, which waits for run, which is in progress"]
    assert whys(failed, "a") == ["waits for b, which waits for d, which failed"]
    assert failed.obstacles("c") == [TaskObstacle("d", "waits for d, which failed")]


def test_an_unknown_dependency_is_a_better_reason_than_one_in_progress():
    graph = a_graph("a: b", "b: run zzz", "run", run={"status": "in_progress"})

    assert whys(graph, "a") == ["waits for b, which waits for zzz, which does not exist"]


def test_a_cycle_through_a_finished_task_blocks_nobody():
    graph = a_graph("a: b", "b: a", b={"status": "done"})

    assert graph.cycles() == []
    assert graph.ready() == ["a"]


def test_an_archived_task_counts_with_its_last_status():
    past = {"good": "done", "plain": "archive", "off": "cancelled", "bad": "error"}

    graph = a_graph("a: good plain", "b: off", "c: bad", past=past)

    assert graph.ready() == ["a"]
    assert whys(graph, "c") == ["waits for bad, which failed"]


def test_unmet_lists_each_dependency_once_with_its_status():
    statuses = {"b": "done", "c": "error", "d": "archive"}

    found = unmet(Task("a", dependencies=("b", "c", "x", "c", "d")), statuses.get)

    assert found == [("c", "error"), ("x", "unknown")]


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (1, "0 -> 0"),
        (3, "0 -> 1 -> 2 -> 0"),
        (20, "0 -> 1 -> 2 -> 3 -> 4 -> 5 -> … -> 19 -> 0 (20 tasks)"),
    ],
)
def test_a_long_cycle_is_shortened_in_the_middle(count, text):
    assert cycle_text(tuple(map(str, range(count)))) == text


@pytest.mark.parametrize("closed", [False, True])
def test_a_chain_of_ten_thousand_is_fast(closed):
    last = 9_999
    needs = [(str(at - 1),) if at else ((str(last),) if closed else ()) for at in range(last + 1)]
    graph = Graph(Task(str(at), dependencies=need) for at, need in enumerate(needs))

    assert len(graph.order()) == last + 1
    assert [len(cycle) for cycle in graph.cycles()] == ([last + 1] if closed else [])
    assert len(graph.critical_path()) == (0 if closed else last + 1)
    assert sum(1 for i in graph.nodes if graph.obstacles(i)) == last + closed
    assert len(graph.dependents("0")) == last


def test_above_the_limit_the_width_is_the_largest_wave(monkeypatch):
    graph = a_graph("a", "b: a", "c: b", "d: a", "e")
    exact = graph.width()

    monkeypatch.setattr(taskgraph, "EXACT_WIDTH", 4)

    assert exact == Width(3, exact=True)
    assert graph.width() == Width(2, exact=False)


def test_the_part_around_a_task_contains_its_dependencies_and_dependents():
    graph = a_graph("a", "b: a", "c: b x", "d: a", "e")

    assert list(graph.around("b").nodes) == ["a", "b", "c"]
