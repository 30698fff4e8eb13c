"""Show what would conflict if it were merged now: working trees, agents' branches, uncommitted files.

Examples:
  dibs forecast
  dibs forecast alice --no-warn
  dibs forecast --watch

Nothing is merged, checked out or staged. Both sides of a conflict are told through the
ledger (dibs log --kind conflict_forecast), once for each set of files.

exit status: 0 nothing would conflict, 3 something would; with --watch 0 when it is ended
"""

from __future__ import annotations

from dibs.cli.support.parsing import arg, branch
from dibs.shapes.forecast import shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

CONFLICTS = 3

OPTIONS = (
    arg("who", nargs="*", metavar="AGENT", help="only conflicts with these"),
    arg("-w", "--watch", action="store_true", help="go on until Ctrl-C"),
    arg("--base", type=branch, metavar="BRANCH", help="the integration branch ([merge] into)"),
    arg("--no-warn", action="store_true", help="tell nobody else"),
)


def run(args: Namespace) -> int:
    """Look, warn and print; go on if asked to."""
    from dibs.cli.support.session import Session

    with Session(args) as session:
        if args.watch:
            from dibs.cli.commands.forecast.watch import watch

            return watch(session, args)
        from dibs.cli.commands.forecast.text import show

        forecasts = session.project.forecasts
        found = forecasts.once(args.who, args.base or "")
        if not args.no_warn:
            forecasts.warn(session.caller, found)
        session.show(lambda: shape(found), lambda: show(found))
    return CONFLICTS if any(pair.clashes for pair in found.pairs) else 0
