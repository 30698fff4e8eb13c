"""Send a message to an agent, a role, a group, everyone, or the humans.

TO is an agent, a group, a role, all, or human. If a name fits several, write agent:NAME, group:NAME,
or role:NAME. `--to TO` names it as an option. Without TEXT, or with -, the text is read from standard input.

Examples:
  dibs say alice "the login tests fail on main"
  dibs say reviewer "please look at branch fix-42"
  dibs say all "main is frozen until noon"
  dibs say --reply m41 "done"

The message goes to the recipient's inbox and its next briefing. Secrets are masked.

exit status: 0 sent, 6 unknown recipient, 65 too long, 69 too many messages (retry later)
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

#: How much of standard input is read; anything longer exceeds the limit for messages.
_MOST = 1 << 17

OPTIONS = (
    arg("first", nargs="?", metavar="TO", help="recipient; omit it with --reply or --to"),
    arg("words", nargs="*", metavar="TEXT", help="the message; - for standard input"),
    arg("--to", default="", metavar="TO", help="recipient"),
    arg("--reply", default="", metavar="ID", help="reply to a message"),
    arg(
        "--request-id",
        default="",
        metavar="ID",
        help="make a retry safe (repeat it with the same ID)",
    ),
)


def run(args: Namespace) -> int:
    """Send a message, and print who gets it."""
    to, text = _parts(args)
    from dibs.cli.support.session import Session

    with Session(args) as session:
        message = session.project.mail.say(
            session.caller, to, text,
            reply_to=args.reply, request_id=args.request_id,
        )  # fmt: skip
        session.show(lambda: mail.message(message), lambda: _print(message))
    return 0


def _parts(args: Namespace) -> tuple[str, str]:
    """Return the recipient and the text, which is read from standard input if missing."""
    words: list[str] = list(args.words) if args.first is None else [args.first, *args.words]
    if args.to and args.reply:
        raise BadUsage(
            "say: --to cannot be combined with --reply", hint="a reply goes to its sender"
        )
    if args.to or args.reply:
        to = args.to
    elif words:
        to = words.pop(0)
    else:
        raise BadUsage("say: no recipient", hint='try `dibs say AGENT "TEXT"`')
    text = " ".join(words) if words not in ([], ["-"]) else _from_stdin(asked=bool(words))
    return to, text.encode("utf-8", "backslashreplace").decode()


def _from_stdin(*, asked: bool) -> str:
    import sys

    if sys.stdin.isatty() and not asked:
        raise BadUsage("say: no text", hint='try `dibs say AGENT "TEXT"`, or - for standard input')
    raw = sys.stdin.buffer.read(_MOST) if hasattr(sys.stdin, "buffer") else sys.stdin.read(_MOST)
    if len(raw) == _MOST:
        raise BadInput(
            f"the message is longer than {_MOST} bytes", code="LIMIT", field="text",
            hint="put it in a file and send the path",
        )  # fmt: skip
    text = raw.decode("utf-8", "backslashreplace") if isinstance(raw, bytes) else raw
    return text.removesuffix("\n")


def _print(message: Message) -> None:
    names = [name.removeprefix("@") for name in message.boxes]
    shown = few(names, 5)
    whom = shown if names == [message.to] else f"{printable(message.to)} ({shown})"
    print(f"sent {bold(message.id)} to {whom}")
    for name in message.data.get("ended", []):
        print(f"  {yellow('-')} {name} has ended and will read this only if it comes back")
    for name in message.data.get("full", []):
        whose = name.removeprefix("@")
        print(f"  {yellow('-')} not sent to {whose}: its inbox is full")
