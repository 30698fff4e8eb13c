"""Gather the facts for the rules of alerts, in one view of the store."""

from __future__ import annotations

from collections import Counter
from itertools import islice

from dibs.core.alerts.facts import (
    AgentFact,
    AlertFacts,
    DecisionFact,
    GrantFact,
    OverlapFact,
)
from dibs.core.alerts.file_edits import RELEVANT, duplicates
from dibs.core.claims.agents import DEAD, HUMAN, AgentStatus, ancestors, is_terminal
from dibs.core.claims.probes import is_probe_agent
from dibs.core.toolcalls.coverage import WRITING
from dibs.services.claims.agents import view_of
from dibs.services.claims.views import held_in
from dibs.services.state.decisions import pending
from dibs.services.state.presence import offers_work
from dibs.services.state.sessions import guarded_since, is_anyone_guarded
from dibs.services.state.task_index import ready_for, running
from dibs.services.state.worktrees import all_warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dibs.core.claims.agents import Agent
    from dibs.core.claims.ledger import Entry
    from dibs.core.claims.rules import Held
    from dibs.services.state.rows import Rows

#: The most ready tasks that are counted for an agent.
MOST_READY = 20
#: How far apart edits of one file by two agents may be to count, in seconds.
EDITS = 1_800.0
#: The roles of agents that hand out work and take none.
_NO_WORKERS = frozenset({HUMAN, "orchestrator", "coordinator", "supervisor", "lead"})


def gather(rows: Rows, ttl: float) -> AlertFacts:
    """Return the facts of this moment."""
    held = list(held_in(rows))
    known = {agent.id: agent for agent in rows.agents()}
    busy = Counter(agent for _, _, agent in running(rows))
    claims = Counter(one.claim.agent for one in held)
    people = _AgentFacts(rows, known, claims, busy, ttl)
    return AlertFacts(
        rows.now,
        tuple(fact for agent in known.values() if (fact := people.of(agent)) is not None),
        tuple(DecisionFact(d.id, d.title, d.asker, d.at) for d in pending(rows)),
        tuple(_grants(rows, held)),
        tuple(_overlaps(rows, rows.now - EDITS)),
        is_anyone_guarded(rows),
    )


class _AgentFacts:
    """What is known about agents."""

    def __init__(
        self,
        rows: Rows,
        known: dict[str, Agent],
        claims: Counter[str],
        busy: Counter[str],
        ttl: float,
    ) -> None:
        self._rows, self._ttl = rows, ttl
        self._claims, self._busy = claims, busy
        self._parents = {agent.id: agent.parent for agent in known.values()}

    def of(self, agent: Agent) -> AgentFact | None:
        """Return the facts of an agent; None for a human, and for an agent that is no longer there."""
        rows, id_ = self._rows, agent.id
        beat = rows.beat(id_)
        if beat is None or agent.role == HUMAN or is_terminal(agent.status) or is_probe_agent(id_):
            return None
        count = self._claims[id_]
        if view_of(rows, agent, count, self._ttl).activity(self._ttl) == DEAD:
            return None
        hooked = bool(guarded_since(rows, id_)[0])
        guarded = hooked or any(
            guarded_since(rows, one)[0] for one in ancestors(id_, self._parents)
        )
        runs = agent.status == AgentStatus.RUNNING and not beat.rests
        worker = offers_work(rows, id_)
        return AgentFact(
            id_,
            running=runs,
            active=beat.active or beat.seen,
            in_model_call=runs and hooked and not beat.calls,
            matters=bool(worker or hooked or count or self._busy[id_]),
            context=agent.context * 100,
            guarded=guarded,
            wrote=0.0 if guarded else _wrote(rows, id_),
            could_take=self._could_take(agent, count) if worker else 0,
        )

    def _could_take(self, agent: Agent, claims: int) -> int:
        if claims or self._busy[agent.id] or agent.role in _NO_WORKERS:
            return 0
        roles = (agent.role,) if agent.role else ()
        return sum(1 for _ in islice(ready_for(self._rows, agent.id, roles), MOST_READY))


def _wrote(rows: Rows, agent: str) -> float:
    """Return when an agent last wrote a file, as far back as the ledger goes."""
    found = rows.events(newest_first=True, agents=(agent,), kinds=WRITING)
    return next((entry.at for entry in found), 0.0)


def _grants(rows: Rows, held: Sequence[Held]) -> list[GrantFact]:
    """Return the live claims by grant; a claim of a script has no token and is one by itself."""
    found: dict[tuple[str, int, str], GrantFact] = {}
    for one in held:
        claim = one.claim
        beat = rows.beat(claim.agent)
        if beat is None or beat.role == HUMAN or is_probe_agent(claim.agent):
            continue
        key = (claim.agent, claim.token, "" if claim.token else claim.pattern)
        known = found.get(key)
        patterns = (*known.patterns, claim.pattern) if known else (claim.pattern,)
        active = max(claim.since, beat.active or beat.seen)
        found[key] = GrantFact(claim.agent, claim.token, patterns, claim.since, claim.hard, active)
    return list(found.values())


def _overlaps(rows: Rows, since: float) -> Iterator[OverlapFact]:
    """Yield files that several agents changed after ``since``, and conflicts that were forecast."""
    recent: list[Entry] = []
    for entry in rows.events(newest_first=True, kinds=RELEVANT):
        if entry.at < since:
            break
        recent.append(entry)
    for path, agents in duplicates(recent[::-1], rows.pattern):
        yield OverlapFact(agents, (path,), 1)
    for agents, row in all_warnings(rows):
        paths = tuple(str(path) for path in row.get("paths", ())) or ("files",)
        yield OverlapFact(agents, paths, int(row.get("count", len(paths))), forecast=True)
