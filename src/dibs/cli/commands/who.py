"""Show who holds a path, and who is waiting for it; for a glob, everything that overlaps it.

Examples:
  dibs who src/auth.py
  dibs who 'src/**' port:8000

exit status: 0 success, whether the path is claimed or not
"""

from __future__ import annotations

from dibs.cli.support.parsing import LITERAL, VERBOSE, arg
from dibs.cli.support.text import green, holder_line, printable, waiter_line
from dibs.errors import BadUsage
from dibs.project.lock_tasks import around
from dibs.shapes import claims
from dibs.shapes.quoting import Quoting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.cli.support.session import Session
    from dibs.core.claims.rules import Held, Waiter

    Around = tuple[list[Held], list[Waiter]]


OPTIONS = (
    arg("pattern", nargs="+", metavar="PATH", help="path, glob, dir/, or name:x"),
    LITERAL,
    VERBOSE,
)


def act(session: Session, args: Namespace) -> None:
    """Look up each path, and print its owners and waiters."""
    if [word.lower() for word in args.pattern] == ["am", "i"]:
        raise BadUsage("who: shows who holds a path", hint="did you mean 'dibs whoami'?")
    patterns = session.patterns(args.pattern, literal=args.literal)
    found = {p.text: around(session.project, p) for p in patterns}
    session.show(lambda: claims.who(found), lambda: _print(found, session))


def _print(found: dict[str, Around], session: Session) -> None:
    quoted = Quoting(session.caller, map(str, found.values()))
    lines = []
    for path, (holders, waiters) in found.items():
        lines.append(f"{printable(path)}: {'claimed' if holders else green('unclaimed')}")
        lines += [f"  {holder_line(held, quoted, token=session.tokens)}" for held in holders]
        lines += [f"  {waiter_line(waiter, quoted)}" for waiter in waiters]
    print("\n".join(quoted.page(lines)))
