"""Views that follow every change until Ctrl-C: redrawn on a terminal, printed anew elsewhere."""

from __future__ import annotations

import sys

from dibs.cli.commands.status import lines
from dibs.cli.support.session import dated, how_old, print_json, warn_if_old
from dibs.shapes.claims import overview

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.cli.support.session import Session
    from dibs.services.claims.agents import Overview


def watch(session: Session, take: Callable[[], Overview], interval: float) -> int:
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
