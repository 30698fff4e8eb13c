"""Take from their holders all claims that overlap a pattern. Only a human may.

Each holder is told, with your reason, and what it does under its old token is refused.

exit status: 0 revoked, 6 nobody holds it, 77 an agent tried
"""

from __future__ import annotations

from dibs.errors import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.core.claims.rules import Claim


def configure(parser: ArgumentParser) -> None:
    """Add the options of ``dibs revoke``."""
    parser.add_argument("pattern", metavar="PATTERN", help="what to take")
    parser.add_argument("--reason", required=True, metavar="TEXT", help="why; the holder sees it")
    parser.add_argument("--literal", action="store_true", help="no character is special")


def run(args: Namespace) -> int:
    """Revoke, and print what was taken from whom."""
    from dibs.cli.support.session import Session
    from dibs.shapes import claims

    with Session(args) as session:
        (pattern,) = session.patterns([args.pattern], literal=args.literal)
        revoked = session.project.holdings.revoke(session.caller, pattern, reason=args.reason)
        if not revoked:
            message = f"nobody holds anything that overlaps {pattern.text}"
            raise NotFound(message, code="NOT_HELD", hint="`dibs status` shows what is held")
        session.show(lambda: {"revoked": claims.claims(revoked)}, lambda: _print(revoked))
    return 0


def _print(revoked: list[Claim]) -> None:
    from dibs.cli.support.text import bold, printable

    for claim in revoked:
        what = f"{printable(claim.pattern)} ({claim.mode}, token {claim.token})"
        print(f"revoked {what} from {bold(claim.agent)}")
