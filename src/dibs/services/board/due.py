"""What there is to do on a board, from the rows that are kept for it: a few, however many tasks there are."""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.patterns.filing import Range
from dibs.core.tasks.clashes import clashes
from dibs.services.state.presence import role_of
from dibs.services.tasks.rows import (
    ANYBODY,
    BUSY,
    FRESH,
    HANDOFF,
    LENT,
    OVER,
    SINCE,
    moment_of,
    ready_of,
)
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.config.load import Config
    from dibs.core.claims.agents import Caller
    from dibs.core.tasks.clashes import TaskOverlap
    from dibs.core.tasks.rules import Task
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

_CLASH = "clash//"


class Due(Record):
    """Which acts of a cycle can have something to do."""

    sweep: bool
    assign: bool
    hand_off: bool
    stuck: bool
    archive: bool


def due_in(rows: Rows, config: Config, *, spread: bool) -> Due:
    """Look at the first row of each kind."""
    since, over = _first(rows, SINCE), _first(rows, OVER)
    return Due(
        sweep=bool(_first(rows, BUSY) or _first(rows, LENT)),
        assign=bool(_first(rows, FRESH) or (spread and _first(rows, ready_of(ANYBODY)))),
        hand_off=bool(_first(rows, HANDOFF)),
        stuck=bool(since) and moment_of(since) + config.board_timeout <= rows.now,
        archive=bool(over) and moment_of(over) + config.board_archive_after <= rows.now,
    )


def _first(rows: Rows, prefix: str) -> str:
    """Return the first key that begins so, empty if there is none."""
    return next((key for key, _ in rows.txn.scan(Range(prefix))), "")


def warn_of_clashes(store: Store, caller: Caller, working: Sequence[Task]) -> list[TaskOverlap]:
    """Tell the ledger of each clash once, for as long as it lasts; return those that are new."""
    found = clashes(working, fold_case=store.fold_case)
    keys = {f"{_CLASH}{clash.first}//{clash.second}".lower(): clash for clash in found}
    if store.look(_known) == keys.keys():
        return []

    def step(rows: Rows) -> list[TaskOverlap]:
        known = _known(rows)
        for key in known - keys.keys():
            rows.txn.delete(key)
        fresh = [key for key in keys if key not in known]
        for key in fresh:
            clash = keys[key]
            rows.txn.put(key, clash.witness)
            rows.emit(
                caller.id, role_of(rows, caller.id), Kind.TASK_CLASH,
                f"tasks {clash.first} and {clash.second} are both in progress on {clash.witness}",
                task=clash.first, other=clash.second, path=clash.witness,
            )  # fmt: skip
        return [keys[key] for key in fresh]

    return store.apply(step)


def _known(rows: Rows) -> set[str]:
    return {key for key, _ in rows.txn.scan(Range(_CLASH))}
