"""Show whether you could claim these patterns now; claim nothing.

Examples:
  dibs check src/auth.py && echo unclaimed
  dibs check --shared 'schema/*.sql'

exit status: 0 you could claim them, 3 another agent holds at least one
"""

from __future__ import annotations

from dibs.cli.support import HELD
from dibs.cli.support.parsing import LITERAL, arg
from dibs.cli.support.text import conflict_details, conflict_line, green, red
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
    arg("pattern", nargs="+", metavar="PATTERN", help="path, glob, dir/, or name:x"),
    arg("--shared", action="store_true", help="check for a shared claim"),
    LITERAL,
)


def act(session: Session, args: Namespace) -> int:
    """Print the claims that are in the way."""
    patterns = session.patterns(args.pattern, literal=args.literal)
    mode = SHARED if args.shared else EXCLUSIVE
    conflicts = session.project.claims.check(session.caller, patterns, mode)
    shape = {"free": not conflicts, "conflicts": [claims.conflict(c) for c in conflicts]}
    session.show(lambda: shape, lambda: _print(conflicts, session.caller))
    return HELD if conflicts else 0


def _print(conflicts: tuple[Conflict, ...], reader: Caller) -> None:
    quoted = Quoting(reader, map(str, conflicts))
    lines = []
    for conflict in conflicts:
        lines.append(f"  {conflict_line(conflict, quoted)}")
        lines += [f"    {detail}" for detail in conflict_details(conflict, quoted)]
    headline = red("claimed by another agent") if conflicts else green("available")
    print("\n".join(quoted.page(lines, [headline])))
