"""The rules of worktrees: names, ports, what prevents a removal, and when one is abandoned."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.core.changes.worktrees import (
    SILENCE,
    WAITING,
    Holding,
    WorktreeContent,
    agent_of,
    branch_for,
    exports,
    free_slot,
    in_the_way,
    is_left_alone,
)
from dibs.errors import BadInput


@given(st.sets(st.integers(0, 60)))
def test_a_slot_is_the_smallest_unused_one(taken):
    slot = free_slot(taken, 4100, 10)

    assert slot not in taken
    assert set(range(slot)) <= taken


def test_the_last_port_can_be_assigned_and_none_beyond():
    assert free_slot({0}, 65_516, 10) == 1
    with pytest.raises(BadInput):
        free_slot({0}, 65_517, 10)


def test_a_branch_name_contains_its_agent():
    assert agent_of(branch_for("tester-1")) == "tester-1"
    assert agent_of("main") == ""


@pytest.mark.parametrize("kind", list(WorktreeContent))
def test_any_contents_prevent_a_removal_and_some_even_a_forced_one(kind):
    held = [Holding(kind, 1)]

    assert in_the_way(held, force=False) == held
    stays = {
        WorktreeContent.PROCESS,
        WorktreeContent.NESTED,
        WorktreeContent.SUBMODULE,
        WorktreeContent.LOCKED,
    }
    assert bool(in_the_way(held, force=True)) == (kind in stays)
    assert str(held[0]).startswith("1 ")


def test_no_value_is_executed_by_the_shell():
    said = exports({"A": "it's $(x)\n`y`"})

    assert said == "export A='it'\"'\"'s $(x)\n`y`'\nunset PORT"


@pytest.mark.parametrize(
    ("seen", "ended", "waiting", "age", "gone"),
    [
        (100.0, False, False, 200.0, False),
        (100.0, False, False, 100.0 + SILENCE + 1, True),
        (0.0, True, False, 1.0, True),
        (0.0, True, True, WAITING - 1, False),
        (0.0, True, True, WAITING + 1, True),
    ],
)
def test_a_worktree_is_abandoned_when_its_agent_will_not_return(seen, ended, waiting, age, gone):
    found = is_left_alone(now=age, seen=seen, ended=ended, made=0.0, waiting=waiting)

    assert found == gone
