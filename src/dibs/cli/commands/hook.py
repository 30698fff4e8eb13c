"""Answer a hook of a coding agent; agents call it, people need not.

Examples:
  dibs hook claude < payload.json
  dibs hook copilot preToolUse < payload.json

Reads the call of a tool as JSON from standard input, and answers in the words of the agent: what the
agent holds or nobody holds passes, and is claimed; what another agent holds is refused, with who, why and
until when. See docs/reference/hooks.md.

exit status: 0 answered, 2 refused
"""

from __future__ import annotations

from dibs.cli.support.parsing import arg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace


OPTIONS = (
    arg("name", metavar="AGENT", help="who calls: claude, codex, gemini, …"),
    arg(
        "event",
        metavar="EVENT",
        nargs="?",
        default="",
        help="what happens, if the call does not say",
    ),
)


def run(args: Namespace) -> int:
    """Read, answer, confirm."""
    from dibs.guard.agents.program import attend

    return attend([args.name, args.event] if args.event else [args.name])
