"""Creating tasks: all or nothing, in any order, with meaningful ids."""

import pytest
from tests.services.board_crew import BoardCrew, agrees
from tests.services.several_agents import caller

from dibs.core.tasks.rules import Status
from dibs.errors import BadInput
from dibs.services.state.ledger import Query
from dibs.services.tasks.values import Draft


@pytest.fixture
def crew():
    return BoardCrew()


def create(crew, *drafts, **options):
    return crew.tasks.create(caller("human"), drafts, **options)


def refused(crew, *drafts, **options):
    before = crew.rows()
    with pytest.raises(BadInput) as caught:
        create(crew, *drafts, **options)
    assert crew.rows() == before
    return caught.value


def test_a_new_task_is_in_the_inbox_and_its_text_matches_its_row(crew):
    fields = {
        "title": "Check: it's #1",
        "agent": "curator",
        "priority": "high",
        "artefacts": ["docs/*.md"],
        "context": {"notes": ["look twice"]},
    }
    (stored,) = create(crew, Draft(fields)).tasks

    assert (stored.id, stored.file) == (
        "1970-01-12T1346-curator-check-it-s-1",
        "1970-01-12T1346-curator-check-it-s-1.yaml",
    )
    assert (stored.place, stored.asked, stored.task.created_by) == ("inbox", "curator", "human")
    assert agrees(stored)


def test_a_second_task_in_the_same_minute_gets_a_number(crew):
    made = create(crew, *[Draft({"title": "audit"})] * 3).tasks
    again = create(crew, Draft({"title": "audit"})).tasks

    ends = [stored.id.removeprefix("1970-01-12T1346-any-audit") for stored in (*made, *again)]
    assert ends == ["", "-2", "-3", "-4"]


def test_tasks_of_one_call_may_depend_on_each_other(crew):
    made = create(
        crew,
        Draft({"title": "last", "context": {"dependencies": ["b", "first"]}}),
        Draft({"title": "middle", "dependencies": ["first"]}, id="b"),
        Draft({"title": "begin"}, id="first"),
    ).tasks

    last, middle, _ = made
    assert last.task.dependencies == ("b", "first")
    assert middle.task.dependencies == ("first",)
    assert [bool(stored.ready) for stored in made] == [False, False, True]


@pytest.mark.parametrize(
    ("drafts", "words"),
    [
        ([Draft({"dependencies": ["a"]}, id="a")], "itself"),
        ([Draft({"dependencies": ["nowhere"]}, id="a")], "'nowhere', which does not exist"),
        (
            [Draft({"dependencies": ["b"]}, id="a"), Draft({"dependencies": ["a"]}, id="b")],
            "a -> b -> a",
        ),
    ],
)
def test_a_batch_with_impossible_dependencies_is_refused(crew, drafts, words):
    error = refused(crew, *drafts, Draft({"title": "harmless"}))

    assert error.code == "TASK_DEPENDENCY"
    assert words in error.message


@pytest.mark.parametrize("other", ["audit", "AUDIT"])
def test_an_id_is_never_reused_in_any_case_even_after_archiving(crew, other):
    crew.make("audit")
    assert refused(crew, Draft({}, id=other)).code == "TASK_EXISTS"

    crew.start("human", "audit")
    crew.done("human", "audit")
    crew.clock.advance(40 * 86_400)
    crew.tasks.archive(caller("human"))
    assert refused(crew, Draft({}, id=other)).code == "TASK_EXISTS"


def test_secrets_in_fields_are_masked_in_the_file_and_the_ledger(crew):
    secret = "ghp_" + "a1B2" * 9
    create(crew, Draft({"title": f"use {secret}", "context": {"notes": [secret]}}))

    assert secret not in f"{crew.rows()}{crew.ledger.newest(Query(), 99)}"


def test_an_id_made_from_a_title_contains_no_secret(crew):
    secret = "key-" + "8ef136d5" * 4
    create(crew, Draft({"title": f"use {secret}"}))

    assert secret not in f"{crew.rows()}{crew.ledger.newest(Query(), 99)}"


def test_a_similar_task_is_reported_or_refused_when_strict(crew):
    crew.make("old", title="Polish the API reference", artefacts=["docs/api/*.md"])
    new = Draft({"title": "Polish API reference pages"})
    near = Draft({"title": "something else", "artefacts": ["docs/api/index.md"]})

    assert refused(crew, new, strict=True).code == "TASK_SIMILAR"
    told = create(crew, new, near).similar

    assert [(like.other, like.share > 0.5, like.paths) for like in told] == [
        ("old", True, ()),
        ("old", False, ("docs/api/*.md",)),
    ]


def test_a_dry_run_shows_what_would_be_created_and_creates_nothing(crew):
    before = crew.rows()

    planned = create(crew, Draft({"title": "audit"}), dry_run=True)

    assert planned.tasks[0].id.endswith("-any-audit")
    assert crew.rows() == before


def test_repeating_a_request_id_creates_nothing_twice(crew):
    first = create(crew, Draft({"title": "audit"}), request_id="r1")
    again = create(crew, Draft({"title": "audit"}), request_id="r1")

    assert [s.id for s in first.tasks] == [s.id for s in again.tasks]
    assert len(crew.statuses()) == 1


def test_a_view_shows_why_a_task_waits_and_what_depends_on_it(crew):
    crew.make("a")
    crew.make("b", dependencies=["a"])
    crew.make("c", dependencies=["b"])
    crew.start("bob", "a")
    crew.tasks.fail(caller("bob"), "a", message="no disk")

    shown = {s.stored.id: s for s in crew.tasks.all(None)}

    assert shown["a"].state == Status.ERROR
    assert shown["b"].state == shown["c"].state == Status.BLOCKED
    assert shown["b"].why == ("waits for a, which failed: no disk",)
    assert shown["c"].why == ("waits for b, which waits for a, which failed: no disk",)
    assert crew.tasks.show(None, "c").why == shown["c"].why
    assert crew.tasks.show(None, "b").dependents == ("c",)
    assert crew.tasks.graph(None).critical_path() == ["a", "b", "c"]
