"""Measure briefings: time compared with `dibs status`, and tokens for a crew's day."""

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
#: A token budget that cuts nothing.
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
                if turn >= 2:  # the first rounds fill caches
                    samples[name].append(time.perf_counter() - start)
    base = median(samples["status"])
    share = {name: median(times) / base for name, times in samples.items()}
    rows = [
        Row("`dibs status`, p50", f"{base * 1e3:.0f} ms"),
        at_most("`dibs brief --full` for a specialist / status", share["whole"], 3),
        at_most("`dibs brief --full` for a lead / status", share["lead"], 3),
        Row("`dibs brief --peek` / status", f"{share['peek']:.2f}x"),
        Row("`dibs brief` with nothing new / status", f"{share['unchanged']:.2f}x"),
    ]
    note = f"{AGENTS} agents, {CLAIMS:,} claims, {ENTRIES:,} ledger entries. SQLite."
    return Section("Briefings: time", note, rows)


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
                me.id, role=me.role, parent="lead" if number % 2 else "", task=f"Fix part {number}"
            )
        )
        paths = [parse(f"src/part{number}/module_{n}.py") for n in range(each)]
        project.claims.claim(me, paths, ttl=3600, reason=f"fix part {number}")
    missing = ENTRIES - project.ledger.summary().entries
    project.store.apply(
        lambda rows: [
            rows.emit(f"agent-{n % AGENTS}", "Developer", Kind.COMMITTED, f"committed step {n}")
            for n in range(missing)
        ]
    )
    project.close()


class Told(NamedTuple):
    """Tokens that a day of briefings takes, by method, and how many were sent."""

    whole: int
    cut: int
    digest: int
    ours: int
    moments: int
    due: int
    sent: int
    deltas: int

    def less(self, than: int) -> float:
        """Return the percentage of tokens that Dibs saves."""
        return 100 * (1 - self.ours / than)


def tell(play: Day) -> Told:
    """Simulate a day and brief all agents at each refresh, with every method."""
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
    """Count the tokens of a day's briefings: with Dibs, and when every page is sent in full."""
    told = tell(Day())
    crew = len(LEADS) + SPECIALISTS
    rows = [
        Row("full page every time", f"{told.whole:,} tokens"),
        Row("page cut at the budget, every time", f"{told.cut:,} tokens"),
        Row("same, only if its digest changed", f"{told.digest:,} tokens"),
        Row("Dibs: only if changed, only the changes", f"{told.ours:,} tokens"),
        at_least("saved compared with the full page", told.less(told.whole), 60, " %"),
        at_least("saved compared with the cut page", told.less(told.cut), 60, " %"),
        Row("saved compared with the digest only", f"{told.less(told.digest):.0f} %"),
        Row("briefings sent, of all refreshes", f"{told.sent / told.due:.0%}"),
        Row("of those, with changes only", f"{told.deltas / told.sent:.0%}"),
    ]
    note = (
        f"{crew} agents, {HOURS} hours, simulated with the real services and a fixed seed. {told.moments:,}"
        " refreshes, because an agent joined or left, or a claim changed; events within 2 seconds count once."
        " Tokens are estimated in the same way for all rows."
    )
    return Section("Briefings: tokens per day", note, rows)
