"""Watch five scripted agents share one repository.

The agents run the same `dibs` commands that you would. The exit status is 1 if any step does not
happen as it must.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import stages
import summary
from crew import Agent
from machines import DemoError
from story import Story
from story_machines import TwoMachines, TwoMachinesOnGit
from view import View

#: For each engine: where the agents work, and what they do there.
ENGINES = {
    "sqlite": (stages.sqlite, Story),
    "redis": (stages.redis, TwoMachines),
    "git": (stages.on_git, TwoMachinesOnGit),
}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> int:
    """Create the sample repository, run the demo in it, and remove it."""
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        default="sqlite",
        help="sqlite: one machine (default); redis, git: two machines that share a server or a remote",
    )
    parser.add_argument("--plain", action="store_true", help="no live view")
    parser.add_argument("--keep", action="store_true", help="keep the sample repository")
    parser.add_argument("--pace", type=float, default=0.7, help="seconds to show each line")
    args = parser.parse_args()
    for number in SIGNALS:
        signal.signal(number, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="dibs-demo-"))
    try:
        return _play(args.engine, folder, pace=args.pace, plain=args.plain)
    except KeyboardInterrupt:
        return 130
    except (DemoError, TimeoutError) as error:
        print(f"the demo failed: {error or 'an agent does not respond'}", file=sys.stderr)
        return 1
    finally:
        if args.keep:
            print(f"\nthe sample repository is in {folder}")
        else:
            _remove(folder)


def _play(engine: str, folder: Path, *, pace: float, plain: bool) -> int:
    make_stage, make_story = ENGINES[engine]
    with make_stage(folder) as stage, contextlib.ExitStack() as cleaning:
        crew: dict[str, Agent] = {}
        cleaning.callback(_end, crew)
        for name, machine in stage.places.items():
            crew[name] = Agent(name, machine)
        with View(stage, pace=pace, plain=plain) as view:
            story = make_story(crew, view, stage)
            try:
                story.run()
            except DemoError as error:
                view.fail(f"the demo failed: {error}")
                return 1
        summary.show(view.console, stage, story.fenced)
    return 0


def _end(crew: dict[str, Agent]) -> None:
    """Stop all agents; ignore further interrupts, so that nothing is left behind."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    for agent in crew.values():
        agent.dismiss()
    for agent in crew.values():
        agent.end()


def _remove(folder: Path) -> None:
    """Remove the folder, even if an interrupted command still writes to it."""
    for _ in range(20):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main())
