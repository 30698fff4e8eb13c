"""top: the live view, with Textual's pilot on a real store."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from argparse import Namespace

import pytest
from tests.cli.conftest import PROGRAM

from dibs.cli.top.app import TopApp
from dibs.cli.top.rowlist import RowList
from dibs.cli.top.source import LocalSource

ARGS = Namespace(json=False, repo="", agent=None, verbose=False)


def screen(app):
    """Return what the person sees."""
    width, height = app.size
    lines = app.screen._compositor.render_strips()
    assert len(lines) == height
    assert all(strip.cell_length <= width for strip in lines)
    return "\n".join(strip.text for strip in lines)


async def until(app, pilot, *words):
    """Wait until all words are on the screen."""
    for _ in range(400):
        if all(word in screen(app) for word in words):
            return
        await pilot.pause(0.025)
    raise AssertionError(f"no {words} in\n{screen(app)}")


def play(script, *, size=(80, 24), args=ARGS):
    """Run a script with the application; it starts when the project is shown."""

    async def run():
        app = TopApp(LocalSource(args))
        async with app.run_test(size=size, notifications=True) as pilot:
            await until(app, pilot, "working")
            await script(app, pilot)

    asyncio.run(run())


def elsewhere(*words, agent):
    """Run a command in another process."""
    done = subprocess.run([*PROGRAM, *words, "--agent", agent], check=False, capture_output=True)
    assert done.returncode == 0, done.stderr


def held():
    """Return the owners of all claims."""
    done = subprocess.run([*PROGRAM, "status", "--json"], check=True, capture_output=True)
    return [claim["agent"] for claim in json.loads(done.stdout)["claims"]]


async def answer(pilot, key, text):
    """Press an action's key, type its text, and submit it."""
    await pilot.press(key)
    await pilot.pause()
    await pilot.press(*["space" if letter == " " else letter for letter in text], "enter")
    await pilot.pause()


@pytest.fixture
def crew(dibs):
    """Alice holds a folder that bob waits for, and carol asks for a decision."""
    dibs("claim", "src/auth/", "--reason", "rework the login", agent="alice")
    dibs("claim", "src/auth/login.py", "--queue", agent="bob")
    dibs("decide", "new", "use httpx", "--confirm", agent="carol")
    return dibs


@pytest.mark.parametrize("size", [(80, 24), (180, 50), (40, 12)])
def test_the_view_fits_the_terminal_and_follows_its_size(crew, size):
    async def script(app, pilot):
        await until(app, pilot, "1 Needs you (1)", "2 Agents (3)", "4 Claims (1)")
        await pilot.resize_terminal(100, 30)
        await until(
            app, pilot, "alice", "bob waits for alice", "src/auth/", "━━━━━━━━", "rework the login",
            "carol", "use httpx", "bob is waiting for src/auth/login.py",
        )  # fmt: skip

    play(script, size=size)


def test_a_change_elsewhere_appears_and_the_cursor_stays_on_its_row(crew):
    async def script(app, pilot):
        await pilot.press("4")
        elsewhere("claim", "docs/api.md", "--reason", "describe it", agent="aaron")
        await until(app, pilot, "4 Claims (2)", "docs/api.md", "describe it")
        assert app.query_one("#claims", RowList).row["agent"] in {"alice", "aaron"}
        await pilot.press("end")
        assert app.query_one("#claims", RowList).row["agent"] == "alice"
        elsewhere("claim", "docs/b.md", agent="aaron")
        await until(app, pilot, "4 Claims (3)")
        assert app.query_one("#claims", RowList).row["agent"] == "alice"

    play(script)


def test_a_claim_is_revoked_only_with_a_reason_which_its_owner_reads(crew):
    async def script(app, pilot):
        await pilot.press("4")
        await answer(pilot, "r", "")
        await until(app, pilot, "Revoke src/auth/ from alice", "(required)")
        await pilot.press("escape")
        await pilot.pause()
        assert held() == ["alice"]
        await answer(pilot, "r", "alice is stuck")
        await until(app, pilot, "revoked src/auth/ from alice", "nothing is claimed")

    play(script)
    assert "alice is stuck" in crew("inbox", agent="alice").out


def test_a_person_asks_and_sends_messages_and_decides(crew):
    async def script(app, pilot):
        await pilot.press("4")
        await answer(pilot, "a", "short fix")
        await until(app, pilot, "asked alice to release src/auth/")
        await pilot.press("3")
        await answer(pilot, "m", "use the other file")
        await until(app, pilot, "to bob")
        await pilot.press("1")
        await answer(pilot, "c", "")
        await until(app, pilot, "confirmed d", "2 Agents")
        elsewhere("decide", "new", "drop Python 3.10", "--confirm", agent="carol")
        await until(app, pilot, "drop Python 3.10")
        await pilot.press("1", "enter")
        await until(app, pilot, "asked by", "c: confirm")
        await answer(pilot, "x", "not yet")
        await until(app, pilot, "rejected d")

    play(script, size=(100, 40))
    assert "short fix" in crew("inbox", agent="alice").out
    assert "use the other file" in crew("inbox", agent="bob").out
    outcomes = {d["title"]: d["outcome"] for d in crew("decide", "ls", "--json").json["decisions"]}
    assert outcomes == {"use httpx": "confirmed", "drop Python 3.10": "rejected"}


def test_a_conflict_is_settled_with_two_keys(crew):
    crew("escalate", "src/auth/login.py", "--note", "blocks the release", agent="bob")

    async def script(app, pilot):
        await pilot.press("1", "end", "enter")
        await until(app, pilot, "blocks the release", "c: revoke the owner's claim")
        await answer(pilot, "c", "")
        await until(app, pilot, "confirmed d", "revoked alice's claim")

    play(script, size=(100, 40))
    assert not [c for c in crew("status", "--json").json["claims"] if c["agent"] == "alice"]


def test_only_actions_that_apply_to_the_row_are_offered_and_a_refusal_is_shown(crew):
    async def script(app, pilot):
        await until(app, pilot, "Message")
        assert "Revoke" not in screen(app)
        await pilot.press("r")
        assert "Revoke" not in screen(app)
        await pilot.press("4")
        await until(app, pilot, "Revoke")
        await answer(pilot, "r", "mine now")
        await until(app, pilot, "human")

    play(script, args=Namespace(**{**vars(ARGS), "agent": "bob"}))
    assert crew("status", "--json").json["claims"]


def test_control_characters_and_markup_of_agents_are_only_shown(dibs):
    bad = "[bold red]x[/] [@click=app.quit]y[/] \x1b[31mz \u202e [/nothing"
    dibs("claim", "a[b].py", "--literal", "--reason", bad, agent="alice")
    dibs("decide", "new", bad.replace("\x1b", ""), "--confirm", "--rationale", bad, agent="bob")
    dibs("say", "all", bad, agent="alice")

    async def script(app, pilot):
        await until(app, pilot, "[bold red]x[/] [@click=app.quit]y[/]")
        for number in "12345":
            await pilot.press(number, "enter")
            await pilot.pause()
            assert not any(
                ord(letter) < 32 or letter == "\u202e" for letter in screen(app) if letter != "\n"
            )
            await pilot.press("escape")
        await pilot.press("1", "c")
        await until(app, pilot, "Confirm: [bold red]x[/]")

    play(script, size=(160, 50))


def test_an_unreachable_store_is_reported_and_the_view_recovers(crew):
    async def script(app, pilot):
        from dibs.errors import Unavailable

        def fail():
            raise Unavailable("the store does not answer")

        look, app._source.look = app._source.look, fail
        await until(app, pilot, "the store does not answer", "rework the login")
        app._source.look = look
        elsewhere("release", "--all", agent="alice")
        await until(app, pilot, "nothing is claimed")
        assert "does not answer" not in screen(app)

    play(script)


def test_without_a_terminal_each_change_prints_a_new_view(crew, start):
    watching = start("top", stdin=subprocess.DEVNULL)

    assert watching.stdout.readline().startswith("3 agents working")


def test_without_the_extra_one_line_says_so(crew):
    pexpect = pytest.importorskip("pexpect")
    hidden = "import sys; sys.modules['textual'] = None; from dibs.cli import program; program()"
    child = pexpect.spawn(sys.executable, ["-c", hidden, "top"], timeout=20, encoding="utf-8")

    child.expect("top needs the extra `top` .*dibs.top.*; this is dibs status --watch")
    child.expect("rework the login")
    child.sendintr()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def test_a_person_quits_with_a_key(crew):
    pexpect = pytest.importorskip("pexpect")
    child = pexpect.spawn(PROGRAM[0], [*PROGRAM[1:], "top"], timeout=20, encoding="utf-8")

    child.expect("rework the login")
    child.send("q")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def test_rows_are_filtered_and_sorted_and_help_lists_the_keys(crew):
    crew("claim", "docs/zebra.md", agent="zoe")

    async def script(app, pilot):
        await until(app, pilot, "4 Claims (2)")
        await pilot.press("slash", *"zebra", "enter")
        await until(app, pilot, "4 Claims (1 of 2)")
        assert "rework the login" not in screen(app)
        await pilot.press("escape")
        await until(app, pilot, "4 Claims (2)", "rework the login")
        await pilot.press("4", "s")
        await until(app, pilot, "expiring first")
        await pilot.press("question_mark")
        await until(app, pilot, "acknowledge an alert", "quit (also Ctrl-C)")

    play(script, size=(100, 40))
