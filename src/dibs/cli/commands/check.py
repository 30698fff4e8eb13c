"""Tell whether these would be free for you now; change nothing.

exit status: 0 free, 3 held by somebody else
"""

from __future__ import annotations

from dibs.cli.support import HELD
from dibs.cli.support.parsing import LITERAL, arg
from dibs.cli.support.text import conflict_line, green, red
from dibs.core.claims.rules import EXCLUSIVE, SHARED
from dibs.shapes import claims
from dibs.shapes.quoting import Quoting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.cli.support.session import Session
    from dibs.core.claims.agents import Caller
    from dibs.core.claims.rules import Conflict


OPTIONS = (
    arg("pattern", nargs="+", metavar="PATTERN", help="path, glob, dir/ or name:x"),
    arg("--shared", action="store_true", help="as a shared claim"),
    LITERAL,
)


def act(session: Session, args: Namespace) -> int:
    """Look, and print what is in the way."""
    patterns = session.patterns(args.pattern, literal=args.literal)
    mode = SHARED if args.shared else EXCLUSIVE
    conflicts = session.project.claims.check(session.caller, patterns, mode)
    shape = {"free": not conflicts, "conflicts": [claims.conflict(c) for c in conflicts]}
    session.show(lambda: shape, lambda: _print(conflicts, session.caller))
    return HELD if conflicts else 0


def _print(conflicts: tuple[Conflict, ...], reader: Caller) -> None:
    quoted = Quoting(reader, map(str, conflicts))
    lines = [f"  {conflict_line(conflict, quoted)}" for conflict in conflicts]
    print("\n".join(quoted.page(lines, [red("held") if conflicts else green("free")])))
