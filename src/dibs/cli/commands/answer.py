"""Answer those who ask for a claim of yours; they are told at once.

  yes    give it back now; who waits for it gets it
  later  keep it, and promise it: --in 10m
  no     keep it; say why with --note

Examples:
  dibs answer src/auth.py yes
  dibs answer m41 later --in 10m --note "tests are running"
  dibs answer 'src/**' no --to bob --note "half of it is moved"

exit status: 0 answered, 6 nobody asks you for it
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
    arg("what", metavar="WHAT", help="what you are asked for, or the message (m41)"),
    arg("answer", metavar="ANSWER", help="yes, later or no"),
    arg("--note", default="", metavar="TEXT", help="why; the asker sees it"),
    arg("--in", dest="within", metavar="SPAN", help="when you will give it back"),
    arg("--to", default="", metavar="ASKER", help="answer only this agent"),
    LITERAL,
)


def act(session: Session, args: Namespace) -> None:
    """Answer, and print who was told what."""
    answered = _answer(session, args)
    session.show(
        lambda: {"answered": [claims.ask(ask) for ask in answered]}, lambda: _print(answered)
    )


def _answer(session: Session, args: Namespace) -> list[Ask]:
    # A file of such a name is meant by ./m41.
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
        what = f"told {bold(ask.asker)}: {ask.answer} to {printable(ask.pattern)}"
        if ask.answer == "later":
            what += (
                f", by {clock(ask.promised, ask.answered)}, in {span(ask.promised - ask.answered)}"
            )
        print(what)
    for pattern in dict.fromkeys(ask.pattern for ask in answered if ask.answer == "yes"):
        print(f"released {printable(pattern)}")
