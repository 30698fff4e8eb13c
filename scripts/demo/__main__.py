"""Watch a crew of scripted agents share one repository: python scripts/demo [--plain] [--keep].

Everything goes through the `dibs` command, as it does for users. The exit status is 1 if anything
did not happen as it must.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import summary
from crew import Agent, DemoError, make_repository
from story import Story
from view import View

CREW = ("alice", "bob", "carol", "dave", "erin")


def main() -> int:
    """Make the sample repository, tell the story in it, and take it away again."""
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--plain", action="store_true", help="no live view")
    parser.add_argument("--keep", action="store_true", help="keep the sample repository")
    parser.add_argument("--pace", type=float, default=0.7, help="seconds to read one line")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="dibs-demo-"))
    try:
        return _play(folder, pace=args.pace, plain=args.plain)
    except KeyboardInterrupt:
        return 130
    finally:
        if args.keep:
            print(f"\nThe sample repository is in {folder / 'shop'}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _play(folder: Path, *, pace: float, plain: bool) -> int:
    main_tree, hotfix = make_repository(folder)
    crew = {name: Agent(name, hotfix if name == "erin" else main_tree) for name in CREW}
    view = View(main_tree, pace=pace, plain=plain)
    try:
        with view:
            story = Story(crew, view, main_tree)
            try:
                story.tell()
            except DemoError as error:
                view.fail(f"the demo failed: {error}")
                return 1
        summary.show(view.console, main_tree, story.fenced)
    except DemoError as error:
        print(f"the demo failed: {error}", file=sys.stderr)
        return 1
    finally:
        for agent in crew.values():
            agent.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
