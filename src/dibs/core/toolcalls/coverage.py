"""Find guarded and unguarded agents, according to the ledger.

Pure. An agent is guarded once its hook has reported in; a subagent is guarded with its parent. Writes before
that, or without a hook, are counted: nothing could have blocked them.
"""

from __future__ import annotations

from dibs.core.claims.agents import HUMAN
from dibs.core.claims.ledger import Kind
from dibs.core.claims.probes import is_probe_agent
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.core.claims.ledger import Entry

#: Kinds of entries that mean an agent changed a file.
WRITING = frozenset({Kind.FILE_EDIT, Kind.COMMITTED})


class GuardStatus(Record):
    """One agent, as far back as the ledger goes."""

    agent: str
    guarded: bool
    #: How often it wrote before its hook reported in, and when last.
    unguarded_writes: int = 0
    last_write: float = 0.0
    #: How often a write was blocked, and how often it changed another agent's file.
    refused: int = 0
    foreign: int = 0


def standings(entries: Iterable[Entry]) -> list[GuardStatus]:
    """Return every agent that reported in or wrote, by name, without humans.

    ``entries`` are in chronological order.
    """
    found: dict[str, GuardStatus] = {}
    parents: dict[str, str] = {}
    for entry in entries:
        if entry.role == HUMAN or is_probe_agent(entry.agent):
            continue
        if entry.kind == Kind.SUB_AGENT_SPAWNED:
            parents[entry.agent] = str(entry.details.get("parent", ""))
        known = found.get(entry.agent) or GuardStatus(entry.agent, guarded=False)
        changed = _after(known, entry, guarded=_is_guarded(entry.agent, found, parents))
        if changed != known or entry.agent in found:
            found[entry.agent] = changed
    return sorted(found.values())


def _after(known: GuardStatus, entry: Entry, *, guarded: bool) -> GuardStatus:
    if entry.kind == Kind.AGENT_GUARDED:
        return known._replace(guarded=True)
    if entry.kind == Kind.WRITE_REFUSED:
        return known._replace(refused=known.refused + 1)
    if entry.kind == Kind.FOREIGN_WRITE:
        return known._replace(foreign=known.foreign + 1)
    if entry.kind not in WRITING:
        return known
    if guarded:
        return known._replace(guarded=True)
    return known._replace(unguarded_writes=known.unguarded_writes + 1, last_write=entry.at)


def _is_guarded(agent: str, found: dict[str, GuardStatus], parents: dict[str, str]) -> bool:
    """Return whether an agent or one of its ancestors has reported in; safe for cycles."""
    walked: set[str] = set()
    while agent and agent not in walked:
        if agent in found and found[agent].guarded:
            return True
        walked.add(agent)
        agent = parents.get(agent, "")
    return False
