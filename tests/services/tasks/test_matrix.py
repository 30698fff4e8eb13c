"""Every verb on a task in every state, by its agent, another agent, and a human, compared with a table.

The table is written from the documents, not from the code: the resulting status, or the error code.
"""

import pytest
from tests.services.board_crew import BoardCrew, agrees
from tests.services.several_agents import caller

from dibs.core.claims.rules import Denied
from dibs.core.tasks.rules import Status
from dibs.errors import DibsError
from dibs.shapes.tasks import movable

WHO = ("bob", "carol", "human")
#: Refusals: not a transition, for someone else, not the owner, held, humans only.
NO, FOR_ANOTHER, FENCED, HELD = "TASK_TRANSITION", "TASK_NOT_YOURS", "FENCED", "held"
NOT_HELD, HUMANS = "NOT_HELD", "HUMANS_ONLY"
#: The folder of each status.
FOLDERS = {
    "new": lambda agent: "inbox",
    "assigned": lambda agent: f"assigned/{agent}",
    "in_progress": lambda agent: f"assigned/{agent}",
    "error": lambda agent: f"assigned/{agent}",
    "blocked": lambda agent: f"assigned/{agent}" if agent else "inbox",
    "done": lambda agent: "done",
    "cancelled": lambda agent: "done",
}


def bring_to(crew, status):
    """Create task ``a`` for bob and bring it to a state as users would."""
    human = caller("human")
    crew.make("a", agent="" if status == Status.NEW else "bob")
    if status == Status.ASSIGNED:
        crew.tasks.assign(human)
    if status in {"in_progress", "done", "error", "archive"}:
        crew.start("bob", "a")
    if status in {"done", "archive"}:
        crew.done("bob", "a")
    if status == Status.ERROR:
        crew.tasks.fail(caller("bob"), "a", message="broke")
    if status == Status.CANCELLED:
        crew.tasks.cancel(human, "a", reason="no")
    if status == Status.BLOCKED:
        crew.tasks.block(human, "a", reason="wait")
    if status == Status.ARCHIVE:
        crew.clock.advance(crew.store.config.board_archive_after + 1)
        crew.tasks.archive(human)


VERBS = {
    "start": lambda tasks, who: tasks.start(who, "a"),
    "done": lambda tasks, who: tasks.done(who, "a"),
    "fail": lambda tasks, who: tasks.fail(who, "a", message="no"),
    "release": lambda tasks, who: tasks.release(who, "a"),
    "retry": lambda tasks, who: tasks.retry(who, "a"),
    "reopen": lambda tasks, who: tasks.reopen(who, "a"),
    "cancel": lambda tasks, who: tasks.cancel(who, "a"),
    "block": lambda tasks, who: tasks.block(who, "a", reason="no"),
    "reassign": lambda tasks, who: tasks.reassign(who, "a", to="dave"),
    "to anybody": lambda tasks, who: tasks.reassign(who, "a", to=""),
}


def tasks_of(crew):
    return [row for row in crew.rows() if row[0].startswith(("task/", "past/", "version/"))]


def outcome(crew, verb, who):
    try:
        answer = VERBS[verb](crew.tasks, caller(who))
    except DibsError as error:
        return error.code
    return HELD if isinstance(answer, Denied) else crew.row("a").task.status


#: The result for everyone, or for bob (its agent), for carol, and for a human.
#: Everything else is refused with ``TASK_TRANSITION``.
TABLE = {
    "new": {
        "start": "in_progress",
        "cancel": "cancelled",
        "block": "blocked",
        "reassign": "assigned",
        "to anybody": "new",
    },
    "assigned": {
        "start": ("in_progress", FOR_ANOTHER, "in_progress"),
        "fail": ("error", NOT_HELD, "error"),
        "cancel": "cancelled",
        "block": "blocked",
        "reassign": "assigned",
        "to anybody": "new",
    },
    "in_progress": {
        "start": ("in_progress", HELD, HELD),
        "done": ("done", FENCED, FENCED),
        "fail": ("error", FENCED, FENCED),
        "release": ("assigned", FENCED, FENCED),
        "cancel": ("cancelled", HUMANS, "cancelled"),
        "block": ("blocked", HUMANS, "blocked"),
        "reassign": ("assigned", HUMANS, "assigned"),
        "to anybody": ("new", HUMANS, "new"),
    },
    "blocked": {
        "reopen": "assigned",
        "cancel": "cancelled",
        "reassign": "blocked",
        "to anybody": "blocked",
    },
    "done": {"reopen": "assigned"},
    "error": {"retry": "assigned", "cancel": "cancelled"},
    "cancelled": {"reopen": "assigned"},
    "archive": dict.fromkeys(VERBS, "NO_TASK"),
}


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("status", TABLE)
def test_each_verb_does_in_each_state_what_the_table_says(status, verb, who):
    crew = BoardCrew()
    bring_to(crew, status)
    before = tasks_of(crew)
    expected = TABLE[status].get(verb, NO)
    if not isinstance(expected, str):
        expected = expected[WHO.index(who)]

    assert outcome(crew, verb, who) == expected

    if expected in set(Status):
        assert agrees(crew.row("a"))
        assert crew.row("a").place == FOLDERS[expected](crew.row("a").task.agent)
    else:
        assert tasks_of(crew) == before


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("status", TABLE)
def test_a_surface_offers_exactly_the_moves_that_succeed(status, who):
    crew = BoardCrew()
    bring_to(crew, status)
    expected = set()
    for verb, found in TABLE[status].items():
        target = found if isinstance(found, str) else found[WHO.index(who)]
        renews = verb in {"start", "to anybody"} and target == status in {"new", "in_progress"}
        if target in set(Status) and not renews:
            expected.add((verb.replace("to anybody", "reassign"), target))

    shape = movable(crew.tasks.show(None, "a"), caller(who))

    offered = {(move["verb"], move["to"]) for move in shape["moves"]}
    assert offered == expected


def test_a_surface_says_why_a_caller_cannot_make_a_move():
    crew = BoardCrew()
    bring_to(crew, "in_progress")

    def closed(who):
        return {
            c["to"]: c["why"] for c in movable(crew.tasks.show(None, "a"), caller(who))["closed"]
        }

    only = dict.fromkeys(("done", "error"), "only bob can do that")
    assert closed("human") == only
    assert closed("bob") == {}
    assert closed("carol") == {
        **only,
        **dict.fromkeys(("blocked", "cancelled"), "bob holds it"),
        **dict.fromkeys(("new", "assigned"), "bob holds it"),
    }


def test_a_task_that_waits_for_another_stays_blocked_wherever_it_is_assigned():
    crew = BoardCrew()
    crew.make("first")
    crew.make("a", context={"dependencies": ["first"]})

    moves = movable(crew.tasks.show(None, "a"), caller("human"))["moves"]

    assert {move["verb"]: move["to"] for move in moves} == {
        "reassign": "blocked", "block": "blocked", "cancel": "cancelled",
    }  # fmt: skip


def test_the_table_has_every_state():
    assert set(TABLE) == set(Status)
