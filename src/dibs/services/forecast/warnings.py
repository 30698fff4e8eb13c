"""Notify both sides of a forecast conflict, once for each set of files."""

from __future__ import annotations

from itertools import combinations

from dibs.core.claims.ledger import Kind
from dibs.core.talk.mail import MailKind
from dibs.core.text.names import few, printable
from dibs.services.state.mailbox import tell
from dibs.services.state.presence import arrive
from dibs.services.state.worktrees import drop_warning, put_warning, warning_key, warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.core.changes.forecasts import Forecast, Pair
    from dibs.core.claims.agents import Caller
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: The most files in a ledger entry.
NAMED = 50
_SHOWN = 3


def warn(store: Store, caller: Caller, forecast: Forecast, clone: str) -> list[Pair]:
    """Record and announce new conflicts; forget resolved ones, so that they are announced if they return.

    On a shared store, each ``clone`` has its own worktrees and branches and changes only its own rows.
    """
    if not store.look(lambda rows: any(_plan(rows, forecast, clone))):
        return []

    def step(rows: Rows) -> list[Pair]:
        fresh, gone = _plan(rows, forecast, clone)
        role = arrive(rows, caller).role if fresh else ""
        for key in gone:
            drop_warning(rows, key)
        for pair in fresh:
            files = [printable(clash.path) for clash in pair.clashes]
            row = {
                "files": pair.digest, "base": forecast.base, "at": rows.now,
                "paths": files[:_SHOWN], "files_named": files[:NAMED], "count": len(files),
            }  # fmt: skip
            put_warning(rows, warning_key(clone, *pair.names), row)
            rows.emit(
                caller.id,
                role,
                Kind.CONFLICT_FORECAST,
                _summary(pair, files),
                agents=list(pair.names),
                files=files[:NAMED],
                count=len(files),
                base=forecast.base,
            )
            for name, other in (pair.names, pair.names[::-1]):
                tell(rows, name, MailKind.FORECAST, tuple(files), sender="", other=printable(other))
        return fresh

    return store.apply(step)


def _plan(rows: Rows, forecast: Forecast, clone: str) -> tuple[list[Pair], list[str]]:
    """Return the pairs to announce, and the keys of warnings that no longer apply."""
    listed = warnings(rows, clone)
    now = {warning_key(clone, *pair.names): pair for pair in forecast.pairs if pair.clashes}
    fresh = [p for key, p in now.items() if listed.get(key, {}).get("files") != p.digest]
    if not listed:
        return fresh, []
    unsaid = {warning_key(clone, *names) for names in _unsaid(forecast)}
    gone = [
        key
        for key, row in listed.items()
        if key not in now and key not in unsaid and row.get("base") == forecast.base
    ]
    return fresh, gone


def _unsaid(forecast: Forecast) -> Iterator[tuple[str, str]]:
    """Yield pairs about which this forecast says nothing: not requested, or unreadable."""
    names = {party.name for party in forecast.parties}
    names |= {item.party for item in forecast.left if not item.path}
    known = set(forecast.compared) - {pair.names for pair in forecast.pairs if pair.why}
    for one, other in combinations(sorted(names), 2):
        if (one, other) not in known and (other, one) not in known:
            yield one, other


def _summary(pair: Pair, files: list[str]) -> str:
    return f"{pair.one} and {pair.other} would conflict in {few(files, _SHOWN)}"
