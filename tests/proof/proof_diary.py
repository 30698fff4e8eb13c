"""Judge the agents' records and the ledger: who held what, when, and in which order."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from dibs.core.patterns.pattern import overlap, parse

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from dibs.core.claims.ledger import Entry


class Hold(NamedTuple):
    """A claim as its owner saw it; times are from the machine's clock, which all processes share."""

    agent: str
    path: str
    token: int
    asked: float
    granted: float
    #: When the owner started to release it, and whether it still held it then.
    ended: float
    kept: bool


class Diaries:
    """The records of all agents of a crew."""

    def __init__(self, path: Path) -> None:
        self.notes: list[dict[str, Any]] = [json.loads(n) for n in path.read_text().splitlines()]
        ends = {
            (n["agent"], n["token"]): n
            for n in reversed(self.notes)
            if n["did"] == "release" and n.get("kind") in (None, "Fenced")
        }
        self.holds = [
            _hold(note, ends.get((note["agent"], note["token"])))
            for note in self.notes
            if note["did"] == "claim" and "token" in note
        ]

    @property
    def errors(self) -> set[str]:
        """What went wrong, by kind."""
        return {note["kind"] for note in self.notes if "kind" in note}

    @property
    def fenced(self) -> list[Hold]:
        """The claims that ended although their owner did not release them."""
        return [hold for hold in self.holds if not hold.kept and hold.ended]

    def longest_call(self) -> float:
        """Return the duration of the slowest call."""
        return max(note["after"] - note["before"] for note in self.notes)

    def at_once(self) -> list[tuple[Hold, Hold]]:
        """Return the overlapping claims that were held at the same time, both confirmed to the end."""
        kept = sorted((hold for hold in self.holds if hold.kept), key=lambda hold: hold.granted)
        return [
            (one, other)
            for place, one in enumerate(kept)
            for other in kept[place + 1 :]
            if other.granted < one.ended and one.agent != other.agent and _clash(one, other)
        ]

    def not_growing(self) -> list[tuple[Hold, Hold]]:
        """Return the pairs in which the later claim has no higher token."""
        bad = []
        highest: Hold | None = None
        answered = sorted(self.holds, key=lambda hold: hold.granted)
        for hold in sorted(self.holds, key=lambda hold: hold.asked):
            while answered and answered[0].granted < hold.asked:
                before = answered.pop(0)
                highest = before if highest is None or before.token > highest.token else highest
            if highest is not None and highest.token >= hold.token:
                bad.append((highest, hold))
        return bad

    def missing(self, entries: Iterable[Entry]) -> list[Hold]:
        """Return the confirmed grants that are missing from the ledger."""
        known = {entry.seq: entry.agent for entry in entries if entry.kind == "lock_acquired"}
        return [hold for hold in self.holds if known.get(hold.token) != hold.agent]


def _hold(note: dict[str, Any], end: dict[str, Any] | None) -> Hold:
    asked, granted = note["before"], note["after"]
    ended = end["before"] if end else 0.0
    kept = end is not None and "kind" not in end
    return Hold(note["agent"], note["path"], note["token"], asked, granted, ended, kept)


def _clash(one: Hold, other: Hold) -> bool:
    return bool(overlap(parse(one.path), parse(other.path)))


def held_twice(entries: Iterable[Entry]) -> list[str]:
    """Replay the ledger; return the grants made while another agent held an overlapping claim."""
    held: dict[tuple[str, str], int] = {}
    bad = []
    for entry in entries:
        if entry.kind == "ledger_restarted":
            held.clear()
        patterns = entry.details.get("patterns", [entry.details.get("pattern")])
        if entry.kind == "lock_acquired":
            bad += [
                f"{entry.agent} got {text} ({entry.seq}) while {agent} held {other} ({token})"
                for text in patterns
                for (agent, other), token in held.items()
                if agent != entry.agent and overlap(parse(text), parse(other))
            ]
            held.update({(entry.agent, text): entry.seq for text in patterns})
        elif entry.kind in ("lock_released", "lock_expired"):
            for text in patterns:
                held.pop((entry.agent, text), None)
    return bad


def overtakes(entries: Iterable[Entry]) -> tuple[int, list[str]]:
    """Return how many grants were made while rivals waited, and those that overtook an earlier rival."""
    waiting: dict[int, Entry] = {}
    contended, bad = 0, []
    for entry in entries:
        if entry.kind == "lock_queued":
            waiting[entry.seq] = entry
        elif entry.kind == "lock_unqueued":
            waiting.pop(entry.details["ticket"], None)
        elif entry.kind == "lock_acquired":
            own = [number for number, ticket in waiting.items() if ticket.agent == entry.agent]
            drawn = min(own, default=entry.seq)
            rivals = {n: t for n, t in waiting.items() if n not in own and _rival(t, entry)}
            contended += bool(rivals)
            bad += [f"{entry} passed {t}" for number, t in rivals.items() if number < drawn]
            for number in own:
                del waiting[number]
    return contended, bad


def _rival(ticket: Entry, grant: Entry) -> bool:
    return any(
        overlap(parse(one), parse(other))
        for one in ticket.details["patterns"]
        for other in grant.details["patterns"]
    )
