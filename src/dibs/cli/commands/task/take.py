"""Verbs that begin an attempt at a task: take, start."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from dibs.cli.support.session import Session
    from dibs.services.tasks.values import NothingFree, TakenTask

HELD = 3


def _attempt_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--role", action="append", metavar="ROLE", help="also match tasks for this role; repeatable"
    )
    add("--claim", action="store_true", help="also claim its artefacts, all or nothing")
    add("--ttl", metavar="SPAN", help="expire this long after the last heartbeat (default: 5m)")
    add("--reason", default="", metavar="TEXT", help="shown to other agents")
    add(
        "--request-id",
        default="",
        metavar="ID",
        help="make a retry safe (repeat it with the same ID)",
    )


def _take_options(parser: ArgumentParser) -> None:
    parser.add_argument("--wait", metavar="SPAN", help="wait at most SPAN for a task")
    _attempt_options(parser)


def _take(session: Session, args: Namespace) -> int:
    """Take the next available task: highest priority, then tasks for you, then the oldest.

    Prints the task and the path of its file. If your process dies, the task becomes available again.
    """
    from dibs.local.signals import leaving_on_end
    from dibs.services.tasks.values import TakenTask

    with leaving_on_end():
        answer = session.project.tasks.take(
            session.caller,
            roles=tuple(args.role or ()),
            claim=args.claim,
            ttl=args.ttl,
            wait=args.wait or 0.0,
            reason=args.reason,
            request_id=args.request_id,
        )
    if isinstance(answer, TakenTask):
        return _show_taken(session, answer)
    from dibs.shapes import tasks

    steps = tasks.take_steps(answer, args.role or ())
    session.show(lambda: tasks.nothing_free(answer, steps), lambda: _print_nothing(answer, steps))
    return HELD


def _start_options(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="TASK", help="task id")
    _attempt_options(parser)


def _start(session: Session, args: Namespace) -> int:
    """Take a specific task that is for you, your role, or anyone. Humans can take any task."""
    from dibs.services.tasks.values import TakenTask

    tasks = session.project.tasks
    answer = tasks.start(
        session.caller,
        tasks.checked_id(args.id),
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

    denied, human = answer, session.caller.human
    steps = claims.task_steps(denied, args.id, human=human)
    session.show(
        lambda: claims.outcome(denied, human=human, steps=steps),
        lambda: show_outcome(denied, session.now(), session.caller, steps=steps),
    )
    return HELD


def _show_taken(session: Session, taken: TakenTask) -> int:
    from dibs.shapes import tasks

    session.show(lambda: tasks.taken(taken), lambda: _print_taken(session, taken))
    return 0


def _print_taken(session: Session, taken: TakenTask) -> None:
    from dibs.cli.commands.task.board import claim_facts, file_of
    from dibs.cli.support.text import dim, green, printable
    from dibs.services.tasks.values import QUEUE

    stored, granted = taken.stored, taken.granted
    facts = claim_facts(session, granted.token, granted.expires[0] - session.now())
    again = f", attempt {stored.attempt}" if stored.attempt > 1 else ""
    print(f"{green('took')} {printable(stored.id)} ({facts}{again})")
    if stored.place != QUEUE:
        print(f"  {dim(printable(file_of(session, stored)))}")
    for claim in granted.claims[1:]:
        print(f"  {dim('claimed')} {printable(claim.pattern)}")
    for line in stored.text.splitlines():
        print(f"  {printable(line)}")


def _print_nothing(nothing: NothingFree, steps: Sequence[str]) -> None:
    from dibs.cli.commands.task.list import print_tasks
    from dibs.cli.support.text import dim, red

    waited = " (timed out)" if nothing.waited else ""
    agents = "agent is" if nothing.ahead == 1 else "agents are"
    ahead = f"; {nothing.ahead} {agents} ahead of you" if nothing.ahead else ""
    print(f"{red('no task available')}{waited}{ahead}")
    print_tasks(nothing.tasks, nothing.queue)
    for step in steps:
        print(f"  {dim('-')} {step}")


VERBS = {"take": (_take_options, _take), "start": (_start_options, _start)}
