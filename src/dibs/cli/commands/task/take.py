"""Verbs that begin an attempt at a task: take, start."""

from __future__ import annotations

from dibs.cli.support.parsing import task_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.cli.support.session import Session
    from dibs.services.tasks.values import NothingFree, TakenTask

HELD = 3


def _attempt_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--role", action="append", metavar="ROLE", help="also tasks for this role; repeatable")
    both = parser.add_mutually_exclusive_group()
    both.add_argument(
        "--claim", action="store_true", default=None, help="claim its artefacts too, all or nothing"
    )
    both.add_argument("--no-claim", dest="claim", action="store_false", help="claim the task alone")
    add("--ttl", metavar="SPAN", help="life after your last sign of life (5m)")
    add("--reason", default="", metavar="TEXT", help="others see it")
    add("--request-id", default="", metavar="ID", help="repeat safely")


def _take_options(parser: ArgumentParser) -> None:
    parser.add_argument("--wait", metavar="SPAN", help="wait for up to so long until one is free")
    _attempt_options(parser)


def _take(session: Session, args: Namespace) -> int:
    """Take the next task that is free: by priority, then what names you, then the oldest.

    Prints where its file lies and what it says. If you die, the task comes back.
    """
    from dibs.local.signals import leaving_on_end
    from dibs.services.tasks.values import TakenTask

    wait = session.project.config.wait if args.wait is None else args.wait
    with leaving_on_end():
        answer = session.project.tasks.take(
            session.caller,
            roles=tuple(args.role or ()),
            claim=args.claim,
            ttl=args.ttl,
            wait=wait,
            reason=args.reason,
            request_id=args.request_id,
        )
    if isinstance(answer, TakenTask):
        return _show_taken(session, answer)
    from dibs.shapes import tasks

    session.show(lambda: tasks.nothing_free(answer, _next(answer)), lambda: _print_nothing(answer))
    return HELD


def _start_options(parser: ArgumentParser) -> None:
    parser.add_argument("id", type=task_id, metavar="TASK", help="the task")
    _attempt_options(parser)


def _start(session: Session, args: Namespace) -> int:
    """Take this very task, if it is for you, your role or anybody; humans may take any."""
    from dibs.services.tasks.values import TakenTask

    answer = session.project.tasks.start(
        session.caller,
        args.id,
        roles=tuple(args.role or ()),
        claim=args.claim,
        ttl=args.ttl,
        reason=args.reason,
        request_id=args.request_id,
    )
    if isinstance(answer, TakenTask):
        return _show_taken(session, answer)
    from dibs.cli.support.outcomes import show_outcome
    from dibs.shapes import claims

    denied = answer
    session.show(
        lambda: claims.outcome(denied, human=session.caller.human),
        lambda: show_outcome(denied, session.now(), session.caller),
    )
    return HELD


def _show_taken(session: Session, taken: TakenTask) -> int:
    from dibs.shapes import tasks

    session.show(lambda: tasks.taken(taken), lambda: _print_taken(session, taken))
    return 0


def _print_taken(session: Session, taken: TakenTask) -> None:
    from dibs.cli.commands.task.board import file_of
    from dibs.cli.support.text import dim, green, printable, span
    from dibs.services.tasks.values import QUEUE

    stored, granted = taken.stored, taken.granted
    left = span(granted.expires[0] - session.now())
    again = f", attempt {stored.attempt}" if stored.attempt > 1 else ""
    token = f"token {granted.token}, " if session.tokens else ""
    print(f"{green('took')} {printable(stored.id)} ({token}expires in {left}{again})")
    if stored.place != QUEUE:
        print(f"  {dim(printable(file_of(session, stored)))}")
    for claim in granted.claims[1:]:
        print(f"  {dim('with')} {printable(claim.pattern)}")
    for line in stored.text.splitlines():
        print(f"  {printable(line)}")


def _next(nothing: NothingFree) -> list[str]:
    from dibs.cli.support.text import span

    held = [task.expires_in for task in nothing.tasks if task.holder]
    held += [task.expires_in for task in nothing.queue if task.holder]
    ends = f"; the first of these ends in {span(min(held, default=0.0))} unless its holder shows up again"
    waits = [f"wait for one: dibs task take --wait 5m{ends if held else ''}"]
    return [*waits, "see what each waits for: dibs task ls"] if nothing.tasks else waits


def _print_nothing(nothing: NothingFree) -> None:
    from dibs.cli.commands.task.list import print_tasks
    from dibs.cli.support.text import dim, red

    waited = " when the wait was over" if nothing.waited else ""
    behind = f"; {nothing.ahead} wait before you" if nothing.ahead else ""
    print(f"{red('nothing is free')}{waited}{behind}")
    print_tasks(nothing.tasks, nothing.queue)
    for step in _next(nothing):
        print(f"  {dim('-')} {step}")


VERBS = {"take": (_take_options, _take), "start": (_start_options, _start)}
