"""Show who works here, what is claimed, and who waits for what.

With --watch the view follows every change until Ctrl-C: on a terminal it is redrawn in place,
elsewhere each change prints a new one (with --json, one object on each line).

exit status: 0
"""

from __future__ import annotations

import sys

from dibs.cli.support.parsing import arg
from dibs.cli.support.session import Session, dated, how_old, print_json, warn_if_old
from dibs.cli.support.tables import table
from dibs.cli.support.text import span, yellow
from dibs.core.text.durations import check_span
from dibs.shapes.claims import overview
from dibs.shapes.quoting import Quoting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator, Sequence

    from dibs.core.claims.agents import Caller
    from dibs.core.claims.rules import Held, Waiter
    from dibs.services.claims.agents import AgentView
    from dibs.services.claims.views import Overview


OPTIONS = (
    arg("--mine", action="store_true", help="only what is yours"),
    arg("--watch", action="store_true", help="follow every change until Ctrl-C"),
    arg("--interval", default="1s", metavar="SPAN", help="redraw so often (1s)"),
)


def run(args: Namespace) -> int:
    """Take a snapshot and print it, once or for ever."""
    interval = check_span(args.interval, 0.1, 3600, field="interval", code="INTERVAL")
    with Session(args) as session:
        mine = session.caller.id if args.mine else ""
        if args.watch:
            return _watch(session, lambda: session.project.overview(mine), interval)
        taken = session.project.overview(mine)
        session.show(
            lambda: overview(taken), lambda: print("\n".join(lines(taken, session.caller)))
        )
    return 0


def lines(taken: Overview, reader: Caller) -> list[str]:
    """Return a snapshot as text."""
    quoted = Quoting(reader, map(str, (taken.agents, taken.claims, taken.queue)))
    parts: list[Sequence[str]] = [[_agents_line(taken), *_decisions_line(taken)]]
    if taken.agents:
        parts.append(agent_table(taken.agents, quoted))
    if taken.claims:
        rows = [_claim_row(held, taken.now, quoted) for held in taken.claims]
        parts.append(_table(quoted, ("CLAIM", "MODE", "AGENT", "LEFT", "WHY"), rows))
    else:
        parts.append(["nothing is claimed: `dibs claim PATH` takes what you need"])
    if taken.queue:
        rows = [_queue_row(waiter, quoted) for waiter in taken.queue]
        parts.append(_table(quoted, ("QUEUE", "AGENT", "WAITS FOR", "MODE", "LEFT", "WHY"), rows))
    return quoted.page([line for part in parts for line in (*part, "")][:-1])


def _table(quoted: Quoting, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lay out rows of which some have text of others."""
    return table(headings, rows, quoted.width)


def _agents_line(taken: Overview) -> str:
    count = len(taken.agents)
    work = {0: "nobody works here", 1: "1 agent works here"}.get(count, f"{count} agents work here")
    return work + (f"; {taken.ended} ended" if taken.ended else "")


def _decisions_line(taken: Overview) -> list[str]:
    if not taken.undecided:
        return []
    count, age = len(taken.undecided), span(taken.now - taken.undecided[0])
    wait = "1 decision waits" if count == 1 else f"{count} decisions wait, the oldest"
    return [f"{yellow(f'{wait} for {age}')}: dibs decide ls --pending"]


def agent_table(agents: Sequence[AgentView], quoted: Quoting) -> list[str]:
    """Return agents as a table."""
    rows: list[tuple[str, ...]] = [
        (
            a.id,
            quoted.word(a.role, a.id),
            quoted.word(a.status, a.id),
            f"{span(seen.silent_for)} ago",
            str(seen.claims),
            quoted.word(a.task, a.id) if a.task else "",
        )
        for seen in agents
        for a in (seen.agent,)
    ]
    heads: tuple[str, ...] = ("AGENT", "ROLE", "STATUS", "SEEN", "CLAIMS", "TASK")
    if any(seen.guarded for seen in agents):
        rows = [(*row, seen.guarded or "-") for row, seen in zip(rows, agents, strict=True)]
        heads = (*heads, "GUARDED")
    return _table(quoted, heads, rows)


def _claim_row(held: Held, now: float, quoted: Quoting) -> tuple[str, ...]:
    claim = held.claim
    why = _why(claim.reason, claim.task, claim.agent, quoted)
    why += [f"{ask.asker} asks for it, in {span(ask.until - now)}" for ask in held.asks]
    left = span(held.expires_in)
    pattern = quoted.path(claim.pattern, claim.agent)
    return pattern, claim.mode, claim.agent, left, "; ".join(why)


def _why(reason: str, task: str, agent: str, quoted: Quoting) -> list[str]:
    why = [quoted.word(reason, agent)] if reason else []
    return [*why, f"task {quoted.word(task, agent)}"] if task else why


def _queue_row(waiter: Waiter, quoted: Quoting) -> tuple[str, ...]:
    ticket = waiter.ticket
    why = _why(ticket.reason, ticket.task, ticket.agent, quoted)
    patterns = ", ".join(quoted.path(pattern, ticket.agent) for pattern in ticket.patterns)
    left = span(waiter.gives_up_in)
    return str(waiter.place), ticket.agent, patterns, ticket.mode, left, "; ".join(why)


def _watch(session: Session, take: Callable[[], Overview], interval: float) -> int:
    """Show a snapshot on every change, and as often as ``interval`` says for what time changes."""
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
        foot = f"\n\n{old}Ctrl-C ends the view"
        return Text.from_ansi("\n".join(lines(taken, session.caller)) + foot)

    with (
        leaving_on_end(),  # else a plain kill would leave the terminal on its other screen
        Live(auto_refresh=False, screen=True, vertical_overflow="ellipsis") as live,
    ):
        for taken, _ in _snapshots(session, take, interval):
            live.update(view(taken), refresh=True)


def _print_changes(session: Session, take: Callable[[], Overview], interval: float) -> None:
    shown: object = None
    for taken, newest in _snapshots(session, take, interval):
        # A claim that runs out changes the view without any word in the ledger.
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
            print("\n".join([*head, *lines(taken, session.caller)]), flush=True)
        shown = seen


def _snapshots(
    session: Session, take: Callable[[], Overview], interval: float
) -> Iterator[tuple[Overview, int]]:
    engine = session.project.engine
    newest = engine.wait(0, 0)
    while True:
        yield take(), newest
        newest = engine.wait(newest, interval)
