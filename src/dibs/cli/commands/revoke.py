"""Revoke all claims that overlap a pattern. Only humans can revoke.

Each owner gets a message with your reason and can no longer commit under that claim.

Examples:
  dibs revoke src/auth.py --reason "alice is stuck"

exit status: 0 revoked, 6 no one holds it, 77 you are not a human
"""

from __future__ import annotations

from dibs.cli.support.parsing import LITERAL, VERBOSE, arg
from dibs.cli.support.text import bold, printable
from dibs.errors import NotFound
from dibs.shapes import claims

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.cli.support.session import Session
    from dibs.core.claims.rules import Claim


OPTIONS = (
    arg("pattern", metavar="PATTERN", help="what to revoke"),
    arg("--reason", required=True, metavar="TEXT", help="why; the owner sees it"),
    LITERAL,
    VERBOSE,
)


def act(session: Session, args: Namespace) -> None:
    """Revoke, and print each claim with its former owner."""
    (pattern,) = session.patterns([args.pattern], literal=args.literal)
    revoked = session.project.holdings.revoke(session.caller, pattern, reason=args.reason)
    if not revoked:
        message = f"no one holds a claim that overlaps {pattern.text}"
        raise NotFound(message, code="NOT_HELD", hint="`dibs status` shows what is claimed")
    session.show(lambda: {"revoked": claims.claims(revoked)}, lambda: _print(revoked, session))


def _print(revoked: list[Claim], session: Session) -> None:
    for claim in revoked:
        token = f" (token {claim.token})" if session.tokens else ""
        print(f"revoked {printable(claim.pattern)} from {bold(claim.agent)}{token}")
