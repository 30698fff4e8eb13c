"""Migration of a project's state to another store: nothing is lost, duplicated, or granted twice.

Both stores are closed while rows and ledger are copied, so neither grants anything. The order of
the steps makes it safe to die at any moment:

1. the source is closed as *moving*, in the transaction that checks that no agent is working (unless
   forced);
2. the target is closed as *arriving*; then the ledger, with its numbers, and all rows are copied;
3. the two stores are compared, row by row and entry by entry;
4. times are adjusted to the target's clock, so that no claim expires early;
5. the source becomes *moved*: from here on, only another migration leads back;
6. the target opens.

Until step 5 the migration can be canceled, because the target cannot have opened. Running it again
continues where it stopped. New numbers in the target are above all of the source's, because its
ledger has them all.
"""

from __future__ import annotations

import os
from hashlib import sha256
from itertools import islice

from dibs.core.text.durations import show_span
from dibs.errors import BadInput, NotAllowed, Unavailable
from dibs.services.claims.views import held_in, waiting_in
from dibs.services.state import lifecycle
from dibs.services.state.lifecycle import (
    ClosedReason,
    Closure,
    close,
    closure,
    contents,
    live_claims,
    refusal,
)
from dibs.services.state.rows import Rows, encode
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeVar

    from dibs.core.claims.ledger import Entry
    from dibs.engines.base import Engine, Txn

    T = TypeVar("T")
    Row = tuple[str, str]

#: Rows, or entries, per transaction.
BATCH = 1000
#: How many agents a refusal names.
NAMED = 5


class StoreSide(Record):
    """One of the two stores, with its display name."""

    engine: Engine
    name: str


class StoreContents(Record):
    """A summary of what a store contains."""

    closure: Closure | None
    moves: list[str]
    rows: int
    newest: int

    @property
    def empty(self) -> bool:
        """Whether nothing was ever stored here."""
        return not self.rows and not self.newest


class MoveReport(Record):
    """The result of a migration."""

    id: str
    rows: int
    entries: int
    #: Live claims, which keep their tokens in the target.
    claims: int
    #: The highest number in the source; the target continues above it.
    newest: int
    #: Of all rows and entries; equal for both stores.
    digest: str


def cancel(source: StoreSide) -> bool:
    """Reopen a store whose migration was not finished; return whether there was one."""

    def step(txn: Txn) -> bool:
        found = closure(txn)
        if found is None:
            return False
        if found.why != ClosedReason.MOVING:
            raise refusal(encode(found._asdict()))
        lifecycle.reopen(txn, found)
        return True

    return source.engine.transact(step)


class Migration:
    """One migration. ``progress`` is called with the step, how much of it is done, and the total."""

    def __init__(
        self,
        source: StoreSide,
        target: StoreSide,
        *,
        force: bool = False,
        fold_case: bool = True,
        progress: Callable[[str, int, int], None] = lambda _what, _done, _total: None,
    ) -> None:
        self._source = source
        self._target = target
        self._force = force
        self._fold = fold_case
        self._progress = progress
        self._run = os.urandom(8).hex()

    def run(self) -> MoveReport:
        """Migrate everything, or continue an interrupted migration."""
        there = _fresh(self._target, standing)
        here = _fresh(self._source, standing)
        if here.closure is not None and here.closure.why == ClosedReason.MOVED:
            return self._finish_again(here.closure, here.moves, there)
        self._check(here, there)
        out = self._depart(here)
        self._arrive(out, here.moves)
        self._clear()
        self._copy_ledger()
        self._copy_rows()
        found = self._compare(out)
        self._set_moments(out)
        self._leave(out)
        self._open(out, here.moves)
        return found

    # -- checks before the start

    def _check(self, here: StoreContents, there: StoreContents) -> None:
        """Refuse a source or target that cannot be used; nothing has been changed yet."""
        out = here.closure
        if out is None and here.empty:
            raise BadInput(
                f"{self._source.name} is empty: nothing to migrate",
                code="STORE_EMPTY",
                hint="check the URL; `dibs engine check` shows what the store contains",
            )
        if out is not None:
            elsewhere = out.other != self._target.name and not _arrives(there, out)
            if out.why != ClosedReason.MOVING or elsewhere:
                raise refusal(encode(out._asdict()))
        if not self._admits(there, out.id if out is not None else "", here.moves):
            raise self._occupied(there)

    def _admits(self, there: StoreContents, move: str, past: list[str]) -> bool:
        """Return whether the target is empty, or contains only this migration or its own past."""
        within = there.closure
        if within is None:
            return there.empty
        if within.why == ClosedReason.ARRIVING:
            return within.id == move or self._force
        return within.why == ClosedReason.MOVED and within.id in past

    def _occupied(self, there: StoreContents) -> NotAllowed:
        if there.closure is not None and there.closure.why == ClosedReason.ARRIVING:
            return NotAllowed(
                f"{self._target.name} contains an unfinished copy of {there.closure.other}",
                code="STORE_NOT_EMPTY",
                hint="if no other migration is running, use --force to take it over",
            )
        return NotAllowed(
            f"{self._target.name} is not empty: {there.rows} rows, ledger up to entry {there.newest}",
            code="STORE_NOT_EMPTY",
            hint="nothing was changed; use an empty store, another database, or another branch",
        )

    # -- the steps of a migration

    def _depart(self, here: StoreContents) -> Closure:
        """Close the source, unless this migration already closed it."""
        if here.closure is not None:
            return here.closure

        def step(txn: Txn) -> Closure:
            found = closure(txn)
            if found is not None:
                raise refusal(encode(found._asdict()))
            if not self._force:
                refuse_while_active(txn, fold_case=self._fold)
            out = Closure(ClosedReason.MOVING, self._run, self._target.name, txn.now)
            close(txn, out)
            lifecycle.record_move(txn, f"migrating to {out.other}", out)
            return out

        return self._source.engine.transact(step)

    def _arrive(self, out: Closure, past: list[str]) -> None:
        """Close the target, and keep other migrations out of it."""

        def step(txn: Txn) -> None:
            there = standing(txn)
            if not self._admits(there, out.id, past):
                raise self._occupied(there)
            close(
                txn, Closure(ClosedReason.ARRIVING, out.id, self._source.name, txn.now, self._run)
            )

        self._target.engine.transact(step)

    def _clear(self, rows: Callable[[Txn], Iterator[Row]] = contents) -> None:
        """Remove what an earlier run, or earlier use, left in the target."""
        while found := _fresh(self._target, lambda txn: list(islice(rows(txn), BATCH))):
            self._write([key for key, _ in found], lifecycle.remove)

    def _copy_ledger(self) -> None:
        first, last = 0, _fresh(self._source, lifecycle.newest)
        while (after := _fresh(self._target, lifecycle.newest)) < last:
            entries = _fresh(
                self._source, lambda txn: list(islice(lifecycle.entries(txn, after), BATCH))
            )
            self._write(entries, lifecycle.restore)
            first = first or entries[0].seq
            self._progress("copying the ledger", entries[-1].seq - first + 1, last - first + 1)

    def _copy_rows(self) -> None:
        rows = _fresh(self._source, lambda txn: list(contents(txn)))
        for done in range(0, len(rows), BATCH):
            some = rows[done : done + BATCH]
            self._write(some, lifecycle.write)
            self._progress("copying rows", done + len(some), len(rows))

    def _compare(self, out: Closure) -> MoveReport:
        """Compare the two stores byte by byte."""
        rows, entries = _fresh(self._source, _everything)
        low, high = entries[0].seq, entries[-1].seq
        copied, told = _fresh(self._target, _everything)
        told = [entry for entry in told if low <= entry.seq <= high]
        found = digest(rows, entries)
        if found != digest(copied, told):
            raise Unavailable(
                f"{self._target.name} differs from {self._source.name}:"
                f" {len(copied)} of {len(rows)} rows, {len(told)} of {len(entries)} entries",
                code="STORE_DIFFERS",
                hint="something other than Dibs wrote to one of them; run it again, or add --cancel",
            )
        self._progress("comparing", len(rows), len(rows))
        claims = live_claims(rows, out.at)
        return MoveReport(out.id, len(rows), len(entries), len(claims), high, found)

    def _set_moments(self, out: Closure) -> None:
        """Adjust times, so that the target's clock continues from the moment the source was closed."""
        rows = _fresh(self._source, lambda txn: list(contents(txn)))
        shift = _fresh(self._target, lambda txn: txn.now) - out.at
        shortest = self._target.engine.shortest_ttl
        changed = list(lifecycle.carried(rows, out.at, shift, shortest))
        self._clear(
            lifecycle.deadline_rows
        )  # their keys contain times: an earlier run may have left others
        for done in range(0, len(changed), BATCH):
            some = changed[done : done + BATCH]
            self._write(some, lifecycle.write)

    def _leave(self, out: Closure) -> None:
        def step(txn: Txn) -> None:
            found = closure(txn)
            if found is None or found.id != out.id:
                raise _interfered(self._source)
            close(txn, found._replace(why=ClosedReason.MOVED))

        self._source.engine.transact(step)

    def _open(self, out: Closure, past: list[str]) -> None:
        def step(txn: Txn) -> None:
            self._check_ownership(txn)
            lifecycle.open_moved(txn, out._replace(other=self._source.name), past)

        self._target.engine.transact(step)

    def _finish_again(self, out: Closure, past: list[str], there: StoreContents) -> MoveReport:
        """Finish a migration whose last step is missing; return its report."""
        if _arrives(there, out):
            self._arrive(out, past)
            self._set_moments(out)
            self._open(out, past)
        elif out.id not in there.moves:
            raise refusal(encode(out._asdict()))
        rows, entries = _fresh(self._source, _everything)
        claims = len(live_claims(rows, out.at))
        return MoveReport(
            out.id, len(rows), len(entries), claims, entries[-1].seq, digest(rows, entries)
        )

    def _write(self, things: Sequence[T], write: Callable[[Txn, Sequence[T]], None]) -> None:
        """Write to the target in one transaction."""

        def step(txn: Txn) -> None:
            self._check_ownership(txn)
            write(txn, things)

        self._target.engine.transact(step)

    def _check_ownership(self, txn: Txn) -> None:
        """Stop if another migration has taken over the target."""
        found = closure(txn)
        if found is None or found.run != self._run:
            raise _interfered(self._target)


def standing(txn: Txn) -> StoreContents:
    """Return a summary of what a store contains."""
    return StoreContents(
        closure(txn), lifecycle.moves(txn), sum(1 for _ in contents(txn)), lifecycle.newest(txn)
    )


def _arrives(there: StoreContents, out: Closure) -> bool:
    """Return whether the target has started to receive this migration."""
    within = there.closure
    return within is not None and (within.why, within.id) == (ClosedReason.ARRIVING, out.id)


def _everything(txn: Txn) -> tuple[list[Row], list[Entry]]:
    return list(contents(txn)), list(lifecycle.entries(txn))


def _fresh(side: StoreSide, step: Callable[[Txn], T]) -> T:
    """Read a store; raise an error if the state is not fresh."""
    answer = side.engine.view(step)
    if side.engine.as_of is not None:
        raise Unavailable(f"{side.name} is unreachable", hint="try again when it is back")
    return answer


def _interfered(side: StoreSide) -> Unavailable:
    return Unavailable(
        f"another process is migrating {side.name}, or canceled this migration",
        code="STORE_MOVING",
        hint="run `dibs engine check`, then try again",
    )


def refuse_while_active(txn: Txn, *, fold_case: bool) -> None:
    """Refuse to migrate while agents hold or wait for something."""
    rows = Rows(txn, fold_case=fold_case)
    holding: dict[str, int] = {}
    for held in held_in(rows):
        holding[held.claim.agent] = holding.get(held.claim.agent, 0) + 1
    waiting = {waiter.ticket.agent for waiter in waiting_in(rows)}
    agents = sorted({*holding, *waiting})
    if not agents:
        return
    told = [_activity(rows, agent, holding.get(agent, 0)) for agent in agents[:NAMED]]
    more = f" and {len(agents) - NAMED} more" if len(agents) > NAMED else ""
    raise NotAllowed(
        f"agents are still working: {', '.join(told)}{more}",
        code="STORE_ACTIVE",
        hint="nothing was changed; let them finish, or migrate their claims too with --force",
    )


def _activity(rows: Rows, agent: str, claims: int) -> str:
    holds = "holds 1 claim" if claims == 1 else f"holds {claims} claims"
    does = holds if claims else "waits"
    seen = rows.active(agent)
    ago = f", active {show_span(round(max(0.0, rows.now - seen)))} ago" if seen else ""
    return f"{agent} ({does}{ago})"


def digest(rows: Iterable[Row], entries: Iterable[Entry]) -> str:
    """Return a short digest of all rows and entries."""
    found = sha256()
    for row in rows:
        found.update(encode(row).encode("utf-8", "surrogatepass"))
    for entry in entries:
        found.update(encode(entry).encode("utf-8", "surrogatepass"))
    return found.hexdigest()[:16]
