"""Give claims back: those on the patterns named, or all of yours.

A glob also means the paths that you hold inside it.

exit status: 0 released, 4 you lost it before, 6 you do not hold it
"""

from __future__ import annotations

from dibs.cli.support.parsing import LITERAL, REQUEST_ID, arg, number
from dibs.cli.support.text import printable
from dibs.errors import BadUsage
from dibs.shapes import claims

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.core.claims.rules import Claim


OPTIONS = (
    arg("pattern", nargs="*", metavar="PATTERN", help="what to give back"),
    arg("--all", action="store_true", help="everything that you hold"),
    arg("--token", type=number, default=0, metavar="N", help="refuse another token"),
    LITERAL,
    REQUEST_ID,
)


def run(args: Namespace) -> int:
    """Release, and print what was given back."""
    from dibs.cli.support.session import Session

    if bool(args.pattern) == args.all:
        raise BadUsage("release: name patterns, or give --all", hint="see `dibs release --help`")
    with Session(args) as session:
        released = session.project.holdings.release(
            session.caller,
            session.patterns(args.pattern, literal=args.literal),
            token=args.token,
            request_id=args.request_id,
        )
        shape = {"released": claims.claims(released)}
        session.show(lambda: shape, lambda: _print(released))
    return 0


def _print(released: list[Claim]) -> None:
    for claim in released:
        print(f"released {printable(claim.pattern)}")
    if not released:
        print("you held nothing")
