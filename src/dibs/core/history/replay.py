"""Replay ledger entries, oldest first, and find the spans.

Pure and linear. An entry lists at most 20 patterns, so a claim on more than that has spans for the first 20
and for those that are still held.
"""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.history.life import Lives
from dibs.core.history.marks import GROUPS, mark_of, texts
from dibs.core.history.spans import ClaimEnd, ClaimSpan, Spans, TaskSpan, TimelineMark
from dibs.core.history.waits import Waits
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dibs.core.claims.agents import Agent
    from dibs.core.claims.ledger import Entry
    from dibs.core.claims.rules import Claim

#: How many patterns an entry lists; one with as many may have more.
LISTED = 20


class StateNow(Record):
    """What the store says at the moment of the last entry, which completes a replay."""

    #: Every claim, with the time at which it expired if that was not recorded yet.
    claims: Sequence[tuple[Claim, float | None]]
    tickets: frozenset[int]
    #: The agents that have not ended, each with the time of its last call.
    agents: Mapping[str, tuple[Agent, float]]


class _Held(Record):
    """An open claim."""

    token: int
    begin: float
    mode: str
    reason: str
    task: str
    early: bool


class Replay:
    """Finds the spans in a ledger. Feed it entries in order; ``spans`` may be called at any time."""

    def __init__(self) -> None:
        self.first: float | None = None
        self.newest = 0
        self.entries = 0
        self._ended: list[ClaimSpan] = []
        self._held: dict[str, dict[str, _Held]] = {}
        #: Claims under tokens of an entry that lists only some of its patterns: released if not held now.
        self._perhaps: dict[tuple[str, str, int], float] = {}
        self._waits = Waits()
        self._lives = Lives()
        self._tasks: list[TaskSpan] = []
        self._task_now: dict[str, TaskSpan] = {}
        self._marks: list[TimelineMark] = []
        self._acts = {
            Kind.LOCK_ACQUIRED: self._acquired,
            Kind.LOCK_RELEASED: self._released,
            Kind.LOCK_EXPIRED: self._expired,
            Kind.LOCK_REVOKED: self._revoked,
            Kind.LOCK_TRANSFERRED: self._transferred,
            Kind.LOCK_QUEUED: self._queued,
            Kind.LOCK_TURN: self._waits.turn,
            Kind.LOCK_UNQUEUED: self._waits.unqueued,
            Kind.AGENT_JOINED: self._lives.joined,
            Kind.SUB_AGENT_SPAWNED: self._lives.joined,
            Kind.AGENT_EXITED: self._lives.exited,
            Kind.AGENT_CRASHED: self._crashed,
            Kind.AGENT_TERMINATED: self._terminated,
            Kind.STATUS_CHANGE: self._lives.reported,
            Kind.PROGRESS_UPDATE: self._lives.reported,
            Kind.LEDGER_RESTARTED: self._restarted,
        }

    def feed(self, entries: Iterable[Entry]) -> None:
        """Take the next entries."""
        acts, marks, lives = self._acts, self._marks, self._lives
        for entry in entries:
            kind = entry.kind
            if self.first is None:
                self.first = lives.first = entry.at
            self.entries += 1
            self.newest = entry.seq
            lives.heard(entry)
            act = acts.get(kind)
            if act is not None:
                act(entry)
            elif kind.startswith("task_"):
                self._task(entry)
            group = GROUPS.get(kind)
            if group is not None:
                marks.append(mark_of(entry, group))

    def spans(self, now: StateNow | None = None) -> Spans:
        """Return everything found so far; the current state tells which open spans are really open."""
        ended = [*self._ended, *self._open(now)]
        return Spans(
            ended,
            self._waits.spans(None if now is None else now.tickets, self._lives.last),
            self._lives.spans(None if now is None else now.agents),
            [*self._tasks, *self._task_now.values()],
            list(self._marks),
            self.first,
            self.entries,
        )

    # -- claims

    def _acquired(self, entry: Entry) -> None:
        details, agent, at = entry.details, entry.agent, entry.at
        patterns = texts(details.get("patterns"))
        held = _Held(
            entry.seq, at, _text(details, "mode"), _text(details, "reason"), _text(details, "task"),
            False,
        )  # fmt: skip
        own = self._held.setdefault(agent, {})
        for pattern in patterns:
            if pattern in own:
                self._end(agent, pattern, at, ClaimEnd.REPLACED)
            own[pattern] = held
        self._waits.granted(entry, patterns)

    def _queued(self, entry: Entry) -> None:
        """Begin a wait."""
        wanted, holders = (texts(entry.details.get(key)) for key in ("patterns", "holders"))
        self._waits.queued(entry, wanted, holders)

    def _released(self, entry: Entry) -> None:
        patterns, tokens = texts(entry.details.get("patterns")), entry.details.get("tokens")
        known = tokens if isinstance(tokens, list) else []
        only = known[0] if len(known) == 1 and type(known[0]) is int else 0
        for pattern in patterns:
            self._end(entry.agent, pattern, entry.at, ClaimEnd.RELEASED, token=only)
        if len(patterns) >= LISTED:
            for pattern, held in self._held.get(entry.agent, {}).items():
                if held.token in known or len(known) >= LISTED:
                    self._perhaps.setdefault((entry.agent, pattern, held.token), entry.at)

    def _expired(self, entry: Entry) -> None:
        details = entry.details
        at, how = details.get("expired_at"), ClaimEnd.EXPIRED
        end = min(at, entry.at) if isinstance(at, int | float) else entry.at
        if details.get("died"):
            how = ClaimEnd.DIED
        for pattern in texts(details.get("pattern")):
            self._end(entry.agent, pattern, end, how, token=_number(details, "token"))

    def _revoked(self, entry: Entry) -> None:
        details = entry.details
        for pattern in texts(details.get("pattern")):
            holder, token = _text(details, "holder"), _number(details, "token")
            self._end(holder, pattern, entry.at, ClaimEnd.REVOKED, entry.agent, token)

    def _transferred(self, entry: Entry) -> None:
        heir = _text(entry.details, "to")
        theirs = self._held.setdefault(heir, {})
        for pattern in texts(entry.details.get("patterns")):
            was = self._end(entry.agent, pattern, entry.at, ClaimEnd.TRANSFERRED, heir)
            if pattern in theirs:
                self._end(heir, pattern, entry.at, ClaimEnd.REPLACED)
            theirs[pattern] = was._replace(token=entry.seq, begin=entry.at, early=False)

    def _terminated(self, entry: Entry) -> None:
        agent = _text(entry.details, "toAgentId")
        for pattern in list(self._held.get(agent, ())):
            self._end(agent, pattern, entry.at, ClaimEnd.STOPPED, entry.agent)
        self._lives.terminated(entry, agent)

    def _crashed(self, entry: Entry) -> None:
        """Note that an agent died; its claims were released on its behalf in the same transaction."""
        place = len(self._ended) - 1
        while place >= 0 and self._ended[place].end == entry.at:
            span = self._ended[place]
            if span.agent == entry.agent and span.how == ClaimEnd.RELEASED:
                self._ended[place] = span._replace(how=ClaimEnd.DIED)
            place -= 1
        self._lives.crashed(entry)

    def _restarted(self, entry: Entry) -> None:
        for agent, own in self._held.items():
            for pattern in list(own):
                self._end(agent, pattern, entry.at, ClaimEnd.VOID)

    def _end(
        self, agent: str, pattern: str, at: float, how: str, by: str = "", token: int = 0
    ) -> _Held:
        own = self._held.get(agent)
        held = own.pop(pattern, None) if own else None
        if held is None:
            held = _Held(token, self.first or at, "", "", "", True)
        number, begin, mode, reason, task, early = held
        end = max(begin, at)
        self._ended.append(
            ClaimSpan(agent, pattern, mode, number, begin, end, early, how, by, reason, task)
        )
        return held

    def _open(self, now: StateNow | None) -> list[ClaimSpan]:
        """Return the open claims, and those that must have ended because they are not held now."""
        known = {(c.agent, c.pattern): (c, end) for c, end in now.claims} if now is not None else {}
        found = []
        for agent, own in self._held.items():
            for pattern, held in own.items():
                if now is not None and (agent, pattern) not in known:
                    found.append(self._vanished(agent, pattern, held))
                    continue
                _, end = known.pop((agent, pattern), (None, None))
                found.append(_span(agent, pattern, held, end))
        for claim, end in known.values():
            held = _Held(claim.token, claim.since, claim.mode, claim.reason, claim.task, False)
            found.append(_span(claim.agent, claim.pattern, held, end))
        return found

    def _vanished(self, agent: str, pattern: str, held: _Held) -> ClaimSpan:
        number, begin, mode, reason, task, early = held
        end = self._perhaps.get((agent, pattern, number))
        how = ClaimEnd.RELEASED if end is not None else ClaimEnd.UNKNOWN
        last = max(begin, end if end is not None else self._lives.last.get(agent, begin))
        return ClaimSpan(agent, pattern, mode, number, begin, last, early, how, "", reason, task)

    # -- tasks

    def _task(self, entry: Entry) -> None:
        details = entry.details
        name, state = _text(details, "task"), _text(details, "status")
        if not name or not state:
            return
        before, was = self._task_now.get(name), _text(details, "was")
        agent, attempt = _text(details, "agent"), _number(details, "attempt")
        if before is not None:
            if (before.state, before.agent, before.attempt) == (state, agent, attempt):
                return
            self._tasks.append(before._replace(end=entry.at))
        elif was:
            self._tasks.append(TaskSpan(name, was, "", 0, self.first or 0.0, entry.at, True))
        self._task_now[name] = TaskSpan(name, state, agent, attempt, entry.at, None, False)


def _span(agent: str, pattern: str, held: _Held, expired: float | None) -> ClaimSpan:
    """Return a claim that no entry ends: it is open, or it has expired."""
    number, begin, mode, reason, task, early = held
    end = None if expired is None else max(begin, expired)
    how = ClaimEnd.OPEN if end is None else ClaimEnd.EXPIRED
    return ClaimSpan(agent, pattern, mode, number, begin, end, early, how, "", reason, task)


def _text(details: Mapping[str, object], key: str) -> str:
    value = details.get(key)
    return value if type(value) is str else ""


def _number(details: Mapping[str, object], key: str) -> int:
    value = details.get(key)
    return value if type(value) is int else 0
