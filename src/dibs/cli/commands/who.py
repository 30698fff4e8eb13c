"""Show who holds a path, or waits for it; a glob means everything that overlaps it.

exit status: 0 the question is answered, whether somebody holds it or not
"""

from __future__ import annotations

from dibs.cli.support.parsing import LITERAL, arg
from dibs.cli.support.text import green, holder_line, printable, waiter_line
from dibs.shapes import claims
from dibs.shapes.quoting import Quoting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.cli.support.session import Session
    from dibs.core.claims.agents import Caller
    from dibs.core.claims.rules import Held, Waiter

    Around = tuple[list[Held], list[Waiter]]


OPTIONS = (
    arg("pattern", nargs="+", metavar="PATH", help="path, glob, dir/ or name:x"),
    LITERAL,
)


def act(session: Session, args: Namespace) -> None:
    """Look up each path, and print its holders and waiters."""
    patterns = session.patterns(args.pattern, literal=args.literal)
    found = {p.text: session.project.claims.overlapping(p) for p in patterns}
    session.show(lambda: _shape(found), lambda: _print(found, session.caller))


def _shape(found: dict[str, Around]) -> dict[str, object]:
    return {
        "paths": [
            {
                "path": path,
                "holders": [claims.held(held) for held in holders],
                "waiters": [claims.waiter(waiter) for waiter in waiters],
            }
            for path, (holders, waiters) in found.items()
        ]
    }


def _print(found: dict[str, Around], reader: Caller) -> None:
    quoted = Quoting(reader, map(str, found.values()))
    lines = []
    for path, (holders, waiters) in found.items():
        lines.append(f"{printable(path)}: {'held' if holders else green('nobody holds it')}")
        lines += [f"  {holder_line(held, quoted)}" for held in holders]
        lines += [f"  {waiter_line(waiter, quoted)}" for waiter in waiters]
    print("\n".join(quoted.page(lines)))
