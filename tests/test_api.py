"""The Python face: what people who write their own agents rely on."""

import doctest
import subprocess
import sys
from threading import Event

import pytest

import dibs
from dibs import Dibs, Fenced, Refused, Unavailable, api


@pytest.fixture(autouse=True)
def repository(tmp_path, monkeypatch):
    subprocess.run(["git", "init", "-q", "-b", "main", tmp_path], check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_examples_in_the_documentation_hold():
    result = doctest.testmod(api)

    assert result.attempted >= 8
    assert result.failed == 0


def test_every_public_name_is_there_and_no_other():
    assert all(getattr(dibs, name) is not None for name in dibs.__all__)
    assert dir(dibs) == sorted(dibs.__all__)
    with pytest.raises(AttributeError):
        _ = dibs.nothing


def test_importing_the_package_loads_nothing_of_it():
    script = "import sys, dibs; print([m for m in sys.modules if m.startswith('dibs.')])"

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


def test_a_block_gives_its_claims_back():
    with Dibs.open(agent="a") as mine:
        with mine.claim("src/**", "docs/x", reason="r") as hold:
            assert {h.claim.pattern for h in mine.held()} == {"src/**", "docs/x"}
            assert hold.token > 0
        assert mine.held() == []


def test_a_block_gives_its_claims_back_when_it_fails():
    with Dibs.open(agent="a") as mine:
        with pytest.raises(ZeroDivisionError), mine.claim("src/**"):
            _ = 1 / 0

        assert mine.held() == []


def test_a_refusal_carries_the_answer():
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


def test_an_inner_block_does_not_give_back_what_the_outer_one_holds():
    with Dibs.open(agent="a") as mine, mine.claim("src/a.py"):
        with mine.claim("src/a.py", "docs/x"):
            pass

        assert [h.claim.pattern for h in mine.held()] == ["src/a.py"]


def test_inside_a_block_signs_of_life_keep_the_claim_past_its_ttl():
    beats = Event()
    keeper = api._Keeper(beats.set, every=0.001)

    keeper.start()
    came = beats.wait(10)
    keeper.stop()
    beats.clear()

    assert came
    assert not beats.wait(0.05)


def test_a_sign_of_life_that_fails_does_not_end_the_others():
    calls = []
    enough = Event()

    def beat():
        calls.append(1)
        if len(calls) == 1:
            raise Unavailable("busy")
        enough.set()

    keeper = api._Keeper(beat, every=0.001)
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


def test_two_handles_see_one_project():
    with Dibs.open(agent="a") as one, Dibs.open(agent="b") as two:
        one.claim("src/a.py")

        assert [c.holder for c in two.check("src/*.py")] == ["a"]
        assert [ask.holder for ask in two.ask("src/*.py", note="please")] == ["a"]
        assert [ask.note for ask in one.renew().asks] == ["please"]
        assert two.log(1)[0].kind == "release_requested"


def test_leaving_gives_everything_back():
    with Dibs.open(agent="a") as mine:
        mine.claim("x")

        mine.leave()

        assert mine.held() == []
