"""Say something to an agent, a role, a group, all, or the human.

TO is an agent, a group, a role, all or human; agent:NAME, group:NAME and role:NAME have one meaning
where a name fits several. Without TEXT, or with -, the text comes from standard input.

Examples:
  dibs say alice "the login tests fail on main"
  dibs say reviewer "please look at branch fix-42" --ack --within 10m
  dibs say all "main is frozen until noon" --priority urgent
  dibs say --reply m41 "done"

A message waits until it is read, and stands in its reader's next briefing. Secrets in it are masked.

exit status: 0 said, 6 nobody of that name is here, 65 too long, 69 too many messages: try later
"""

from __future__ import annotations

from dibs.cli.support.parsing import arg
from dibs.cli.support.text import bold, printable, yellow
from dibs.core.text.names import few
from dibs.errors import BadInput, BadUsage
from dibs.shapes import mail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.core.talk.mail import Message

#: How much of standard input is looked at; what is longer is too long in any case.
_MOST = 1 << 17

OPTIONS = (
    arg("to", nargs="?", metavar="TO", help="to whom; not with --reply"),
    arg("words", nargs="*", metavar="TEXT", help="what; - for standard input"),
    arg("--reply", default="", metavar="ID", help="answer a message"),
    arg("--all", action="store_true", help="with --reply: to all of the thread"),
    arg("--priority", default="normal", metavar="WORD", help="urgent, high, normal or low"),
    arg("--ack", action="store_true", help="ask for an acknowledgement"),
    arg("--within", metavar="SPAN", help="how soon; you are told if it does not come"),
    arg("--request-id", default="", metavar="ID", help="makes a repeat harmless"),
)


def run(args: Namespace) -> int:
    """Say it, and print who gets it."""
    to, text = _parts(args)
    from dibs.cli.support.session import Session

    with Session(args) as session:
        message = session.project.mail.say(
            session.caller, to, text,
            reply_to=args.reply, everybody=args.all, priority=args.priority, wants_ack=args.ack,
            within=args.within, request_id=args.request_id,
        )  # fmt: skip
        session.show(lambda: mail.message(message), lambda: _print(message))
    return 0


def _parts(args: Namespace) -> tuple[str, str]:
    """Return to whom and what; the text from standard input where none is given."""
    words: list[str] = list(args.words) if args.to is None else [args.to, *args.words]
    if args.all and not args.reply:
        raise BadUsage("say: --all goes with --reply", hint="`dibs say all TEXT` tells everybody")
    if args.reply:
        to = ""
    elif words:
        to = words.pop(0)
    else:
        raise BadUsage("say: to whom?", hint='write `dibs say AGENT "TEXT"`')
    text = " ".join(words) if words not in ([], ["-"]) else _from_stdin(asked=bool(words))
    return to, text.encode("utf-8", "backslashreplace").decode()


def _from_stdin(*, asked: bool) -> str:
    import sys

    if sys.stdin.isatty() and not asked:
        raise BadUsage("say: what?", hint='write `dibs say AGENT "TEXT"`, or - for standard input')
    raw = sys.stdin.buffer.read(_MOST) if hasattr(sys.stdin, "buffer") else sys.stdin.read(_MOST)
    if len(raw) == _MOST:
        raise BadInput(
            f"the message is longer than {_MOST} bytes", code="LIMIT", field="text",
            hint="write it into a file, and say where it is",
        )  # fmt: skip
    text = raw.decode("utf-8", "backslashreplace") if isinstance(raw, bytes) else raw
    return text.removesuffix("\n")


def _print(message: Message) -> None:
    names = [name.removeprefix("@") for name in message.boxes]
    shown = few(names, 5)
    whom = shown if names == [message.to] else f"{printable(message.to)} ({shown})"
    print(f"said {bold(message.id)} to {whom}")
    for name in message.data.get("ended", []):
        print(f"  {yellow('-')} {name} has ended: it reads this only if it comes back")
    for name in message.data.get("full", []):
        whose = name.removeprefix("@")
        print(f"  {yellow('-')} {whose} did not get it: too much in its box is unread")
