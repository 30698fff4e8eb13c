"""Release your claims: those that you name, or all of them.

A glob also releases the paths that you hold inside it.

Examples:
  dibs release src/auth.py
  dibs release 'src/**'
  dibs release --all

exit status: 0 released, 4 you had already lost it, 6 you do not hold it
"""

from __future__ import annotations

from dibs.cli.support.parsing import LITERAL, REQUEST_ID, VERBOSE, arg, number
from dibs.cli.support.text import printable, yellow
from dibs.errors import BadUsage
from dibs.shapes import claims

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.cli.support.session import Session
    from dibs.core.claims.rules import Claim, LeftWork


OPTIONS = (
    arg("pattern", nargs="*", metavar="PATTERN", help="the claims to release"),
    arg("--all", action="store_true", help="release everything that you hold"),
    arg(
        "--token", type=number, default=0, metavar="N", help="fail unless the claim has this token"
    ),
    LITERAL,
    REQUEST_ID,
    VERBOSE,
)


def run(args: Namespace) -> int:
    """Release, and print the released patterns."""
    from dibs.cli.support.session import Session

    if bool(args.pattern) == args.all:
        raise BadUsage(
            "release: name some patterns, or use --all", hint="see `dibs release --help`"
        )
    with Session(args) as session:
        released = session.project.holdings.release(
            session.caller,
            session.patterns(args.pattern, literal=args.literal),
            token=args.token,
            request_id=args.request_id,
        )
        left = session.project.holdings.left(session.caller.id, released)
        session.show(
            lambda: claims.released(released, left), lambda: _print(released, left, session)
        )
    return 0


def _print(released: list[Claim], left: list[LeftWork], session: Session) -> None:
    from dibs.cli.support.outcomes import shortened

    if not released:
        print("you hold no claims")
        return
    lines = [f"released {printable(claim.pattern)}" for claim in released]
    print("\n".join(shortened(lines, verbose=session.verbose)))
    if left:
        notes = [f"{printable(one.path)} has uncommitted changes ({one.about})" for one in left]
        for line in shortened(notes, verbose=session.verbose):
            print(f"  {yellow('note')}: {line.lstrip()}")
