"""List the tasks of the board and of the lock-file queue, and the history of one task."""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.tasks.rules import FINISHED
from dibs.services.board.validate import refused
from dibs.services.state.ledger import Query
from dibs.services.tasks.lock_queue.view import DONE
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.agents import Caller
    from dibs.core.claims.ledger import Entry
    from dibs.services.board.board import Board
    from dibs.services.board.tasks import Tasks
    from dibs.services.board.validate import FileFinding
    from dibs.services.state.ledger import Ledger
    from dibs.services.tasks.lock_queue.view import QueuedFile
    from dibs.services.tasks.values import TaskView

#: How many ledger entries the history of a task has, the newest.
_ENTRIES = 20


class TaskFilter(Record):
    """Which tasks a listing contains; by default, all that are unfinished."""

    #: Include finished tasks.
    all: bool = False
    #: Only tasks in this state, of this agent or role, or of this priority.
    status: str | None = None
    whose: str | None = None
    priority: str | None = None
    #: Only tasks that can be taken now; only tasks that are blocked or waiting.
    ready: bool = False
    blocked: bool = False
    #: How many finished tasks to include, the newest.
    recent: int = 0

    @property
    def narrow(self) -> bool:
        """Whether only tasks on the board can match."""
        return bool(self.status or self.whose or self.priority or self.ready or self.blocked)

    def wants(self, task: TaskView) -> bool:
        """Return whether a task on the board matches."""
        said = task.stored.task
        return (
            (self.all or self.status in FINISHED or said.status not in FINISHED)
            and self.status in {None, task.state, said.status}
            and self.whose in {None, said.agent, task.holder}
            and self.priority in {None, said.priority}
            and (task.ready or not self.ready)
            and (task.state == "blocked" or not self.blocked)
        )


class TaskListing(Record):
    """The tasks that match, and what else there is to know about the board."""

    tasks: tuple[TaskView, ...]
    queue: tuple[QueuedFile, ...]
    #: How many tasks are done.
    done: int
    #: Files that cannot be accepted.
    aside: tuple[FileFinding, ...]
    #: Why the lock-file queue is shown in an older state; empty if it is current.
    stale: str
    #: Whether there is no task at all.
    empty: bool


def listing(tasks: Tasks, board: Board, caller: Caller, wanted: TaskFilter) -> TaskListing:
    """Return the tasks that match, in the order in which they would be taken."""
    with board.command(caller, reads=True) as report:
        everything = tasks.all(caller, finished=True)
        aside = refused(report.aside, board.path)
    rows = tasks.queued()
    newest = _newest(everything, wanted.recent)
    done = sum(task.state == DONE for task in everything) + sum(file.state == DONE for file in rows)
    return TaskListing(
        tuple(task for task in everything if wanted.wants(task) or task.stored.id in newest),
        tuple(file for file in rows if not wanted.narrow and (wanted.all or file.state != DONE)),
        done,
        tuple(aside),
        tasks.stale,
        not everything and not rows,
    )


def _newest(tasks: list[TaskView], count: int) -> set[str]:
    """Return the ids of the tasks that finished last."""
    if not count:
        return set()
    over = [task.stored for task in tasks if task.stored.task.status in FINISHED]
    over.sort(key=lambda stored: (stored.task.completed, stored.version), reverse=True)
    return {stored.id for stored in over[:count]}


def history(ledger: Ledger, id_: str) -> list[Entry]:
    """Return the newest ledger entries about a task."""
    kinds = frozenset(kind for kind in Kind if kind.startswith(("task_", "handoff_")))
    entries = ledger.newest(Query(kinds=kinds), limit=100_000)
    mine = [e for e in entries if id_ in {e.details.get("task"), e.details.get("source")}]
    return mine[-_ENTRIES:]
