"""Let a human decide between you and whoever holds these.

The human sees both sides and the queue (`dibs decide show ID`), and either takes the claim from its holder
(`dibs decide revoke ID`) or sends you away (`dibs decide refuse ID`). You are told in both cases. Wait
meanwhile with `dibs claim PATTERN --wait 10m`, or work on something else.

exit status: 0, whether a human was asked or nobody else holds it
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
    """Escalate, and print which decisions wait now."""
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
        print(f"{bold(decision.id)} waits for a human: {printable(decision.title)}")
    if made:
        print(f"wait for it: dibs claim {names} --wait 10m")
    else:
        print(f"nobody else holds it, so nobody was asked; claim it: dibs claim {names}")
