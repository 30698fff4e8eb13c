"""Show agents, claims, and the queue.

--watch updates the view until Ctrl-C: in place on a terminal; elsewhere each change prints a new
view (with --json, one object on each line).

Examples:
  dibs status
  dibs status --mine
  dibs status --watch

exit status: 0 success
"""

from __future__ import annotations

import sys

from dibs.cli.support.parsing import VERBOSE, arg
from dibs.cli.support.session import Session, dated, how_old, print_json, warn_if_old
from dibs.cli.support.tables import table
from dibs.cli.support.text import dim, green, printable, span, yellow
from dibs.core.claims.agents import DEAD, HUMAN, IDLE, STOPPED, WORKING
from dibs.core.text.durations import check_span
from dibs.core.toolcalls.people import PERSON
from dibs.errors import DibsError
from dibs.shapes.claims import overview
from dibs.shapes.quoting import Quoting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator, Sequence

    from dibs.core.claims.rules import Held, Waiter
    from dibs.services.claims.agents import AgentView
    from dibs.services.claims.views import Overview


#: Copies of people's changes are mentioned for this many seconds.
_RECENT = 86_400.0
#: How many stopped or dead agents are listed; the others are counted as ended.
_STOPPED_SHOWN = 5

OPTIONS = (
    arg("--mine", action="store_true", help="show only your claims and your position in the queue"),
    arg("--watch", action="store_true", help="update the view until Ctrl-C"),
    arg("--interval", default="1s", metavar="SPAN", help="refresh interval (default: 1s)"),
    VERBOSE,
)


def run(args: Namespace) -> int:
    """Print a snapshot, once or until Ctrl-C."""
    interval = check_span(args.interval, 0.1, 3600, field="interval", code="INTERVAL")
    with Session(args) as session:
        mine = session.caller.id if args.mine else ""
        if args.watch:
            return _watch(session, lambda: session.project.overview(mine), interval)
        taken = session.project.overview(mine)
        session.show(
            lambda: overview(taken),
            lambda: print("\n".join([*lines(taken, session), *_more_lines(session)])),
        )
    return 0


def _more_lines(session: Session) -> list[str]:
    """Return what is not in the store, but concerns who works on what."""
    try:
        place = session.project.queue_place()
    except DibsError:
        place = ""
    queue = (
        f"lock-file queue on {printable(place)}: `dibs task ls` shows its tasks and their owners"
    )
    return [*(["", queue] if place else []), *_copies_line(session)]


def _copies_line(session: Session) -> list[str]:
    """Return the line about copies of people's uncommitted changes that were saved in the last day."""
    now = session.now()
    try:
        found = session.project.salvage.all()
    except DibsError:  # a project outside git
        return []
    recent = [s for s in found if s.id.startswith(f"{PERSON}/") and now - s.at < _RECENT]
    if not recent:
        return []
    copies = "1 copy" if len(recent) == 1 else f"{len(recent)} copies"
    age = span(max(0.0, now - recent[0].at))
    return [
        "",
        f"saved {copies} of people's uncommitted changes (newest: {age} ago): dibs salvage ls",
    ]


def lines(taken: Overview, session: Session) -> list[str]:
    """Return a snapshot as text."""
    quoted = Quoting(session.caller, map(str, (taken.agents, taken.claims, taken.queue)))
    everyone = [*taken.agents, *taken.stopped[-_STOPPED_SHOWN:]]
    agents = [seen for seen in everyone if seen.agent.role != HUMAN]
    people = [seen for seen in everyone if seen.agent.role == HUMAN]
    parts: list[Sequence[str]] = [[_headline(taken, agents), *_decisions_line(taken)]]
    if agents:
        parts.append(agent_table(agents, quoted, taken.ttl))
    if people:
        facts = [(a.agent.id, f"{span(a.silent_for)} ago", str(a.claims)) for a in people]
        parts.append(table(("PERSON", "SEEN", "CLAIMS"), facts, quoted.width))
    if taken.claims:
        parts.append(_claim_table(taken, quoted, tokens=session.verbose))
    else:
        parts.append(["nothing is claimed"])
    if taken.queue:
        rows = [_queue_row(waiter, quoted, taken.now) for waiter in taken.queue]
        heads = ("QUEUE", "AGENT", "WAITING FOR", "MODE", "GIVES UP IN", "REASON")
        parts.append(table(heads, rows, quoted.width))
    return quoted.page([line for part in parts for line in (*part, "")][:-1])


def _headline(taken: Overview, agents: Sequence[AgentView]) -> str:
    """Return how many agents work, and how many do not."""
    counts: dict[str, int] = {WORKING: 0}
    for seen in agents:
        word = seen.activity(taken.ttl)
        counts[word] = counts.get(word, 0) + 1
    working = counts.pop(WORKING)
    line = f"{working or 'no'} {'agent' if working == 1 else 'agents'} working"
    line += "".join(f", {counts[word]} {word}" for word in (IDLE, DEAD, STOPPED) if word in counts)
    ended = taken.ended - len(taken.stopped[-_STOPPED_SHOWN:])
    return f"{line}, {ended} ended" if ended else line


def _decisions_line(taken: Overview) -> list[str]:
    if not taken.undecided:
        return []
    count, age = len(taken.undecided), span(taken.now - taken.undecided[0])
    pending = (
        f"1 decision pending ({age})"
        if count == 1
        else f"{count} decisions pending (oldest: {age})"
    )
    return [f"{yellow(pending)}: dibs decide ls --pending"]


def agent_table(agents: Sequence[AgentView], quoted: Quoting, ttl: float) -> list[str]:
    """Return agents as a table, those that work first."""
    order = {WORKING: 0, IDLE: 1, DEAD: 2, STOPPED: 3}
    shown = sorted(agents, key=lambda seen: order.get(seen.activity(ttl), 4))
    rows: list[tuple[str, ...]] = [
        (
            a.id,
            quoted.word(a.role, a.id),
            _painted(seen.activity(ttl)),
            f"{span(seen.silent_for)} ago",
            str(seen.claims),
            quoted.word(a.task, a.id) if a.task else "",
        )
        for seen in shown
        for a in (seen.agent,)
    ]
    heads: tuple[str, ...] = ("AGENT", "ROLE", "STATUS", "SEEN", "CLAIMS", "TASK")
    if any(seen.guarded for seen in shown):
        rows = [(*row, seen.guarded or "-") for row, seen in zip(rows, shown, strict=True)]
        heads = (*heads, "GUARDED")
    return table(heads, rows, quoted.width)


def _painted(activity: str) -> str:
    if activity == WORKING:
        return green(activity)
    return yellow(activity) if activity in {DEAD, STOPPED} else dim(activity)


def _claim_table(taken: Overview, quoted: Quoting, *, tokens: bool) -> list[str]:
    heads: tuple[str, ...] = ("CLAIM", "MODE", "OWNER", "EXPIRES IN", "REASON")
    rows = [_claim_row(held, taken.now, quoted) for held in taken.claims]
    if tokens:
        heads = (*heads[:4], "TOKEN", *heads[4:])
        numbers = [str(held.claim.token) for held in taken.claims]
        rows = [(*row[:4], number, *row[4:]) for row, number in zip(rows, numbers, strict=True)]
    return table(heads, rows, quoted.width)


def _claim_row(held: Held, now: float, quoted: Quoting) -> tuple[str, ...]:
    claim = held.claim
    task = "" if claim.pattern == f"task:{claim.task}" else claim.task
    why = _why(claim.reason, task, claim.agent, quoted)
    why += [f"{ask.asker} requested it (reply within {span(ask.until - now)})" for ask in held.asks]
    left = "at exit" if held.while_running else span(held.expires_in)
    pattern = quoted.path(claim.pattern, claim.agent)
    return pattern, claim.mode, claim.agent, left, "; ".join(why)


def _why(reason: str, task: str, agent: str, quoted: Quoting) -> list[str]:
    why = [quoted.word(reason, agent)] if reason else []
    return [*why, f"task {quoted.word(task, agent)}"] if task else why


def _queue_row(waiter: Waiter, quoted: Quoting, now: float) -> tuple[str, ...]:
    ticket = waiter.ticket
    why = _why(ticket.reason, ticket.task, ticket.agent, quoted)
    patterns = ", ".join(quoted.path(pattern, ticket.agent) for pattern in ticket.patterns)
    left = span(waiter.waits_for(now))
    return str(waiter.place), ticket.agent, patterns, ticket.mode, left, "; ".join(why)


def _watch(session: Session, take: Callable[[], Overview], interval: float) -> int:
    """Show a snapshot after every change, and every ``interval`` seconds because times change too."""
    try:
        if sys.stdout.isatty() and not session.json:
            _redraw(session, take, interval)
        else:
            _print_changes(session, take, interval)
    except KeyboardInterrupt:
        pass
    return 0


def _redraw(session: Session, take: Callable[[], Overview], interval: float) -> None:
    from rich.live import Live
    from rich.text import Text

    from dibs.local.signals import leaving_on_end

    def view(taken: Overview) -> Text:
        as_of = session.project.engine.as_of
        old = "" if as_of is None else f"{how_old(as_of)}\n"
        foot = f"\n\n{old}Press Ctrl-C to quit"
        return Text.from_ansi("\n".join(lines(taken, session)) + foot)

    with (
        leaving_on_end(),  # or a kill would leave the terminal on its alternate screen
        Live(auto_refresh=False, screen=True, vertical_overflow="ellipsis") as live,
    ):
        for taken, _ in _snapshots(session, take, interval):
            live.update(view(taken), refresh=True)


def _print_changes(session: Session, take: Callable[[], Overview], interval: float) -> None:
    shown: object = None
    for taken, newest in _snapshots(session, take, interval):
        # An expired claim changes the view without a ledger entry.
        as_of = session.project.engine.as_of
        claims, tickets = [held.claim.id for held in taken.claims], [w.ticket for w in taken.queue]
        seen = (newest, claims, tickets, as_of is None)
        if seen == shown:
            continue
        if session.json:
            print_json(dated(overview(taken), as_of))
        else:
            warn_if_old(as_of)
            head = [] if shown is None else [""]
            print("\n".join([*head, *lines(taken, session)]), flush=True)
        shown = seen


def _snapshots(
    session: Session, take: Callable[[], Overview], interval: float
) -> Iterator[tuple[Overview, int]]:
    engine = session.project.engine
    newest = engine.wait(0, 0)
    while True:
        yield take(), newest
        newest = engine.wait(newest, interval)
