"""Gather the facts for the rules of alerts, in one view of the store."""

from __future__ import annotations

from collections import Counter
from itertools import islice

from dibs.core.alerts.event_rules import WATCHED
from dibs.core.alerts.facts import (
    AgentFact,
    AlertFacts,
    ConvoyFact,
    DecisionFact,
    GrantFact,
    OverlapFact,
    TaskFact,
)
from dibs.core.alerts.file_edits import RELEVANT, duplicates
from dibs.core.claims.agents import DEAD, HUMAN, AgentStatus, ancestors, is_terminal
from dibs.core.claims.probes import is_probe_agent, is_probe_entry
from dibs.core.claims.rules import SHARED
from dibs.core.patterns.pattern import overlap
from dibs.core.tasks.rules import Status
from dibs.core.toolcalls.coverage import WRITING
from dibs.services.claims.agents import view_of
from dibs.services.claims.views import held_in, waiting_in
from dibs.services.state.decisions import pending
from dibs.services.state.presence import offers_work
from dibs.services.state.rows import claim_of
from dibs.services.state.sessions import guarded_since, is_anyone_guarded
from dibs.services.state.task_index import ready_for, running, silent
from dibs.services.state.tasks import several
from dibs.services.state.watch.alerts import watched
from dibs.services.state.worktrees import all_warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dibs.core.alerts.facts import TroubleFact
    from dibs.core.alerts.values import Thresholds
    from dibs.core.claims.agents import Agent
    from dibs.core.claims.ledger import Entry
    from dibs.core.claims.rules import Held, Ticket
    from dibs.services.state.rows import Rows

#: The most waiters whose claims are looked up, the most ready tasks that are counted for an agent, and the
#: most ledger entries that one check reads.
MOST_WAITERS, MOST_READY, MOST_ENTRIES = 500, 20, 2_000
#: The roles of agents that hand out work and take none.
_NO_WORKERS = frozenset({HUMAN, "orchestrator", "coordinator", "supervisor", "lead"})


def gather(
    rows: Rows, ttl: float, limits: Thresholds, troubles: Sequence[TroubleFact] = ()
) -> AlertFacts:
    """Return the facts of this moment; ``troubles`` are those of the store itself."""
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
        tuple(_convoys(rows)),
        tuple(_tasks(rows)),
        tuple(_overlaps(rows, rows.now - limits.edits)),
        tuple(troubles),
        is_anyone_guarded(rows),
        tuple(_entries(rows, limits.quiet)),
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


def _convoys(rows: Rows) -> list[ConvoyFact]:
    """Return the claims that others wait for."""
    found: dict[str, ConvoyFact] = {}
    for waiter in islice(waiting_in(rows), MOST_WAITERS):
        for pattern, holder in _in_the_way(rows, waiter.ticket):
            known = found.get(pattern) or ConvoyFact(pattern, holder, (), rows.now)
            if waiter.ticket.agent not in known.waiters:
                since = min(known.since, waiter.ticket.since)
                names = (*known.waiters, waiter.ticket.agent)
                found[pattern] = known._replace(waiters=names, since=since)
    return list(found.values())


def _in_the_way(rows: Rows, ticket: Ticket) -> set[tuple[str, str]]:
    """Return the live claims that a ticket waits for, each with its owner."""
    found = set()
    for text in ticket.patterns:
        wanted = rows.pattern(text)
        for row in rows.near(wanted):
            if row.ticket or row.agent == ticket.agent:
                continue
            claim = claim_of(row)
            shared = claim.mode == SHARED and ticket.mode == SHARED
            if shared or overlap(wanted, rows.pattern(claim.pattern)) is None:
                continue
            if rows.is_live(claim):
                found.add((claim.pattern, claim.agent))
    return found


def _tasks(rows: Rows) -> list[TaskFact]:
    """Return the tasks that are assigned or in progress, and since when."""
    ids = [*(id_ for _, id_, _ in running(rows)), *(id_ for _, id_ in silent(rows))]
    found = []
    for stored in several(rows, ids).values():
        task = stored.task
        waits = task.status == Status.ASSIGNED and task.dependencies and not stored.ready
        if task.status in {Status.ASSIGNED, Status.IN_PROGRESS} and not waits:
            since = max(task.created, task.assigned, task.started)
            found.append(TaskFact(task.id, task.status, stored.holder or task.agent, since))
    return found


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


def _entries(rows: Rows, quiet: float) -> list[Entry]:
    """Return the entries that the rules have not seen; at the first check, only recent ones."""
    seen = watched(rows)
    found = rows.events(seen.seen if seen is not None else 0, kinds=WATCHED)
    since = rows.now - quiet if seen is None else 0.0
    fresh = (one for one in found if one.at >= since and not is_probe_entry(one))
    return list(islice(fresh, MOST_ENTRIES))
