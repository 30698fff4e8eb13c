"""Transfer your claims to another agent, for example to a subagent. Each claim gets a new token.

Examples:
  dibs transfer src/auth.py --to tester-1

exit status: 0 transferred, 4 you had already lost it, 6 you do not hold it, or there is no such agent
"""

from __future__ import annotations

from dibs.cli.support.parsing import LITERAL, REQUEST_ID, VERBOSE, arg, number
from dibs.cli.support.text import bold, printable
from dibs.shapes import claims

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.cli.support.session import Session
    from dibs.core.claims.rules import Claim


OPTIONS = (
    arg("pattern", nargs="+", metavar="PATTERN", help="the claims to transfer"),
    arg("--to", required=True, metavar="AGENT", help="the new owner"),
    arg(
        "--token", type=number, default=0, metavar="N", help="fail unless the claim has this token"
    ),
    LITERAL,
    REQUEST_ID,
    VERBOSE,
)


def act(session: Session, args: Namespace) -> None:
    """Transfer the claims, and print them."""
    handed = session.project.holdings.transfer(
        session.caller,
        session.patterns(args.pattern, literal=args.literal),
        to=args.to,
        token=args.token,
        request_id=args.request_id,
    )
    session.show(lambda: {"transferred": claims.claims(handed)}, lambda: _print(handed, session))


def _print(handed: list[Claim], session: Session) -> None:
    for claim in handed:
        token = f" (token {claim.token})" if session.tokens else ""
        print(f"transferred {printable(claim.pattern)} to {bold(claim.agent)}{token}")
