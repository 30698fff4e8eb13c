"""Give a sign of life, which renews all your claims; name some to give them a new ttl.

Prints what you hold, what you lost since you were last told, and who asks you for something.

exit status: 0 renewed, 4 a claim of yours was lost
"""

from __future__ import annotations

from dibs.cli.support.parsing import LITERAL, arg, number
from dibs.cli.support.text import ask_line, claim_line, lost_line, red, yellow
from dibs.errors import Fenced
from dibs.shapes import claims
from dibs.shapes.quoting import Quoting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.cli.support.session import Session
    from dibs.core.claims.agents import Caller
    from dibs.services.claims.holdings import Renewed


OPTIONS = (
    arg("pattern", nargs="*", metavar="PATTERN", help="only these claims"),
    arg("--ttl", metavar="SPAN", help="their new ttl"),
    arg("--token", type=number, default=0, metavar="N", help="refuse another token"),
    LITERAL,
)


def act(session: Session, args: Namespace) -> int:
    """Renew, and print what is held, lost and asked for."""
    patterns = session.patterns(args.pattern, literal=args.literal)
    answer = session.project.holdings.renew(
        session.caller, patterns, ttl=args.ttl, token=args.token
    )
    now = session.now()
    session.show(lambda: claims.renewed(answer), lambda: show_news(answer, now, session.caller))
    return Fenced.exit_status if answer.lost else 0


def show_news(answer: Renewed, now: float, reader: Caller) -> None:
    """Print what an agent holds, what it lost, and what it is asked for."""
    # A claim that was handed over keeps the reason of whoever had it before.
    quoted = Quoting(reader, map(str, (*answer.claims, *answer.lost, *answer.asks)))
    held = zip(answer.claims, answer.expires, strict=True)
    lines = [f"renewed {claim_line(claim, at - now, quoted)}" for claim, at in held]
    lines += [
        f"{red('lost')} {lost_line(lost, quoted)}; stop working on it" for lost in answer.lost
    ]
    lines += [f"{yellow('asked')} {ask_line(ask, now, quoted)}" for ask in answer.asks]
    for line in quoted.page(lines):
        print(line)
    if not answer.claims:
        print("you hold nothing")
