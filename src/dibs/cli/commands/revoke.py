"""Take from their holders all claims that overlap a pattern. Only a human may.

Each holder is told, with your reason, and what it does under its old token is refused.

exit status: 0 revoked, 6 nobody holds it, 77 an agent tried
"""

from __future__ import annotations

from dibs.cli.support.parsing import LITERAL, arg
from dibs.cli.support.text import bold, printable
from dibs.errors import NotFound
from dibs.shapes import claims

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.cli.support.session import Session
    from dibs.core.claims.rules import Claim


OPTIONS = (
    arg("pattern", metavar="PATTERN", help="what to take"),
    arg("--reason", required=True, metavar="TEXT", help="why; the holder sees it"),
    LITERAL,
)


def act(session: Session, args: Namespace) -> None:
    """Revoke, and print what was taken from whom."""
    (pattern,) = session.patterns([args.pattern], literal=args.literal)
    revoked = session.project.holdings.revoke(session.caller, pattern, reason=args.reason)
    if not revoked:
        message = f"nobody holds anything that overlaps {pattern.text}"
        raise NotFound(message, code="NOT_HELD", hint="`dibs status` shows what is held")
    session.show(lambda: {"revoked": claims.claims(revoked)}, lambda: _print(revoked))


def _print(revoked: list[Claim]) -> None:
    for claim in revoked:
        what = f"{printable(claim.pattern)} ({claim.mode}, token {claim.token})"
        print(f"revoked {what} from {bold(claim.agent)}")
