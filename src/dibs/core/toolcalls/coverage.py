"""Which agents work behind a hook, according to the ledger.

Pure. An agent is guarded once its hook has reported in; a subagent is guarded with its parent. What an agent
wrote before, or without, is told: nobody could have stopped it.
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

#: Entries that only an agent that changed a file causes.
WRITING = frozenset({Kind.FILE_EDIT, Kind.COMMITTED})


class GuardStatus(Record):
    """One agent, as far as the ledger goes back."""

    agent: str
    guarded: bool
    #: How often it wrote while no hook of it had reported in, and when last.
    unguarded_writes: int = 0
    last_write: float = 0.0
    #: How often it was stopped before a write, and how often it was found to have changed another's file.
    refused: int = 0
    foreign: int = 0


def standings(entries: Iterable[Entry]) -> list[GuardStatus]:
    """Return every agent that reported in or wrote, by name; people are left out.

    ``entries`` come in the order in which they happened.
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
    """Tell whether an agent or one above it has reported in; a cycle is walked once."""
    walked: set[str] = set()
    while agent and agent not in walked:
        if agent in found and found[agent].guarded:
            return True
        walked.add(agent)
        agent = parents.get(agent, "")
    return False
