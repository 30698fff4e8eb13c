"""Show an agent's uncommitted changes as a diff against the last commit.

Only files that the agent has claimed are included. New files are shown in full. Without AGENT, show your
own changes.

Examples:
  dibs diff
  dibs diff alice
  dibs diff alice 'src/*.py' --stat

exit status: 0 success
"""

from __future__ import annotations

import sys

from dibs.cli.support.text import green, printable, red
from dibs.core.text.names import quote
from dibs.errors import BadUsage
from dibs.shapes.commits import difference

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.cli.support.session import Session
    from dibs.services.commits.changes import Difference


def configure(parser: ArgumentParser) -> None:
    """Add the options of ``dibs diff``."""
    parser.add_argument(
        "pattern", nargs="*", metavar="[AGENT] PATH", help="whose changes, and which files"
    )
    parser.add_argument("--stat", action="store_true", help="show line counts only")


def run(args: Namespace) -> int:
    """Print the changes of the given agent, or of the caller."""
    from dibs.cli.support.session import Session

    with Session(args) as session:
        agent, words = _meant(session, args)
        within = session.patterns(words)
        found = session.project.changes.difference(agent, within, stat=args.stat)
        session.show(lambda: difference(found), lambda: _print(found, words, session.caller.id))
    return 0


def _meant(session: Session, args: Namespace) -> tuple[str, list[str]]:
    """Return the agent whose changes to show, and the words that name files."""
    import os

    words: list[str] = args.pattern
    if args.agent or not words or not session.project.changes.knows(words[0]):
        return session.caller.id, words
    if os.path.lexists(os.path.join(args.repo, words[0])):
        raise BadUsage(
            f"diff: {words[0]} is both an agent and a file",
            hint=f"use --agent {words[0]} for the agent, or ./{words[0]} for the file",
        )
    return words[0], words[1:]


def _print(found: Difference, words: list[str], caller: str) -> None:
    if not found.files:
        among = f" in {', '.join(map(quote, words[:3]))}" if words else ""
        who = f"you ({found.agent}) have" if found.agent == caller else f"{found.agent} has"
        print(f"dibs: {who} no uncommitted changes to claimed files{among}", file=sys.stderr)
    elif sys.stdout.isatty():
        for line in found.text.decode("utf-8", "surrogateescape").rstrip("\n").split("\n"):
            shown = "\t".join(map(printable, line.split("\t")))
            color = {"+": green, "-": red}.get(line[:1], str)
            print(color(shown))
    else:  # exact bytes, so that `git apply` can read them
        sys.stdout.flush()
        sys.stdout.buffer.write(found.text)
        sys.stdout.buffer.flush()
