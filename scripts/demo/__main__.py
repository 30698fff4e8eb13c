"""Watch scripted agents share one repository, here and in the dashboard.

make demo                     five agents show what claims do (40 seconds)
make demo ARGS=--stay         a crew of eight works until Ctrl-C, to look at the dashboard
make demo ENGINE=redis        two machines that share a Redis server
make demo ENGINE=postgres     two machines that share a PostgreSQL database
make demo ENGINE=git          two machines that share a git remote

The agents run the same `dibs` commands that you would. Each demo has its own server, settings, and
sample repository, prints a link that signs your browser in, and removes everything at the end. The
exit status is 1 if a step fails.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import tempfile
import threading
from pathlib import Path

import stages
import summary
import web
from keeper import remove
from machines import DemoError
from stages import Stage
from stay import Crew, make_machine
from story import Story
from story_machines import TwoMachines, TwoMachinesOnGit
from view import View

from crew import Agent

#: For each engine: where the agents work, and what they do there.
ENGINES = {
    "sqlite": (stages.sqlite, Story),
    "redis": (stages.redis, TwoMachines),
    "postgres": (stages.postgres, TwoMachines),
    "git": (stages.on_git, TwoMachinesOnGit),
}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)


def main() -> int:
    """Create the sample repository, run the demo in it, and remove it."""
    parser = argparse.ArgumentParser(
        prog="make demo",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        default="sqlite",
        help="sqlite: one machine (default); others: two machines that share a server or a remote",
    )
    parser.add_argument("--plain", action="store_true", help="no live view")
    parser.add_argument("--keep", action="store_true", help="keep the sample repository")
    parser.add_argument("--stay", action="store_true", help="keep a crew working until Ctrl-C")
    parser.add_argument("--pace", type=float, default=0.7, help="seconds to show each line")
    args = parser.parse_args()
    for number in SIGNALS:
        signal.signal(number, _interrupt)
    folder = Path(tempfile.mkdtemp(prefix="dibs-demo-"))
    try:
        if args.stay:
            return _stay(folder, plain=args.plain)
        return _play(args.engine, folder, pace=args.pace, plain=args.plain)
    except KeyboardInterrupt:
        _ignore_signals()
        return 130
    except (DemoError, TimeoutError) as error:
        print(f"the demo failed: {error or 'an agent does not respond'}", file=sys.stderr)
        return 1
    finally:
        if args.keep:
            print(f"\nthe sample repository is in {folder}")
        else:
            remove(folder)


def _play(engine: str, folder: Path, *, pace: float, plain: bool) -> int:
    make_stage, make_story = ENGINES[engine]
    with (
        make_stage(folder) as stage,
        web.serve(stage.watcher, folder) as page,
        contextlib.ExitStack() as cleaning,
    ):
        print(page.line(), flush=True)
        crew: dict[str, Agent] = {}
        cleaning.callback(_end, crew)
        for name, machine in stage.places.items():
            crew[name] = Agent(name, machine)
        with View(stage, page, pace=pace, plain=plain) as view:
            story = make_story(crew, view, stage)
            try:
                story.run()
            except DemoError as error:
                view.fail(f"the demo failed: {error}")
                return 1
        summary.show(view.console, stage, story.fenced)
    return 0


def _stay(folder: Path, *, plain: bool) -> int:
    """Keep a crew working; Enter prints a new link for another browser."""
    machine = make_machine(folder)
    with web.serve(machine, folder) as page:
        print(page.line(), flush=True)
        print("press Enter for another link, Ctrl-C to stop", flush=True)
        with (
            View(Stage((machine,), {}), page, pace=0, plain=plain, short=True) as view,
            Crew(machine, view).working(),
        ):
            try:
                while True:
                    _next_line()
                    print(page.line(), flush=True)
            finally:
                _ignore_signals()


def _next_line() -> None:
    """Wait for a line on standard input; forever if there is none."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stdin.readline()):
        threading.Event().wait()


def _interrupt(*_: object) -> None:
    """Stop the demo; try again soon, because Python ignores an exception in a destructor."""
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    raise KeyboardInterrupt


def _ignore_signals() -> None:
    """Ignore further interrupts, so that nothing is left behind."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _end(crew: dict[str, Agent]) -> None:
    """Stop all agents."""
    _ignore_signals()
    for agent in crew.values():
        agent.dismiss()
    for agent in crew.values():
        agent.end()


if __name__ == "__main__":
    sys.exit(main())
