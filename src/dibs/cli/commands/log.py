"""Show what happened, the newest last.

--since takes a span (10m: the last ten minutes), a time (2026-01-31T14:00, yours unless it names a
zone), or the number of an entry (what came after it). --agent narrows; it does not say who acts.

exit status: 0, also when Ctrl-C ends --follow
"""

from __future__ import annotations

from dibs.cli.support.parsing import number
from dibs.cli.support.tables import table
from dibs.cli.support.text import clock, dim, printable
from dibs.core.claims.ledger import Kind
from dibs.core.text.durations import parse_span
from dibs.core.text.names import closest, quote
from dibs.errors import BadInput, BadUsage
from dibs.shapes import claims
from dibs.shapes.quoting import Quoting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.cli.support.session import Session
    from dibs.core.claims.agents import Caller
    from dibs.core.claims.ledger import Entry
    from dibs.services.state.ledger import Query, Summary

#: How many entries are shown where neither a number nor a beginning is given.
SHOWN = 50
_EVERYTHING = 1 << 62


def configure(parser: ArgumentParser) -> None:
    """Add the options of ``dibs log``."""
    parser.add_argument("-f", "--follow", action="store_true", help="go on until Ctrl-C")
    parser.add_argument("-n", "--lines", type=_count, metavar="N", help="the newest N (50)")
    parser.add_argument(
        "--agent", action="append", default=[], dest="agents", metavar="AGENT", help="only its own"
    )
    parser.add_argument(
        "--kind", action="append", default=[], metavar="KIND", help="only this, e.g. lock_denied"
    )
    parser.add_argument("--since", default="", metavar="WHEN", help="a span, a time, or a number")
    parser.add_argument("--summary", action="store_true", help="only count, over everything")
    parser.set_defaults(agent=None)


def _count(text: str) -> int:
    return 0 if text == "0" else number(text)


def run(args: Namespace) -> int:
    """Print the entries that are asked for, and go on if asked to."""
    from dibs.cli.support.session import Session

    narrowed = args.agents or args.kind or args.since or args.lines is not None
    if args.summary and (args.follow or narrowed):
        raise BadUsage("log: --summary counts everything", hint="give it alone")
    kinds = _kinds(args.kind)
    with Session(args) as session:
        if args.summary:
            summary = session.project.ledger.summary()
            session.show(lambda: claims.summary(summary), lambda: _print_summary(summary))
            return 0
        now = session.now()
        query = _since(args.since, now)._replace(agents=frozenset(args.agents), kinds=kinds)
        limit = (_EVERYTHING if args.since else SHOWN) if args.lines is None else args.lines
        if args.follow:
            return _follow(session, query, limit)
        entries = session.project.ledger.newest(query, limit)
        session.show(
            lambda: [claims.entry(entry) for entry in entries],
            lambda: _print(entries, now, session.caller),
        )
    return 0


def _kinds(words: list[str]) -> frozenset[str]:
    known = list(Kind)
    for word in words:
        if word not in known:
            meant = closest(word, known)
            hint = f"did you mean {meant}?" if meant else f"kinds are {', '.join(known)}"
            message = f"there is no kind of event {quote(word)}"
            raise BadInput(message, code="KIND", field="kind", hint=hint)
    return frozenset(words)


def _since(text: str, now: float) -> Query:
    """Return the query for what comes after a number, a span ago, or a time."""
    from dibs.services.state.ledger import Query

    if not text:
        return Query()
    if text.isascii() and text.isdigit():
        return Query(after=_count(text))
    try:
        return Query(since=now - parse_span(text))
    except BadInput:
        from datetime import datetime

        try:
            moment = datetime.fromisoformat(text).timestamp()
        except (ValueError, OverflowError, OSError):
            raise BadInput(
                f"{quote(text)} is no span, time or number of an entry",
                code="SINCE",
                field="since",
                hint="write for example 10m, 2026-01-31T14:00 or 120",
            ) from None
        return Query(since=moment)


def _follow(session: Session, query: Query, limit: int) -> int:
    """Print what is there and then what comes, until Ctrl-C."""
    from dibs.cli.support.session import print_json, warn_if_old

    fresh = True
    ledger = session.project.ledger
    last = session.project.engine.wait(0, 0)
    try:
        entries = ledger.newest(query, limit)
        start = max(last, entries[-1].seq if entries else 0)
        news = ledger.follow(query._replace(after=start))
        while True:
            if session.json:
                for entry in entries:
                    print_json(claims.entry(entry))
            elif entries:
                _print(entries, ledger.now(), session.caller)
            entries = next(news)
            as_of = session.project.engine.as_of
            if fresh:
                warn_if_old(as_of)  # once, when the remote goes away
            fresh = as_of is None
    except KeyboardInterrupt:
        return 0


def _print(entries: list[Entry], now: float, reader: Caller) -> None:
    quoted = Quoting(reader, map(str, entries))
    lines = []
    for entry in entries:
        head = f"{clock(entry.at, now)} {quoted.word(entry.agent, 'dibs'):<12}"
        # A summary has words of ours and of others; which are which, it does not say.
        said = quoted.word(entry.summary, entry.agent)
        lines.append(f"{dim(head)} {quoted.word(entry.kind, 'dibs'):<17} {said}")
    for line in quoted.page(lines):
        print(line, flush=True)


def _print_summary(summary: Summary) -> None:
    print(f"{summary.entries} entries, numbers {summary.first_seq} to {summary.last_seq}")
    for heading, counts in (("KIND", summary.by_kind), ("AGENT", summary.by_agent)):
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if ranked:
            rows = [(printable(name), str(count)) for name, count in ranked]
            print("", *table((heading, "COUNT"), rows), sep="\n")
