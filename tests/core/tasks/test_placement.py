"""What a plain ``mv`` of a task file means."""

import pytest

from dibs.core.tasks.placement import meant_by, over_again
from dibs.core.tasks.rules import Handoff, Status, Task

DONE = Task("t", "done", "bob", summary="ok", handoff=Handoff("carol"), completed=9.0, started=5.0)


def meant(place, task, *, asked="bob", result=False):
    found = meant_by(place, task, task, asked, result=result)
    return found.status, found.agent


@pytest.mark.parametrize(
    ("status", "place", "after"),
    [
        ("new", "assigned/bob", ("assigned", "bob")),
        ("new", "assigned/carol", ("assigned", "carol")),
        ("assigned", "assigned/carol", ("assigned", "carol")),
        ("in_progress", "assigned/carol", ("assigned", "carol")),
        ("error", "assigned/carol", ("assigned", "carol")),
        ("blocked", "assigned/carol", ("blocked", "carol")),
        ("assigned", "inbox", ("new", "bob")),
        ("in_progress", "inbox", ("new", "bob")),
        ("error", "inbox", ("new", "bob")),
        ("blocked", "inbox", ("blocked", "")),
        ("done", "inbox", ("new", "bob")),
        ("cancelled", "inbox", ("new", "bob")),
        ("done", "assigned/carol", ("assigned", "carol")),
        ("in_progress", "done", ("in_progress", "bob")),
        ("error", "assigned/bob", ("error", "bob")),
    ],
)
def test_the_folder_decides_what_the_text_leaves_open(status, place, after):
    assert meant(place, Task("t", status, "bob")) == after


@pytest.mark.parametrize("status", ["new", "assigned", "in_progress"])
def test_a_file_with_a_result_in_done_is_done(status):
    assert meant("done", Task("t", status, "bob"), result=True) == ("done", "bob")


@pytest.mark.parametrize("status", ["error", "blocked"])
def test_a_failed_or_blocked_task_is_not_done_because_of_its_folder(status):
    assert meant("done", Task("t", status, "bob"), result=True) == (status, "bob")


def test_a_released_task_that_named_no_agent_names_none_again():
    assert meant("inbox", Task("t", "assigned", "bob"), asked="") == ("new", "")


def test_a_status_that_the_text_states_is_never_replaced():
    old, new = Task("t", "assigned", "bob"), Task("t", "in_progress", "bob")

    assert meant_by("inbox", new, old, "bob", result=False) == new
    moved = meant_by("assigned/carol", new, old, "bob", result=False)
    assert (moved.status, moved.agent) == ("in_progress", "carol")


def test_an_agent_that_the_text_states_must_match_the_folder():
    old, new = Task("t", "assigned", "bob"), Task("t", "assigned", "dave")

    assert meant_by("assigned/carol", new, old, "bob", result=False) == new


def test_an_unknown_file_in_an_agents_folder_is_assigned_to_it():
    assert meant_by("assigned/bob", Task("t"), None, "", result=False)[1:3] == ("assigned", "bob")
    other = Task("t", agent="carol")
    assert meant_by("assigned/bob", other, None, "", result=False) == other


def test_an_unknown_file_in_done_is_done_if_it_has_a_result():
    assert meant_by("done", Task("t"), None, "", result=True).status == Status.DONE
    assert meant_by("done", Task("t"), None, "", result=False).status == Status.NEW


def test_a_reopened_task_has_no_result_and_no_times():
    assert over_again(DONE, DONE) == Task("t", "done", "bob")
