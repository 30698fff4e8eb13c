"""Answer a coding agent's hook. Agents call this; people rarely need to.

Examples:
  dibs hook claude < payload.json
  dibs hook copilot preToolUse < payload.json

Reads a tool call as JSON from standard input and answers in the agent's format. Unclaimed files are claimed;
the agent's own files are allowed; edits to files that another agent holds are blocked, and the message
names the owner, the reason, and the time left. See docs/reference/hooks.md.

exit status: 0 answered, 2 blocked
"""

from __future__ import annotations

from dibs.cli.support.parsing import arg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace


OPTIONS = (
    arg("name", metavar="AGENT", help="the agent: claude, codex, gemini, …"),
    arg(
        "event",
        metavar="EVENT",
        nargs="?",
        default="",
        help="the event, if the payload does not name it",
    ),
)


def run(args: Namespace) -> int:
    """Read the call, answer it, and confirm."""
    from dibs.guard.agents.program import attend

    return attend([args.name, args.event] if args.event else [args.name])
