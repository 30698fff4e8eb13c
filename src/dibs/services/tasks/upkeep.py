"""What the orchestrator does for the board: take back, assign, warn, archive. Each may run twice at once."""

from __future__ import annotations

from collections import Counter
from itertools import islice

from dibs.core.claims.agents import is_terminal
from dibs.core.claims.ledger import Kind
from dibs.core.tasks.rules import Status
from dibs.core.text.durations import show_span
from dibs.services.state.presence import arrive, offers_work, role_of
from dibs.services.state.task_index import finished, fresh, lent, ready_for_anybody, running, silent
from dibs.services.state.tasks import Stored, load
from dibs.services.tasks.attempts import come_back, fail_with, live_claim, lose_attempt, settle_dead
from dibs.services.tasks.texts import TaskWriter, moment, rewritten
from dibs.services.tasks.values import Stuck

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.core.claims.agents import Caller
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: How many tasks that name nobody an agent is given at most, those included that it works on.
LOAD = 3
#: Roles that hand out work and do none of it.
_NO_WORKERS = frozenset({"human", "orchestrator", "coordinator", "supervisor"})
#: How many tasks one transaction assigns or archives: the next cycle goes on.
MANY = 500


def sweep(store: Store, rows: Rows) -> list[Stored]:
    """Take back what agents that are gone had: running attempts, and tasks that were lent to them."""
    back = settle_dead(store, rows, all_of_them=True)
    for id_, agent in lent(rows):
        stored = load(rows, id_)
        if stored is not None and not _is_live(store, rows, agent):
            holder = stored.task.agent
            writer = TaskWriter(rows, holder, role_of(rows, holder))
            why, details = f"{holder} gave no further sign of life", {"holder": holder}
            back.append(come_back(writer, stored, "reassign", why, details, warned=0.0))
    return back


def _is_live(store: Store, rows: Rows, agent: str) -> bool:
    beat = rows.beat(agent)
    if beat is None or rows.is_gone(agent) or rows.now >= beat.seen + store.config.ttl:
        return False
    known = rows.agent(agent)
    return known is not None and not is_terminal(known.status)


# -- assigning


def assign(store: Store, rows: Rows, caller: Caller, *, spread: bool) -> list[Stored]:
    """Give ready new tasks to whom they name; with ``spread`` the others to the least loaded agents."""
    named = list(islice(fresh(rows), MANY))
    given = [(stored, stored.task.agent) for stored in _loaded(rows, named)]
    if spread:
        given += _spread(rows, _loads(store, rows, caller.id))
    if not given:
        return []
    writer = TaskWriter(rows, caller.id, arrive(rows, caller).role)
    return [_give(rows, writer, stored, agent) for stored, agent in given]


def _spread(rows: Rows, load_of: dict[str, int]) -> Iterator[tuple[Stored, str]]:
    """Yield tasks for anybody in the order of taking, each with the agent that has least to do."""
    room = sum(max(0, LOAD - count) for count in load_of.values())
    if not room:
        return
    for stored in _loaded(rows, list(islice(ready_for_anybody(rows), room))):
        agent = min(load_of, key=lambda one: (load_of[one], one))
        load_of[agent] += 1
        yield stored, agent


def _loaded(rows: Rows, ids: list[str]) -> Iterator[Stored]:
    for id_ in ids:
        stored = load(rows, id_)
        if stored is not None and stored.task.status == Status.NEW:
            yield stored


def _loads(store: Store, rows: Rows, caller: str) -> dict[str, int]:
    """Return the live agents that take tasks, and how many each has already."""
    held = Counter([*(agent for _, agent in lent(rows)), *(agent for _, _, agent in running(rows))])
    return {
        agent.id: held[agent.id]
        for agent in rows.agents()
        if agent.id != caller
        and agent.role not in _NO_WORKERS
        and offers_work(rows, agent.id)
        and _is_live(store, rows, agent.id)
    }


def _give(rows: Rows, writer: TaskWriter, stored: Stored, agent: str) -> Stored:
    after = stored.task._replace(
        status=Status.ASSIGNED, agent=agent, assigned=moment(rows.now)
    )  # fmt: skip
    said = f"{stored.id} is assigned to {agent}"
    return writer.move(stored, "assign", after, Kind.TASK_ASSIGNED, said)


# -- tasks that take too long


def stuck(store: Store, rows: Rows, caller: Caller) -> list[Stuck]:
    """Report tasks of which nothing was heard for the timeout, and act as the policy says.

    An attempt whose claim is alive is not stuck: its agent gives signs of life.
    """
    late = [id_ for id_ in _quiet(store, rows) if live_claim(store, rows, id_) is None]
    if not late:
        return []
    role = arrive(rows, caller).role
    return [
        _warn(store, rows, TaskWriter(rows, caller.id, role), stored)
        for stored in (load(rows, id_) for id_ in late)
        if stored is not None
    ]


def _quiet(store: Store, rows: Rows) -> list[str]:
    found = []
    for since, id_ in silent(rows):
        if since + store.config.board_timeout > rows.now:
            break
        found.append(id_)
    return found


def _warn(store: Store, rows: Rows, writer: TaskWriter, stored: Stored) -> Stuck:
    """Warn at first; when nothing was heard for as long again, act."""
    task = stored.task
    begun = max(task.created, task.assigned, task.started)
    policy = store.config.board_stuck
    span = show_span(round(rows.now - begun))
    if policy == "warn" or not stored.warned:
        new = stored._replace(warned=rows.now)
        said = f"{task.id} is {task.status} with {task.agent or 'nobody'} for {span}"
        row = writer.write(stored, new, Kind.TASK_STUCK, said, {"since": begun})
        return Stuck(row, begun, "warned")
    if policy == "error":
        verb = "fail"
        row = fail_with(writer, stored, f"nothing was heard of it for {span}", verb=verb)
        return Stuck(row, begun, "error")
    if task.status == Status.IN_PROGRESS:
        return Stuck(
            lose_attempt(store, rows, stored, f"was not heard of for {span}"), begun, "released"
        )
    why = f"{task.agent} did not begin it for {span}"
    row = come_back(writer, stored, "reassign", why, warned=0.0, asked="")
    return Stuck(row, begun, "released")


# -- archiving


def archive(store: Store, rows: Rows, caller: Caller) -> list[Stored]:
    """Take tasks off that were finished long enough ago; one that shall be followed stays until it is."""
    ready: list[Stored] = []
    for at, id_ in finished(rows):
        if at + store.config.board_archive_after > rows.now or len(ready) >= MANY:
            break
        row = load(rows, id_)
        if row is not None and not _is_open_ended(row):
            ready.append(row)
    if not ready:
        return []
    writer = TaskWriter(rows, caller.id, arrive(rows, caller).role)
    return [_archive(writer, row) for row in ready]


def _archive(writer: TaskWriter, old: Stored) -> Stored:
    new = rewritten(old, old.task._replace(status=Status.ARCHIVE))
    return writer.archive(new, old.task.status, old, f"{old.id} went to {new.place}")


def _is_open_ended(stored: Stored) -> bool:
    task = stored.task
    return task.status == Status.DONE and task.handoff is not None and not stored.follower
