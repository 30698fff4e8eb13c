"""Hand edits: accepted, or refused with line and field."""

import pytest
from tests.services.board_crew import BoardCrew, agrees
from tests.services.several_agents import caller

from dibs.core.claims.ledger import Kind
from dibs.core.tasks.rules import Status
from dibs.services.state.ledger import Query
from dibs.services.tasks.values import EditedFile
from dibs.taskfile.reading import read

BOSS = caller("human")


@pytest.fixture
def crew():
    return BoardCrew()


def made(id_, place, text, base=0):
    file = f"{id_}.yaml"
    return EditedFile(id_, place, file, read(text.encode(), file), base)


def accept(crew, *files):
    return crew.tasks.accept(BOSS, files)


def edited(crew, id_, place=None, *, old="", new="", add="", text=None, base=None):
    """Return a task file after an edit, and possibly a move."""
    row = crew.row(id_)
    text = row.text if text is None else text
    assert old in text
    text = text.replace(old, new, 1) + add
    return made(id_, place or row.place, text, row.version if base is None else base)


def refused(crew, *files):
    before = [row for row in crew.rows() if not row[0].startswith(("told/", "beat/", "agent/"))]
    (verdict, *_) = accept(crew, *files)
    after = [row for row in crew.rows() if not row[0].startswith(("told/", "beat/", "agent/"))]
    assert verdict.stored is None
    assert after == before
    return verdict


# -- new files


def test_a_new_file_is_completed_and_can_be_taken(crew):
    (verdict,) = accept(crew, made("audit", "inbox", "# by hand\ntitle: Audit it\n"))

    stored = verdict.stored
    assert (verdict.code, stored.place, stored.task.status) == ("", "inbox", "new")
    assert stored.task.created == 1_000_000.0
    assert stored.text.startswith("# by hand\ntitle: Audit it\n")
    assert agrees(stored)
    assert crew.take("bob").stored.id == "audit"


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("assigned/bob", "agent: bob\nstatus: assigned\n"),
        ("assigned/bob", "agent: bob\nstatus: in_progress\n"),
        ("assigned/bob", "agent: bob\nstatus: error\nerror:\n  message: no\n"),
        ("assigned/bob", "agent: bob\nstatus: blocked\nreason: no\n"),
        ("inbox", "status: blocked\nreason: no\n"),
        ("done", "agent: bob\nstatus: done\nresult:\n  summary: yes\n"),
        ("done", "status: cancelled\n"),
    ],
)
def test_a_new_file_may_have_any_state_that_matches_its_folder(crew, place, text):
    (verdict,) = accept(crew, made("a", place, text))

    assert (verdict.code, verdict.message) == ("", "")
    assert verdict.stored.place == place
    assert agrees(verdict.stored)


@pytest.mark.parametrize(
    ("place", "text", "field", "line"),
    [
        ("done", "title: x\nstatus: new\n", "status", 2),
        ("done", "agent: bob\nstatus: in_progress\n", "status", 2),
        ("inbox", "agent: bob\nstatus: assigned\n", "status", 2),
        ("assigned/carol", "status: assigned\nagent: bob\n", "agent", 2),
        ("inbox", "agent: bob\nstatus: in_progress\n", "status", 2),
    ],
)
def test_a_folder_that_contradicts_the_file_is_refused(crew, place, text, field, line):
    verdict = refused(crew, made("a", place, text))

    assert (verdict.code, verdict.field, verdict.line) == ("TASK_MISMATCH", field, line)


def test_an_assigned_task_without_an_agent_is_refused(crew):
    verdict = refused(crew, made("a", "assigned", "title: x\nstatus: assigned\n"))

    assert "`agent` is missing" in verdict.message


def test_an_unreadable_file_is_refused_with_line_and_field_and_reported_once(crew):
    bad = made("a", "inbox", "title: x\npriority: soon\n")

    first, second = refused(crew, bad), refused(crew, bad)

    assert (first.code, first.field, first.line) == ("TASK_FIELD", "priority", 2)
    assert first == second
    entries = [e for e in crew.ledger.newest(Query(), 9) if e.kind == Kind.TASK_REFUSED]
    assert [(e.details["code"], e.details["line"]) for e in entries] == [("TASK_FIELD", 2)]
    assert entries[0].summary.startswith("inbox/a.yaml:2: priority: ")


def test_a_fixed_file_is_accepted_and_a_new_error_is_reported_again(crew):
    accept(crew, made("a", "inbox", "priority: soon\n"))
    (verdict,) = accept(crew, made("a", "inbox", "priority: high\n"))
    assert verdict.stored.task.priority == "high"
    accept(crew, edited(crew, "a", old="high", new="soon"))

    assert crew.kinds().count(Kind.TASK_REFUSED) == 2


def test_a_time_far_in_the_future_is_refused(crew):
    verdict = refused(crew, made("a", "inbox", "created_at: 2030-01-01T00:00:00Z\n"))

    assert (verdict.code, verdict.field) == ("TASK_TIME", "created_at")


def test_files_may_depend_on_each_other_and_on_later_ones(crew):
    files = [made("a", "inbox", "depends_on: [b]\n"), made("b", "inbox", "depends_on: [c]\n")]

    assert [v.code for v in accept(crew, *files)] == ["", ""]
    assert crew.tasks.show(None, "b").why == ("c does not exist",)
    accept(crew, made("c", "done", "status: done\nresult:\n  summary: x\n"))

    assert crew.take("bob").stored.id == "b"


def test_a_file_in_a_dependency_cycle_is_refused_with_the_cycle(crew):
    verdict = refused(crew, made("a", "inbox", "title: x\ndependencies: [a]\n"))
    assert (verdict.code, verdict.field, verdict.line) == ("TASK_DEPENDENCY", "dependencies", 2)
    crew.make("b")
    accept(crew, made("c", "inbox", "dependencies: [b]\n"))

    verdict = refused(crew, edited(crew, "b", add="dependencies:\n  - c\n"))

    assert "b -> c -> b" in verdict.message


def test_the_file_of_an_archived_task_is_not_accepted_again(crew):
    crew.make("a")
    crew.tasks.cancel(BOSS, "a")
    crew.clock.advance(40 * 86_400)
    crew.tasks.archive(BOSS)

    verdict = refused(crew, made("a", "inbox", "title: again\n"))

    assert verdict.code == "TASK_EXISTS"
    assert "archive/1970-01" in verdict.message


# -- edited


def test_an_edit_of_the_content_is_accepted_byte_for_byte(crew):
    crew.make("a", priority="low")
    crew.make("b")
    file = edited(crew, "a", old="low", new="critical # now!", add="extra: 1\n")

    (verdict,) = accept(crew, file)

    assert verdict.stored.text == file.reading.text
    assert crew.take("bob").stored.id == "a"
    assert crew.kinds().count(Kind.TASK_EDITED) == 1


def test_setting_an_agent_by_hand_decides_who_may_take_the_task(crew):
    crew.make("a")
    accept(crew, edited(crew, "a", add="agent: writer\n"))

    assert crew.tasks.assign(BOSS)[0].task.agent == "writer"
    crew.take("writer")
    assert crew.tasks.release(caller("writer"), "a").place == "assigned/writer"


def test_during_an_attempt_only_the_content_can_be_edited(crew):
    crew.make("a", priority="low")
    crew.start("bob", "a", ttl=60)

    verdict = refused(crew, edited(crew, "a", "inbox", old="in_progress", new="new"))
    assert (verdict.code, verdict.field) == ("TASK_HELD", "status")
    assert "bob" in verdict.message
    verdict = refused(crew, edited(crew, "a", "assigned/eve", old="agent: bob", new="agent: eve"))
    assert (verdict.code, verdict.field) == ("TASK_HELD", "agent")
    (verdict,) = accept(crew, edited(crew, "a", old="low", new="high"))
    assert (verdict.stored.task.priority, verdict.stored.holder) == ("high", "bob")
    assert crew.done("bob", "a").task.status == Status.DONE


def test_an_edit_of_an_older_text_keeps_its_content_but_not_its_state(crew):
    crew.make("a", priority="low")
    file = edited(crew, "a", old="low", new="high", add="note_to_self: x\n")
    crew.start("bob", "a")

    (verdict,) = accept(crew, file)

    stored = verdict.stored
    assert (stored.task.status, stored.task.agent, stored.place) == (
        "in_progress",
        "bob",
        "assigned/bob",
    )
    assert stored.task.priority == "high"
    assert "note_to_self: x\n" in stored.text
    assert agrees(stored)
    assert crew.done("bob", "a", token=stored.token).task.status == Status.DONE


# -- moved


RESULT = "result:\n  summary: by hand\n"


def test_a_curator_can_work_with_mv_and_an_editor_only(crew):
    crew.make("a", agent="curator")
    crew.tasks.assign(BOSS)
    (verdict,) = accept(crew, edited(crew, "a", old="status: assigned", new="status: in_progress"))
    assert (verdict.stored.attempt, verdict.stored.task.started) == (1, 1_000_000.0)
    assert agrees(verdict.stored)
    assert crew.tasks.sweep() == []
    crew.clock.advance(60)

    file = edited(crew, "a", "done", old="status: in_progress", new="status: done", add=RESULT)
    (verdict,) = accept(crew, file)

    stored = verdict.stored
    assert (stored.task.status, stored.doer, stored.task.completed) == (
        "done",
        "curator",
        1_000_060,
    )
    assert agrees(stored)
    assert [k for k in crew.kinds() if k.startswith("task_")] == [
        Kind.TASK_ADDED,
        Kind.TASK_ASSIGNED,
        Kind.TASK_STARTED,
        Kind.TASK_COMPLETED,
    ]


def test_a_state_may_be_skipped_if_the_file_has_its_time_or_a_result(crew):
    crew.make("a", "b", agent="bob")
    failed = {"old": "status: new", "new": "status: error"}
    error = "error:\n  message: x\n"

    verdict = refused(crew, edited(crew, "a", "assigned/bob", **failed, add=error))
    assert (verdict.code, verdict.field) == ("TASK_TRANSITION", "status")
    assert "in_progress" in verdict.message
    assert "started_at" in verdict.hint
    with_moment = "started_at: 1970-01-12T13:46:40Z\n" + error
    done = {"old": "status: new", "new": "status: done"}
    files = (
        edited(crew, "a", "assigned/bob", **failed, add=with_moment),
        edited(crew, "b", "done", **done, add=RESULT),
    )
    first, second = accept(crew, *files)

    assert first.stored.task.status == Status.ERROR
    assert second.stored.task.status == Status.DONE
    assert agrees(first.stored)
    assert agrees(second.stored)


@pytest.mark.parametrize(("status", "place"), [("assigned", "assigned/bob"), ("new", "inbox")])
def test_a_done_task_is_reopened_by_hand_with_its_status_and_its_folder(crew, status, place):
    crew.make("a", agent="bob")
    crew.start("bob", "a")
    crew.done("bob", "a")

    (verdict,) = accept(crew, edited(crew, "a", place, old="status: done", new=f"status: {status}"))

    assert (verdict.stored.task.status, verdict.stored.doer) == (status, "")
    assert crew.kinds()[-1] == Kind.TASK_REOPENED
    assert agrees(verdict.stored)
    assert crew.take("bob").stored.attempt == 2


@pytest.mark.parametrize("status", ["in_progress", "error"])
def test_a_done_task_must_be_reopened_before_it_changes_by_hand(crew, status):
    crew.make("a", agent="bob")
    crew.start("bob", "a")
    crew.done("bob", "a")
    place = "assigned/bob"
    error = "error:\n  message: x\n" if status == "error" else ""

    verdict = refused(
        crew, edited(crew, "a", place, old="status: done", new=f"status: {status}", add=error)
    )

    assert (verdict.code, verdict.hint) == ("TASK_TRANSITION", "run: dibs task reopen a")


def test_a_task_is_retried_by_hand_by_removing_the_error_and_resetting_the_status(crew):
    crew.make("a", agent="bob")
    crew.start("bob", "a")
    crew.tasks.fail(caller("bob"), "a", message="no")
    text = crew.row("a").text
    text = text[: text.index("error:\n")].replace("status: error", "status: assigned")

    (verdict,) = accept(crew, edited(crew, "a", text=text))

    assert verdict.stored.task.status == Status.ASSIGNED
    assert verdict.stored.forgiven == verdict.stored.failures == 1
    assert verdict.stored.task.retries == 1
    assert "retry_count: 1\n" in verdict.stored.text
    assert agrees(verdict.stored)
    assert crew.take("bob").stored.attempt == 2


def test_a_waiting_task_cannot_be_started_by_hand(crew):
    crew.make("a")
    crew.make("b", agent="bob", dependencies=["a"])

    verdict = refused(
        crew, edited(crew, "b", "assigned/bob", old="status: new", new="status: in_progress")
    )

    assert (verdict.code, "a (new)" in verdict.message) == ("TASK_DEPENDENCY", True)


def test_a_result_written_by_hand_is_never_dropped_when_the_row_is_newer(crew):
    crew.make("a", agent="bob")
    crew.start("bob", "a", ttl=60)
    crew.clock.advance(60)
    file = edited(crew, "a", "done", old="in_progress", new="done", add=RESULT)
    crew.tasks.sweep()

    verdict = refused(crew, file)

    assert (verdict.code, verdict.field) == ("TASK_STALE", "result")
    assert "is already assigned" in verdict.message


def test_a_file_name_that_differs_only_in_case_is_refused(crew):
    crew.make("audit")

    verdict = refused(crew, made("AUDIT", "inbox", "title: x\n"))

    assert verdict.code == "TASK_EXISTS"


def test_a_later_state_from_a_lost_life_may_name_another_agent(crew):
    def survivor(place, agent, status, base):
        file = made("a", place, f"agent: {agent}\nstatus: {status}\n", base)
        return accept(crew, file._replace(life="lost"))[0]

    assert survivor("inbox", "bob", "new", 5).stored.survived == "lost"

    stored = survivor("assigned/carol", "carol", "assigned", 7).stored

    assert (stored.task.agent, stored.asked, stored.place) == ("carol", "carol", "assigned/carol")
