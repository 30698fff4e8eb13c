"""Every command that a board message suggests works when it is pasted."""

from __future__ import annotations

import re
import shlex

import pytest


@pytest.fixture
def paste(dibs):
    """Return a function that runs the first command that a message suggests and matches a pattern."""

    def run(text, pattern, agent=None, **values):
        found = re.search(rf"dibs ({pattern}[^;`()\n]*)", text)
        assert found, text
        words = [values.get(word, word) for word in shlex.split(found[1])]
        return dibs(*words, **({"agent": agent} if agent else {}))

    return run


@pytest.fixture
def make(dibs):
    def new(*words):
        return dibs("task", "new", *words, "--json", agent="lead").json["created"][0]["id"]

    return new


@pytest.mark.parametrize("command", ["task ls", "task graph", "task take", "orchestrate"])
def test_an_empty_board_shows_how_to_create_a_task(dibs, paste, command):
    answer = dibs(*command.split())

    created = paste(answer.out + answer.err, "task new", TITLE="Audit the docs")

    assert created.out.startswith("created ")


def test_a_caller_that_gets_no_task_can_paste_how_to_wait(dibs, paste, make):
    id_ = make("Audit", "--for", "curator")
    dibs("task", "take", "--role", "curator", agent="bob")

    answer = dibs("task", "take", "--role", "curator", agent="carol")
    dibs("task", "release", id_, agent="bob")

    assert answer.out.startswith("no task available\n")
    assert paste(answer.out, "task take", agent="carol").out.startswith(f"took {id_} ")
    assert paste(answer.out, "task ls").status == 0


def test_a_task_for_another_role_shows_both_ways_to_take_it(dibs, paste, make):
    first, second = make("Audit", "--for", "curator"), make("Write", "--for", "curator")

    start = dibs("task", "start", first, agent="bob").err
    assign = dibs("task", "start", second, agent="bob").err

    assert paste(start, "task start", agent="bob").status == 0
    assert paste(assign, "task reassign", agent="bob").status == 0
    assert dibs("task", "start", second, agent="bob").status == 0


def test_a_task_that_waits_suggests_taking_another(dibs, paste, make):
    first = make("Audit")
    second = make("Publish", "--needs", first)

    answer = dibs("task", "start", second, agent="bob")

    assert paste(answer.err, "task take", agent="bob").out.startswith(f"took {first} ")


def test_a_held_task_can_be_requested_as_the_refusal_suggests(dibs, paste, make):
    id_ = make("Audit")
    dibs("task", "start", id_, agent="bob")

    answer = dibs("task", "cancel", id_, "--reason", "x", agent="carol")

    assert paste(answer.err, "ask", agent="carol").status == 0


def test_a_file_that_is_set_aside_shows_how_to_see_why(dibs, repo, paste, make):
    make("Audit")
    (repo / "work" / "inbox" / "bad.yaml").write_text("title: x\npriority: soon\n")

    answer = dibs("task", "new", "Other")

    assert "1 task file is set aside" in answer.err
    assert "bad.yaml:2: priority: " in paste(answer.err, "task validate").out


def test_done_creates_and_names_the_follow_up_even_for_an_unknown_agent(dibs, repo, make):
    id_ = make("Audit")
    dibs("task", "start", id_, agent="bob")

    answer = dibs("task", "done", id_, "--next", "carol", "--next-title", "Polish", agent="bob")

    (made,) = (repo / "work/inbox").glob("*-carol-polish.yaml")
    assert answer.out.splitlines()[-1] == f"  follow-up for carol: {made.stem}"
    assert "Polish" in dibs("task", "ls").out
    assert dibs("task", "show", id_, "--json").json["task"]["follow_up"] == made.stem


@pytest.mark.parametrize(
    ("words", "state"),
    [(("done",), "done"), (("fail", "--message", "x"), "error"), (("release",), "new")],
)
def test_without_an_id_the_only_task_that_the_caller_holds_is_meant(dibs, make, words, state):
    id_, _ = make("Audit"), make("Other")
    dibs("task", "start", id_, agent="bob")

    assert dibs("task", *words, agent="bob").status == 0

    assert dibs("task", "show", id_, "--json").json["task"]["state"] == state


def test_without_an_id_and_with_several_tasks_each_command_is_listed(dibs, make):
    ids = sorted([make("Audit"), make("Other")])
    for id_ in ids:
        dibs("task", "start", id_, agent="bob")

    several = dibs("task", "done", agent="bob")
    none = dibs("task", "done", agent="carol")

    commands = ", ".join(f"`dibs task done {id_}`" for id_ in ids)
    assert (
        several.err == f"dibs: task done: missing TASK; you hold 2 tasks (run one of {commands})\n"
    )
    assert (
        "you (carol) hold no task (see which tasks are in progress with `dibs task ls`)" in none.err
    )
    assert (several.status, none.status) == (64, 64)
