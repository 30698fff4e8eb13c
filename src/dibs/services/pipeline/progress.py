"""How far each handler of a project is: its events, its lease, and its position."""

from __future__ import annotations

from dibs.services.pipeline.handlers import MARK
from dibs.services.state.serving.faults import put_error
from dibs.services.state.serving.handlers import (
    HandlerRow,
    add_missing,
    all_handlers,
    drop_handler,
    get_handler,
    own_handler,
    put_handler,
    take,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from dibs.core.claims.ledger import Entry
    from dibs.services.pipeline.handlers import Finish
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: How many events wait for a handler; beyond that, the oldest are dropped.
MOST_WAITING = 10_000
#: How long a server runs a handler after it last renewed the lease, in seconds.
LASTS = 30.0
_LONGEST_ERROR = 300


class HandlerProgress:
    """The positions of a project's handlers, for one server."""

    def __init__(
        self, store: Callable[[], Store], owner: str, is_dead: Callable[[str], bool]
    ) -> None:
        """``is_dead`` tells whether another server ended without giving its handlers back."""
        self._store = store
        self.owner = owner
        self._is_dead = is_dead

    @property
    def lasts(self) -> float:
        """How long a lease lasts: longer where every write is a push."""
        return max(LASTS, 3 * self._store().engine.shortest_ttl)

    def adopt(self, names: Iterable[str], gone: Iterable[str] = ()) -> dict[str, HandlerRow]:
        """Return the rows of handlers; a new one begins after the newest event. Forget those ``gone``."""
        wanted, removed = list(names), list(gone)
        store = self._store()
        known = store.look(all_handlers)
        if removed or not known.keys() >= set(wanted):

            def step(rows: Rows) -> dict[str, HandlerRow]:
                for name in removed:
                    drop_handler(rows, name)
                add_missing(rows, wanted)
                return all_handlers(rows)

            known = store.apply(step)
        return {name: known[name] for name in wanted}

    def row(self, name: str) -> HandlerRow | None:
        """Return a handler's row as it is now."""
        return self._store().look(lambda rows: get_handler(rows, name))

    def take(self, name: str) -> HandlerRow | None:
        """Begin or continue to run a handler; None if another server runs it."""
        lasts = self.lasts

        def step(rows: Rows) -> HandlerRow | None:
            row = get_handler(rows, name)
            if (
                row is not None
                and row.owner
                and row.owner != self.owner
                and self._is_dead(row.owner)
            ):
                put_handler(rows, name, row._replace(owner=""))
            return take(rows, name, self.owner, lasts)

        return self._store().apply(step)

    def done(
        self, name: str, entries: Sequence[Entry], upto: int = 0, finish: Finish | None = None
    ) -> bool:
        """Record events as handled, with their result; False if another server took over meanwhile.

        ``upto`` is the last event that was dropped in the meantime.
        """
        last, lasts = entries[-1].seq, self.lasts

        def step(rows: Rows) -> bool:
            row = own_handler(rows, name, self.owner)
            if row is None or row.seq >= last:  # a repeat after an unknown outcome
                return row is not None
            if finish is not None:
                finish(rows)
            count = row.handled + len(entries)
            self._put(rows, name, row, max(last, upto), lasts, handled=count, error="")
            return True

        return self._store().apply(step)

    def skip(self, name: str, entries: Sequence[Entry], why: str, **details: Any) -> bool:
        """Give up on events, and report that in the ledger."""
        last, lasts = entries[-1], self.lasts

        def step(rows: Rows) -> bool:
            row = own_handler(rows, name, self.owner)
            if row is None or row.seq >= last.seq:
                return row is not None
            put_error(
                rows, f"handler:{name}", f"the handler {name} failed on {last.kind} {last.seq}: {why}",
                event=last.seq, events=len(entries), **{MARK: name}, **details,
            )  # fmt: skip
            self._put(
                rows, name, row, last.seq, lasts, skipped=row.skipped + len(entries),
                error=why[:_LONGEST_ERROR], failed_at=rows.now,
            )  # fmt: skip
            return True

        return self._store().apply(step)

    def note(self, name: str, why: str) -> None:
        """Show a failure that is tried again."""

        def step(rows: Rows) -> None:
            row = own_handler(rows, name, self.owner)
            if row is not None and row.error != why:
                new = row._replace(error=why[:_LONGEST_ERROR], failed_at=rows.now)
                put_handler(rows, name, new)

        self._store().apply(step)

    def note_dropped(self, name: str, count: int, seq: int, *, warn: bool) -> None:
        """Count events that were dropped, the last of them ``seq``, and with ``warn`` report it."""

        def step(rows: Rows) -> None:
            row = own_handler(rows, name, self.owner)
            if row is None:
                return
            put_handler(rows, name, row._replace(dropped=row.dropped + count))
            if warn:
                put_error(
                    rows, f"handler-queue:{name}",
                    f"more than {MOST_WAITING} events wait for the handler {name}: "
                    "the oldest are dropped",
                    event=seq, dropped=count, **{MARK: name},
                )  # fmt: skip

        self._store().apply(step)

    def park(self, name: str, why: str) -> None:
        """Record that a handler may not run here, and report it, once."""

        def step(rows: Rows) -> None:
            row = get_handler(rows, name)
            if row is not None and row.error != why:
                put_handler(rows, name, row._replace(error=why, failed_at=rows.now))
                text = f"the handler {name} does not run: {why}"
                put_error(rows, f"handler-parked:{name}", text, **{MARK: name})

        self._store().apply(step)

    def admit(self, name: str, why: str) -> None:
        """Let a handler that was parked for ``why`` begin after the newest event."""

        def step(rows: Rows) -> None:
            row = get_handler(rows, name)
            if row is not None and row.error == why:
                newest = next(rows.events(newest_first=True), None)
                seq = max(row.seq, newest.seq if newest is not None else 0)
                put_handler(rows, name, row._replace(seq=seq, error=""))

        self._store().apply(step)

    def give_back(self, positions: Mapping[str, int]) -> None:
        """Let other servers run these handlers at once, from these events on."""

        def step(rows: Rows) -> None:
            for name, seq in positions.items():
                row = own_handler(rows, name, self.owner)
                if row is not None:
                    new = row._replace(owner="", until=0.0, seq=max(row.seq, seq))
                    put_handler(rows, name, new)

        if positions:
            self._store().apply(step)

    @staticmethod
    def _put(
        rows: Rows, name: str, row: HandlerRow, seq: int, lasts: float, **changes: Any
    ) -> None:
        put_handler(rows, name, row._replace(seq=seq, until=rows.now + lasts, **changes))
