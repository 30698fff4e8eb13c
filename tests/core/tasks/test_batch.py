"""New tasks are refused together if their dependencies cannot be met."""

from __future__ import annotations

import pytest
from hypothesis import given
from tests.core.tasks.graph_oracle import boards, cycles

from dibs.core.tasks.batch import check_new
from dibs.core.tasks.rules import Status, Task
from dibs.errors import BadInput


def a_batch(*lines):
    pairs = [line.partition(":") for line in lines]
    return [Task(task_id, dependencies=tuple(needed.split())) for task_id, _, needed in pairs]


def refusal(*lines, board=None):
    with pytest.raises(BadInput) as caught:
        check_new(a_batch(*lines), (board or {}).get)
    assert caught.value.code == "TASK_DEPENDENCY"
    assert caught.value.field == "dependencies"
    return caught.value


def test_a_cycle_through_a_task_on_the_board_is_refused():
    error = refusal("new: old", board={"old": ["older"], "older": ["new"]})

    assert "new -> old -> older -> new" in error.message


def test_a_task_that_depends_on_itself_is_refused():
    assert refusal("a: a").message == "task 'a' depends on itself"


def test_an_unknown_dependency_is_refused_with_a_suggestion():
    error = refusal("audit: draft-2", "draft-1")

    assert error.message == "task 'audit' depends on 'draft-2', which does not exist"
    assert error.hint == "did you mean 'draft-1'?"


def test_problems_already_on_the_board_are_not_reported():
    board = {"p": ["q"], "q": ["p"], "self": ["self"], "lost": ["nowhere"]}

    check_new(a_batch("a: p self lost"), board.get)


def test_a_new_task_replaces_the_one_on_the_board_with_its_id():
    check_new(a_batch("a:", "b: a"), {"a": ["b"], "b": []}.get)


def test_a_chain_of_ten_thousand_new_tasks_is_accepted():
    check_new(a_batch(*(f"{at}: {at + 1}" for at in range(9_999)), "9999"), {}.get)


@given(boards(statuses=(Status.NEW,), strangers=()))
def test_a_batch_is_refused_if_and_only_if_it_has_a_cycle(tasks):
    cycled = bool(cycles({task.id: set(task.dependencies) for task in tasks}))
    try:
        check_new(tasks, {}.get)
    except BadInput:
        assert cycled
    else:
        assert not cycled
