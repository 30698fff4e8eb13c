"""Ask a human to decide between you and the owner of a claim.

The human reads both sides (`dibs decide show ID`), then takes the claim from its owner
(`dibs decide revoke ID`) or rejects your request (`dibs decide refuse ID`). You get a message
either way. Meanwhile, wait with `dibs claim PATTERN --wait 10m` or work on something else.

Examples:
  dibs escalate src/auth.py --note "blocks the release"

exit status: 0 escalated, or no one else holds it
"""

from __future__ import annotations

from dibs.cli.support.parsing import LITERAL, arg
from dibs.cli.support.text import bold, printable
from dibs.shapes.decisions import escalation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.cli.support.session import Session
    from dibs.core.patterns.pattern import Pattern
    from dibs.core.talk.decisions import Decision


OPTIONS = (
    arg("pattern", nargs="+", metavar="PATTERN", help="what you need"),
    arg("--note", default="", metavar="TEXT", help="why; the human sees it"),
    LITERAL,
)


def act(session: Session, args: Namespace) -> None:
    """Escalate, and print the new decisions."""
    patterns = session.patterns(args.pattern, literal=args.literal)
    made = session.project.escalations.escalate(session.caller, patterns, note=args.note)
    session.show(
        lambda: {"escalated": [escalation(decision) for decision in made]},
        lambda: _print(made, patterns),
    )


def _print(made: list[Decision], patterns: list[Pattern]) -> None:
    from shlex import quote

    names = " ".join(quote(printable(pattern.text)) for pattern in patterns)
    for decision in made:
        print(f"escalated as {bold(decision.id)}: {printable(decision.title)}")
    if made:
        print(f"wait for the decision: dibs claim {names} --wait 10m")
    else:
        print(f"no one else holds it; claim it: dibs claim {names}")
