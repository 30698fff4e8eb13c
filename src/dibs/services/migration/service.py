"""Moving a project's state from one store to another, so that nothing is lost, doubled, or granted twice.

Theory of operation. Both stores are closed (see ``closing``) while rows and ledger are copied, so nobody is
granted anything by either. The order makes every moment at which the mover can die a safe one:

1. the source is closed as *moving*, in the transaction that finds nobody at work, or is told to go on;
2. the target is closed as *arriving*; then the ledger, with its numbers, and all rows are copied;
3. the two are compared, row by row and entry by entry;
4. moments are set to the target's clock, so that no claim ends early and the pause costs nobody its claims;
5. the source becomes *moved*: from here on there is no way back but another move;
6. the target opens.

Up to 5 the move can be cancelled, because the target cannot have opened. The same call again goes on from
whatever was reached. Numbers go on in the target above all of the source, because its ledger has them all.
"""

from __future__ import annotations

import os
from itertools import islice

from dibs.core.claims.ledger import Event, Kind
from dibs.core.patterns.filing import Range
from dibs.errors import BadInput, NotAllowed, Unavailable
from dibs.services.migration.carry import carried, digest, live_claims, refuse_while_at_work
from dibs.services.migration.new_life import STORE
from dibs.services.state.closed import ORIGIN, ClosedReason, Closure, close, closure, moves, refusal
from dibs.services.state.deadlines import DUE
from dibs.services.state.rows import encode
from dibs.services.state.store import CLOSED
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeVar

    from dibs.core.claims.ledger import Entry
    from dibs.engines.base import Engine, Txn

    T = TypeVar("T")
    Row = tuple[str, str]

#: Rows, or entries, in one transaction.
BATCH = 1000
#: What ``dibs engine check`` writes and removes again; a check that was killed leaves it behind.
PROBE = "probe/"


class StoreSide(Record):
    """One of the two stores, and what to call it."""

    engine: Engine
    name: str


class StoreContents(Record):
    """What is in a store."""

    closure: Closure | None
    moves: list[str]
    rows: int
    newest: int

    @property
    def empty(self) -> bool:
        """Whether nothing was ever kept here."""
        return not self.rows and not self.newest


class MoveReport(Record):
    """What a move came to."""

    id: str
    rows: int
    entries: int
    #: Claims that are held, and go on in the target with their tokens.
    claims: int
    #: The highest number of the source; the target counts above it.
    newest: int
    #: Over all rows and entries; the same for both stores when they were compared.
    digest: str


def cancel(source: StoreSide) -> bool:
    """Open a store again whose move was not finished; tell whether there was one."""

    def step(txn: Txn) -> bool:
        found = closure(txn)
        if found is None:
            return False
        if found.why != ClosedReason.MOVING:
            raise refusal(encode(found._asdict()))
        txn.delete(CLOSED)
        _tell(txn, f"the state stays here: the move to {found.other} was cancelled", found)
        return True

    return source.engine.transact(step)


class Migration:
    """One move. ``tell`` is called with a line now and then, for whoever watches."""

    def __init__(
        self,
        source: StoreSide,
        target: StoreSide,
        *,
        force: bool = False,
        fold_case: bool = True,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._source = source
        self._target = target
        self._force = force
        self._fold = fold_case
        self._progress = tell
        self._run = os.urandom(8).hex()

    def run(self) -> MoveReport:
        """Move everything, or go on with a move that was broken off."""
        there = _fresh(self._target, standing)
        here = _fresh(self._source, standing)
        if here.closure is not None and here.closure.why == ClosedReason.MOVED:
            return self._end_again(here.closure, here.moves, there)
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

    # -- may it begin?

    def _check(self, here: StoreContents, there: StoreContents) -> None:
        """Refuse what cannot be moved, or not there; nothing was changed yet."""
        out = here.closure
        if out is None and here.empty:
            raise BadInput(
                f"there is nothing to move in {self._source.name}",
                code="STORE_EMPTY",
                hint="check the address; `dibs engine check` says what is there",
            )
        if out is not None:
            elsewhere = out.other != self._target.name and not _arrives(there, out)
            if out.why != ClosedReason.MOVING or elsewhere:
                raise refusal(encode(out._asdict()))
        if not self._admits(there, out.id if out is not None else "", here.moves):
            raise self._occupied(there)

    def _admits(self, there: StoreContents, move: str, past: list[str]) -> bool:
        """Tell whether the target is empty, or holds nothing but this move or its own past."""
        within = there.closure
        if within is None:
            return there.empty
        if within.why == ClosedReason.ARRIVING:
            return within.id == move or self._force
        return within.why == ClosedReason.MOVED and within.id in past

    def _occupied(self, there: StoreContents) -> NotAllowed:
        if there.closure is not None and there.closure.why == ClosedReason.ARRIVING:
            return NotAllowed(
                f"{self._target.name} holds an unfinished copy of {there.closure.other}",
                code="STORE_NOT_EMPTY",
                hint="if nobody works on that any more, --force goes on with it",
            )
        return NotAllowed(
            f"{self._target.name} is not empty: {there.rows} rows, numbers up to {there.newest}",
            code="STORE_NOT_EMPTY",
            hint="nothing was changed; name an empty store, another database or another branch",
        )

    # -- the steps of a move

    def _depart(self, here: StoreContents) -> Closure:
        """Close the source, unless it is closed for this move already."""
        if here.closure is not None:
            return here.closure

        def step(txn: Txn) -> Closure:
            found = closure(txn)
            if found is not None:
                raise refusal(encode(found._asdict()))
            if not self._force:
                refuse_while_at_work(txn, fold_case=self._fold)
            out = Closure(ClosedReason.MOVING, self._run, self._target.name, txn.now)
            close(txn, out)
            _tell(txn, f"the state moves to {out.other}", out)
            return out

        return self._source.engine.transact(step)

    def _arrive(self, out: Closure, past: list[str]) -> None:
        """Close the target, and keep any other mover out of it."""

        def step(txn: Txn) -> None:
            there = standing(txn)
            if not self._admits(there, out.id, past):
                raise self._occupied(there)
            close(
                txn, Closure(ClosedReason.ARRIVING, out.id, self._source.name, txn.now, self._run)
            )

        self._target.engine.transact(step)

    def _clear(self, prefix: str = "") -> None:
        """Remove what an earlier try, or an earlier time, left in the target."""

        def some(txn: Txn) -> list[str]:
            return [key for key, _ in islice(_state(txn, prefix), BATCH)]

        while keys := _fresh(self._target, some):
            self._write(keys, lambda txn, key: txn.delete(key))

    def _copy_ledger(self) -> None:
        last = _fresh(self._source, _newest)
        while (after := _fresh(self._target, _newest)) < last:
            entries = _fresh(self._source, lambda txn: list(islice(txn.events(after), BATCH)))
            self._write(entries, lambda txn, entry: txn.restore(entry))
            self._progress(f"copied the ledger up to {entries[-1].seq} of {last}")

    def _copy_rows(self) -> None:
        rows = _fresh(self._source, lambda txn: list(_state(txn)))
        for done in range(0, len(rows), BATCH):
            some = rows[done : done + BATCH]
            self._write(some, lambda txn, row: txn.put(*row))
            self._progress(f"copied {done + len(some)} of {len(rows)} rows")

    def _compare(self, out: Closure) -> MoveReport:
        """Compare the two stores, byte by byte."""
        rows, entries = _fresh(self._source, _everything)
        low, high = entries[0].seq, entries[-1].seq
        copied, told = _fresh(self._target, _everything)
        told = [entry for entry in told if low <= entry.seq <= high]
        found = digest(rows, entries)
        if found != digest(copied, told):
            raise Unavailable(
                f"{self._target.name} does not hold what {self._source.name} does:"
                f" {len(copied)} of {len(rows)} rows, {len(told)} of {len(entries)} entries",
                code="STORE_DIFFERS",
                hint="somebody writes to one of them without Dibs; --cancel, or run it again",
            )
        self._progress(f"compared {len(rows)} rows and {len(entries)} entries: they are the same")
        claims = live_claims(rows, out.at)
        return MoveReport(out.id, len(rows), len(entries), len(claims), high, found)

    def _set_moments(self, out: Closure) -> None:
        """Let the target's clock go on from the moment at which the source was closed."""
        rows = _fresh(self._source, lambda txn: list(_state(txn)))
        shift = _fresh(self._target, lambda txn: txn.now) - out.at
        shortest = self._target.engine.shortest_ttl
        changed = list(carried(rows, out.at, shift, shortest))
        self._clear(DUE)  # their keys are moments: an earlier try may have left others
        for done in range(0, len(changed), BATCH):
            some = changed[done : done + BATCH]
            self._write(some, lambda txn, row: txn.put(*row))

    def _leave(self, out: Closure) -> None:
        def step(txn: Txn) -> None:
            found = closure(txn)
            if found is None or found.id != out.id:
                raise _interfered(self._source)
            close(txn, found._replace(why=ClosedReason.MOVED))

        self._source.engine.transact(step)

    def _open(self, out: Closure, past: list[str]) -> None:
        def step(txn: Txn) -> None:
            self._check_mine(txn)
            txn.delete(CLOSED)
            txn.put(ORIGIN, encode({"moves": [*past, out.id], "from": self._source.name}))
            _tell(txn, f"the state came here from {self._source.name}", out)

        self._target.engine.transact(step)

    def _end_again(self, out: Closure, past: list[str], there: StoreContents) -> MoveReport:
        """Finish a move whose last step is missing; say what it came to if none is."""
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

    def _write(self, things: Sequence[T], write: Callable[[Txn, T], None]) -> None:
        """Write to the target, in one transaction."""

        def step(txn: Txn) -> None:
            self._check_mine(txn)
            for thing in things:
                write(txn, thing)

        self._target.engine.transact(step)

    def _check_mine(self, txn: Txn) -> None:
        """Stop if another mover has taken the target over."""
        found = closure(txn)
        if found is None or found.run != self._run:
            raise _interfered(self._target)


def standing(txn: Txn) -> StoreContents:
    """Say what is in a store."""
    return StoreContents(closure(txn), moves(txn), sum(1 for _ in _state(txn)), _newest(txn))


def _arrives(there: StoreContents, out: Closure) -> bool:
    """Tell whether the target has begun to take in this very move."""
    within = there.closure
    return within is not None and (within.why, within.id) == (ClosedReason.ARRIVING, out.id)


def _state(txn: Txn, prefix: str = "") -> Iterator[Row]:
    """Yield all rows, or those that begin with ``prefix``, but those of the store itself."""
    rows = txn.scan(Range(prefix))
    return (row for row in rows if row[0] not in {CLOSED, ORIGIN} and not row[0].startswith(PROBE))


def _everything(txn: Txn) -> tuple[list[Row], list[Entry]]:
    return list(_state(txn)), list(txn.events())


def _newest(txn: Txn) -> int:
    newest = next(txn.events(newest_first=True), None)
    return 0 if newest is None else newest.seq


def _fresh(side: StoreSide, step: Callable[[Txn], T]) -> T:
    """Look at a store; what was so some time ago is not good enough."""
    answer = side.engine.view(step)
    if side.engine.as_of is not None:
        raise Unavailable(f"{side.name} cannot be reached", hint="try again when it is back")
    return answer


def _tell(txn: Txn, summary: str, move: Closure) -> None:
    txn.emit(Event(STORE, "store", Kind.STORE_MOVED, summary, {"move": move.id}))


def _interfered(side: StoreSide) -> Unavailable:
    return Unavailable(
        f"somebody else moves {side.name} at the same time, or has cancelled the move",
        code="STORE_MOVING",
        hint="see `dibs engine check`, then run it again",
    )
