"""Verbs that decide about a task without doing it: retry, reopen, cancel, block, reassign."""

from __future__ import annotations

from dibs.cli.support.parsing import task_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.cli.support.session import Session
    from dibs.services.state.tasks import Stored


def _names_task(parser: ArgumentParser) -> None:
    parser.add_argument("id", type=task_id, metavar="TASK", help="the task")


def _with_reason(parser: ArgumentParser) -> None:
    _names_task(parser)
    parser.add_argument("--reason", default="", metavar="TEXT", help="why; it is kept")


def _must_say_why(parser: ArgumentParser) -> None:
    _names_task(parser)
    parser.add_argument("--reason", required=True, metavar="TEXT", help="why; it is kept")


def _reassign_options(parser: ArgumentParser) -> None:
    _with_reason(parser)
    parser.add_argument("--to", required=True, metavar="AGENT", help="an agent, a role, or `any`")


def _retry(session: Session, args: Namespace) -> int:
    """Let a task that failed be tried again. What went wrong stays in the ledger."""
    return _moved(session, args, "retry", "will be tried again")


def _reopen(session: Session, args: Namespace) -> int:
    """Let a task that was done, cancelled, blocked or in review be worked on again."""
    return _moved(session, args, "reopen", "reopened")


def _cancel(session: Session, args: Namespace) -> int:
    """Take a task off the board. Its file is kept, with the reason."""
    return _moved(session, args, "cancel", "cancelled")


def _block(session: Session, args: Namespace) -> int:
    """Keep a task from being taken. `dibs task reopen` lets it go on."""
    return _moved(session, args, "block", "blocked")


def _reassign(session: Session, args: Namespace) -> int:
    """Give a task to another agent or role, or to whoever comes (`any`)."""
    to = "" if args.to == "any" else args.to
    return _moved(session, args, "reassign", f"reassigned to {args.to}", to=to)


def _moved(session: Session, args: Namespace, verb: str, told: str, **more: str) -> int:
    """Do what the verb says to one task, and show how it stands then."""
    from dibs.cli.commands.task.board import print_moved
    from dibs.shapes import tasks

    act = getattr(session.project.tasks, verb)
    stored: Stored = act(session.caller, args.id, reason=args.reason, **more)
    similar = session.project.tasks.alike(stored) if verb == "reassign" else None
    shape = tasks.moved(verb, stored, similar)
    session.show(lambda: shape, lambda: print_moved(session, told, stored, similar))
    return 0


VERBS = {
    "retry": (_with_reason, _retry),
    "reopen": (_with_reason, _reopen),
    "cancel": (_must_say_why, _cancel),
    "block": (_must_say_why, _block),
    "reassign": (_reassign_options, _reassign),
}
