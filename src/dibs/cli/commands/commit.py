"""Commit exactly the files that you hold and have changed.

Other changes in the tree, staged or not, stay as they are. Your claims are checked in the moment in
which the branch moves. PATH narrows it to some of your files, a folder or a glob.

Examples:
  dibs commit -m "fix login"
  dibs commit -m "fix login" -m "The token was too old." src/auth.py --release
  dibs commit -F message.txt --dry-run

exit status: 0 committed, 3 refused (a path is not yours to commit, or a hook said no),
4 you lost a claim, 6 nothing is changed
"""

from __future__ import annotations

import sys

from dibs.cli.support.text import bold, dim, green, printable, red, span, yellow
from dibs.core.text.names import shown
from dibs.errors import BadUsage
from dibs.shapes.commits import commit_answer
from dibs.shapes.quoting import Quoting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.cli.support.session import Session
    from dibs.core.claims.agents import Caller
    from dibs.services.commits.values import CommitDenied, CommitRequest, Committed, File

REFUSED = 3
_MAX = 1024 * 1024


def configure(parser: ArgumentParser) -> None:
    """Add the options of ``dibs commit``."""
    parser.add_argument("pattern", nargs="*", metavar="PATH", help="only these; a folder or a glob")
    parser.add_argument(
        "-m",
        "--message",
        action="append",
        default=[],
        metavar="MSG",
        help="what it does; again: a paragraph",
    )
    parser.add_argument(
        "-F", "--file", default="", metavar="FILE", help="read the message; - is stdin"
    )
    parser.add_argument("--release", action="store_true", help="give back what is committed")
    parser.add_argument(
        "--no-verify", action="store_true", help="leave out pre-commit and commit-msg hooks"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be committed")
    parser.add_argument("--task", default="", metavar="TASK", help="the task that it belongs to")
    parser.add_argument("--literal", action="store_true", help="no character is special")
    parser.add_argument("--request-id", default="", metavar="ID", help="repeat safely")


def run(args: Namespace) -> int:
    """Commit, print the answer, and return its exit status."""
    from dibs.cli.support.session import Session
    from dibs.services.commits.values import Committed

    message = "" if args.dry_run and not (args.message or args.file) else _message(args)
    with Session(args) as session:
        wish = _wish(session, args, message)
        answer = session.project.commits.commit(session.caller, wish, trial=args.dry_run)
        _show(session, answer)
    return 0 if isinstance(answer, Committed) else REFUSED


def _message(args: Namespace) -> str:
    if bool(args.message) == bool(args.file):
        raise BadUsage(
            "commit: give a message, with -m or with -F", hint="see `dibs commit --help`"
        )
    if args.message:
        from dibs.core.changes.trailers import paragraphs

        return paragraphs(args.message)
    if args.file == "-":
        content = sys.stdin.buffer.read(_MAX + 1)
    else:
        with open(args.file, "rb") as file:
            content = file.read(_MAX + 1)
    return content.decode("utf-8", "surrogateescape")


def _wish(session: Session, args: Namespace, message: str) -> CommitRequest:
    """Return what was typed."""
    from dibs.services.commits.scope import names_and_patterns
    from dibs.services.commits.values import CommitRequest

    names, texts = names_and_patterns(session.project.place.repository, args.pattern)
    return CommitRequest(
        message,
        tuple(session.patterns(texts, literal=args.literal)),
        tuple(names),
        release=args.release,
        verify=not args.no_verify,
        request_id=args.request_id,
        task=args.task,
    )


def _show(session: Session, answer: Committed | CommitDenied) -> None:
    def shape() -> object:
        return commit_answer(answer)

    def text() -> None:
        from dibs.services.commits.values import Committed

        if isinstance(answer, Committed):
            _print_committed(answer, session.caller)
        else:
            _print_refused(answer, session.caller)

    session.show(shape, text)


def _print_committed(answer: Committed, reader: Caller) -> None:
    branch = "a detached HEAD" if answer.ref == "HEAD" else printable(answer.branch)
    word = f"{green('committed')} {bold(answer.commit[:10])}," if answer.commit else "would commit"
    again = " (as before)" if answer.repeated else ""
    print(f"{word} {_files(len(answer.files))} to {branch}{again}")
    for file in answer.files:
        print(f"  {file.what or 'file':<8} {printable(shown(file.path))}")
    for claim in answer.released:
        print(f"released {printable(claim.pattern)}")
    if answer.unchanged:
        print(f"{dim('unchanged')}: {', '.join(map(printable, answer.unchanged))}")
    _print_left(answer, reader)
    if answer.late:
        print(yellow("a claim of yours ran out while the branch moved: look at the commit"))
    if answer.commit and not answer.seq and not answer.repeated:
        print("the ledger could not be told yet; the next command of Dibs does it", file=sys.stderr)


def _print_left(answer: Committed, reader: Caller) -> None:
    """Say what else is changed: that is how a new file is missed before it is lost."""
    if answer.nobody:
        print(yellow("changed nearby, and nobody's (claim them to commit them):"))
        for file in answer.nobody:
            print(f"  {_what(file):<15} {printable(shown(file.path))}")
    if answer.elsewhere:
        print(dim(f"{_files(answer.elsewhere)} elsewhere changed, and nobody's: `dibs changes`"))
    if answer.others:
        quoted = Quoting(reader, map(str, answer.others))
        lines = [
            f"  {quoted.path(shown(item.path), item.holder)}: {item.holder} holds"
            f" {quoted.path(item.pattern, item.holder)}"
            for item in answer.others
        ]
        print("\n".join(quoted.page(lines, ["changed, and left to their holders:"])))


def _files(count: int) -> str:
    return f"{count} file" if count == 1 else f"{count} files"


def _what(file: File) -> str:
    return "never committed" if file.what == "new" else file.what


def _print_refused(answer: CommitDenied, reader: Caller) -> None:
    if answer.hook:
        print(f"{red('refused')}: the {answer.hook} hook said no; nothing was committed")
        print(f"  {dim('-')} its words are above; --no-verify leaves out pre-commit and commit-msg")
        return

    quoted = Quoting(reader, map(str, answer.blocked))
    lines = []
    for item in answer.blocked:
        who = ""
        if item.holder and item.pattern:
            left = (
                f", gone in {span(item.expires_in)} unless it shows up again"
                if item.why == "held"
                else ""
            )
            who = f" ({item.holder} has {quoted.path(item.pattern, item.holder)}{left})"
        lines.append(f"  {printable(shown(item.path))} is {item.why}{who}")
        if item.hint:
            lines.append(f"    {dim('-')} {printable(item.hint)}")
    print("\n".join(quoted.page(lines, [f"{red('refused')}: nothing was committed"])))
