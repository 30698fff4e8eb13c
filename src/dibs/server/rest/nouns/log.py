"""The ledger."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from dibs.core.claims.log_filters import (
    content_filter,
    parse_since,
    parse_time,
    stored_kinds,
)
from dibs.server.rest.routes import (
    PAGE,
    ApiRoute,
    Body,
    Call,
    Cursor,
    Name,
    NoBody,
    Number,
    PageSize,
    PathText,
)
from dibs.server.rest.wire.paging import forged
from dibs.server.security.identity import TokenScope
from dibs.services.state.ledger import Query
from dibs.shapes import claims as shapes

Names = Annotated[list[Name], Meta(max_length=100)]
Places = Annotated[list[PathText], Meta(max_length=64)]
#: How many numbers one answer has at most; a ledger can be larger.
MOST_NUMBERS = 200_000


class LogFilter(Body, frozen=True):
    """Which entries are meant."""

    agent: Annotated[Names, Meta(description="only entries of these agents")] = []
    kind: Annotated[Names, Meta(description="only these kinds, such as claim_denied")] = []
    path: Annotated[
        Places, Meta(description="only entries about these files, folders, or globs")
    ] = []
    text: Annotated[Name, Meta(description="only entries with all of these words")] = ""
    since: Annotated[Name, Meta(description="a duration, a time, or an entry's number")] = ""
    until: Annotated[Name, Meta(description="a duration before now, or a time")] = ""

    def query(self, call: Call) -> Query:
        """Return the query for the ledger."""
        now = call.project.ledger.now() if self.since or self.until else 0.0
        after, since = parse_since(self.since, now)
        until = parse_time(self.until, now, "until") if self.until else 0.0
        content = content_filter(self.path, self.text, until)
        return Query(
            frozenset(self.agent), stored_kinds(self.kind), since, after,
            content if any(content) else None,
        )  # fmt: skip


class LogQuery(LogFilter, frozen=True):
    """Which entries to list, and in which order."""

    limit: PageSize = PAGE
    cursor: Cursor = ""
    order: Annotated[Literal["newest", "oldest"], Meta(description="which entry is first")] = (
        "newest"
    )
    seq: Annotated[
        list[Number],
        Meta(
            max_length=90,
            description="exactly the entries with these numbers, whatever else is asked",
        ),
    ] = []


def listed(call: Call, body: LogQuery) -> Any:
    """Return entries; a cursor is the number of the last one."""
    ledger = call.project.ledger
    oldest = body.order == "oldest"
    if body.seq:
        chosen = ledger.at(body.seq)
        ordered = chosen if oldest else chosen[::-1]
        return {"entries": [shapes.entry(one) for one in ordered], "next_cursor": None}
    seal = call.seal(body.order)
    last = seal.open(body.cursor) if body.cursor else 0
    if not isinstance(last, int):
        raise forged()
    query = body.query(call)
    query = query._replace(after=max(query.after, last if oldest else 0))
    found = ledger.select(query, body.limit + 1, before=0 if oldest else last, oldest_first=oldest)
    shown = found[: body.limit]
    more = len(found) > body.limit
    return {
        "entries": [shapes.entry(one) for one in shown],
        "next_cursor": seal.close(shown[-1].seq) if more else None,
    }


def numbers(call: Call, body: LogFilter) -> Any:
    """Return the numbers of the matching entries."""
    ranges, count, last = call.project.ledger.numbers(body.query(call), MOST_NUMBERS)
    return {"ranges": ranges, "count": count, "complete": count < MOST_NUMBERS, "last": last}


def summary(call: Call, _: NoBody) -> Any:
    """Count the entries."""
    return shapes.summary(call.project.ledger.summary())


ROUTES = (
    ApiRoute(
        "GET", "/log", "log.list", "List what happened, the newest first",
        "entries:entry*", listed, LogQuery, TokenScope.READ,
    ),
    ApiRoute(
        "GET", "/log/numbers", "log.numbers", "List the numbers of entries, the newest first, as ranges",
        "ranges:int* count:int complete:bool last:int", numbers, LogFilter, TokenScope.READ,
    ),
    ApiRoute(
        "GET", "/log/summary", "log.summary", "Count the entries by kind and by agent",
        "entries:int first_seq:int last_seq:int by_kind:any by_agent:any", summary,
        scope=TokenScope.READ,
    ),
)  # fmt: skip
