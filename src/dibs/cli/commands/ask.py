"""Ask the owner of a claim to release it; the owner sees the request at its next step.

Examples:
  dibs ask src/auth.py --note "one-line fix"
  dibs ask 'src/**' --within 15m

exit status: 0 requested, or no one else holds it
"""

from __future__ import annotations

from dibs.cli.support.parsing import LITERAL, arg
from dibs.cli.support.text import bold, clock, printable, span
from dibs.shapes import claims
from dibs.shapes.quoting import Quoting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.cli.support.session import Session
    from dibs.core.claims.agents import Caller
    from dibs.core.claims.rules import Ask
    from dibs.core.patterns.pattern import Pattern


OPTIONS = (
    arg("pattern", nargs="+", metavar="PATTERN", help="what you need"),
    arg("--within", default="5m", metavar="SPAN", help="how soon you need it (default: 5m)"),
    arg("--note", default="", metavar="TEXT", help="why; the owner sees it"),
    LITERAL,
)


def act(session: Session, args: Namespace) -> None:
    """Send release requests, and print who got one."""
    patterns = session.patterns(args.pattern, literal=args.literal)
    asked = session.project.holdings.ask(
        session.caller, patterns, within=args.within, note=args.note
    )
    session.show(
        lambda: {"asked": [claims.ask(ask) for ask in asked]},
        lambda: _print(asked, patterns, session.caller),
    )


def _print(asked: list[Ask], patterns: list[Pattern], reader: Caller) -> None:
    from shlex import quote

    quoted = Quoting(reader, map(str, asked))
    lines = []
    for ask in asked:
        within = f"within {span(ask.until - ask.at)} (by {clock(ask.until, ask.at)})"
        what = quoted.path(ask.pattern, ask.holder)
        lines.append(f"asked {bold(ask.holder)} to release {what} {within}")
    for line in quoted.page(lines):
        print(line)
    if not asked:
        names = " ".join(quote(printable(pattern.text)) for pattern in patterns)
        print(f"no one else holds it; claim it: dibs claim {names}")
