"""Who may take a task, and which one is taken first."""

from __future__ import annotations

import pytest

from dibs.core.tasks.order import eligible, rank
from dibs.core.tasks.rules import PRIORITIES, Task


@pytest.mark.parametrize(
    ("agent", "expected"), [("", True), ("bob", True), ("curator", True), ("eve", False)]
)
def test_a_task_is_for_anybody_for_its_agent_or_for_a_role(agent, expected):
    assert eligible(Task("a", agent=agent), "bob", {"curator"}) is expected


def first(*tasks, caller="bob", roles=("curator",), kin=("mine",)):
    return [task.id for task in sorted(tasks, key=lambda task: rank(task, caller, roles, kin))]


def test_what_is_urgent_comes_first_and_an_unknown_priority_counts_as_normal():
    tasks = [Task(priority, priority=priority) for priority in reversed(PRIORITIES)]

    assert first(*tasks) == list(PRIORITIES)
    assert first(Task("z", priority="normal"), Task("a", priority="soon")) == ["a", "z"]


def test_among_equals_the_nearest_to_the_caller_comes_first():
    tasks = [
        Task("anybody"),
        Task("role", agent="curator"),
        Task("kin", agent="curator", dependencies=("mine",)),
        Task("named", agent="bob"),
    ]

    assert first(*tasks) == ["named", "kin", "role", "anybody"]


def test_urgency_comes_before_nearness_and_age_after_it():
    tasks = [
        Task("near", agent="bob", created=9.0),
        Task("urgent", priority="high", created=9.0),
        Task("old", created=1.0),
        Task("young", created=2.0),
    ]

    assert first(*tasks) == ["urgent", "near", "old", "young"]


def test_the_id_decides_in_the_end():
    assert first(Task("b", created=1.0), Task("a", created=1.0)) == ["a", "b"]


def test_a_task_without_an_agent_is_not_named_after_a_caller_without_a_name():
    assert rank(Task("a"), "", ("",), ())[1] == rank(Task("a"), "bob", (), ())[1]
