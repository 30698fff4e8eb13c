"""Telling both sides of a coming conflict, once: the ledger has an entry for each new set of files."""

from __future__ import annotations

from urllib.parse import quote

from dibs.core.index import Range
from dibs.core.ledger import Kind
from dibs.core.names import printable
from dibs.services.book import decode, encode
from dibs.services.presence import arrive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.agents import Caller
    from dibs.core.forecasts import Forecast, Pair
    from dibs.services.book import Book
    from dibs.services.desk import Desk

#: Where it is noted which files a pair was warned of.
WARNED = "warned/"
#: How many files an entry of the ledger names.
NAMED = 50
_SHOWN = 3


def warn(desk: Desk, caller: Caller, forecast: Forecast) -> list[Pair]:
    """Write what is new into the ledger; forget conflicts that are gone, so that new ones are told again."""
    if not desk.look(lambda book: any(_plan(book, forecast))):
        return []

    def step(book: Book) -> list[Pair]:
        fresh, gone = _plan(book, forecast)
        role = arrive(book, caller).role if fresh else ""
        for key in gone:
            book.txn.delete(key)
        for pair in fresh:
            files = [printable(clash.path) for clash in pair.clashes]
            book.txn.put(_key(*pair.names), encode({"files": pair.digest, "at": book.now}))
            book.emit(
                caller.id,
                role,
                Kind.CONFLICT_FORECAST,
                _summary(pair, files),
                agents=list(pair.names),
                files=files[:NAMED],
                count=len(files),
                base=forecast.base,
            )
        return fresh

    return desk.apply(step)


def _plan(book: Book, forecast: Forecast) -> tuple[list[Pair], list[str]]:
    """Return the pairs to warn of, and the keys of warnings that hold no more."""
    rows = dict(book.txn.scan(Range(WARNED)))
    looked_at = _looked_at(forecast) if rows else set()
    now = {_key(*pair.names): pair for pair in forecast.pairs if pair.clashes}
    fresh = [
        pair
        for key, pair in now.items()
        if key not in rows or decode(rows[key]).get("files") != pair.digest
    ]
    return fresh, [key for key in rows if key in looked_at and key not in now]


def _looked_at(forecast: Forecast) -> set[str]:
    """Return the keys of all pairs that a forecast says something of.

    Others stay: on a common store they are of other clones, or one side could not be read just now.
    """
    unknown = {pair.names for pair in forecast.pairs if not pair.related}
    return {_key(*names) for names in forecast.compared if names not in unknown}


def _key(one: str, other: str) -> str:
    first, second = sorted((one, other))
    return f"{WARNED}{_plain(first)}//{_plain(second)}"


def _plain(name: str) -> str:
    return quote(name.encode("utf-8", "surrogateescape"), safe="@+")


def _summary(pair: Pair, files: list[str]) -> str:
    more = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
    return f"{pair.one} and {pair.other} would conflict in {', '.join(files[:_SHOWN])}{more}"
