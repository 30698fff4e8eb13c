"""The verb ``ls``, and the table of tasks."""

from __future__ import annotations

from dibs.cli.support.tables import page_width
from dibs.cli.support.text import bold, printable, span, yellow
from dibs.core.tasks.rules import PRIORITIES, Status
from dibs.shapes import tasks as taskshapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Sequence

    from dibs.cli.support.session import Session
    from dibs.services.board.listing import TaskListing
    from dibs.services.tasks.lock_queue.view import QueuedFile
    from dibs.services.tasks.values import TaskView

#: How many characters of a title a list shows.
_TITLE = 120
#: Terminals with fewer columns get a block per task instead of a table.
NARROW = 60


def _ls_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--all", action="store_true", help="include finished tasks")
    add("--status", choices=tuple(Status), metavar="STATE", help="only tasks in this state")
    add("--for", dest="whose", metavar="AGENT", help="only tasks of this agent or role")
    add("--priority", choices=PRIORITIES, metavar="PRIORITY", help="only tasks of this priority")
    add("--ready", action="store_true", help="only tasks that can be taken now")
    add("--blocked", action="store_true", help="only tasks that are blocked or waiting")


def _list(session: Session, args: Namespace) -> int:
    """List unfinished tasks, in the order in which they would be taken.

    Shows owners, what each task is waiting for, and files that are set aside.
    """
    from dibs.services.board.listing import TaskFilter, listing

    session.lists_aside = True
    project = session.project
    wanted = TaskFilter(
        args.all, args.status, args.whose, args.priority, ready=args.ready, blocked=args.blocked
    )
    found = listing(project.tasks, project.board, session.caller, wanted)
    none = 'no tasks: create one with `dibs task new "TITLE"`'
    if not found.empty:
        none = "no matching tasks (to see all: dibs task ls --all)" if wanted.narrow else ""
    if found.stale:
        print_stale(session)
    session.show(lambda: taskshapes.listing(found), lambda: _print_list(found, none))
    return 0


def print_stale(session: Session) -> None:
    """Say on standard error that the lock-file queue is shown in an older state."""
    import sys

    why = session.project.tasks.stale
    print(f"dibs: tasks are shown as this clone last knew them: {printable(why)}", file=sys.stderr)


def _print_list(found: TaskListing, none: str) -> None:
    """Print the table, the files that are set aside, and a summary; ``none`` explains an empty list."""
    tasks, queue, done = found.tasks, found.queue, found.done
    print_tasks(tasks, queue)
    for file in found.aside:
        print(f"{yellow('set aside')} {printable(str(file))}")
    if none and not tasks and not queue:
        print(none)
        return
    over = {Status.DONE, Status.CANCELLED}
    left = sum(t.state not in over for t in tasks) + sum(t.state not in over for t in queue)
    ended = f"; {done} done" if done else ""
    print(f"{left or 'no'} unfinished task{'' if left == 1 else 's'}{ended}")


def print_tasks(tasks: Iterable[TaskView], queue: Iterable[QueuedFile]) -> None:
    """Print tasks of the board, then of the lock-file queue; never break an id."""
    rows = [*map(_row, tasks), *map(_queue_row, queue)]
    if not rows:
        return
    heads = ("TASK", "STATE", "PRIORITY", "AGENT")
    cells = [heads, *(tuple(map(printable, row[0])) for row in rows)]
    page = max(page_width(), 40)
    if page < NARROW:
        _print_stacked(rows, page)
        return
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    widths[0] = max(min(widths[0], page - sum(widths[1:]) - 2 * len(widths[1:])), len(heads[0]))
    print(bold(_aligned(heads, widths)))
    for (_, below), row in zip(rows, cells[1:], strict=True):
        print(_aligned(row, widths))
        for text in below:
            print("\n".join(_indented(printable(text), page)))


def _print_stacked(rows: Iterable[tuple[tuple[str, ...], list[str]]], page: int) -> None:
    """Print each task as a block, for terminals that are too narrow for columns."""
    for (id_, *facts), below in rows:
        print(bold(printable(id_)))
        for text in (", ".join(filter(None, facts)), *below):
            print("\n".join(_indented(printable(text), page)))


def _aligned(cells: Iterable[str], widths: Sequence[int]) -> str:
    """Return one line of columns; a first cell that is too long gets a line of its own."""
    first, *rest = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    over = len(first) - widths[0]
    lead = f"{first}\n{' ' * widths[0]}" if over > 0 else first
    return "  ".join([lead, *rest]).rstrip()


def _indented(text: str, page: int) -> list[str]:
    from textwrap import wrap

    return wrap(
        text,
        page,
        initial_indent="  ",
        subsequent_indent="    ",
        break_on_hyphens=False,
        break_long_words=False,
    )


def _row(task: TaskView) -> tuple[tuple[str, ...], list[str]]:
    """Return the columns of a task, and the lines to print below them."""
    said = task.stored.task
    state = "ready" if task.ready else task.state
    title = said.title if len(said.title) <= _TITLE else f"{said.title[:_TITLE]}…"
    why = task.why or ((said.error,) if said.error else ())
    who = task.holder or said.agent or "any"
    below = (title, _expiry(task.holder, task.expires_in), *why)
    return (said.id, state, said.priority, who), [text for text in below if text]


def _queue_row(task: QueuedFile) -> tuple[tuple[str, ...], list[str]]:
    from dibs.services.tasks.lock_queue.view import FREE

    state = "ready" if task.state == FREE else task.state
    below = (task.title, _expiry(task.holder, task.expires_in), task.reason, *task.why)
    return (task.name, state, task.priority, task.holder), [text for text in below if text]


def _expiry(holder: str, expires_in: float) -> str:
    return f"claim expires in {span(expires_in)}" if holder else ""


VERBS = {"ls": (_ls_options, _list)}
