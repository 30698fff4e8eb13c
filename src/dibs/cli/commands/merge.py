"""Merge agents' branches into the integration branch, one at a time.

Without BRANCH, merge your own branch agent/ID, or else the branch that is checked out here. An agent must
have claimed every path that its branch changes, and the tests must pass. A branch that conflicts or fails
the tests stays as it is and becomes a task on the board; the other branches are merged.

Examples:
  dibs merge
  dibs merge agent/alice agent/bob --test "make test"
  dibs merge --all --dry-run

exit status: 0 merged, or nothing to merge; 3 a branch was refused, or the wait for the merge queue timed
out; 4 you lost your turn during the merge
"""

from __future__ import annotations

from dibs.cli.support.parsing import branch
from dibs.cli.support.text import bold, dim, green, printable, red, span
from dibs.errors import BadUsage
from dibs.shapes import merging
from dibs.shapes.merging import headline, next_step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.cli.support.session import Session
    from dibs.services.merging.values import MergeReport, MergeRequest, MergeVerdict

HELD = 3
#: The most lines shown for one refusal.
SHOWN = 20
#: What is wrong with a path that no other agent holds.
WHY = {
    "unclaimed": "{agent} had not claimed it",
    "forged": "Dibs has no record of this commit by {agent}",
    "undone": "a merge by {agent} dropped other agents' changes",
    "guarded": "reserved for humans",
}
WAIT = "10m"


def configure(parser: ArgumentParser) -> None:
    """Add the options of ``dibs merge``."""
    add = parser.add_argument
    add("branch", nargs="*", metavar="BRANCH", help="branch to merge (default: your own)")
    add("--into", type=branch, metavar="BRANCH", help="integration branch (default: [merge] into)")
    add("--all", action="store_true", help="merge every agent/* branch that has new commits")
    add("--test", metavar="COMMAND", help="command that must pass (default: [merge] test)")
    add("--no-test", action="store_true", help="skip the tests")
    add(
        "--wait",
        default=WAIT,
        metavar="SPAN",
        help=f"wait in the queue for at most SPAN (default: {WAIT})",
    )
    add("-m", "--message", default="", metavar="TEXT", help="message of the merge commit")
    add("--allow-unclaimed", action="store_true", help="allow unclaimed changes (humans only)")
    add("-n", "--dry-run", action="store_true", help="show what would happen")


def run(args: Namespace) -> int:
    """Merge, print the result for each branch, and return the exit status."""
    from dibs.cli.support.progress import Progress
    from dibs.cli.support.session import Session
    from dibs.local.signals import leaving_on_end
    from dibs.services.merging.queue import QueueTimeout

    request = _request(args)
    with Session(args) as session, leaving_on_end():
        try:
            with Progress(quiet=args.json) as progress:
                report = session.project.merges.merge(session.caller, request, progress)
        except QueueTimeout as taken:
            from dibs.cli.commands.claim import show

            show(session, taken.answer)
            return HELD
        _show(session, report)
    return 0 if report.fine else HELD


def _request(args: Namespace) -> MergeRequest:
    from dibs.services.merging.values import MergeRequest

    if args.all and args.branch:
        raise BadUsage("merge: --all cannot be combined with BRANCH")
    if args.no_test and args.test is not None:
        raise BadUsage("merge: --test cannot be combined with --no-test")
    test = "" if args.no_test else args.test
    wait = 0 if args.wait in {"0", "0s"} else args.wait
    return MergeRequest(
        tuple(args.branch), args.into or "", args.all, test, wait, args.message,
        args.allow_unclaimed, args.dry_run,
    )  # fmt: skip


def _show(session: Session, report: MergeReport) -> None:
    def shape() -> object:
        return merging.report(report)

    session.show(shape, lambda: _print(report))


def _print(report: MergeReport) -> None:
    for verdict in report.verdicts:
        _print_verdict(verdict)
    if not report.verdicts:
        print(f"nothing to merge into {printable(report.into)}")
    if report.tree:
        print(dim(f"updated {printable(report.tree)}"))
    for note in report.notes:
        print(dim(printable(note)))


def _print_verdict(verdict: MergeVerdict) -> None:
    from dibs.services.merging.values import FINE

    fine = verdict.end in FINE
    mark = green("ok") if fine else red("refused")
    print(f"{mark} {bold(printable(verdict.branch))}: {printable(headline(verdict))}")
    lines = [*_outside_lines(verdict), *_clash_lines(verdict)]
    if verdict.run is not None:
        lines += [*verdict.run.tail, f"full output: {verdict.run.log}"]
    lines += verdict.notes
    for line in lines[:SHOWN]:
        print(f"  {printable(line)}")
    if len(lines) > SHOWN:
        print(dim(f"  and {len(lines) - SHOWN} more"))
    if verdict.task:
        print(f"  task {printable(verdict.task)}")
    if not fine:
        print(f"  {dim('-')} {printable(next_step(verdict))}")


def _outside_lines(verdict: MergeVerdict) -> list[str]:
    lines = []
    for one in verdict.outside:
        if one.holder:
            left = f"expires in {span(one.expires_in)} unless renewed"
            why = f"{one.holder} holds {one.pattern} ({left})"
        else:
            where = f" in {one.commit[:10]}" if one.commit else ""
            why = WHY[one.why].format(agent=one.agent) + where
        lines.append(f"{one.path}: {why}")
    return lines


def _clash_lines(verdict: MergeVerdict) -> list[str]:
    lines = []
    for clash in verdict.clashes:
        hunks = f", {clash.hunks} hunk{'s' if clash.hunks != 1 else ''}" if clash.hunks else ""
        lines.append(f"{clash.path}: {clash.kind}{hunks}")
    return lines
