"""The Python API."""

import doctest
import subprocess
import sys
from threading import Event

import pytest

import dibs
from dibs import BadInput, CommitRefused, Dibs, Fenced, Handoff, NotFound, Refused, Unavailable
from dibs.api import client
from dibs.local.heartbeat import Heartbeat


@pytest.fixture(autouse=True)
def repository(tmp_path, monkeypatch):
    subprocess.run(["git", "init", "-q", "-b", "main", tmp_path], check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_examples_in_the_documentation_hold():
    result = doctest.testmod(client)

    assert result.attempted >= 8
    assert result.failed == 0


def test_exactly_the_public_names_are_exported():
    assert all(getattr(dibs, name) is not None for name in dibs.__all__)
    assert dir(dibs) == sorted(dibs.__all__)
    with pytest.raises(AttributeError):
        _ = dibs.nothing


def test_importing_the_package_loads_none_of_its_modules():
    script = "import sys, dibs; print([m for m in sys.modules if m.startswith('dibs.')])"

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


def test_a_block_releases_its_claims():
    with Dibs.open(agent="a") as mine:
        with mine.claim("src/**", "docs/x", reason="r") as hold:
            assert {h.claim.pattern for h in mine.held()} == {"src/**", "docs/x"}
            assert hold.token > 0
        assert mine.held() == []


@pytest.mark.parametrize("variable", ["DIBS_AGENT", "CLAUDECODE"])
def test_an_agent_that_uses_another_name_has_no_rights_of_a_human(monkeypatch, variable):
    monkeypatch.setenv(variable, "1")

    with Dibs.open() as mine:
        assert not mine.as_agent("b").caller.from_human


def test_a_refusal_contains_the_answer():
    with Dibs.open(agent="a") as mine:
        other = mine.as_agent("b")
        mine.claim("src/**", reason="mine")

        with pytest.raises(Refused) as refused:
            other.claim("src/a.py")

    conflict = refused.value.conflicts[0]
    assert (conflict.holder, conflict.reason, conflict.witness) == ("a", "mine", "src/a.py")


def test_a_hold_that_was_revoked_is_fenced_at_the_check_and_at_the_end():
    with Dibs.open(agent="a") as mine:
        human = Dibs(mine.project, mine.caller._replace(id="h", role="human"))
        hold = mine.claim("src/a.py")
        pattern = mine.project.tree.resolve("src/a.py")
        human.project.holdings.revoke(human.caller, pattern, reason="now")

        with pytest.raises(Fenced):
            hold.check()
        with pytest.raises(Fenced):
            hold.release()
        assert [lost.why for lost in mine.lost()] == ["revoked"]


def test_an_error_inside_a_block_is_not_hidden_by_a_lost_claim():
    with Dibs.open(agent="a") as mine:
        human = mine.caller._replace(id="h", role="human")
        pattern = mine.project.tree.resolve("src/a.py")

        def work():
            with mine.claim("src/a.py"):
                mine.project.holdings.revoke(human, pattern, reason="now")
                _ = 1 / 0

        with pytest.raises(ZeroDivisionError):
            work()


def test_an_inner_block_does_not_release_what_the_outer_one_holds():
    with Dibs.open(agent="a") as mine, mine.claim("src/a.py"):
        with mine.claim("src/a.py", "docs/x"):
            pass

        assert [h.claim.pattern for h in mine.held()] == ["src/a.py"]


def test_inside_a_block_heartbeats_keep_the_claim_past_its_ttl():
    beats = Event()
    keeper = Heartbeat(beats.set, every=0.001)

    keeper.start()
    came = beats.wait(10)
    keeper.stop()
    beats.clear()

    assert came
    assert not beats.wait(0.05)


def test_a_failed_heartbeat_does_not_stop_later_ones():
    calls = []
    enough = Event()

    def beat():
        calls.append(1)
        if len(calls) == 1:
            raise Unavailable("busy")
        enough.set()

    keeper = Heartbeat(beat, every=0.001)
    keeper.start()
    came = enough.wait(10)
    keeper.stop()

    assert came


@pytest.mark.slow
def test_a_block_may_take_longer_than_the_ttl():
    with Dibs.open(agent="a") as mine, mine.claim("src/a.py", ttl=5) as hold:
        Event().wait(6)

        hold.check()
        assert mine.lost() == []


def test_leaving_releases_everything():
    with Dibs.open(agent="a") as mine:
        mine.claim("x")

        mine.leave()

        assert mine.held() == []


def test_a_task_is_taken_by_one_agent_and_done(repository):
    with Dibs.open(agent="alice") as alice:
        bob = alice.as_agent("bob")
        made = alice.new_task("Audit the docs", agent="curator", artefacts=["docs/"], notes=["x"])
        assert alice.take_task() is None
        attempt = bob.take_task(roles=["curator"], claim=True)
        assert attempt.task.id == made.id
        assert {held.claim.pattern for held in alice.held("bob")} == {f"task:{made.id}", "docs/"}

        with attempt:
            attempt.done("12 fixed", artefacts=["docs/a.md"])

        assert alice.held() == []
        (shown,) = alice.tasks(finished=True)
        assert (shown.state, shown.stored.task.summary) == ("done", "12 fixed")
        assert (repository / "work" / "done" / f"{made.id}.yaml").exists()


def test_a_block_without_a_result_releases_the_task_and_an_exception_is_its_error():
    with Dibs.open(agent="alice") as alice:
        alice.new_task("Audit the docs")
        with alice.take_task():
            pass
        assert alice.tasks()[0].state == "new"

        with pytest.raises(ZeroDivisionError), alice.take_task():
            _ = 1 / 0

        (shown,) = alice.tasks()
        assert (shown.state, shown.stored.task.error) == (
            "error",
            "ZeroDivisionError: division by zero",
        )


def test_bad_values_for_a_task_change_nothing():
    with Dibs.open(agent="alice") as alice:
        for wrong in (
            {"agent": ".."},
            {"priority": "soon"},
            {"artefacts": ["../x"]},
            {"needs": ["x"]},
        ):
            with pytest.raises(BadInput):
                alice.new_task("Audit", **wrong)
        assert alice.tasks(finished=True) == []


def git(*words):
    done = subprocess.run(["git", *words], check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def pair(repository):
    """Two agents, each with its own new file."""
    git("config", "user.name", "Ann")
    git("config", "user.email", "ann@example.org")
    with Dibs.open(agent="alice", engine="memory:") as alice:
        bob = alice.as_agent("bob")
        for agent in (alice, bob):
            agent.claim(f"{agent.caller.id}[1].txt", literal=True)
            (repository / f"{agent.caller.id}[1].txt").write_text("work")
        yield alice, bob


def test_a_commit_contains_what_the_agent_holds_and_nothing_else(pair):
    alice, bob = pair
    answer = alice.commit("hers", release=True)

    assert git("show", "--format=%H", "--name-only").split() == [answer.commit, "alice[1].txt"]
    assert [claim.pattern for claim in answer.released] == [r"alice\[1\].txt"]
    assert [item.holder for item in answer.others] == ["bob"]
    assert [file.path for file in bob.commit("his", "bob[1].txt").files] == ["bob[1].txt"]
    with pytest.raises(NotFound) as told:
        alice.commit("again")
    assert told.value.code == "NOTHING_CHANGED"


def test_a_commit_with_another_agents_lines_says_how_to_commit_both(pair, repository):
    alice, bob = pair
    alice.project.holdings.release(alice.caller, [])
    bob.claim("alice[1].txt", literal=True)
    (repository / "alice[1].txt").write_text("work\nbob\n")
    with pytest.raises(CommitRefused, match="1 line of alice is in no commit") as told:
        bob.commit("both", "alice[1].txt")

    assert told.value.code == "INHERITED"
    assert told.value.hint.endswith("; to commit both: pass inherited=True")
    assert [one.agent for one in bob.commit("both", inherited=True).included] == ["alice"]


def strings():
    """Return each argument that takes strings, and how to pass it."""
    return {
        "pattern": lambda mine, wrong: mine.claim(wrong),
        "reason": lambda mine, wrong: mine.claim("a", reason=wrong),
        "task": lambda mine, wrong: mine.claim("a", task=wrong),
        "request_id": lambda mine, wrong: mine.take_task(request_id=wrong),
        "note": lambda mine, wrong: mine.ask("a", note=wrong),
        "title": lambda mine, wrong: mine.new_task(wrong),
        "slug": lambda mine, wrong: mine.new_task("t", slug=wrong),
        "priority": lambda mine, wrong: mine.new_task("t", priority=wrong),
        "artefacts": lambda mine, wrong: mine.new_task("t", artefacts=wrong),
        "needs": lambda mine, wrong: mine.new_task("t", needs=wrong),
        "notes": lambda mine, wrong: mine.new_task("t", notes=[wrong]),
        "roles": lambda mine, wrong: mine.take_task(roles=wrong),
        "limit": lambda mine, wrong: mine.log(wrong),
        "environ": lambda mine, wrong: Dibs.open(environ=wrong),
        "repo": lambda mine, wrong: Dibs.open(wrong),
        "summary": lambda mine, wrong: mine.take_task().done(wrong),
        "message": lambda mine, wrong: mine.take_task().fail(wrong),
        "path": lambda mine, wrong: mine.commit("m", wrong),
        "handoff": lambda mine, wrong: mine.take_task().done("s", handoff=wrong),
        "handoff.title": lambda mine, wrong: mine.take_task().done(
            "s", handoff=Handoff("b", wrong)
        ),
    }


@pytest.mark.parametrize("wrong", [5.5, b"x"], ids=["number", "bytes"])
@pytest.mark.parametrize("field", strings())
def test_a_value_of_the_wrong_type_is_bad_input_and_changes_nothing(field, wrong):
    with Dibs.open(agent="a") as mine:
        mine.new_task("A task", slug="there")

        with pytest.raises(BadInput, match=f"^{field} must be ") as told:
            strings()[field](mine, wrong)

        assert told.value.field == field
        assert [shown.stored.task.title for shown in mine.tasks(finished=True)] == ["A task"]
        assert mine.tasks()[0].stored.task.status in {"new", "in_progress"}


def test_a_string_is_not_treated_as_a_list_of_characters():
    with Dibs.open(agent="a") as mine:
        with pytest.raises(BadInput, match="artefacts must be a list of strings, not str"):
            mine.new_task("A task", artefacts="docs/")

        assert mine.tasks() == []


@pytest.mark.parametrize("title", ["", " ", "two\nlines"])
def test_a_task_title_must_be_one_line(title):
    with Dibs.open(agent="a") as mine, pytest.raises(BadInput, match="one non-empty line"):
        mine.new_task(title)


def test_the_scheme_file_means_the_path():
    with Dibs.open(agent="a") as mine, Dibs.open(agent="b") as other:
        with mine.claim("src/a.py"):
            assert other.check("file:src/a.py")
            with pytest.raises(Refused):
                other.claim("file:src/a.py")
        other.claim("file:src/a.py")
        assert [held.claim.pattern for held in other.held("b")] == ["src/a.py"]


def test_the_setting_says_how_often_a_held_claim_is_renewed(tmp_path):
    environ = {"DIBS_PRESET": "nexus"}
    with Dibs.open(tmp_path, agent="a", engine="memory:", environ=environ) as dibs:
        claims = dibs.claim("src/a.py").claims

        assert (claims[0].ttl, dibs.keeper(claims).every) == (30.0, 10.0)
