"""The terminal sessions that the documentation shows are what happens."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dibs.core.toolcalls.messages import refusal
from dibs.core.toolcalls.policy import DeniedPath

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    "README.md", "docs/tutorial.md", "docs/reference/patterns.md", "docs/reference/errors.md",
    "docs/how-to/talk.md", "docs/how-to/conflicts.md", "docs/how-to/decide.md", "docs/how-to/brief.md",
)  # fmt: skip
#: Pages whose commands are shown without what they say, which hangs on the agents that are there.
GUARDED = ("docs/how-to/install.md", "docs/how-to/guard.md", "docs/how-to/doctor.md")
HERE = ("src/auth/login.py", "notes.md")

#: What differs from one run to the next, and from one terminal to the next.
VARIES = (
    (re.compile(r"/\S*/(?=\w+\.worktrees/)|(?<=brought forward: )/\S*/"), "FOLDER/"),
    (re.compile(r"\bdata-[0-9a-f]{8}\b"), "data-NONCE"),
    (re.compile(r"\b[0-9a-f]{10}\b"), "COMMIT"),
    # A moment that is not of today shows its date: just before midnight that is any in the future.
    (re.compile(r"(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d"), "CLOCK"),
    (re.compile(r"\d{4}-\d\d-\d\d(T\d{4}\b)?"), "DATE"),
    (re.compile(r"you-[\w-]+ *"), "YOU "),
    (re.compile(r"\b(\d+m)?\d+s\b|\b\d+m\b"), "SPAN"),
    (re.compile(r"  +"), " "),
)


def sessions(page):
    """Yield each command that a page shows, with the lines of its answer."""
    for block in re.findall(r"(?ms)^```console\n(.*?)^```", page.read_text("utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *answer = part.rstrip().splitlines()
            if not command.startswith(("make ", "pip ")):
                yield command, answer


def normal(lines):
    text = "\n".join(lines)
    for expression, word in VARIES:
        text = expression.sub(word, text)
    return [line.rstrip() for line in text.splitlines()]


class Terminal:
    """Runs one command after another, as a person at a terminal does."""

    def __init__(self, folder, notes):
        self.folder = folder
        self.status = 0
        self.waiting = []
        self._notes = notes
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("DIBS_", "GIT_"))}
        path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
        people = {f"GIT_{who}_{what}": "you@example.com" for who in ("AUTHOR", "COMMITTER")
                  for what in ("NAME", "EMAIL")}  # fmt: skip
        self.variables = {**kept, **people, "PATH": path, "USER": "you"}

    def run(self, command):
        """Run ``command`` and return what it says; it may change folder and variables."""
        script = (
            f"(exit {self.status})\n{command}\nstatus=$?\n"
            f"pwd > '{self._notes}/folder'\nenv -0 > '{self._notes}/variables'\nexit $status"
        )
        done = self._start(script)
        said = done.communicate(timeout=60)[0]
        self.status = done.returncode
        self.folder = (self._notes / "folder").read_text("utf-8").rstrip("\n")
        pairs = (self._notes / "variables").read_text("utf-8").split("\0")
        self.variables = dict(pair.split("=", 1) for pair in pairs if pair)
        return said.splitlines()

    def leave_waiting(self, command):
        """Start ``command`` and wait until it stands in the queue."""
        self.waiting.append(self._start(command))
        while '"queue": []' in self._start("dibs status --json").communicate()[0]:
            assert self.waiting[-1].poll() is None

    def see_waiters_served(self):
        """Wait until what was left waiting has got its turn."""
        while self.waiting:
            served = self.waiting.pop()
            assert served.communicate(timeout=30)[0].startswith("granted")

    def _start(self, script):
        return subprocess.Popen(
            ["bash", "-c", script],
            cwd=self.folder,
            env=self.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


@pytest.fixture
def terminal(tmp_path):
    folder, notes = tmp_path / "shop", tmp_path / "notes"
    notes.mkdir()
    for name in HERE:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    terminal = Terminal(folder, notes)
    terminal.run("git init -q -b main")
    yield terminal
    for process in terminal.waiting:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("page", PAGES)
def test_the_session_that_a_page_shows_is_what_happens(page, terminal):
    for command, answer in sessions(ROOT / page):
        if "--wait" in command and not answer:
            terminal.leave_waiting(command)
        else:
            assert normal(terminal.run(command)) == normal(answer), command
            if "release" in command:
                terminal.see_waiters_served()


@pytest.mark.parametrize("page", GUARDED)
def test_the_commands_that_a_page_shows_run_as_shown(page, terminal, tmp_path):
    terminal.variables["HOME"] = str(tmp_path)
    terminal.run("touch CLAUDE.md")
    if page.endswith("doctor.md"):
        terminal.run("dibs init")

    for command, answer in sessions(ROOT / page):
        said = terminal.run(command)
        assert not answer
        assert terminal.status == 0, (command, said)
        assert said


@pytest.mark.parametrize(
    ("page", "holder", "reason"),
    [("README.md", "claude-7f3a21c4", ""), ("docs/how-to/guard.md", "alice", "rework the grammar")],
)
def test_the_refusal_that_a_page_shows_is_what_an_agent_reads(page, holder, reason):
    refused = DeniedPath("parser.py", "held", holder, "parser.py", reason, "", 300.0)

    told = refusal([refused], lambda: "3fbf18f7")

    assert f"```text\n{told}\n```" in (ROOT / page).read_text("utf-8")
