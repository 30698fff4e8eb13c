"""Show the ledger: what happened, the newest entry last.

--since takes a duration (10m: the last ten minutes), a time (2026-01-31T14:00, local unless it has
a zone), or the number of an entry (the entries after it). --agent filters; it does not set who acts.

Examples:
  dibs log --since 1h
  dibs log --follow --agent alice
  dibs log --kind claim_denied
  dibs log --summary

exit status: 0 success, also after Ctrl-C ends --follow
"""

from __future__ import annotations

from dibs.cli.support.parsing import number
from dibs.cli.support.tables import page_width, table, wrapped
from dibs.cli.support.text import bold, clock, dim, printable
from dibs.core.claims.log_filters import parse_since, shown_kind, stored_kinds
from dibs.errors import BadUsage
from dibs.shapes import claims
from dibs.shapes.quoting import Quoting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.cli.support.session import Session
    from dibs.core.claims.agents import Caller
    from dibs.core.claims.ledger import Entry
    from dibs.services.state.ledger import Query, Summary

#: How many entries are shown without --lines and --since.
SHOWN = 50
_EVERYTHING = 1 << 62
#: Wide enough for the names that Dibs gives to agents, such as claude-7f3a21c4.
_AGENT_WIDTH, _MOST_AGENT_WIDTH = 15, 24
_KIND_WIDTH = 18
#: A terminal that is narrower shows each summary on lines of its own.
_NARROW = 72


def configure(parser: ArgumentParser) -> None:
    """Add the options of ``dibs log``."""
    parser.add_argument(
        "-f", "--follow", action="store_true", help="print new entries until Ctrl-C"
    )
    parser.add_argument(
        "-n", "--lines", type=_count, metavar="N", help="the newest N entries (default: 50)"
    )
    parser.add_argument(
        "--agent",
        action="append",
        default=[],
        dest="agents",
        metavar="AGENT",
        help="only this agent's entries",
    )
    parser.add_argument(
        "--kind",
        action="append",
        default=[],
        metavar="KIND",
        help="only this kind, e.g. claim_denied",
    )
    parser.add_argument(
        "--since", default="", metavar="WHEN", help="a duration, a time, or an entry's number"
    )
    parser.add_argument("--summary", action="store_true", help="only count all entries")
    parser.set_defaults(agent=None)


def _count(text: str) -> int:
    return 0 if text == "0" else number(text)


def run(args: Namespace) -> int:
    """Print entries, and follow the ledger if asked to."""
    from dibs.cli.support.session import Session
    from dibs.services.state.ledger import Query

    narrowed = args.agents or args.kind or args.since or args.lines is not None
    if args.summary and (args.follow or narrowed):
        raise BadUsage("log: --summary counts everything", hint="use --summary alone")
    kinds = stored_kinds(args.kind)
    with Session(args) as session:
        if args.summary:
            summary = session.project.ledger.summary()
            session.show(lambda: claims.summary(summary), lambda: _print_summary(summary))
            return 0
        now = session.now()
        after, since = parse_since(args.since, now)
        query = Query(frozenset(args.agents), kinds, since, after)
        limit = (_EVERYTHING if args.since else SHOWN) if args.lines is None else args.lines
        if args.follow:
            return _follow(session, query, limit)
        entries = session.project.ledger.newest(query, limit)

        def text() -> None:
            _print(entries, now, session.caller)

        session.show(lambda: [claims.entry(entry) for entry in entries], text)
    return 0


def _follow(session: Session, query: Query, limit: int) -> int:
    """Print the newest entries and then every new one, until Ctrl-C."""
    from dibs.cli.support.session import print_json, warn_if_old

    fresh, day = True, ""
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
                day = _print(entries, ledger.now(), session.caller, day)
            entries = next(news)
            as_of = session.project.engine.as_of
            if fresh:
                warn_if_old(as_of)  # once, when the remote becomes unreachable
            fresh = as_of is None
    except KeyboardInterrupt:
        return 0


def _print(entries: list[Entry], now: float, reader: Caller, day: str = "") -> str:
    """Print entries under their dates, and return the last date; ``day`` is already printed.

    Entries from today need no heading if no other day comes before them.
    """
    quoted = Quoting(reader, map(str, entries))
    lines, shown = [], day or _day(now)
    width = max((len(entry.agent) for entry in entries), default=0)
    for entry in entries:
        if _day(entry.at) != shown:
            shown = _day(entry.at)
            lines.append(bold(shown))
        lines += _entry_lines(entry, min(max(width, _AGENT_WIDTH), _MOST_AGENT_WIDTH), quoted)
    for line in quoted.page(lines):
        print(line, flush=True)
    return shown


def _day(moment: float) -> str:
    import time

    return time.strftime("%Y-%m-%d", time.localtime(moment))


def _entry_lines(entry: Entry, width: int, quoted: Quoting) -> list[str]:
    """Return one line for an entry; a terminal gets its summary wrapped under itself."""
    import sys

    head = f"{clock(entry.at, entry.at)} {quoted.word(entry.agent, 'dibs'):<{width}}"
    kind = quoted.word(shown_kind(entry.kind), "dibs")
    # A summary mixes our words with other agents' and does not say which are which.
    summary = quoted.word(entry.summary, entry.agent)
    page = page_width()
    if quoted.legend or not sys.stdout.isatty():
        return [f"{dim(head)} {kind:<{_KIND_WIDTH}} {summary}"]
    if page < _NARROW:
        pieces = wrapped(summary, max(page - 2, 1))
        return [*wrapped(f"{dim(head.rstrip())} {kind}", page), *(f"  {piece}" for piece in pieces)]
    indent = len(head) + max(len(kind), _KIND_WIDTH) + 2
    first, *rest = wrapped(summary, max(page - indent, 1))
    more = [" " * indent + piece for piece in rest]
    return [f"{dim(head)} {kind:<{_KIND_WIDTH}} {first}", *more]


def _print_summary(summary: Summary) -> None:
    print(f"{summary.entries} entries, numbered {summary.first_seq} to {summary.last_seq}")
    kinds = {shown_kind(kind): count for kind, count in summary.by_kind.items()}
    for heading, counts in (("KIND", kinds), ("AGENT", summary.by_agent)):
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if ranked:
            rows = [(printable(name), str(count)) for name, count in ranked]
            print("", *table((heading, "COUNT"), rows), sep="\n")
