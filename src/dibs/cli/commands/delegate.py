"""Delegate work: create a task for another agent or role and notify it.

If similar work is active, Dibs shows a warning and sends yours; with --strict, it sends nothing.

Examples:
  dibs delegate tester "Cover the login with tests" --path 'tests/login/**'
  dibs delegate ada "Fix the parser" --context "see docs/grammar.md" --strict
  dibs delegate --cancel 2026-01-02T0304-ada-fix-the-parser

exit status: 0 sent or cancelled; 3 with --strict: similar work is active, nothing was sent;
6 no such agent, role, or task
"""

from __future__ import annotations

from dibs.cli.support import HELD, OK
from dibs.cli.support.text import bold, yellow
from dibs.errors import BadUsage
from dibs.shapes import delegation
from dibs.shapes.quoting import Quoting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.cli.support.session import Session
    from dibs.core.tasks.similarity import Similarity
    from dibs.services.board.delegation import Delegated, Repeated


def configure(parser: ArgumentParser) -> None:
    """Add the options of ``dibs delegate``."""
    add = parser.add_argument
    add("to", nargs="?", default="", metavar="TO", help="an agent or a role")
    add("title", nargs="?", default="", metavar="TITLE", help="what to do, on one line")
    add("--context", default="", metavar="TEXT", help="background for the agent")
    add("--path", action="append", metavar="PATTERN", help="file or glob to work on")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--strict", action="store_true", help="send nothing if similar work is active")
    way.add_argument("--anyway", action="store_true", help="send it in any case (the default)")
    add("--cancel", default="", metavar="TASK", help="cancel delegated work that has not started")
    add("--reason", default="", metavar="TEXT", help="why you cancel it")
    add(
        "--request-id",
        default="",
        metavar="ID",
        help="make a retry safe (repeat it with the same ID)",
    )


def run(args: Namespace) -> int:
    """Delegate work, or cancel it, and print the outcome."""
    from dibs.cli.support.session import Session

    if bool(args.cancel) == bool(args.to) or bool(args.to) != bool(args.title):
        raise BadUsage(
            "delegate: give an agent or role and a title, or --cancel TASK",
            hint="dibs delegate --help",
        )
    with Session(args) as session:
        return _cancel(session, args) if args.cancel else _send(session, args)


def _send(session: Session, args: Namespace) -> int:
    from dibs.cli.commands.task.board import paths
    from dibs.services.board.delegation import Repeated

    artefacts = paths(session, args.path)
    answer = session.project.delegation.delegate(
        session.caller,
        args.to,
        args.title,
        context=args.context,
        artefacts=artefacts,
        strict=args.strict,
        request_id=args.request_id,
    )
    session.show(lambda: delegation.answer(answer), lambda: _print(session, answer, "sent"))
    return HELD if isinstance(answer, Repeated) else OK


def _cancel(session: Session, args: Namespace) -> int:
    answer = session.project.delegation.cancel(session.caller, args.cancel, reason=args.reason)
    session.show(lambda: delegation.cancelled(answer), lambda: _print(session, answer, "cancelled"))
    return OK


def _print(session: Session, answer: Delegated | Repeated, word: str) -> None:
    from dibs.cli.commands.task.board import print_moved
    from dibs.services.board.delegation import Repeated

    quoted = Quoting(session.caller, map(str, answer.alike))
    for line in quoted.page(f"{yellow('similar')} {_similarity(a, quoted)}" for a in answer.alike):
        print(line)
    if isinstance(answer, Repeated):
        print("not sent: similar work is active; omit --strict to send it")
        return
    print_moved(session, word, answer.stored)
    for name in answer.to:
        late = " (stopped; sees it when it returns)" if name in answer.ended else ""
        print(f"notified {bold(name.removeprefix('@'))}{late}")
    if answer.alike:
        print(f"if it is the same work, cancel yours: {delegation.cancel_command(answer)}")


def _similarity(alike: Similarity, quoted: Quoting) -> str:
    whose = alike.agent or "board"
    parts = [f"{alike.share:.0%} word overlap"] if alike.share else []
    if alike.paths:
        both = ", ".join(quoted.path(path, whose) for path in alike.paths)
        parts.append(f"same paths: {both}")
    what = f"{quoted.word(alike.agent, 'board')} is working on"
    if alike.id:
        by = f" ({quoted.word(alike.agent, 'board') if alike.agent else 'unassigned'})"
        what = f"{quoted.path(alike.id, 'board')}{by}"
    author = "board" if alike.id else whose  # a task's title is seldom its agent's own text
    return f"{what} {quoted.said(alike.title, author)}: {'; '.join(parts)}"
