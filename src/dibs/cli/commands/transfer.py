"""Hand your claims to another agent, under a new token: a lead hands one to its subagent.

exit status: 0 handed over, 4 you lost it before, 6 you do not hold it, or no such agent works here
"""

from __future__ import annotations

from dibs.cli.support.parsing import LITERAL, REQUEST_ID, arg, number
from dibs.cli.support.text import bold, printable
from dibs.shapes import claims

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.cli.support.session import Session
    from dibs.core.claims.rules import Claim


OPTIONS = (
    arg("pattern", nargs="+", metavar="PATTERN", help="what to hand over"),
    arg("--to", required=True, metavar="AGENT", help="who gets it"),
    arg("--token", type=number, default=0, metavar="N", help="refuse another token"),
    LITERAL,
    REQUEST_ID,
)


def act(session: Session, args: Namespace) -> None:
    """Hand over, and print what the other agent holds now."""
    handed = session.project.holdings.transfer(
        session.caller,
        session.patterns(args.pattern, literal=args.literal),
        to=args.to,
        token=args.token,
        request_id=args.request_id,
    )
    session.show(lambda: {"transferred": claims.claims(handed)}, lambda: _print(handed))


def _print(handed: list[Claim]) -> None:
    for claim in handed:
        print(f"handed {printable(claim.pattern)} to {bold(claim.agent)} (token {claim.token})")
