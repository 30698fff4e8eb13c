"""What there is to do on a board, from the rows that are kept for it: a few, however many tasks there are."""

from __future__ import annotations

from math import inf

from dibs.core.claims.ledger import Kind
from dibs.core.tasks.similarity import clashes
from dibs.services.state.presence import role_of
from dibs.services.state.task_index import (
    drop_clash,
    finished,
    fresh,
    handoffs,
    lent,
    put_clash,
    ready_for_anybody,
    reported_clashes,
    running,
    silent,
)
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.config.load import Config
    from dibs.core.claims.agents import Caller
    from dibs.core.tasks.rules import Task
    from dibs.core.tasks.similarity import TaskOverlap
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store


class Due(Record):
    """Which acts of a cycle can have something to do."""

    sweep: bool
    assign: bool
    hand_off: bool
    stuck: bool
    archive: bool


def due_in(rows: Rows, config: Config, *, spread: bool) -> Due:
    """Look at the first row of each kind."""
    never = (inf, "")
    return Due(
        sweep=any(running(rows)) or bool(lent(rows)),
        assign=any(fresh(rows)) or (spread and any(ready_for_anybody(rows))),
        hand_off=bool(handoffs(rows)),
        stuck=next(silent(rows), never)[0] + config.board_timeout <= rows.now,
        archive=next(finished(rows), never)[0] + config.board_archive_after <= rows.now,
    )


def warn_of_clashes(store: Store, caller: Caller, working: Sequence[Task]) -> list[TaskOverlap]:
    """Tell the ledger of each clash once, for as long as it lasts; return those that are new."""
    found = clashes(working, fold_case=store.fold_case)
    pairs = {(clash.first.lower(), clash.second.lower()): clash for clash in found}
    if store.look(reported_clashes) == pairs.keys():
        return []

    def step(rows: Rows) -> list[TaskOverlap]:
        known = reported_clashes(rows)
        for pair in known - pairs.keys():
            drop_clash(rows, pair)
        new = [pair for pair in pairs if pair not in known]
        for pair in new:
            clash = pairs[pair]
            put_clash(rows, pair, clash.witness)
            rows.emit(
                caller.id, role_of(rows, caller.id), Kind.TASK_CLASH,
                f"tasks {clash.first} and {clash.second} are both in progress on {clash.witness}",
                task=clash.first, other=clash.second, path=clash.witness,
            )  # fmt: skip
        return [pairs[pair] for pair in new]

    return store.apply(step)
