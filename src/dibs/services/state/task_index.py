"""Rows next to those of tasks: an index of what can be done with a task, waiting agents, and reports.

The index is derived from the rows of tasks and written with them, so that no one has to read all
tasks.
"""

from __future__ import annotations

from heapq import merge
from itertools import islice
from json.encoder import encode_basestring as quoted

from dibs.core.tasks.rules import PRIORITIES, Status, urgency
from dibs.services.state.keys import (
    ASIDE,
    BUSY,
    CLASH,
    FRESH,
    HANDOFF,
    NEEDS,
    OVER,
    READY,
    SINCE,
    TURN,
)
from dibs.services.state.rows import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dibs.core.tasks.rules import Task
    from dibs.services.state.rows import Rows
    from dibs.services.state.tasks import Stored

ANYBODY = "any"


# -- writing


def marks(stored: Stored) -> dict[str, str]:
    """Return the rows that are derived from a task's row."""
    task, id_, folded = stored.task, stored.id, stored.id.lower()
    found = {_ready_key(who, task): _pair(id_, task.agent) for who in stored.ready}
    over = task.status in {Status.DONE, Status.CANCELLED}
    if over:
        found[f"{OVER}{_moment(max(task.completed, stored.ended))}/{folded}"] = id_
    else:
        found |= {f"{NEEDS}{d.lower()}//{folded}": id_ for d in task.dependencies}
    if stored.token:
        found[f"{BUSY}{_moment(stored.until)}/{folded}"] = _pair(id_, stored.holder)
    if stored.ready and task.agent and task.status == Status.NEW:
        found[f"{FRESH}{folded}"] = id_
    if task.status in {Status.ASSIGNED, Status.IN_PROGRESS} and not stored.token:
        since = max(task.created, task.assigned, task.started, stored.warned)
        found[f"{SINCE}{_moment(since)}/{folded}"] = id_
    if task.status == Status.DONE and task.handoff is not None and not stored.follower:
        found[f"{HANDOFF}{folded}"] = id_
    if stored.aside:
        found[f"{ASIDE}{folded}"] = id_
    return found


def _ready_key(who: str, task: Task) -> str:
    prefix, _ = _ready_range(who, urgency(task.priority))
    return f"{prefix}{_moment(task.created)}/{task.id.lower()}"


def _ready_range(who: str, rank: int) -> tuple[str, str]:
    return f"{READY}{who}//{rank}/", ""


def _moment(seconds: float) -> str:
    """Return a time as text that sorts chronologically."""
    return f"{min(max(seconds, 0.0), 999_999_999_999.0):016.3f}"


def _pair(first: str, second: str) -> str:
    """Encode two texts like ``encode``, three times as fast."""
    return f"[{quoted(first)},{quoted(second)}]"


# -- reading


def ready_for(rows: Rows, agent: str, roles: Sequence[str]) -> Iterator[str]:
    """Yield the ids of the ready tasks that an agent may take, in order, each once."""
    given: set[str] = set()
    mine = {"", agent, *roles}
    for key, value in _ready_rows(rows, agent, [role for role in roles if role != agent]):
        id_, named = decode(value)
        if id_ not in given and (named in mine or not key.startswith(f"{READY}by-")):
            given.add(id_)
            yield id_


def _ready_rows(rows: Rows, agent: str, roles: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield rows by priority; then named, dependency, role, any agent; then by age."""
    near = (f"to-{agent}", f"by-{agent}")
    ranks = range(len(PRIORITIES))
    scan = rows.txn.scan
    if len(roles) <= 1:
        names = (*near, *(f"to-{role}" for role in roles), ANYBODY)
        yield from scan(*(_ready_range(name, rank) for rank in ranks for name in names))
    else:
        for rank in ranks:
            yield from scan(*(_ready_range(name, rank) for name in near))
            listed = [scan(_ready_range(f"to-{role}", rank)) for role in roles]
            yield from merge(*listed, key=lambda row: row[0].partition("//")[2])
            yield from scan(_ready_range(ANYBODY, rank))


def running(rows: Rows) -> Iterator[tuple[float, str, str]]:
    """Yield until when each attempt is certainly alive, earliest first, with its task and its owner."""
    for key, value in rows.txn.scan((BUSY, "")):
        yield _moment_of(key), *decode(value)


def fresh(rows: Rows) -> Iterator[str]:
    """Yield the ready tasks that name an agent but are not assigned yet."""
    return (id_ for _, id_ in rows.txn.scan((FRESH, "")))


def silent(rows: Rows) -> Iterator[tuple[float, str]]:
    """Yield when each task was assigned, or entered progress without an attempt, oldest first."""
    return ((_moment_of(key), id_) for key, id_ in rows.txn.scan((SINCE, "")))


def finished(rows: Rows) -> Iterator[tuple[float, str]]:
    """Yield when each task was finished, oldest first."""
    return ((_moment_of(key), id_) for key, id_ in rows.txn.scan((OVER, "")))


def handoffs(rows: Rows) -> list[str]:
    """Return the done tasks whose handoff task does not exist yet."""
    return [id_ for _, id_ in rows.txn.scan((HANDOFF, ""))]


def dependents(rows: Rows, id_: str) -> list[str]:
    """Return the unfinished tasks that depend on this one."""
    return [value for _, value in rows.txn.scan((f"{NEEDS}{id_.lower()}//", ""))]


def examples(rows: Rows, most: int) -> list[str]:
    """Return some unfinished tasks: running, ready, and blocked ones."""
    ready = (decode(value)[0] for _, value in rows.txn.scan((READY, "")))
    others = (id_ for _, id_ in rows.txn.scan((ASIDE, ""), (NEEDS, "")))
    kinds: tuple[Iterable[str], ...] = ((id_ for _, id_, _ in running(rows)), ready, others)
    return list(dict.fromkeys(id_ for ids in kinds for id_ in islice(ids, most)))[:most]


def _moment_of(key: str) -> float:
    return float(key.split("/")[2])


# -- agents that wait for a task


def put_turn(rows: Rows, agent: str, roles: Sequence[str], *, claim: bool) -> None:
    """Record what an agent that waits for a task asked for."""
    rows.txn.put(f"{TURN}{agent}", encode([roles, claim]))


def turn_of(rows: Rows, agent: str) -> tuple[tuple[str, ...], bool]:
    """Return the roles of an agent that waits for a task, and whether it claims artifacts."""
    value = rows.txn.get(f"{TURN}{agent}")
    roles, claim = decode(value) if value is not None else ((), False)
    return tuple(roles), bool(claim)


def drop_turn(rows: Rows, agent: str) -> None:
    """Record that an agent no longer waits for a task."""
    rows.txn.delete(f"{TURN}{agent}")


# -- reports: one per problem


def report(rows: Rows, prefix: str, id_: str, what: str) -> bool:
    """Record a report about a task; return whether it is new. ``prefix`` is one of ``told/…``."""
    key = prefix + id_.lower()
    if rows.txn.get(key) == what:
        return False
    rows.txn.put(key, what)
    return True


def forget_report(rows: Rows, prefix: str, id_: str) -> None:
    """Delete a report, so that the next one is new."""
    key = prefix + id_.lower()
    if rows.txn.get(key) is not None:
        rows.txn.delete(key)


def reported_clashes(rows: Rows) -> set[tuple[str, str]]:
    """Return the pairs of tasks that were reported to touch the same path, in lower case."""
    found = (key.removeprefix(CLASH).split("//") for key, _ in rows.txn.scan((CLASH, "")))
    return {(first, second) for first, second in found}


def put_clash(rows: Rows, pair: tuple[str, str], path: str) -> None:
    """Record that two tasks touch the same path."""
    rows.txn.put(CLASH + "//".join(pair), path)


def drop_clash(rows: Rows, pair: tuple[str, str]) -> None:
    """Delete the record that two tasks touch the same path."""
    rows.txn.delete(CLASH + "//".join(pair))
