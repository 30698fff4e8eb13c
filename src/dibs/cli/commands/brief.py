"""Show crew status and what is new for you: messages, release requests, changes.

A second call prints nothing unless something changed. After context compaction, use --full.
If printing fails, the next call prints the same briefing.

Examples:
  dibs brief
  dibs brief --full
  dibs brief --peek --tokens 2000

exit status: 0 success, or nothing new
"""

from __future__ import annotations

from dibs.cli.support.parsing import number
from dibs.errors import BadUsage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.cli.support.session import Session
    from dibs.services.briefing.service import Delivery


def configure(parser: ArgumentParser) -> None:
    """Add the options of ``dibs brief``."""
    parser.add_argument("--full", action="store_true", help="show everything, even if unchanged")
    parser.add_argument(
        "--peek", action="store_true", help="show everything, mark nothing as delivered"
    )
    parser.add_argument("--follow", action="store_true", help="print each change until Ctrl-C")
    parser.add_argument(
        "--tokens", type=_tokens, default=0, metavar="N", help="maximum length in tokens"
    )


def _tokens(text: str) -> int:
    from dibs.core.briefing.page import check_budget

    return check_budget(number(text))


def run(args: Namespace) -> int:
    """Print a briefing, and confirm it once it is printed."""
    from dibs.cli.support.session import Session

    if args.peek and (args.full or args.follow):
        raise BadUsage("brief: --peek cannot be combined with --full or --follow")
    if args.full and args.follow:
        raise BadUsage(
            "brief: --full cannot be combined with --follow", hint="run `dibs brief --full` first"
        )
    with Session(args) as session:
        if args.follow:
            return _follow(session, args.tokens)
        briefings = session.project.briefings
        if args.peek or not session.project.store.exists:  # nothing to count deliveries in
            _write(session, briefings.peek(session.caller, budget=args.tokens))
            return 0
        delivery = briefings.prepare(session.caller, full=args.full, budget=args.tokens)
        if delivery is None:
            _say_nothing_new(session)
        elif _write(session, delivery):
            briefings.delivered(session.caller, delivery.number)
    return 0


def _follow(session: Session, budget: int) -> int:
    """Print each change until Ctrl-C or a closed pipe."""
    briefings = session.project.briefings
    try:
        for delivery in briefings.follow(session.caller, budget=budget):
            if not _write(session, delivery):
                return 0
            briefings.delivered(session.caller, delivery.number)
    except KeyboardInterrupt:
        pass
    return 0


def _write(session: Session, delivery: Delivery) -> bool:
    """Print a briefing; return whether all of it was written."""
    from dibs.cli.support.session import dated, print_json, warn_if_old

    as_of = session.project.engine.as_of
    try:
        if session.json:
            from dibs.shapes.briefing import briefing

            print_json(dated(briefing(delivery), as_of))
        else:
            warn_if_old(as_of)
            print(delivery.text + delivery.whole, end="", flush=True)
    except BrokenPipeError:
        from dibs.cli.support import quieten

        quieten()
        return False
    return True


def _say_nothing_new(session: Session) -> None:
    if session.json:
        from dibs.cli.support.session import dated, print_json
        from dibs.shapes.briefing import briefing

        print_json(dated(briefing(None), session.project.engine.as_of))
        return
    import sys

    print("dibs: nothing new; `dibs brief --full` shows everything again", file=sys.stderr)
