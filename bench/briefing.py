"""Briefings: what one costs beside `dibs status`, and how many tokens a day of a crew is told in."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from typing import NamedTuple

from bench.day import HOURS, LEADS, SPECIALISTS, Day
from bench.measure import Row, Section, at_least, at_most, median
from dibs.core.briefing.page import tokens
from dibs.core.claims.agents import Agent, Caller
from dibs.core.claims.ledger import Kind
from dibs.core.patterns.pattern import parse
from dibs.project.project import create

AGENTS, CLAIMS, ENTRIES = 50, 1_000, 10_000
ROUNDS = 25
#: Whoever sends the whole page knows no budget.
UNBOUNDED = 100_000


def commands() -> Section:
    """Compare ``dibs brief`` with ``dibs status`` of the same project, as processes."""
    dibs = os.path.join(os.path.dirname(sys.executable), "dibs")
    cases = {
        "status": ["status"],
        "whole": ["brief", "--full", "--agent", "agent-7"],
        "peek": ["brief", "--peek", "--agent", "agent-7"],
        "lead": ["brief", "--full", "--agent", "lead"],
        "unchanged": ["brief", "--agent", "agent-8"],
    }
    samples: dict[str, list[float]] = {name: [] for name in cases}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q", folder], check=True)
        _fill(folder)
        for turn in range(ROUNDS + 2):
            for name, words in cases.items():
                start = time.perf_counter()
                _run([dibs, *words], folder)
                if turn >= 2:  # the first ones fill the caches
                    samples[name].append(time.perf_counter() - start)
    base = median(samples["status"])
    share = {name: median(times) / base for name, times in samples.items()}
    rows = [
        Row("`dibs status`, p50", f"{base * 1e3:.0f} ms"),
        at_most("`dibs brief --full` of a specialist / that", share["whole"], 3),
        at_most("`dibs brief --full` of a lead / that", share["lead"], 3),
        Row("`dibs brief --peek` / that", f"{share['peek']:.2f}x"),
        Row("`dibs brief` with nothing new / that", f"{share['unchanged']:.2f}x"),
    ]
    note = f"{AGENTS} agents, {CLAIMS:,} claims, {ENTRIES:,} entries in the ledger. SQLite."
    return Section("Briefings, as processes", note, rows)


def _run(command: list[str], folder: str) -> None:
    quiet = subprocess.DEVNULL
    subprocess.run(command, cwd=folder, check=True, stdout=quiet, stderr=quiet)


def _fill(folder: str) -> None:
    project, _ = create(folder)
    project.agents.join(Agent("lead", role="Project Lead"))
    each = CLAIMS // AGENTS
    for number in range(AGENTS):
        me = Caller(f"agent-{number}", "Developer")
        project.agents.join(
            Agent(
                me.id, role=me.role, parent="lead" if number % 2 else "", task=f"Mend part {number}"
            )
        )
        paths = [parse(f"src/part{number}/module_{n}.py") for n in range(each)]
        project.claims.claim(me, paths, ttl=3600, reason=f"mend part {number}")
    missing = ENTRIES - project.ledger.summary().entries
    project.store.apply(
        lambda rows: [
            rows.emit(f"agent-{n % AGENTS}", "Developer", Kind.COMMITTED, f"committed step {n}")
            for n in range(missing)
        ]
    )
    project.close()


class Told(NamedTuple):
    """What a day was told in: tokens by way of telling, and how often."""

    whole: int
    cut: int
    digest: int
    ours: int
    moments: int
    due: int
    sent: int
    deltas: int

    def less(self, than: int) -> float:
        """Return how many per cent of the tokens Dibs saves."""
        return 100 * (1 - self.ours / than)


def tell(play: Day) -> Told:
    """Play a day and tell all agents of each moment, in each way."""
    play.begin()
    told = Counter[str]()
    for compacted in play.moments():
        told["moments"] += 1
        again = {caller.id for caller in compacted}
        for caller in play.crew:
            whole = tokens(play.briefings.peek(caller, budget=UNBOUNDED).text)
            cut = min(whole, play.store.config.brief_tokens)
            told.update(due=1, whole=whole, cut=cut)
            delivery = play.briefings.prepare(caller, full=caller.id in again)
            if delivery is not None:
                play.briefings.delivered(caller, delivery.number)
                told.update(sent=1, digest=cut, ours=tokens(delivery.text))
                told["deltas"] += delivery.mode == "delta"
    return Told(**{name: told[name] for name in Told._fields})


def day() -> Section:
    """Count the tokens that a day of a crew is told in: by Dibs, and by sending the whole page each time."""
    told = tell(Day())
    crew = len(LEADS) + SPECIALISTS
    rows = [
        Row("the whole page, each time", f"{told.whole:,} tokens"),
        Row("the page cut at the budget, each time", f"{told.cut:,} tokens"),
        Row("the same, if its digest changed", f"{told.digest:,} tokens"),
        Row("Dibs: digest and delta", f"{told.ours:,} tokens"),
        at_least("less than the whole page", told.less(told.whole), 60, " %"),
        at_least("less than the page cut at the budget", told.less(told.cut), 60, " %"),
        Row("less than with a digest alone", f"{told.less(told.digest):.0f} %"),
        Row("briefings sent, of all that were due", f"{told.sent / told.due:.0%}"),
        Row("of them only what changed", f"{told.deltas / told.sent:.0%}"),
    ]
    note = (
        f"{crew} agents, {HOURS} hours, played by the real services with a fixed seed. {told.moments:,} times"
        " somebody came or left, or a file was claimed or given back; what comes within 2 seconds is one."
        " Tokens are estimated, alike for all."
    )
    return Section("Briefings, a day of a crew", note, rows)
