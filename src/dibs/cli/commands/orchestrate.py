"""Run the board: accept edited files, assign tasks, create follow-ups, warn, archive.

Examples:
  dibs orchestrate
  dibs orchestrate --watch

Runs one cycle, or with --watch one cycle per change until Ctrl-C. It is safe to run
several at once. Tasks go to the agent or role that they name; the others stay in the
inbox, where any agent can take them.

exit status: 0 done, even if files were set aside; 69 store unreachable
"""

from __future__ import annotations

import time

from dibs.cli.support.text import printable, yellow
from dibs.core.text.durations import check_span
from dibs.errors import BadUsage, DibsError, Misconfigured, Unavailable, Unknown, system_error
from dibs.shapes import tasks as shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

    from dibs.cli.support.session import Session
    from dibs.engines.base import Engine
    from dibs.services.board.orchestrator import Cycle

#: How often to check the board when nothing signals a change, and the longest single wait, in seconds.
EVERY, SLICE = 2.0, 0.5


def configure(parser: ArgumentParser) -> None:
    """Add the options of ``dibs orchestrate``."""
    parser.add_argument("--once", action="store_true", help="run one cycle (default)")
    parser.add_argument("-w", "--watch", action="store_true", help="keep running until Ctrl-C")
    parser.add_argument("--every", metavar="SPAN", help="with --watch: longest pause (default: 2s)")
    parser.add_argument(
        "--push", action="store_true", help="push the board's commits to the branch's upstream"
    )


def run(args: Namespace) -> int:
    """Run one cycle, or cycles until interrupted."""
    from dibs.cli.support.session import Session
    from dibs.services.board.orchestrator import Orchestrator

    if args.once and args.watch:
        raise BadUsage(
            "orchestrate: --once and --watch exclude each other", hint="use only one of them"
        )
    if args.every is not None and not args.watch:
        raise BadUsage("orchestrate: --every requires --watch", hint="add --watch")
    every = None if args.every is None else _span(args.every)
    with Session(args) as session:
        project = session.project
        state = project.place.repository.state
        orchestrator = Orchestrator(project.store, project.board, state, push=args.push)

        def cycle() -> Cycle:
            return orchestrator.cycle(session.caller)

        if args.watch:
            return _watch(session, cycle, every or EVERY)
        done = cycle()
        session.show(lambda: shapes.cycle(done), lambda: _print(done))
        if not (session.json or done.busy or project.board.begun()):
            print('  no tasks: create one with `dibs task new "TITLE"`')
    return 0


def _span(text: str) -> float:
    return check_span(text, 1.0, 86_400.0, field="every", code="SPAN")


def _print(cycle: Cycle) -> None:
    """Print the summary of a cycle, then everything that needs attention."""
    print(cycle.line())
    for found in cycle.aside:
        print(f"  {yellow('set aside')} {printable(str(found))}")
    for _, message in cycle.troubles:
        print(f"  {yellow('problem')} {printable(message)}")
    for task, action in cycle.timeouts:
        print(f"  {yellow('stuck')} {printable(task)}: {action}")
    for first, second, path in cycle.conflicts:
        pair = f"{printable(first)} and {printable(second)}"
        print(f"  {yellow('conflict')} {pair}: both work on {printable(path)}")
    for name in cycle.restored:
        id_ = printable(name.rpartition("/")[2].rpartition(".")[0])
        print(f"  restored {printable(name)}")
        print(f"    to cancel the task: dibs task cancel {id_} --reason TEXT")
    if cycle.left:
        print(f"  {yellow('not committed')}: {printable(cycle.left)}")
    if cycle.unpushed:
        print(f"  {yellow('not pushed')}: {printable(cycle.unpushed)}")


def _watch(session: Session, cycle: Callable[[], Cycle], every: float) -> int:
    """Run cycles until interrupted; print the first one, then those that changed something."""
    from dibs.local.signals import leaving_on_end

    printed: object = None
    lost = False
    with leaving_on_end():
        try:
            while True:
                try:
                    mark = session.project.engine.wait(0, 0)
                    done = _run(cycle)
                    lost = False
                    remarks = (done.aside, done.troubles, done.left, done.unpushed)
                    if printed is None or done.moved or remarks != printed:
                        session.show(lambda: shapes.cycle(done), lambda: _print(done))  # noqa: B023
                    printed = remarks
                    _wait(session.project.engine, mark, every)
                except (Unavailable, Unknown, Misconfigured) as error:
                    if isinstance(error, Misconfigured) and error.code != "BOARD_FOLDER":
                        raise
                    lost = _say_once(error, lost)
                    time.sleep(min(every, EVERY))
        except KeyboardInterrupt:
            return 0


def _wait(engine: Engine, after: int, longest: float) -> None:
    """Wait for a ledger entry after ``after``, at most ``longest`` seconds."""
    until = time.monotonic() + longest
    while (left := until - time.monotonic()) > 0:
        if engine.wait(after, min(SLICE, left)) > after:
            return


def _run(cycle: Callable[[], Cycle]) -> Cycle:
    """Run a cycle; a folder that is moved or removed meanwhile is an error that may pass.

    A signal takes effect when the cycle has ended.
    """
    from dibs.local.signals import defer

    deliver = defer()
    try:
        return cycle()
    except OSError as error:
        raise system_error(error) from error
    finally:
        deliver()


def _say_once(error: DibsError, lost: bool) -> bool:
    """Report that the store or the board is unusable, the first time only; return True."""
    import sys

    if not lost:
        print(f"dibs: {printable(error.message)}; retrying", file=sys.stderr, flush=True)
    return True
