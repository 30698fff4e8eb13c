"""What the use cases of the board take and give: values only."""

from __future__ import annotations

from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from dibs.core.claims.rules import Granted
    from dibs.services.state.tasks import Past, Stored
    from dibs.services.tasks.plain_queue import QueuedFile
    from dibs.taskfile.reading import TaskFileReading

#: The place of a task of the first document's queue, which has no file on the board.
QUEUE = "queue"


class Draft(Record):
    """A task to be made: the fields of its file by name, or its whole text.

    ``key`` is a name by which the other drafts of one call may depend on it before it has an id.
    """

    fields: Mapping[str, Any] | None = None
    text: str = ""
    #: The id; without one it is made from the moment, the agent and the title.
    id: str = ""
    key: str = ""
    slug: str = ""


class SimilarTask(Record):
    """An active task that a new one looks like."""

    #: The new task's id, and the other's.
    id: str
    other: str
    title: str
    #: Which share of the words both have, 0 to 1; 0 if only paths overlap.
    share: float = 0.0
    #: Paths that both are about.
    paths: tuple[str, ...] = ()


class Created(Record):
    """The tasks that were made, and what they look like."""

    tasks: tuple[Stored, ...]
    similar: tuple[SimilarTask, ...] = ()


class TaskView(Record):
    """A task as a reader sees it."""

    stored: Stored
    #: Its status, but ``blocked`` where it waits for others.
    state: str
    #: Why it cannot be taken: what it waits for, or the words of whoever blocked it.
    why: tuple[str, ...] = ()
    #: Who holds it now, empty if nobody does, and how long without a further sign of life.
    holder: str = ""
    expires_in: float = 0.0
    #: Whether somebody could take it now.
    ready: bool = False
    #: The tasks that wait for it directly.
    dependents: tuple[str, ...] = ()
    #: Set for a task that is archived; then ``stored`` has no text.
    past: Past | None = None


class TakenTask(Record):
    """The answer to a caller that has a task now."""

    stored: Stored
    granted: Granted


class NothingFree(Record):
    """The answer where no task can be taken: what there is, and why not."""

    tasks: tuple[TaskView, ...]
    #: The same for the first document's queue.
    queue: tuple[QueuedFile, ...] = ()
    #: How many callers wait for a task already, and came earlier.
    ahead: int = 0
    #: Whether the caller waited for one.
    waited: bool = False


class Trouble(Record):
    """Something about a task that a human must see to."""

    id: str
    code: str
    message: str


class Stuck(Record):
    """A task that takes too long, and what was done about it: ``warned``, ``released`` or ``error``."""

    stored: Stored
    #: For how long it has been assigned or in progress.
    since: float
    action: str


class HandMade(Record):
    """A file of the board that somebody made, changed or moved by hand."""

    id: str
    place: str
    file: str
    reading: TaskFileReading
    #: The version that the file was written from, 0 for a file that is not known, and the life that has it.
    base: int = 0
    life: str = ""
    #: The version of the row when the file was compared with it, 0 if there was none, below 0 if it was not.
    seen: int = -1


class HandEditVerdict(Record):
    """What became of a hand-made file: accepted (``stored``), or refused (``code``) and why.

    Neither of them: the row has changed since the file was compared with it, and that is to be done again.
    """

    id: str
    place: str
    stored: Stored | None
    code: str = ""
    message: str = ""
    line: int = 0
    field: str = ""
    hint: str = ""
