"""Screens on real terminals: wide and narrow, with and without color."""

from __future__ import annotations

import os
import re

import pexpect
import pytest

from .conftest import PROGRAM

COLOR = re.compile(r"\x1b\[[0-9;]*m")
SCREENS = (
    ("status",), ("status", "-v"), ("log",), ("log", "--summary"), ("agent", "ls"), ("agent", "ls", "--all"),
)  # fmt: skip


@pytest.fixture
def crowd(dibs):
    """A project with long and short names, a queue, and a release request."""
    dibs(
        "claim",
        "src/auth/**",
        "--reason",
        "rework the login and the session store",
        agent="claude-7f3a21c4",
    )
    dibs("claim", "docs/a-rather-long-name-of-a-page.md", "--task", "T-41", agent="codex-00ff")
    dibs("claim", "src/auth/login.py", "--queue", agent="bob")
    dibs("ask", "src/auth/login.py", agent="bob")
    dibs("agent", "report", "--status", "idle", agent="codex-00ff")
    dibs("claim", "README.md")
    return dibs


def screen(words, columns, **variables):
    """Return what a command prints on a terminal of this width."""
    environ = {**os.environ, "TERM": "xterm", **variables}
    child = pexpect.spawn(
        PROGRAM[0], [*PROGRAM[1:], *words], env=environ, encoding="utf-8", dimensions=(50, columns)
    )
    child.expect(pexpect.EOF)
    child.close()
    return child.before.replace("\r\n", "\n")


def is_closed(line):
    """Return whether each color of a line ends before the line does."""
    codes = COLOR.findall(line)
    return len(codes) % 2 == 0 and set(codes[1::2]) <= {"\x1b[0m"}


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_every_listing_fits_the_terminal_and_closes_its_colors(crowd, columns):
    for words in SCREENS:
        for line in screen(words, columns).splitlines():
            plain = COLOR.sub("", line)
            assert len(plain) <= columns, (words, line)
            assert "\x1b" not in plain, (words, line)
            assert is_closed(line), (words, line)


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_color_is_printed_if_it_is_unwanted(crowd, variables):
    for words in (*SCREENS, ("claim", "src/auth/login.py")):
        assert "\x1b" not in screen(words, 80, **variables), words


def test_a_narrow_terminal_shows_rows_as_blocks(crowd):
    lines = [COLOR.sub("", line) for line in screen(("status",), 40).splitlines()]

    at = lines.index("agent: claude-7f3a21c4")
    assert lines[at + 1].startswith("  role: agent  status: working")


def test_a_narrow_log_has_each_summary_on_lines_of_its_own(crowd):
    words = ("log", "--kind", "claim_queued")

    wide, narrow = screen(words, 200).splitlines(), screen(words, 40).splitlines()

    assert len(wide) == 1
    assert narrow[1].startswith("  bob ")
