"""Tasks that come together are refused together if they cannot be done."""

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


def test_tasks_may_name_each_other_in_any_order_and_tasks_on_the_board():
    check_new(a_batch("a: b c", "c: old", "b: c"), {"old": ["older"], "older": []}.get)


def test_a_cycle_is_refused_with_its_path():
    message = refusal("a: b", "b: c", "c: a").message

    assert message == "dependency cycle: a -> b -> c -> a"


def test_a_cycle_that_a_task_on_the_board_closes_is_refused():
    error = refusal("new: old", board={"old": ["older"], "older": ["new"]})

    assert "new -> old -> older -> new" in error.message


def test_a_task_that_depends_on_itself_is_refused():
    assert refusal("a: a").message == "task 'a' depends on itself"


def test_an_unknown_dependency_is_refused_with_the_one_that_was_meant():
    error = refusal("audit: draft-2", "draft-1")

    assert error.message == "task 'audit' depends on 'draft-2', which does not exist"
    assert error.hint == "did you mean 'draft-1'?"


def test_what_is_wrong_on_the_board_already_is_no_fault_of_the_batch():
    board = {"p": ["q"], "q": ["p"], "self": ["self"], "lost": ["nowhere"]}

    check_new(a_batch("a: p self lost"), board.get)


def test_a_task_of_the_batch_stands_for_the_one_on_the_board():
    check_new(a_batch("a:", "b: a"), {"a": ["b"], "b": []}.get)


def test_a_batch_of_ten_thousand_in_one_chain_is_accepted():
    check_new(a_batch(*(f"{at}: {at + 1}" for at in range(9_999)), "9999"), {}.get)


@given(boards(statuses=(Status.NEW,), strangers=()))
def test_a_batch_is_refused_exactly_if_it_has_a_cycle(tasks):
    cycled = bool(cycles({task.id: set(task.dependencies) for task in tasks}))
    try:
        check_new(tasks, {}.get)
    except BadInput:
        assert cycled
    else:
        assert not cycled
