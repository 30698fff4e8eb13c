"""Conditions that are events: ledger entries that need attention once."""

from __future__ import annotations

from dibs.core.alerts.kinds import AlertKind
from dibs.core.alerts.values import Condition, Severity, command_line
from dibs.core.claims.ledger import Kind
from dibs.core.text.durations import show_span
from dibs.core.text.names import few

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dibs.core.claims.ledger import Entry

#: The kinds of ledger entries that can be such events.
WATCHED = (Kind.LOCK_DENIED, Kind.COMMIT_REFUSED, Kind.MERGE_REFUSED, Kind.ERROR)
#: Details of an entry: why a claim was denied, who waits for whom, and whether a lost claim was the reason.
DEADLOCK = "deadlock"
FENCED = "fenced"


def happened(entries: Iterable[Entry]) -> Iterator[Condition]:
    """Yield a condition for each entry that needs attention."""
    for entry in entries:
        if entry.kind == Kind.LOCK_DENIED:
            if entry.details.get("why") == DEADLOCK:
                yield _deadlock(entry)
        elif entry.details.get(FENCED):
            yield _fenced(entry)


def unreachable(now: float, lasted: float) -> Condition:
    """Return the condition of an engine that answers again after ``lasted`` seconds."""
    return Condition(
        f"{AlertKind.ENGINE_DEGRADED}:unreachable", AlertKind.ENGINE_DEGRADED, Severity.CRITICAL,
        "unreachable", f"the store could not be reached for {show_span(round(lasted))}, until now",
        "dibs engine check", (), max(1, round(now)), now,
    )  # fmt: skip


def _deadlock(entry: Entry) -> Condition:
    agents = _texts(entry.details.get("cycle")) or [entry.agent]
    pattern = str(entry.details.get("pattern", ""))
    circle = " -> ".join([*agents, agents[0]])
    return Condition(
        f"{AlertKind.DEADLOCK_REFUSED}:{'//'.join(sorted(agents))}", AlertKind.DEADLOCK_REFUSED,
        Severity.WARNING, pattern, f"{entry.agent} was denied {pattern}: waiting would deadlock ({circle})",
        command_line("who", pattern), (entry.agent, *(a for a in agents if a != entry.agent)),
        entry.seq, entry.at,
    )  # fmt: skip


def _fenced(entry: Entry) -> Condition:
    paths = _texts(entry.details.get("paths")) or [str(entry.details.get("ref", "")) or entry.agent]
    return Condition(
        f"{AlertKind.FENCED_WRITE}:{entry.agent}:{paths[0]}", AlertKind.FENCED_WRITE,
        Severity.WARNING, paths[0],
        f"{entry.agent} tried to commit {few(paths)} after it had lost its claim; nothing was committed",
        command_line("who", paths[0]), (entry.agent,),
        entry.seq, entry.at,
    )  # fmt: skip


def _texts(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list | tuple) else []
