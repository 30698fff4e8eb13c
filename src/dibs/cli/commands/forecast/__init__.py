"""Show which work would conflict if it were merged now, including uncommitted changes.

Compares worktrees and agents' branches in pairs. Nothing is merged, checked out, or staged. Dibs notifies
both sides of each new conflict.

Examples:
  dibs forecast
  dibs forecast alice --no-warn

exit status: 0 no conflicts, 3 conflicts found
"""

from __future__ import annotations

from dibs.cli.support.parsing import arg, branch
from dibs.shapes.forecast import shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

CONFLICTS = 3

OPTIONS = (
    arg("who", nargs="*", metavar="AGENT", help="only conflicts of these agents"),
    arg("--base", type=branch, metavar="BRANCH", help="integration branch (default: [merge] into)"),
    arg("--no-warn", action="store_true", help="do not notify the agents"),
)


def run(args: Namespace) -> int:
    """Print the forecast and notify the agents."""
    from dibs.cli.commands.forecast.text import show
    from dibs.cli.support.progress import Progress
    from dibs.cli.support.session import Session

    with Session(args) as session:
        forecasts = session.project.forecasts
        with Progress(quiet=session.json) as progress:
            found = forecasts.once(args.who, args.base or "", progress)
        if not args.no_warn:
            forecasts.warn(session.caller, found)
        session.show(lambda: shape(found), lambda: show(found))
    return CONFLICTS if any(pair.clashes for pair in found.pairs) else 0
