"""Verbs that end an attempt at a task, or decide about one: done, fail, release, retry, cancel and so on."""

from __future__ import annotations

from dibs.cli.support.parsing import number, task_id
from dibs.core.tasks.rules import Status
from dibs.errors import BadUsage
from dibs.shapes import tasks as taskshapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

    from dibs.cli.support.session import Session
    from dibs.core.tasks.rules import Handoff
    from dibs.services.state.tasks import Stored
    from dibs.services.tasks.values import SimilarTask

    Action = Callable[[Session, Namespace], int]


def _names_attempt(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="TASK", help="the task")
    parser.add_argument("--token", type=number, default=0, metavar="N", help="refuse another token")


def _done_options(parser: ArgumentParser) -> None:
    _names_attempt(parser)
    add = parser.add_argument
    add("--summary", "--note", default="", metavar="TEXT", help="what was done")
    add(
        "--artefact", "--artifact", action="append", metavar="PATH", help="what you made or changed"
    )
    add("--review", action="store_true", help="somebody else shall look at it before it is done")
    add("--next", default="", metavar="AGENT", help="who goes on: an agent or a role")
    add("--next-title", default="", metavar="TEXT", help="what that one shall do")
    add("--next-artefact", action="append", metavar="PATH", help="what that work is about")
    add("--next-note", action="append", metavar="TEXT", help="what that one should know")
    add("--tokens-in", type=number, metavar="N", help="how many tokens your model read")
    add("--tokens-out", type=number, metavar="N", help="how many tokens your model wrote")
    add("--request-id", default="", metavar="ID", help="repeat safely")


def _done(session: Session, args: Namespace) -> int:
    """Finish a task that you hold. Its file moves to work/done, with your result.

    With --next a task for the next agent follows. One in review is finished by another
    agent than its doer, or by a human.
    """
    from dibs.cli.commands.task.board import paths

    said = {
        "summary": args.summary,
        "artefacts": paths(session, args.artefact),
        "handoff": _handoff(session, args),
        "metrics": _metrics(args),
        "review": args.review,
    }

    tasks = session.project.tasks
    stored = tasks.done(
        session.caller, args.id, token=args.token, request_id=args.request_id, **said
    )
    similar = tasks.alike(stored) if stored.task.handoff is not None else None
    word = "to be reviewed:" if stored.task.status == Status.IN_REVIEW else "done"
    return _ended(session, "done", stored, word, similar)


def _handoff(session: Session, args: Namespace) -> Handoff | None:
    """Return the task that shall follow, if one was named."""
    from dibs.cli.commands.task.board import paths
    from dibs.core.tasks.rules import Handoff

    if args.next:
        about, notes = paths(session, args.next_artefact), tuple(args.next_note or ())
        return Handoff(args.next, args.next_title, about, notes)
    if args.next_title or args.next_artefact or args.next_note:
        raise BadUsage("task done: say who goes on", hint="--next AGENT")
    return None


def _metrics(args: Namespace) -> dict[str, object] | None:
    read, written = args.tokens_in, args.tokens_out
    if read is None and written is None:
        return None
    counts = {"input": read or 0, "output": written or 0, "total": (read or 0) + (written or 0)}
    return {"token_count": counts}


def _fail_options(parser: ArgumentParser) -> None:
    _names_attempt(parser)
    add = parser.add_argument
    add("--message", required=True, metavar="TEXT", help="what went wrong")
    add("--trace", default="", metavar="TEXT", help="more, for whoever mends it")


def _fail(session: Session, args: Namespace) -> int:
    """Say that a task went wrong. It waits for `dibs task retry` by somebody who mended the cause."""
    stored = session.project.tasks.fail(
        session.caller, args.id, message=args.message, token=args.token, trace=args.trace
    )
    return _ended(session, "failed", stored, "failed")


def _release(session: Session, args: Namespace) -> int:
    """Give a task back. The next caller can take it."""
    stored = session.project.tasks.release(session.caller, args.id, token=args.token)
    return _ended(session, "released", stored, "released")


def _decision(verb: str, told: str, about: str) -> Action:
    """Return the action of a verb that decides about a task without doing it."""

    def act(session: Session, args: Namespace) -> int:
        to = getattr(args, "to", None)
        more = {} if to is None else {"to": "" if to == "any" else to}
        tasks = session.project.tasks
        stored = getattr(tasks, verb)(session.caller, args.id, reason=args.reason, **more)
        similar = tasks.alike(stored) if verb == "reassign" else None
        return _ended(session, verb, stored, told.format(to=to), similar)

    act.__doc__ = about
    return act


def _reason_options(parser: ArgumentParser) -> None:
    parser.add_argument("id", type=task_id, metavar="TASK", help="the task")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why; it is kept")


def _must_say_why(parser: ArgumentParser) -> None:
    parser.add_argument("id", type=task_id, metavar="TASK", help="the task")
    parser.add_argument("--reason", required=True, metavar="TEXT", help="why; it is kept")


def _reassign_options(parser: ArgumentParser) -> None:
    _reason_options(parser)
    parser.add_argument("--to", required=True, metavar="AGENT", help="an agent, a role, or `any`")


def _ended(
    session: Session, key: str, stored: Stored, word: str, similar: list[SimilarTask] | None = None
) -> int:
    from dibs.cli.commands.task.board import print_moved

    shape = taskshapes.moved(key, stored, similar)
    session.show(lambda: shape, lambda: print_moved(session, word, stored, similar))
    return 0


VERBS = {
    "done": (_done_options, _done),
    "fail": (_fail_options, _fail),
    "release": (_names_attempt, _release),
    "retry": (
        _reason_options,
        _decision(
            "retry",
            "will be tried again",
            "Let a task that failed be tried again. What went wrong stays in the ledger.",
        ),
    ),
    "reopen": (
        _reason_options,
        _decision(
            "reopen",
            "reopened",
            "Let a task that was done, cancelled, blocked or in review be worked on again.",
        ),
    ),
    "cancel": (
        _must_say_why,
        _decision(
            "cancel", "cancelled", "Take a task off the board. Its file is kept, with the reason."
        ),
    ),
    "block": (
        _must_say_why,
        _decision(
            "block", "blocked", "Keep a task from being taken. `dibs task reopen` lets it go on."
        ),
    ),
    "reassign": (
        _reassign_options,
        _decision(
            "reassign",
            "reassigned to {to}",
            "Give a task to another agent or role, or to whoever comes (`any`).",
        ),
    ),
}
