"""Renew all your claims (heartbeat); name some to change their ttl.

Prints your claims, the claims that you lost since the last call, and release requests for your claims.

Examples:
  dibs renew
  dibs renew 'src/**' --ttl 30m

exit status: 0 renewed, 4 you lost a claim
"""

from __future__ import annotations

from dibs.cli.support.outcomes import shortened
from dibs.cli.support.parsing import LITERAL, VERBOSE, arg, number
from dibs.cli.support.text import ask_line, claim_line, lost_line, red, yellow
from dibs.errors import Fenced
from dibs.shapes import claims
from dibs.shapes.quoting import Quoting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.cli.support.session import Session
    from dibs.services.claims.holdings import Renewed


OPTIONS = (
    arg("pattern", nargs="*", metavar="PATTERN", help="change only these claims"),
    arg("--ttl", metavar="SPAN", help="the new ttl of these claims"),
    arg(
        "--token", type=number, default=0, metavar="N", help="fail unless the claim has this token"
    ),
    LITERAL,
    VERBOSE,
)


def act(session: Session, args: Namespace) -> int:
    """Renew, and print the news."""
    patterns = session.patterns(args.pattern, literal=args.literal)
    answer = session.project.holdings.renew(
        session.caller, patterns, ttl=args.ttl, token=args.token
    )
    now = session.now()
    session.show(lambda: claims.renewed(answer), lambda: show_news(answer, now, session))
    return Fenced.exit_status if answer.lost else 0


def show_news(answer: Renewed, now: float, session: Session) -> None:
    """Print an agent's claims, its lost claims, and release requests."""
    # A transferred claim keeps the reason that its former owner gave.
    quoted = Quoting(session.caller, map(str, (*answer.claims, *answer.lost, *answer.asks)))
    held = zip(answer.claims, answer.expires, strict=True)
    lines = [
        f"renewed {claim_line(claim, at - now, quoted, token=session.tokens)}" for claim, at in held
    ]
    lines = shortened(lines, verbose=session.verbose)
    lines += [
        f"{red('lost')}: {lost_line(lost, now, quoted)}; stop working on it" for lost in answer.lost
    ]
    lines += [f"{yellow('release request')}: {ask_line(ask, now, quoted)}" for ask in answer.asks]
    for line in quoted.page(lines):
        print(line)
    if not answer.claims:
        print("you hold no claims")
