"""Rows of the crew: its agents on each machine, and how often they crashed at a task."""

from __future__ import annotations

from dibs.core.crew.members import CrewStatus, Member
from dibs.core.crew.restarts import CrashCount
from dibs.services.state.keys import CRASH, CREW, CREWS
from dibs.services.state.rows import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.services.state.rows import Rows

#: How many agents that have ended are kept, and how long crashes are, in seconds.
MOST_ENDED, CRASHES_KEPT = 100, 86_400.0


def get_crew(rows: Rows, host: str) -> CrewStatus:
    """Return the crew of a machine."""
    value = rows.txn.get(f"{CREWS}{host}")
    return CrewStatus() if value is None else CrewStatus(*decode(value))


def put_crew(rows: Rows, host: str, state: CrewStatus) -> None:
    """Write the crew of a machine."""
    rows.txn.put(f"{CREWS}{host}", encode(list(state)))


def get_member(rows: Rows, agent: str) -> Member | None:
    """Return an agent of the crew."""
    value = rows.txn.get(CREW + agent)
    return None if value is None else Member(*decode(value))


def put_member(rows: Rows, member: Member) -> None:
    """Write an agent of the crew; if it has ended, forget the oldest that have."""
    rows.txn.put(CREW + member.agent, encode(list(member)))
    if member.is_over:
        over = sorted((one for one in members(rows) if one.is_over), key=lambda one: one.since)
        for old in over[:-MOST_ENDED]:
            rows.txn.delete(CREW + old.agent)


def members(rows: Rows) -> Iterator[Member]:
    """Yield all agents of the crew, on every machine."""
    for _, value in list(rows.txn.scan((CREW, ""))):
        yield Member(*decode(value))


def get_crashes(rows: Rows, role: str, task: str) -> CrashCount:
    """Return how often agents of a role crashed at a task; without a task, before they had one."""
    value = rows.txn.get(f"{CRASH}{role}//{task.lower()}")
    return CrashCount() if value is None else CrashCount(*decode(value))


def put_crashes(rows: Rows, role: str, task: str, crashes: CrashCount) -> None:
    """Write how often agents of a role crashed at a task; forget old ones."""
    for key, value in list(rows.txn.scan((CRASH, ""))):
        if CrashCount(*decode(value)).last + CRASHES_KEPT <= rows.now:
            rows.txn.delete(key)
    rows.txn.put(f"{CRASH}{role}//{task.lower()}", encode(list(crashes)))


def forget_crashes(rows: Rows, role: str = "") -> None:
    """Forget the crashes of a role, or of all: a person starts the crew again."""
    for key, _ in list(rows.txn.scan((f"{CRASH}{role}//" if role else CRASH, ""))):
        rows.txn.delete(key)
