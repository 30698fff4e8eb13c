"""Merge branches into the integration branch: one merge at a time, scope and tests first.

Examples:
  dibs merge
  dibs merge agent/alice agent/bob --test "make test"
  dibs merge --all --dry-run

Without BRANCH your own branch agent/ID is merged, else the one that is checked out here. Each
path that it changes must have been claimed by its agent. A branch that clashes, or breaks the
tests, stays as it is and becomes a task on the board; the others land.

exit status: 0 merged, or nothing to merge; 3 a branch was refused, or the queue was not free in
time; 4 the queue was lost on the way
"""

from __future__ import annotations

import sys

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
#: How many paths of a refusal are shown.
SHOWN = 20
WAIT = "10m"


def configure(parser: ArgumentParser) -> None:
    """Add the options of ``dibs merge``."""
    add = parser.add_argument
    add("branch", nargs="*", metavar="BRANCH", help="what to merge (your own branch)")
    add("--into", type=branch, metavar="BRANCH", help="the integration branch ([merge] into)")
    add("--all", action="store_true", help="all branches agent/* that have something to merge")
    add("--test", metavar="COMMAND", help="what must succeed first ([merge] test)")
    add("--no-test", action="store_true", help="run no test")
    add("--wait", default=WAIT, metavar="SPAN", help=f"wait in the queue for so long ({WAIT})")
    add("-m", "--message", default="", metavar="TEXT", help="the message of the merge commit")
    add("--allow-unclaimed", action="store_true", help="merge what nobody had claimed (humans)")
    add("-n", "--dry-run", action="store_true", help="only say what would happen")


def run(args: Namespace) -> int:
    """Merge, print what became of each branch, and return the exit status."""
    from dibs.cli.support.session import Session
    from dibs.local.signals import leaving_on_end
    from dibs.services.commits.gate import nothing
    from dibs.services.merging.queue import QueueTimeout

    wish = _wish(args)
    told = nothing if args.json else _print_progress
    with Session(args) as session, leaving_on_end():
        try:
            report = session.project.merges.merge(session.caller, wish, told)
        except QueueTimeout as taken:
            from dibs.cli.commands.claim import show

            show(session, taken.answer)
            return HELD
        _show(session, report)
    return 0 if report.fine else HELD


def _wish(args: Namespace) -> MergeRequest:
    from dibs.services.merging.values import MergeRequest

    if args.all and args.branch:
        raise BadUsage("merge: --all and BRANCH exclude each other", hint="give one")
    if args.no_test and args.test is not None:
        raise BadUsage("merge: --test and --no-test exclude each other", hint="give one")
    test = "" if args.no_test else args.test
    wait = 0 if args.wait in {"0", "0s"} else args.wait
    return MergeRequest(
        tuple(args.branch), args.into or "", args.all, test, wait, args.message,
        args.allow_unclaimed, args.dry_run,
    )  # fmt: skip


def _print_progress(line: str) -> None:
    from dibs.core.text.names import printable

    print(f"dibs: {printable(line)}", file=sys.stderr, flush=True)


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
        print(dim(f"brought forward: {printable(report.tree)}"))
    for note in report.notes:
        print(dim(printable(note)))


def _print_verdict(verdict: MergeVerdict) -> None:
    from dibs.services.merging.values import FINE

    fine = verdict.end in FINE
    mark = green("ok") if fine else red("refused")
    print(f"{mark} {bold(printable(verdict.branch))}: {printable(headline(verdict))}")
    lines = [*_outside_lines(verdict), *_clash_lines(verdict)]
    if verdict.run is not None:
        lines += [*verdict.run.tail, f"the whole output: {verdict.run.log}"]
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
            why = f"{one.holder} holds {one.pattern} ({span(one.expires_in)} left)"
        else:
            where = f" in {one.commit[:10]}" if one.commit else ""
            why = f"{one.why}{where} ({one.agent})"
        lines.append(f"{one.path}: {why}")
    return lines


def _clash_lines(verdict: MergeVerdict) -> list[str]:
    lines = []
    for clash in verdict.clashes:
        places = f", {clash.hunks} place{'s' if clash.hunks != 1 else ''}" if clash.hunks else ""
        lines.append(f"{clash.path}: {clash.kind}{places}")
    return lines
