"""The orchestrator's upkeep: return, assign, hand off, warn, archive; each is safe to run twice at once."""

import pytest
from tests.services.board_crew import BoardCrew, agrees
from tests.services.several_agents import caller

from dibs.core.claims.agents import Agent
from dibs.core.claims.ledger import Kind
from dibs.core.tasks.rules import Handoff, Status
from dibs.services.tasks.values import EditedFile
from dibs.taskfile.document import MAX_BYTES
from dibs.taskfile.reading import read, tree_of

BOSS = caller("human")
HOUR, DAY = 3_600.0, 86_400.0


@pytest.fixture
def crew():
    return BoardCrew()


def twice(act):
    """Do something, and check that doing it again does nothing."""
    answer = act()
    assert not any(act()) if isinstance(answer, tuple) else act() == []
    return answer


# -- dead agents


def test_a_lost_attempt_returns_the_task_until_it_failed_too_often():
    crew = BoardCrew(board_attempts=3)
    crew.make("a", agent="writer")
    for attempt in (1, 2, 3):
        crew.take("bob", roles=["writer"], ttl=60)
        crew.clock.advance(60)
        (stored,) = twice(crew.tasks.sweep)
        assert (stored.attempt, stored.token, stored.holder) == (attempt, 0, "")
        assert agrees(stored)
        if attempt < 3:
            assert (stored.task.status, stored.place) == ("assigned", "assigned/writer")
    assert stored.task.status == Status.ERROR
    error = tree_of(stored.text)[0].top["error"]
    assert (error["retry_count"], error["agent"]) == ("2", "bob")
    assert "3 attempts failed" in error["message"]


def test_a_retried_task_has_as_many_attempts_as_a_new_one():
    crew = BoardCrew(board_attempts=2)
    crew.make("a")
    seen = []
    for _ in range(5):
        crew.start("bob", "a", ttl=60)
        crew.clock.advance(60)
        (stored,) = crew.tasks.sweep()
        seen.append((stored.attempt, stored.task.status))
        if stored.task.status == Status.ERROR:
            crew.tasks.retry(BOSS, "a")
    assert seen == [(1, "new"), (2, "error"), (3, "new"), (4, "error"), (5, "new")]


def test_the_claim_of_a_lost_attempt_is_removed_and_its_agent_notified(crew):
    crew.make("a")
    crew.take("bob", ttl=60)
    crew.clock.advance(60)

    crew.tasks.sweep()

    assert [row for row in crew.rows() if row[0].startswith(("at/", "busy"))] == []
    (lost,) = crew.renew("bob").lost
    assert str(lost) == "your claim on task:a expired"


# -- assigning


def test_a_ready_task_goes_to_its_agent_and_a_waiting_one_does_not(crew):
    crew.make("a", agent="writer")
    crew.make("b", agent="writer", dependencies=["a"])

    (stored,) = twice(lambda: crew.tasks.assign(BOSS))

    assert (stored.id, stored.task.status, stored.place) == ("a", "assigned", "assigned/writer")
    assert stored.task.assigned == 1_000_000.0
    assert agrees(stored)
    assert crew.take("writer").stored.id == "a"
    crew.done("writer", "a")
    assert [s.id for s in twice(lambda: crew.tasks.assign(BOSS))] == ["b"]


# -- handoffs


def finish(crew, id_, by, handoff, **options):
    crew.start(by, id_)
    return crew.done(by, id_, handoff=handoff, **options)


def test_a_handoff_becomes_one_task_in_the_documented_form(crew):
    source = "2025-11-23T1700-architect-adr-api"
    adr = "docs/architecture/adrs/ADR-006.md"
    crew.make(source, agent="architect")
    crew.clock.advance(1_763_912_700 - crew.clock.now)
    handoff = Handoff(
        "writer-editor",
        "Review and polish ADR-006",
        (adr,),
        ("Check for clarity", "Ensure examples are understandable"),
    )
    done = finish(crew, source, "architect", handoff)

    made = crew.row(done.follower)
    assert made.id == "2025-11-23T1545-writer-editor-review-and-polish-adr-006"
    tree = tree_of(made.text)[0].top
    assert tree == {
        "id": made.id,
        "agent": "writer-editor",
        "status": "new",
        "title": "Review and polish ADR-006",
        "artefacts": [adr],
        "context": {
            "notes": [
                "Check for clarity",
                "Ensure examples are understandable",
                f"Created by architect as handoff from task {source}",
            ],
            "dependencies": [source],
        },
        "created_at": "2025-11-23T15:45:00Z",
        "created_by": "architect",
    }
    assert agrees(made)
    assert crew.tasks.assign(BOSS)[0].place == "assigned/writer-editor"
    assert crew.tasks.hand_off(BOSS) == ([], [])


def test_a_handoff_is_not_repeated_after_its_task_is_done_or_archived(crew):
    crew.make("a")
    made = finish(crew, "a", "bob", Handoff("carol", "go on")).follower
    finish(crew, made, "carol", None)
    assert crew.tasks.hand_off(BOSS) == ([], [])
    crew.clock.advance(40 * DAY)
    assert {s.id for s in crew.tasks.archive(BOSS)} == {"a", made}

    assert crew.tasks.hand_off(BOSS) == ([], [])
    assert crew.kinds().count(Kind.HANDOFF_CREATED) == 1


def test_a_handoff_that_someone_created_by_hand_is_not_created_again(crew):
    crew.make("a")
    crew.make("mine", agent="carol", title="go on", dependencies=["a"])

    done = finish(crew, "a", "bob", Handoff("carol", "go on"))

    assert done.follower == "mine"
    assert crew.kinds().count(Kind.HANDOFF_CREATED) == 0


def test_two_handoffs_of_one_minute_with_one_title_are_two_tasks(crew):
    crew.make("a", "b")

    first = finish(crew, "a", "bob", Handoff("carol", "go on")).follower
    second = finish(crew, "b", "bob", Handoff("carol", "go on")).follower

    assert second == f"{first}-2"
    assert crew.row(second).task.dependencies == ("b",)


def test_a_task_that_is_done_again_has_one_open_follow_up(crew):
    crew.make("a")
    first = finish(crew, "a", "bob", Handoff("carol", "go on")).follower
    crew.tasks.reopen(BOSS, "a", reason="not good")
    crew.clock.advance(HOUR)

    assert finish(crew, "a", "bob", Handoff("carol", "go on")).follower == first

    crew.tasks.cancel(BOSS, first, reason="obsolete")
    crew.tasks.reopen(BOSS, "a", reason="not good")
    crew.clock.advance(HOUR)
    assert finish(crew, "a", "bob", Handoff("carol", "go on")).follower != first


def by_hand(crew, id_, place, result):
    text = f"agent: bob\nstatus: done\nresult:\n  summary: ok\n{result}"
    made = EditedFile(id_, place, f"{id_}.yaml", read(text.encode(), f"{id_}.yaml"))
    return crew.tasks.accept(BOSS, [made])[0]


NEXT = "  next_agent: carol\n  next_task_title: go on\n  completed_at: 1970-01-12T13:46:40Z\n"


def test_a_task_finished_by_hand_has_its_follow_up_at_once(crew):
    verdict = by_hand(crew, "a", "done", NEXT)

    assert crew.row(verdict.follower).task.title == "go on"
    assert verdict.stored.follower == verdict.follower
    assert by_hand(crew, "a", "done", NEXT).follower == ""
    assert crew.tasks.hand_off(BOSS) == ([], [])


def test_files_that_outlive_the_store_keep_their_one_follow_up(crew):
    id_ = by_hand(crew, "a", "done", NEXT).follower
    texts = {one: crew.row(one).text for one in ("a", id_)}
    finished = texts[id_].replace("status: new", "status: done\nresult:\n  summary: ok")
    for text, place in ((texts[id_], "inbox"), (finished, "done")):
        other = BoardCrew()
        files = [
            EditedFile("a", "done", "a.yaml", read(texts["a"].encode(), "a.yaml")),
            EditedFile(id_, place, f"{id_}.yaml", read(text.encode(), f"{id_}.yaml")),
        ]

        assert [v.code for v in other.tasks.accept(BOSS, files)] == ["", ""]

        assert set(other.tasks.versions()) == {"a", id_}
        assert other.row("a").follower == id_


def test_a_task_archived_by_hand_has_its_follow_up(crew):
    crew.make("a", agent="bob")
    row = crew.row("a")
    text = row.text + "result:\n  summary: ok\n" + NEXT
    made = EditedFile("a", "archive/1970-01", row.file, read(text.encode(), row.file), row.version)

    assert crew.tasks.accept(BOSS, [made])[0].code == ""

    assert [row.task.title for row in crew.tasks.stored(crew.tasks.versions()).values()] == [
        "go on"
    ]


def test_a_handoff_to_an_unknown_agent_is_created_at_once(crew):
    crew.make("a")

    made = crew.row(finish(crew, "a", "bob", Handoff("stranger", "go on")).follower)

    assert (made.task.agent, made.task.status, made.place) == ("stranger", "new", "inbox")
    assert crew.tasks.assign(BOSS)[0].place == "assigned/stranger"
    crew.agents.join(Agent("newcomer", role="stranger"))
    assert crew.take("newcomer", roles=["stranger"]).stored.id == made.id


def test_a_follow_up_can_be_reassigned(crew):
    crew.make("a")
    made = finish(crew, "a", "bob", Handoff("stranger", "go on")).follower

    assert crew.tasks.reassign(BOSS, made, to="bob").task.agent == "bob"


def test_an_invalid_handoff_is_reported_and_blocks_no_other(crew):
    head = "status: done\nresult:\n  summary: x\n  next_agent: bob\n  next_task_title: big\n"
    note = f"    - {'y' * 1_000}\n"
    text = head + "  next_task_notes:\n" + note * ((MAX_BYTES - 300) // len(note))
    made = EditedFile("a", "done", "a.yaml", read(text.encode(), "a.yaml"))
    assert crew.tasks.accept(BOSS, [made])[0].code == ""
    crew.make("b")
    finish(crew, "b", "bob", Handoff("bob", "go on"))

    made, troubles = twice(lambda: crew.tasks.hand_off(BOSS))

    assert made == []
    assert crew.row(crew.row("b").follower).task.title == "go on"
    assert [(t.id, t.code) for t in troubles] == [("a", "LIMIT")]


def test_a_handoff_never_moves_the_boards_head_back(crew):
    crew.make("a")
    before = crew.tasks.head()

    made = crew.row(finish(crew, "a", "bob", Handoff("bob", "go on")).follower)

    assert before < made.version == crew.tasks.head() == crew.tasks.versions()[made.id]


# -- timeouts


@pytest.mark.parametrize(
    ("policy", "status"), [("warn", "assigned"), ("release", "new"), ("error", "error")]
)
def test_a_task_that_nobody_starts_gets_a_warning_and_then_the_configured_action(policy, status):
    crew = BoardCrew(board_stuck=policy)
    crew.make("a", agent="writer")
    crew.tasks.assign(BOSS)
    crew.clock.advance(2 * HOUR - 1)
    assert crew.tasks.stuck(BOSS) == []
    crew.clock.advance(1)

    (stuck,) = twice(lambda: crew.tasks.stuck(BOSS))
    assert (stuck.action, stuck.since) == ("warned", 1_000_000.0)
    crew.clock.advance(2 * HOUR - 1)
    assert crew.tasks.stuck(BOSS) == []
    crew.clock.advance(1)
    (stuck,) = twice(lambda: crew.tasks.stuck(BOSS))

    assert (stuck.stored.task.status, agrees(stuck.stored)) == (status, True)


def test_an_agent_that_sends_heartbeats_is_never_stuck(crew):
    crew.make("a")
    crew.take("bob", ttl=3_600)
    for _ in range(9):
        crew.clock.advance(HOUR - 1)
        crew.agents.beat(caller("bob"))
        assert crew.tasks.stuck(BOSS) == []


# -- archiving


def test_finished_tasks_are_archived_by_month_and_can_be_looked_up(crew):
    crew.clock.advance(1_764_547_190 - crew.clock.now)  # ten seconds before December 2025
    crew.make("a", "b", "open")
    finish(crew, "a", "bob", None, summary="fine")
    crew.clock.advance(20)
    crew.tasks.cancel(BOSS, "b", reason="no need")
    crew.clock.advance(30 * DAY)

    gone = twice(lambda: crew.tasks.archive(BOSS))

    assert [(s.id, s.place, s.task.status) for s in gone] == [
        ("a", "archive/2025-11", "archive"),
        ("b", "archive/2025-12", "archive"),
    ]
    assert all(agrees_but_for_status(s) for s in gone)
    assert crew.tasks.versions().keys() == {"open"}
    assert crew.tasks.head() == gone[-1].version
    past = crew.tasks.past("a")
    assert (past.status, past.place, past.doer) == ("done", "archive/2025-11", "bob")
    shown = crew.tasks.show(None, "b")
    assert (shown.state, shown.past.status) == ("archive", "cancelled")
    derived = ("over//", "since//", "needs/", "handoff//", "busy//")
    assert [key for key, _ in crew.rows() if key.startswith(derived)] == []


def agrees_but_for_status(stored):
    assert "status: archive\n" in stored.text
    return agrees(stored)


def test_tasks_with_a_waiting_handoff_do_not_block_archiving_others(monkeypatch):
    monkeypatch.setattr("dibs.services.tasks.upkeep.MANY", 2)
    crew = BoardCrew(board_archive_after=100.0)
    crew.make("a", "b", "c", "d")
    for id_ in "abcd":
        crew.start("bob", id_)
        crew.done("bob", id_)
        if id_ != "d":
            crew.tasks.wait_for_follow_up(id_, Handoff("..", "invalid"))
    crew.clock.advance(101)

    assert [row.id for row in crew.tasks.archive(caller("human"))] == ["d"]


def test_checking_a_waiting_handoff_writes_nothing(crew):
    crew.make("a")
    crew.start("bob", "a")
    crew.done("bob", "a")
    crew.tasks.wait_for_follow_up("a", Handoff("..", "invalid"))
    assert [trouble.code for trouble in crew.tasks.hand_off(BOSS)[1]] == ["AGENT_ID"]
    before = crew.rows()
    crew.clock.advance(5)

    assert crew.tasks.hand_off(caller("human")) == ([], [])

    assert crew.rows() == before


# -- retries


def test_retry_count_counts_every_retry():
    crew = BoardCrew()
    crew.make("a", agent="bob")
    for retries in range(4):
        crew.start("bob", "a")
        failed = crew.tasks.fail(caller("bob"), "a", message="no")
        assert (failed.task.retries, f"retry_count: {retries}\n" in failed.text) == (retries, True)
        again = crew.tasks.retry(caller("human"), "a")
        assert (again.task.retries, again.task.status) == (retries + 1, "assigned")
        assert f"retry_count: {retries + 1}\n" in again.text
        assert agrees(again)


@pytest.mark.parametrize("way", ["retry", "by hand", "release", "lose"])
def test_the_timeout_counts_from_the_new_attempt(way):
    crew = BoardCrew()
    crew.make("a", agent="bob")
    crew.tasks.assign(BOSS)
    crew.start("bob", "a", ttl=4 * HOUR)
    crew.clock.advance(3 * HOUR)
    if way == "lose":
        crew.clock.advance(HOUR)
        crew.tasks.sweep()
    elif way == "release":
        crew.tasks.release(caller("bob"), "a")
    else:
        crew.tasks.fail(caller("bob"), "a", message="no")
    if way == "retry":
        crew.tasks.retry(caller("human"), "a")
    if way == "by hand":
        row = crew.row("a")
        text = row.text[: row.text.index("error:\n")].replace("status: error", "status: assigned")
        file = EditedFile("a", row.place, row.file, read(text.encode(), row.file), row.version)
        assert crew.tasks.accept(BOSS, [file])[0].stored is not None
    assert crew.row("a").task.status == "assigned"

    assert crew.tasks.stuck(BOSS) == []

    crew.clock.advance(2 * HOUR)
    assert [one.stored.id for one in crew.tasks.stuck(BOSS)] == ["a"]


def test_a_task_that_waits_for_others_is_not_stuck_and_then_has_its_whole_time():
    crew = BoardCrew()
    crew.make("a")
    crew.make("b", agent="carol", dependencies=["a"])
    crew.tasks.reassign(BOSS, "b", to="bob")
    crew.clock.advance(3 * HOUR)
    assert crew.row("b").task.status == "assigned"

    assert crew.tasks.stuck(BOSS) == []

    finish(crew, "a", "ann", None)
    assert crew.tasks.stuck(BOSS) == []
    crew.clock.advance(2 * HOUR)
    assert [one.stored.id for one in crew.tasks.stuck(BOSS)] == ["b"]
