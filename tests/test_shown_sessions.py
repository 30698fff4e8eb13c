"""Sessions in the documentation show what happens, with only git and Python installed."""

import re
from pathlib import Path

import pytest
from scripts.sessions import Terminal, normal, replay, sessions

from dibs.core.toolcalls.messages import refusal
from dibs.core.toolcalls.policy import DeniedPath

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    "README.md", "docs/tutorial.md", "docs/reference/patterns.md", "docs/reference/errors.md",
    "docs/how-to/talk.md", "docs/how-to/conflicts.md", "docs/how-to/decide.md", "docs/how-to/brief.md",
    "docs/how-to/board.md", "docs/how-to/from-crew.md", "docs/how-to/from-yaml-tasks.md",
)  # fmt: skip
#: Pages that show commands without their output, because it depends on the agents that are installed.
GUARDED = ("docs/how-to/install.md", "docs/how-to/guard.md", "docs/how-to/doctor.md")


@pytest.fixture
def terminal(tmp_path, programs):
    terminal = Terminal(tmp_path, programs)
    yield terminal
    terminal.close()


@pytest.mark.parametrize("page", PAGES)
def test_the_session_that_a_page_shows_is_what_happens(page, terminal):
    text = (ROOT / page).read_text("utf-8")

    actual = replay(text, terminal)

    assert actual == text, f"run: .venv/bin/python scripts/sessions.py {page}"


@pytest.mark.parametrize("page", GUARDED)
def test_the_commands_that_a_page_shows_run_as_shown(page, terminal):
    terminal.run("touch CLAUDE.md")
    if page.endswith("doctor.md"):
        terminal.run("dibs init")

    for command, output in sessions((ROOT / page).read_text("utf-8")):
        printed = terminal.run(command)
        assert not output
        assert terminal.status == 0, (command, printed)
        assert printed


@pytest.mark.parametrize(
    ("page", "holder", "reason"),
    [("README.md", "claude-7f3a21c4", ""), ("docs/how-to/guard.md", "alice", "rework the grammar")],
)
def test_the_refusal_that_a_page_shows_is_what_an_agent_reads(page, holder, reason):
    refused = DeniedPath("parser.py", "held", holder, "parser.py", reason, "", 300.0)

    message = refusal([refused], lambda: "3fbf18f7")

    assert f"```text\n{message}\n```" in (ROOT / page).read_text("utf-8")


def test_output_that_differs_is_replaced_and_output_that_matches_is_kept(terminal):
    page = "```console\n$ echo new\nold\n$ echo took 5s\ntook 3s\n```\n"

    assert replay(page, terminal) == page.replace("old", "new")
    assert normal(["took 5s"]) == normal(["took 3s"])


def test_the_readmes_commands_work_from_init_to_uninstall(terminal):
    text = (ROOT / "README.md").read_text("utf-8")
    for command in ("dibs init", "dibs doctor --prove", "dibs init --uninstall", "`--purge`"):
        assert command in text
    terminal.run("touch CLAUDE.md && git add . && git commit -qm Start")

    terminal.run("dibs init")
    assert terminal.status == 0
    printed = terminal.run("dibs doctor --prove")
    assert terminal.status == 0, printed
    printed = terminal.run("dibs init --uninstall --purge --yes")
    assert terminal.status == 0, printed

    assert not (terminal.folder / ".git" / "dibs").exists()
    assert terminal.run("git status --short --ignored") == []


def test_each_command_in_the_readmes_table_works(terminal):
    table = (
        (ROOT / "README.md")
        .read_text("utf-8")
        .partition("## Everyday commands")[2]
        .partition("\n## ")[0]
    )
    commands = re.findall(r"(?m)^\| `(dibs [^`]+)` \|", table)
    terminal.run("dibs task new 'Fix the login'")
    before = {
        "ask": "dibs claim src/auth/ --agent alice",
        "commit": "dibs claim notes.md && echo more >> notes.md",
        "revoke": "dibs claim src/auth/ --agent alice",
    }

    assert len(commands) == 8
    for command in commands:
        terminal.run(before.get(command.split()[1], "true"))
        printed = terminal.run(command.replace("--follow", "-n 1"))
        assert terminal.status == 0, (command, printed)
