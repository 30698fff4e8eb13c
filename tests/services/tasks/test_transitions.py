"""Transitions of a task: done, failed, released, retried, reopened, cancelled, blocked, reassigned."""

import pytest
from tests.services.board_crew import BoardCrew, agrees
from tests.services.several_agents import caller

from dibs.core.claims.ledger import Kind
from dibs.core.tasks.rules import Handoff, Status
from dibs.errors import BadInput, DibsError, Fenced, NotAllowed, NotFound
from dibs.services.state.ledger import Query
from dibs.services.tasks.values import EditedFile
from dibs.taskfile.reading import read, tree_of


@pytest.fixture
def crew():
    return BoardCrew()


@pytest.fixture
def begun(crew):
    """A board with one task, which bob holds."""
    crew.make("a", artefacts=["x.md"])
    crew.start("bob", "a", ttl=60)
    return crew


def refused(crew, kind, act):
    before = crew.rows()
    with pytest.raises(kind) as caught:
        act()
    assert crew.rows() == before
    return caught.value


def newest(crew):
    return crew.ledger.newest(Query(), 1)[0]


def test_a_done_task_is_in_done_with_its_result_and_without_its_claim(begun):
    begun.clock.advance(30)
    handoff = Handoff("writer", "Polish it", ("x.md",), ("be brief",))
    metrics = {"duration_minutes": 3, "token_count": {"input": 5, "output": 7}}

    stored = begun.done(
        "bob", "a", summary="all fine", artefacts=["x.md"], handoff=handoff, metrics=metrics
    )

    assert (stored.task.status, stored.place, stored.doer) == ("done", "done", "bob")
    assert (stored.token, stored.holder, begun.held()) == (0, "", set())
    assert agrees(stored)
    result = tree_of(stored.text)[0].top["result"]
    assert result == {
        "summary": "all fine",
        "artefacts": ["x.md"],
        "next_agent": "writer",
        "next_task_title": "Polish it",
        "next_artefacts": ["x.md"],
        "next_task_notes": ["be brief"],
        "completed_at": "1970-01-12T13:47:10Z",
        "metrics": {"duration_minutes": "3", "token_count": {"input": "5", "output": "7"}},
    }


def test_text_that_an_agent_wrote_into_the_result_stays(crew):
    text = "title: x\nresult:\n  # mine\n  summary: by hand\n  next_agent: writer\n  odd: 1\n"
    file = EditedFile("a", "inbox", "a.yaml", read(text.encode(), "a.yaml"))
    assert crew.tasks.accept(caller("human"), [file])[0].stored
    crew.start("bob", "a")

    stored = crew.done("bob", "a")

    assert (stored.task.summary, stored.task.handoff.agent) == ("by hand", "writer")
    assert "  # mine\n" in stored.text
    assert "  odd: 1\n" in stored.text
    assert agrees(stored)


def test_the_ledger_entry_of_a_transition_has_task_statuses_agent_and_attempt(begun):
    begun.done("bob", "a", summary="fine")

    entry = next(e for e in begun.ledger.newest(Query(), 5) if e.kind == Kind.TASK_COMPLETED)

    assert entry.details == {
        "task": "a",
        "status": "done",
        "was": "in_progress",
        "agent": "bob",
        "attempt": 1,
        "note": "fine",
    }
    assert entry.seq == begun.row("a").version == begun.tasks.head()


@pytest.mark.parametrize("act", ["done", "fail", "release"])
def test_a_late_result_of_an_earlier_attempt_is_fenced_and_changes_nothing(begun, act):
    old = begun.row("a").token
    begun.clock.advance(60)
    begun.take("carol")
    late = {
        "done": lambda **o: begun.done("bob", "a", summary="late", **o),
        "fail": lambda **o: begun.tasks.fail(caller("bob"), "a", message="late", **o),
        "release": lambda **o: begun.tasks.release(caller("bob"), "a", **o),
    }[act]
    begun.agents.beat(caller("bob"))  # it returns, and learns what it lost

    refused(begun, Fenced, late)
    refused(begun, Fenced, lambda: late(token=old))
    assert begun.row("a").holder == "carol"
    begun.done("carol", "a")
    refused(begun, Fenced, late)
    assert begun.row("a").doer == "carol"


def test_a_late_result_is_fenced_even_if_nobody_took_the_task_since(begun):
    old = begun.row("a").token
    begun.clock.advance(60)

    for token in (0, old):
        with pytest.raises(Fenced):
            begun.done("bob", "a", token=token)
    begun.tasks.sweep()
    for token in (0, old):
        with pytest.raises(Fenced):
            begun.done("bob", "a", token=token)
    assert begun.row("a").task.status == Status.NEW


def test_an_agent_that_took_the_task_again_is_still_fenced_with_its_old_token(begun):
    old = begun.row("a").token
    begun.clock.advance(60)
    begun.take("bob")

    refused(begun, Fenced, lambda: begun.done("bob", "a", token=old))
    assert begun.done("bob", "a", token=begun.row("a").token).attempt == 2


def test_a_task_is_not_finished_twice_but_a_repeated_request_succeeds(begun):
    first = begun.done("bob", "a", summary="once", request_id="r1")

    assert begun.done("bob", "a", summary="once", request_id="r1") == first
    error = refused(begun, BadInput, lambda: begun.done("bob", "a"))
    assert error.code == "TASK_TRANSITION"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"handoff": Handoff("../evil")}, "AGENT_ID"),
        ({"artefacts": ["../out"]}, "PATH_ESCAPE"),
        ({"artefacts": ["a\udcff"]}, "PATH_ESCAPE"),
        ({"artefacts": ["/etc/passwd"]}, "PATH_ABSOLUTE"),
        ({"handoff": Handoff("ok", artefacts=("..",))}, "PATH_ESCAPE"),
        ({"summary": "x" * 1_001}, "LIMIT"),
        ({"artefacts": [f"{n}/{'x' * 200}" for n in range(1_300)]}, "LIMIT"),
    ],
)
def test_an_invalid_result_is_refused(begun, options, code):
    assert refused(begun, DibsError, lambda: begun.done("bob", "a", **options)).code == code


# -- failing


def test_a_failed_task_stays_with_its_agent_and_its_error_block_counts(begun):
    for count in range(3):
        stored = begun.tasks.fail(caller("bob"), "a", message=f"no {count}", trace="Traceback\n  x")
        error = tree_of(stored.text)[0].top["error"]
        assert error == {
            "message": f"no {count}",
            "timestamp": "1970-01-12T13:46:40Z",
            "agent": "bob",
            "retry_count": str(count),
            "stacktrace": "Traceback\n  x",
        }
        assert (stored.task.status, stored.place) == ("error", "assigned/bob")
        assert agrees(stored)
        stored = begun.tasks.retry(caller("human"), "a")
        assert "error:" not in stored.text
        assert (stored.task.status, stored.attempt, stored.task.retries) == (
            "new",
            count + 1,
            count + 1,
        )
        assert agrees(stored)
        begun.start("bob", "a")


def test_a_nul_character_in_a_trace_is_escaped(begun):
    stored = begun.tasks.fail(caller("bob"), "a", message="no disk", trace="a\0b")

    assert tree_of(stored.text)[0].top["error"]["stacktrace"] == "a\\0b"


def test_the_error_that_a_retry_clears_stays_in_the_ledger(begun):
    begun.tasks.fail(caller("bob"), "a", message="no disk")
    begun.tasks.retry(caller("human"), "a", reason="bought one")

    entry = newest(begun)

    assert (entry.kind, entry.details["error"]) == (Kind.TASK_REOPENED, "no disk")


# -- releasing


def test_a_released_task_returns_to_its_agent_and_does_not_count_as_a_failure(crew):
    crew.make("a", agent="writer")
    crew.make("b")
    for _ in range(5):
        crew.take("bob", roles=["writer"])
        stored = crew.tasks.release(caller("bob"), "a")
        assert (stored.task.status, stored.place, stored.failures) == (
            "assigned",
            "assigned/writer",
            0,
        )
        assert agrees(stored)
    assert stored.attempt == 5
    crew.start("bob", "b")
    stored = crew.tasks.release(caller("bob"), "b")
    assert (stored.task.status, stored.task.agent, stored.place) == ("new", "", "inbox")
    assert agrees(stored)
    assert crew.held() == set()


# -- what humans do


@pytest.mark.parametrize("verb", ["cancel", "block", "reassign"])
def test_only_a_human_can_take_a_task_from_a_live_agent_which_is_then_fenced(begun, verb):
    act = {
        "cancel": lambda who: begun.tasks.cancel(caller(who), "a", reason="why"),
        "block": lambda who: begun.tasks.block(caller(who), "a", reason="why"),
        "reassign": lambda who: begun.tasks.reassign(caller(who), "a", to="dave", reason="why"),
    }[verb]
    assert refused(begun, NotAllowed, lambda: act("carol")).code == "HUMANS_ONLY"

    stored = act("human")

    assert (stored.token, stored.holder, begun.held()) == (0, "", set())
    assert agrees(stored)
    error = refused(begun, Fenced, lambda: begun.done("bob", "a"))
    assert "revoked by human: why" in error.message


@pytest.mark.parametrize("verb", ["cancel", "block", "reassign"])
def test_an_agent_may_decide_about_its_own_task_and_unclaimed_ones(begun, verb):
    options = {"cancel": {}, "block": {"reason": "r"}, "reassign": {"to": ""}}[verb]
    begun.make("b")

    for id_ in "ab":
        stored = getattr(begun.tasks, verb)(caller("bob"), id_, **options)
        assert (
            stored.task.status
            == {
                "cancel": "cancelled",
                "block": "blocked",
                "reassign": "new",
            }[verb]
        )
    assert begun.held() == set()


def test_a_blocked_task_cannot_be_taken_until_it_is_reopened(crew):
    crew.make("a", agent="writer")
    stored = crew.tasks.block(caller("human"), "a", reason="wait for legal")
    assert (stored.place, stored.task.reason) == ("assigned/writer", "wait for legal")
    with pytest.raises(NotFound):
        crew.take("writer")
    assert refused(crew, BadInput, lambda: crew.start("human", "a")).code == "TASK_TRANSITION"
    assert crew.tasks.show(None, "a").why == ("wait for legal",)

    crew.tasks.reopen(caller("human"), "a")

    assert crew.take("writer").stored.id == "a"


def test_a_block_needs_a_reason(crew):
    crew.make("a")
    error = refused(crew, BadInput, lambda: crew.tasks.block(caller("human"), "a", reason=""))
    assert error.code == "REASON"


def test_a_reassigned_task_returns_to_its_new_agent(crew):
    crew.make("a", agent="writer")
    stored = crew.tasks.reassign(caller("human"), "a", to="editor")
    assert (stored.task.status, stored.place) == ("assigned", "assigned/editor")
    crew.take("editor", ttl=60)
    crew.clock.advance(60)
    assert crew.tasks.sweep()[0].place == "assigned/editor"

    stored = crew.tasks.reassign(caller("human"), "a", to="")
    assert (stored.task.status, stored.place) == ("new", "inbox")


@pytest.mark.parametrize("to", ["..", "a/b", "-x", "x" * 65])
def test_a_task_cannot_be_assigned_to_an_invalid_agent_id(crew, to):
    crew.make("a")
    error = refused(crew, BadInput, lambda: crew.tasks.reassign(caller("human"), "a", to=to))
    assert error.code == "AGENT_ID"


def test_an_earlier_text_is_known_by_its_digest(begun):
    from dibs.services.state.tasks import MAX_EARLIER, digest

    texts = [begun.row("a").text]
    for _ in range(25):
        back = begun.tasks.release(caller("bob"), "a")
        assert digest(back.text) not in back.earlier
        texts.append(back.text)
        begun.clock.advance(1)
        texts.append(begun.start("bob", "a").stored.text)

    row = begun.row("a")

    assert len(row.earlier) == MAX_EARLIER
    assert digest(texts[-2]) == row.earlier[-1]
    assert digest(row.text) not in row.earlier


def test_a_failure_without_a_message_is_refused(begun):
    error = refused(begun, BadInput, lambda: begun.tasks.fail(caller("bob"), "a", message=" "))

    assert error.code == "REASON"


def test_a_task_that_a_clock_ahead_started_does_not_end_before_it_began(crew):
    text = "title: x\nagent: bob\nstatus: in_progress\nstarted_at: 1970-01-12T14:00:00Z\n"
    file = EditedFile("a", "assigned/bob", "a.yaml", read(text.encode(), "a.yaml"))
    started = crew.tasks.accept(caller("human"), [file])[0].stored.task.started
    assert started > crew.clock.now

    assert crew.done("bob", "a").task.completed == started
