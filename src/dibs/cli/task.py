"""Take the next free task of the queue, finish it, give it back, list tasks.

Examples:
  dibs task take --wait 5m
  dibs task done fix-header-lint
  dibs task add tasks/fix-header-lint.yml

A task is a YAML file, named after the task; its claim is task:NAME. With the git
engine on a branch that shell agents use, the queue is tasks/pending there.

exit status: 0 done; take: 3 nothing is free, 6 the queue is empty;
done, release: 4 you lost it before, 6 you do not hold it
"""

from __future__ import annotations

from dibs.cli.parsing import common, number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Sequence

    from dibs.cli.session import Session
    from dibs.services.queue import Busy, Taken
    from dibs.services.shelf import Task

HELD = 3


def configure(parser: ArgumentParser) -> None:
    """Add the verbs of ``dibs task``; each has the common options."""
    verbs = parser.add_subparsers(metavar="VERB", required=True, dest="verb")

    def add(name: str, action: Callable[[Session, Namespace], int]) -> ArgumentParser:
        summary = (action.__doc__ or "").strip()
        verb = verbs.add_parser(name, help=summary.split(".")[0].lower(), description=summary)
        verb.set_defaults(act=action)
        return verb

    take = add("take", _take)
    take.add_argument("--wait", metavar="SPAN", help="wait for up to so long until one is free")
    take.add_argument("--ttl", metavar="SPAN", help="life after your last sign of life (5m)")
    take.add_argument("--reason", default="", metavar="TEXT", help="others see it")
    done = add("done", _done)
    done.add_argument("id", metavar="ID", help="the name of the task")
    done.add_argument("--note", default="", metavar="TEXT", help="how it went, for the ledger")
    release = add("release", _release)
    release.add_argument("id", metavar="ID", help="the name of the task")
    for verb in (done, release):
        verb.add_argument(
            "--token", type=number, default=0, metavar="N", help="refuse another token"
        )
    for verb in (take, done):
        verb.add_argument("--request-id", default="", metavar="ID", help="repeat safely")
    add("ls", _list).add_argument("--all", action="store_true", help="also those that are done")
    files = add("add", _add)
    files.add_argument("file", nargs="+", metavar="FILE", help="a YAML file, named after its task")
    for verb in verbs.choices.values():
        common(verb)


def run(args: Namespace) -> int:
    """Run one of the verbs."""
    from dibs.cli.session import Session

    with Session(args) as session:
        status: int = args.act(session, args)
    return status


def _take(session: Session, args: Namespace) -> int:
    """Take the next free task. Prints what its file says."""
    from dibs.cli.signals import leaving_on_end
    from dibs.services.queue import Taken

    with leaving_on_end():
        answer = session.project.queue.take(
            session.caller,
            ttl=args.ttl,
            wait=session.project.config.wait if args.wait is None else args.wait,
            reason=args.reason,
            request_id=args.request_id,
        )
    if isinstance(answer, Taken):
        session.show(lambda: _taken_shape(answer), lambda: _print_taken(answer))
        return 0
    session.show(lambda: _busy_shape(answer), lambda: _print_busy(answer))
    return HELD


def _taken_shape(taken: Taken) -> object:
    from dibs.services import shapes

    return {
        **shapes.outcome(taken.granted),
        "task": {**shapes.task(taken.task), "text": taken.text},
    }


def _print_taken(taken: Taken) -> None:
    from dibs.cli.text import green, printable, span

    task, token = taken.task, taken.granted.token
    left = span(task.expires_in)
    print(f"{green('took')} {printable(task.name)} (token {token}, {left} left)")
    for line in taken.text.splitlines():
        print(f"  {printable(line)}")


def _busy_shape(busy: Busy) -> object:
    from dibs.services import shapes

    why = "timeout" if busy.waited else "held"
    tasks = [shapes.task(task) for task in busy.tasks]
    return {
        "outcome": "denied",
        "why": why,
        "tasks": tasks,
        "ahead": busy.ahead,
        "next": _next(busy),
    }


def _next(busy: Busy) -> list[str]:
    from dibs.cli.text import span

    soonest = min((task.expires_in for task in busy.tasks if task.holder), default=0.0)
    ends = f"; the first of these ends in {span(soonest)} unless its holder shows up again"
    return [f"wait for one: dibs task take --wait 5m{ends if soonest else ''}"]


def _print_busy(busy: Busy) -> None:
    from dibs.cli.text import dim, red

    waited = " when the wait was over" if busy.waited else ""
    behind = f"; {busy.ahead} wait before you" if busy.ahead else ""
    print(f"{red('nothing is free')}{waited}{behind}")
    _print_table(busy.tasks)
    for step in _next(busy):
        print(f"  {dim('-')} {step}")


def _done(session: Session, args: Namespace) -> int:
    """Finish a task that you hold. Its file moves to those that are done."""
    from dibs.services import shapes

    task = session.project.queue.done(
        session.caller, args.id, token=args.token, note=args.note, request_id=args.request_id
    )
    session.show(lambda: {"done": shapes.task(task)}, lambda: _print_line("done", task.name))
    return 0


def _release(session: Session, args: Namespace) -> int:
    """Give a task back. The next caller can take it."""
    from dibs.services import shapes

    released = session.project.queue.release(session.caller, args.id, token=args.token)
    shape = {"released": shapes.claims(released)}
    session.show(lambda: shape, lambda: _print_line("released", args.id))
    return 0


def _list(session: Session, args: Namespace) -> int:
    """List the tasks to be done. Shows who holds which, and until when."""
    from dibs.services import shapes
    from dibs.services.shelf import DONE

    tasks = session.project.queue.all()
    count = sum(task.state == DONE for task in tasks)
    shown = [task for task in tasks if args.all or task.state != DONE]
    shape = {"tasks": [shapes.task(task) for task in shown], "done": count}
    session.show(lambda: shape, lambda: _print_list(shown, count))
    return 0


def _print_list(tasks: list[Task], done: int) -> None:
    if tasks:
        _print_table(tasks)
    ended = f"; {done} done" if done else ""
    open_ = sum(task.state != "done" for task in tasks)
    print(f"{open_ or 'no'} task{'' if open_ == 1 else 's'} to do{ended}")


def _print_table(tasks: Sequence[Task]) -> None:
    from dibs.cli.tables import table
    from dibs.cli.text import printable, span

    rows = [
        (
            printable(task.name),
            task.state,
            task.holder,
            span(task.expires_in) if task.holder else "",
            printable(task.reason),
        )
        for task in tasks
    ]
    if rows:
        print("\n".join(table(("TASK", "STATE", "AGENT", "LEFT", "WHY"), rows)))


def _add(session: Session, args: Namespace) -> int:
    """Put files into the queue. Each becomes a task of its name."""
    from dibs.services import shapes

    added = session.project.queue.add(session.caller, _read(args.file))
    shape = {"added": [shapes.task(task) for task in added]}
    session.show(lambda: shape, lambda: _print_added(added))
    return 0


def _print_added(tasks: list[Task]) -> None:
    for task in tasks:
        _print_line("added", task.name)


def _read(paths: list[str]) -> dict[str, bytes]:
    """Return the files by their names, no more of each than says that it is too long."""
    import os

    from dibs.core.names import quote
    from dibs.errors import BadInput
    from dibs.services.queue import MAX_FILE

    files: dict[str, bytes] = {}
    for path in paths:
        name = os.path.basename(path)
        if name in files:
            raise BadInput(f"two files are named {quote(name)}", code="TASK_EXISTS", field="file")
        try:
            with open(path, "rb") as file:
                files[name] = file.read(MAX_FILE + 1)
        except OSError as error:
            message = f"{quote(path)} cannot be read: {error.strerror}"
            raise BadInput(message, code="TASK_FILE", field="file") from None
    return files


def _print_line(word: str, name: str) -> None:
    from dibs.cli.text import green, printable

    print(f"{green(word)} {printable(name)}")
