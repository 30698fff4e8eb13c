"""Verbs that end an attempt or decide about a task: done, fail, release, retry, cancel, and so on."""

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
    parser.add_argument("id", nargs="?", metavar="TASK", help="task id (default: the one you hold)")
    parser.add_argument(
        "--token",
        type=number,
        default=0,
        metavar="N",
        help="fail unless your claim has this token",
    )


def _own_task(session: Session, args: Namespace) -> str:
    """Return the named task, else the only one that the caller holds."""
    if args.id is not None:
        return str(args.id)
    held = [one.claim.pattern for one in session.project.overview(session.caller.id).claims]
    ids = [name.removeprefix("task:") for name in held if name.startswith("task:")]
    if len(ids) == 1:
        return ids[0]
    if not ids:
        raise BadUsage(
            f"task {args.verb}: missing TASK; you ({session.caller.id}) hold no task",
            hint="see which tasks are in progress with `dibs task ls`",
        )
    commands = ", ".join(f"`dibs task {args.verb} {id_}`" for id_ in sorted(ids))
    raise BadUsage(
        f"task {args.verb}: missing TASK; you hold {len(ids)} tasks", hint=f"run one of {commands}"
    )


def _done_options(parser: ArgumentParser) -> None:
    _names_attempt(parser)
    add = parser.add_argument
    add("--summary", "--note", default="", metavar="TEXT", help="what was done")
    add(
        "--artefact",
        "--artifact",
        action="append",
        metavar="PATH",
        help="file you created or changed",
    )
    add("--next", default="", metavar="AGENT", help="hand off to this agent or role")
    add("--next-title", default="", metavar="TEXT", help="title of the follow-up task")
    add("--next-artefact", action="append", metavar="PATH", help="file for the follow-up task")
    add("--next-note", action="append", metavar="TEXT", help="note for the follow-up task")
    add("--tokens-in", type=number, metavar="N", help="tokens that your model read")
    add("--tokens-out", type=number, metavar="N", help="tokens that your model wrote")
    add(
        "--request-id",
        default="",
        metavar="ID",
        help="make a retry safe (repeat it with the same ID)",
    )


def _done(session: Session, args: Namespace) -> int:
    """Finish a task that you hold. Its file moves to work/done with your result.

    --next creates a follow-up task for that agent or role, which need not exist yet.
    """
    from dibs.cli.commands.task.board import paths
    from dibs.services.tasks.values import token_metrics

    said = {
        "summary": args.summary,
        "artefacts": paths(session, args.artefact),
        "handoff": _handoff(session, args),
        "metrics": token_metrics(args.tokens_in, args.tokens_out),
    }

    tasks = session.project.tasks
    stored = tasks.done(
        session.caller,
        _own_task(session, args),
        token=args.token,
        request_id=args.request_id,
        **said,
    )
    similar = tasks.alike(stored) if stored.task.handoff is not None else None
    return _ended(session, "done", stored, "done", similar, next_step=_follow_up(stored))


def _follow_up(stored: Stored) -> str:
    """Return the follow-up of a finished task, if it asks for one."""
    task = stored.task
    if task.handoff is None or task.status != Status.DONE:
        return ""
    if not stored.follower:
        return "the follow-up is invalid: see `dibs log`"
    return f"follow-up for {task.handoff.agent}: {stored.follower}"


def _handoff(session: Session, args: Namespace) -> Handoff | None:
    """Return the follow-up task that the options describe, if any."""
    from dibs.cli.commands.task.board import paths
    from dibs.core.tasks.rules import Handoff

    if args.next:
        about, notes = paths(session, args.next_artefact), tuple(args.next_note or ())
        return Handoff(args.next, args.next_title, about, notes)
    if args.next_title or args.next_artefact or args.next_note:
        raise BadUsage(
            "task done: --next-title, --next-artefact, and --next-note need --next",
            hint="add --next AGENT",
        )
    return None


def _fail_options(parser: ArgumentParser) -> None:
    _names_attempt(parser)
    add = parser.add_argument
    add("--message", required=True, metavar="TEXT", help="what went wrong")
    add("--trace", default="", metavar="TEXT", help="details, such as a stack trace")


def _fail(session: Session, args: Namespace) -> int:
    """Mark a task as failed. It stays in `error` until `dibs task retry`."""
    stored = session.project.tasks.fail(
        session.caller,
        _own_task(session, args),
        message=args.message,
        token=args.token,
        trace=args.trace,
    )
    return _ended(session, "failed", stored, "failed")


def _release(session: Session, args: Namespace) -> int:
    """Release a task so that another agent can take it. This does not count as a failure."""
    id_ = _own_task(session, args)
    stored = session.project.tasks.release(session.caller, id_, token=args.token)
    return _ended(session, "released", stored, "released")


def _decision(verb: str, word: str, about: str) -> Action:
    """Return the action of a verb that decides about a task without working on it."""

    def act(session: Session, args: Namespace) -> int:
        to = getattr(args, "to", None)
        more = {} if to is None else {"to": "" if to == "any" else to}
        tasks = session.project.tasks
        stored = getattr(tasks, verb)(session.caller, args.id, reason=args.reason, **more)
        similar = tasks.alike(stored) if verb == "reassign" else None
        return _ended(session, verb, stored, word.format(to=to), similar)

    act.__doc__ = about
    return act


def _reason_options(parser: ArgumentParser) -> None:
    parser.add_argument("id", type=task_id, metavar="TASK", help="task id")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why; recorded")


def _must_say_why(parser: ArgumentParser) -> None:
    parser.add_argument("id", type=task_id, metavar="TASK", help="task id")
    parser.add_argument("--reason", required=True, metavar="TEXT", help="why; recorded")


def _reassign_options(parser: ArgumentParser) -> None:
    _reason_options(parser)
    parser.add_argument("--to", required=True, metavar="AGENT", help="an agent, a role, or `any`")


def _ended(
    session: Session,
    key: str,
    stored: Stored,
    word: str,
    similar: list[SimilarTask] | None = None,
    *,
    next_step: str = "",
) -> int:
    from dibs.cli.commands.task.board import print_moved

    shape = taskshapes.moved(key, stored, similar)

    def text() -> None:
        print_moved(session, word, stored, similar)
        if next_step:
            print(f"  {next_step}")

    session.show(lambda: shape, text)
    return 0


VERBS = {
    "done": (_done_options, _done),
    "fail": (_fail_options, _fail),
    "release": (_names_attempt, _release),
    "retry": (
        _reason_options,
        _decision(
            "retry",
            "available again:",
            "Make a failed task available again. The error stays in the ledger.",
        ),
    ),
    "reopen": (
        _reason_options,
        _decision(
            "reopen",
            "reopened",
            "Reopen a task that is done, cancelled, or blocked.",
        ),
    ),
    "cancel": (
        _must_say_why,
        _decision(
            "cancel",
            "cancelled",
            "Cancel a task. Its file moves to work/done with the reason.",
        ),
    ),
    "block": (
        _must_say_why,
        _decision(
            "block",
            "blocked",
            "Block a task until `dibs task reopen`. Nobody can take it until then.",
        ),
    ),
    "reassign": (
        _reassign_options,
        _decision(
            "reassign",
            "reassigned to {to}:",
            "Assign a task to another agent or role, or to anyone (`any`).",
        ),
    ),
}
