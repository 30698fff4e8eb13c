"""Renew claims while a command runs, and notice when one of them is lost.

A heartbeat is sent every third of the ttl, or as ``claims.heartbeat`` says. In between, the ledger is checked
every second, so that a revocation is noticed at once. If the engine is unreachable, a claim counts as lost
shortly before another agent could get it.
"""

from __future__ import annotations

from dibs.core.claims.agents import AgentStatus, heartbeat_every, is_terminal
from dibs.core.claims.rules import Lost
from dibs.core.patterns.pattern import parse
from dibs.engines.shared.clock import since_boot
from dibs.errors import DibsError, NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from dibs.cli.support.session import Session
    from dibs.core.claims.agents import Agent
    from dibs.core.claims.rules import Ask, Claim

#: How often to check the ledger, in seconds.
GLANCE = 1.0


def certain_hold(ttl: float) -> float:
    """Return how long after a heartbeat a claim is certainly still held, allowing for clock drift."""
    return ttl * 0.95 - max(0.25, ttl * 0.05)


def hold_times(args: Namespace) -> tuple[float, float]:
    """Return the ttl and the timeout of one engine call, short enough to notice a lost claim."""
    from dibs.core.text.durations import check_ttl
    from dibs.project.location import locate

    config = locate(args.repo).loaded.config
    ttl = config.ttl if args.ttl is None else check_ttl(args.ttl)
    return ttl, min(config.timeout, (ttl - certain_hold(ttl)) / 2)


class RunClaims:
    """The claims of one run, and what became of them."""

    def __init__(
        self,
        session: Session,
        ttl: float,
        claims: tuple[Claim, ...],
        *,
        monotonic: Callable[[], float] | None = None,
    ) -> None:
        self._project = session.project
        self._caller = session.caller
        self._ttl = ttl
        self._every = heartbeat_every(session.project.config.heartbeat, ttl)
        # Time asleep counts: a sleeping machine sends no heartbeats.
        self._monotonic = monotonic = monotonic or since_boot()
        self._fold = session.project.tree.fold_case
        #: The claims of this run that are still held, by the key of their pattern.
        self._ours = {self._key(claim.pattern): claim for claim in claims}
        self._newest = 0
        self._asked: set[Ask] = set()
        self._certain_until = monotonic() + certain_hold(ttl)
        self._next_beat = monotonic()
        #: What the last ``keep`` found.
        self.lost: list[Lost] = []
        self.asks: list[Ask] = []

    def pause(self) -> float:
        """Return the time until ``keep`` has something to do."""
        now = self._monotonic()
        ends = self._certain_until if self._ours else now + GLANCE
        return max(0.0, min(GLANCE, self._next_beat - now, ends - now))

    def keep(self) -> None:
        """Send a heartbeat if it is due, and update ``lost`` and ``asks``.

        Call it at the start, after each ``pause``, and after any interruption.
        """
        self.lost, self.asks = [], []
        started = self._monotonic()
        due = started >= self._next_beat
        try:
            if due:
                self._beat(started)
            if self._moved() or due:
                self._learn()
        except DibsError as error:
            if due:
                self._next_beat = started + min(GLANCE, self._ttl / 20)
            if self._monotonic() >= self._certain_until:
                self._lose_all("is no longer certain", error.message)

    def news(self) -> list[str]:
        """Return lines about lost claims and release requests that the last ``keep`` found."""
        if not self.lost and not self.asks:
            return []
        from dibs.cli.support.text import ask_line, lost_line
        from dibs.shapes.quoting import Quoting

        quoted = Quoting(self._caller, map(str, (*self.lost, *self.asks)))
        news = [lost_line(lost, 0.0, quoted) for lost in self.lost]  # just now
        return quoted.page([*news, *(ask_line(a, a.at, quoted) for a in self.asks)])

    def _beat(self, started: float) -> None:
        """Send a heartbeat, unless the agent has left."""
        agent = self._agent()
        if agent is not None and is_terminal(agent.status):
            if agent.status == AgentStatus.TERMINATED:
                self._lose_all("went when its agent was stopped", agent.ended)
            self._ours.clear()
        else:
            self._project.agents.beat(self._caller)
        is_first = not self._newest
        self._next_beat = started + self._every
        self._certain_until = started + certain_hold(self._ttl)
        if not is_first:  # most runs are too short to have a lock file that is due
            self._project.renew_locks(self._caller.id)

    def _agent(self) -> Agent | None:
        try:
            return self._project.agents.show(self._caller.id)[0].agent
        except NotFound:
            return None

    def _moved(self) -> bool:
        newest = self._project.engine.wait(self._newest, 0)
        moved, self._newest = newest != self._newest, newest
        return moved

    def _learn(self) -> None:
        """Compare what is held now with what this run holds."""
        if not self._ours:
            return
        held = {self._key(h.claim.pattern): h for h in self._project.claims.all(self._caller.id)[0]}
        for key in self._ours.keys() & held.keys():
            fresh = set(held[key].asks) - self._asked
            self._asked |= fresh
            self.asks += sorted(fresh)
        gone = self._ours.keys() - held.keys()
        if gone:
            self._account_for(gone)

    def _account_for(self, gone: set[str]) -> None:
        """Add claims to ``lost`` unless the agent released them itself."""
        # Only a call of the agent itself removes an expired claim and records the loss.
        self._beat(self._monotonic())
        known = self._project.agents.show(self._caller.id)[1]
        words = {self._key(lost.pattern): lost for lost in known}
        for key in gone & self._ours.keys():
            claim, word = self._ours.pop(key), words.get(key)
            if word is not None and word.token >= claim.token:
                self.lost.append(word)

    def _lose_all(self, why: str, reason: str) -> None:
        for claim in self._ours.values():
            self.lost.append(Lost(claim.pattern, claim.token, why, 0.0, "", reason))
        self._ours.clear()

    def _key(self, pattern: str) -> str:
        return parse(pattern, fold_case=self._fold).key
