"""Reply to a release request: yes, later, or no.

  yes    release it now; the first agent in the queue gets it
  later  keep it for now: --in 10m says for how long
  no     keep it; say why with --note

Examples:
  dibs answer src/auth.py yes
  dibs answer m41 later --in 10m --note "tests are running"
  dibs answer 'src/**' no --to bob --note "refactoring, half done"

exit status: 0 replied, 6 no one requested it
"""

from __future__ import annotations

from dibs.cli.support.parsing import LITERAL, arg
from dibs.cli.support.text import bold, clock, printable, span
from dibs.core.talk.mail import id_in
from dibs.shapes import claims

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.cli.support.session import Session
    from dibs.core.claims.rules import Ask


OPTIONS = (
    arg("what", metavar="WHAT", help="the requested pattern, or the message (m41)"),
    arg("answer", metavar="ANSWER", help="yes, later, or no"),
    arg("--note", default="", metavar="TEXT", help="why; the other agent sees it"),
    arg("--in", dest="within", metavar="SPAN", help="when you will release it"),
    arg("--to", default="", metavar="AGENT", help="reply only to this agent"),
    LITERAL,
)


def act(session: Session, args: Namespace) -> None:
    """Send the reply, and print who got it."""
    answered = _answer(session, args)
    session.show(
        lambda: {"answered": [claims.ask(ask) for ask in answered]}, lambda: _print(answered)
    )


def _answer(session: Session, args: Namespace) -> list[Ask]:
    # A file with such a name is written as ./m41.
    message = "" if args.literal else id_in(args.what)
    pattern = None if message else session.patterns([args.what], literal=args.literal)[0]
    return session.project.answers.answer(
        session.caller,
        args.answer,
        pattern=pattern,
        message=message,
        note=args.note,
        within=args.within,
        to=args.to,
    )


def _print(answered: list[Ask]) -> None:
    for ask in answered:
        reply = f"replied {ask.answer} to {bold(ask.asker)}: {printable(ask.pattern)}"
        if ask.answer == "later":
            left = span(ask.promised - ask.answered)
            reply += f" in {left} (by {clock(ask.promised, ask.answered)})"
        print(reply)
    for pattern in dict.fromkeys(ask.pattern for ask in answered if ask.answer == "yes"):
        print(f"released {printable(pattern)}")
