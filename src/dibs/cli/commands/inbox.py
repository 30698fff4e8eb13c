"""Show your unread messages, oldest first.

This marks them as read. Your next briefing still contains each message once.

Examples:
  dibs inbox
  dibs inbox m41

exit status: 0 success, even if there are none, 6 no such message
"""

from __future__ import annotations

from dibs.cli.support.messages import lines
from dibs.cli.support.parsing import arg
from dibs.errors import BadUsage, Unavailable, Unknown
from dibs.shapes import mail as shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from dibs.cli.support.session import Session
    from dibs.services.talk.mail import Letter

OPTIONS = (
    arg("words", nargs="*", metavar="ID", help="only these messages, such as m41"),
    arg("--all", action="store_true", help="include messages you have read"),
    arg("--sent", action="store_true", help="messages you sent"),
    arg("-f", "--follow", action="store_true", help="print new messages until Ctrl-C"),
)


def run(args: Namespace) -> int:
    """Print messages, and mark them as read."""
    from dibs.cli.support.session import Session

    ways = [args.words, args.all, args.sent, args.follow]
    if sum(map(bool, ways)) > 1:
        raise BadUsage("inbox: use only one of ID, --all, --sent, --follow")
    with Session(args) as session:
        if args.follow:
            return _follow(session)
        return _list(session, args)


def _list(session: Session, args: Namespace) -> int:
    shown, left = session.project.mail.page(
        session.caller, args.words, everything=args.all, sent=args.sent
    )
    unread = not (args.words or args.all or args.sent)
    _show(session, shown, left)
    if not shown and not session.json:
        some = "no unread messages: see those you have read with `dibs inbox --all`"
        print(some if unread else "no messages")
    elif left and not session.json:
        print(
            f"and {left} more; run `dibs inbox` again" if unread else f"and {left} older messages"
        )
    return 0


def _show(session: Session, letters: Sequence[Letter], left: int) -> None:
    """Print messages; only printed ones count as read."""
    import sys

    from dibs.cli.support.session import dated, print_json, warn_if_old

    as_of = session.project.engine.as_of
    if session.json:
        print_json(dated(shapes.inbox(letters, left), as_of))
    else:
        warn_if_old(as_of)
        for line in lines(letters, session.caller, session.now()):
            print(line)
        sys.stdout.flush()
    _mark_read(session, [letter.message.id for letter in letters if not letter.read])


def _mark_read(session: Session, ids: Sequence[str]) -> None:
    try:
        if session.project.engine.as_of is None:
            session.project.mail.read(session.caller, ids)
    except (Unavailable, Unknown):
        return  # showing it again next time does less harm than an error


def _follow(session: Session) -> int:
    """Print unread and then new messages until Ctrl-C; in JSON, one line per message."""
    from dibs.cli.support.session import print_json

    seen: set[str] = set()
    try:
        for letters in session.project.mail.follow(session.caller):
            fresh = [letter for letter in letters if letter.message.id not in seen]
            seen.update(letter.message.id for letter in fresh)
            if fresh and session.json:
                for letter in fresh:
                    print_json(shapes.letter(letter))
                _mark_read(session, [letter.message.id for letter in fresh])
            elif fresh:
                _show(session, fresh, 0)
    except KeyboardInterrupt:
        pass
    return 0
