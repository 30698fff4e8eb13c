"""A reader killed at any step loses no message and gets none in two briefings."""

from __future__ import annotations

import os
import re
import signal
import sys
import time

import pytest
from tests.services.wired import wired

from dibs.core.claims.agents import Caller
from dibs.engines.sqlite.engine import SqliteEngine
from dibs.project.location import locate
from dibs.services.briefing.service import LEASE, Briefings

pytestmark = pytest.mark.slow

BOB = Caller("bob")
#: The command, in a process that kills itself at the step DIE_AT.
DYING = """
import os, signal, sys
from dibs.engines.sqlite.engine import SqliteEngine

left = int(os.environ["DIE_AT"])

def step():
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

def between(inner):
    def call(*given, **named):
        step()
        answer = inner(*given, **named)
        step()
        return answer
    return call

class Out:
    def __init__(self, stream):
        self.stream, self.write, self.flush = stream, between(stream.write), between(stream.flush)

    def __getattr__(self, name):
        return getattr(self.stream, name)

SqliteEngine.view = between(SqliteEngine.view)
SqliteEngine.transact = between(SqliteEngine.transact)
sys.stdout = Out(sys.stdout)
from dibs.cli import program
program()
"""


def test_a_reader_killed_at_any_step_loses_nothing_and_repeats_no_message(
    dibs, repo, start, tmp_path
):
    dibs("claim", "mine", agent="bob")
    place = locate(str(repo))
    store = os.path.join(place.repository.state, "dibs.db")
    #: The printed texts by their number.
    pages: dict[int, set[str]] = {}
    said, status, taken_up = [], -signal.SIGKILL, 0
    while status == -signal.SIGKILL:
        said.append(f"word{len(said)}word")
        assert dibs("say", "bob", said[-1], agent="carol").status == 0
        status, text = die_at(start, len(said), tmp_path / "out")
        if text:
            pages.setdefault(number_in(text), set()).add(text)
        taken_up += take_up(store, place.loaded.config, len(said), pages)

    assert status == 0
    assert 10 < len(said) < 60, "it died at each step, and finally survived"
    assert 0 < taken_up < len(said)
    assert all(len(texts) == 1 for texts in pages.values()), "two texts with one number"
    assert sorted(pages) == list(range(1, len(pages) + 1))
    for word in said:
        assert sum(word in text for texts in pages.values() for text in texts) == 1, word


def die_at(start, step, out):
    """Run ``dibs brief`` until a step; return its status and output."""
    with out.open("w") as stream:
        process = start(
            "brief", "--agent", "bob", stdout=stream, program=(sys.executable, "-c", DYING),
            env={**os.environ, "DIE_AT": str(step)},
        )  # fmt: skip
        return process.wait(), out.read_text("utf-8")


def number_in(text):
    return int(re.search(r"^briefing (\d+) ", text, re.MULTILINE)[1])


def take_up(store, config, turn, pages):
    """Read everything with a clock past the lease; return whether a delivery was repeated."""
    ahead = turn * (LEASE + 1)
    engine = SqliteEngine(store, clock=lambda: time.time() + ahead, create=False)
    briefings = Briefings(wired(engine, config))
    again = False
    while (delivery := briefings.prepare(BOB)) is not None:
        pages.setdefault(delivery.number, set()).add(delivery.text)
        assert briefings.delivered(BOB, delivery.number)
        again = again or delivery.again
    engine.close()
    return again
