"""Who may take a task, and how urgent it is."""

from __future__ import annotations

import pytest

from dibs.core.tasks.rules import PRIORITIES, Task, eligible, urgency


@pytest.mark.parametrize(
    ("agent", "expected"), [("", True), ("bob", True), ("curator", True), ("eve", False)]
)
def test_a_task_is_for_anyone_for_its_agent_or_for_a_role(agent, expected):
    assert eligible(Task("a", agent=agent), "bob", {"curator"}) is expected


def test_priorities_rank_in_order_and_an_unknown_one_counts_as_normal():
    assert [urgency(priority) for priority in PRIORITIES] == [0, 1, 2, 3, 4]
    assert urgency("soon") == urgency("normal")
