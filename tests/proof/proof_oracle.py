"""What must be true of claims, written a second time and as plainly as possible.

Nothing here comes from the code under test. Overlap is decided by brute force: the patterns of the
pool are regular expressions here, and a universe of a few paths has a witness for each overlap.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from proof_world import Step

#: Every pattern that histories use, and the paths it matches.
POOL = {
    "src/a.py": r"src/a\.py",
    "SRC/A.py": r"src/a\.py",
    "src/b.py": r"src/b\.py",
    "src/deep/c.py": r"src/deep/c\.py",
    "docs/a.py": r"docs/a\.py",
    "src/*.py": r"src/[^/]*\.py",
    "src/**": r"src/.+",
    "src/": r"src/.+",
    "src/deep/": r"src/deep/.+",
    "**/a.py": r"(.*/)?a\.py",
    "{docs,lib}/?.py": r"(docs|lib)/[^/]\.py",
    "port:8000": r"port:8000",
}
#: Spellings of the same thing.
SYNONYMS = {"SRC/A.py": "src/a.py", "src/": "src/**"}
GLOBS = frozenset(text for text in POOL if any(c in text for c in "*?{") or text.endswith("/"))
UNIVERSE = (
    *("src/a.py", "src/b.py", "src/c.txt", "src/deep/c.py", "src/deep/a.py", "src/deep/d.txt"),
    *("docs/a.py", "docs/b.py", "lib/a.py", "a.py", "port:8000"),
)
MEANS = {
    text: frozenset(path for path in UNIVERSE if re.fullmatch(regex, path, re.IGNORECASE))
    for text, regex in POOL.items()
}

TTL, WAITER_TTL, MAX_HOLD = 10.0, 8.0, 40.0
#: A token that belongs to no claim: the first ledger entry records that an agent joined.
STALE = 1


def name(text: str) -> str:
    """Return the canonical spelling of ``text``."""
    return SYNONYMS.get(text, text)


def names(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return what ``texts`` name, each once, in order."""
    return tuple(dict.fromkeys(name(text) for text in texts))


def overlap(one: str, other: str) -> bool:
    """Return whether some path matches both."""
    return not MEANS[one].isdisjoint(MEANS[other])


def rivals(mode: str, other: str) -> bool:
    """Return whether claims with these modes exclude each other."""
    return "exclusive" in (mode, other)


class Hold(NamedTuple):
    """A claim."""

    agent: str
    name: str
    mode: str
    token: int
    ttl: float
    since: float
    hard: float


class Place(NamedTuple):
    """A ticket."""

    number: int
    agent: str
    names: tuple[str, ...]
    mode: str
    seen: float
    lasts: float
    until: float
    standing: bool
    #: When it lapses because its turn came, if it stays in the queue and was notified.
    collect_by: float = float("inf")


class Oracle:
    """The claims, tickets, and losses that must exist."""

    def __init__(self, now: float) -> None:
        self.now = now
        self.seen: dict[str, float] = {}
        self.stopped: set[str] = set()
        self.holds: dict[tuple[str, str], Hold] = {}
        self.places: dict[int, Place] = {}
        #: What an agent lost, and whether it was notified.
        self.lost: dict[tuple[str, str], bool] = {}
        self.asks: dict[tuple[str, str], set[str]] = {}
        self.newest_token = 0

    # -- time

    def hold_ends(self, hold: Hold) -> float:
        """Return when ``hold`` expires."""
        return min(max(self.seen[hold.agent], hold.since) + hold.ttl, hold.hard)

    def place_ends(self, place: Place) -> float:
        """Return when ``place`` is skipped."""
        seen = max(place.seen, self.seen[place.agent]) if place.standing else place.seen
        return min(seen + place.lasts, place.until, place.collect_by)

    def move_to(self, now: float) -> None:
        """Advance time; what expires is gone permanently."""
        self.now = now
        for hold in list(self.holds.values()):
            if now >= self.hold_ends(hold):
                self.lose(hold, told=False)
        for place in list(self.places.values()):
            if now >= self.place_ends(place):
                del self.places[place.number]

    # -- changes

    def arrive(self, agent: str) -> None:
        """Record a heartbeat."""
        self.seen[agent] = self.now

    def drop(self, hold: Hold) -> None:
        """End a claim that its owner releases."""
        del self.holds[hold.agent, hold.name]
        self.asks.pop((hold.agent, hold.name), None)

    def lose(self, hold: Hold, *, told: bool) -> None:
        """End a claim that its owner loses."""
        self.drop(hold)
        self.lost[hold.agent, hold.name] = told

    def end(self, agent: str) -> None:
        """End an agent with all that it has."""
        for hold in self.of(agent):
            self.drop(hold)
        for place in list(self.places.values()):
            if place.agent == agent:
                del self.places[place.number]
        for key in [key for key in self.lost if key[0] == agent]:
            del self.lost[key]
        del self.seen[agent]

    # -- queries

    def of(self, agent: str) -> list[Hold]:
        """Return the claims of ``agent``."""
        return [hold for hold in self.holds.values() if hold.agent == agent]

    def holds_enough(self, agent: str, asked: str, mode: str) -> bool:
        """Return whether ``agent`` already holds ``asked``, so that asking again only refreshes it."""
        own = self.holds.get((agent, asked))
        return own is not None and own.mode in ("exclusive", mode)

    def own_place(self, agent: str, asked: tuple[str, ...], mode: str) -> Place | None:
        """Return the agent's ticket for exactly this request."""
        for number in sorted(self.places):
            place = self.places[number]
            if place.agent == agent and place.mode == mode and set(place.names) == set(asked):
                return place
        return None

    def blockers(
        self, agent: str, asked: tuple[str, ...], mode: str
    ) -> tuple[list[Hold], list[Place]]:
        """Return other agents' claims and earlier tickets that are in the way."""
        holds = [
            hold
            for hold in self.holds.values()
            if hold.agent != agent
            and rivals(mode, hold.mode)
            and any(overlap(hold.name, one) for one in asked)
        ]
        own = self.own_place(agent, asked, mode)
        places = [
            place
            for place in self.places.values()
            if place.agent != agent
            and rivals(mode, place.mode)
            and (own is None or place.number < own.number)
            and any(
                overlap(waits, one)
                for waits in place.names
                for one in asked
                if not self.holds_enough(agent, one, mode)
            )
        ]
        return holds, places

    def turns(self) -> set[int]:
        """Return the tickets without a process that nothing blocks any more."""
        return {
            place.number
            for place in self.places.values()
            if place.standing and not any(self.blockers(place.agent, place.names, place.mode))
        }

    def waits_for(self, agent: str, asked: tuple[str, ...], mode: str) -> set[str]:
        """Return the agents that such a request waits for."""
        holds, places = self.blockers(agent, asked, mode)
        return {hold.agent for hold in holds} | {place.agent for place in places}

    def edges(self) -> dict[str, set[str]]:
        """Return who waits for whom, over all tickets."""
        found: dict[str, set[str]] = {}
        for place in self.places.values():
            found.setdefault(place.agent, set()).update(
                self.waits_for(place.agent, place.names, place.mode)
            )
        return found

    def circles_back(self, agent: str, first: set[str]) -> bool:
        """Return whether any of ``first`` waits, directly or not, for ``agent``."""
        edges, reached, todo = self.edges(), set[str](), list(first)
        while todo:
            one = todo.pop()
            if one == agent:
                return True
            if one not in reached:
                reached.add(one)
                todo.extend(edges.get(one, ()))
        return False

    def in_a_circle(self) -> set[str]:
        """Return the agents whose tickets wait in a cycle."""
        edges = self.edges()
        return {agent for agent in edges if self.circles_back(agent, edges[agent])}

    def meant(self, agent: str, text: str) -> list[Hold]:
        """Return the claims of ``agent`` that ``text`` names; a glob also matches paths inside it."""
        exact = self.holds.get((agent, name(text)))
        found = [exact] if exact else []
        if text in GLOBS:
            found += [
                hold
                for hold in self.of(agent)
                if hold.name not in GLOBS and overlap(text, hold.name)
            ]
        return found

    def lost_by(self, agent: str, text: str) -> bool:
        """Return whether ``text`` overlaps something that ``agent`` lost."""
        return any(who == agent and overlap(text, what) for who, what in self.lost)

    def token(self, step: Step) -> int:
        """Return the token that ``step`` uses."""
        if step.token != "right":
            return STALE if step.token == "stale" else 0
        meant = [h for h in self.of(step.agent) if not step.texts or h.name == name(step.texts[0])]
        return max((hold.token for hold in meant), default=0)
