"""Values that the task services take and return."""

from __future__ import annotations

from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from dibs.core.claims.rules import Granted
    from dibs.services.state.tasks import Past, Stored
    from dibs.services.tasks.lock_queue.view import QueuedFile
    from dibs.taskfile.reading import TaskFileReading

#: The place of a task in the lock-file queue, which has no file on the board.
QUEUE = "queue"


class Draft(Record):
    """A task to be created: the fields of its file by name."""

    fields: Mapping[str, Any]
    #: The id; if empty, it is made from the time, the agent, and the title.
    id: str = ""
    slug: str = ""


def new_draft(
    title: str,
    *,
    agent: str = "",
    priority: str = "",
    artefacts: Sequence[str] = (),
    needs: Sequence[str] = (),
    notes: Sequence[str] = (),
    mode: str = "",
    slug: str = "",
) -> Draft:
    """Return a new task, with the fields of its file in the documented order, without empty ones."""
    from dibs.core.tasks.rules import check_title
    from dibs.core.text.names import check_agent_id

    context = {"notes": list(notes), "dependencies": list(needs)}
    fields = {
        "agent": check_agent_id(agent) if agent else "", "title": check_title(title), "mode": mode,
        "priority": priority, "artefacts": list(artefacts),
        "context": {key: value for key, value in context.items() if value},
    }  # fmt: skip
    return Draft(fields={key: value for key, value in fields.items() if value}, slug=slug)


def token_metrics(read: int | None, written: int | None) -> dict[str, object] | None:
    """Return how many tokens a model read and wrote for a task, if either is known."""
    if read is None and written is None:
        return None
    counts = {"input": read or 0, "output": written or 0, "total": (read or 0) + (written or 0)}
    return {"token_count": counts}


class SimilarTask(Record):
    """An active task that is similar to a new one."""

    #: The ids of the new task and of the other one.
    id: str
    other: str
    title: str
    #: The share of words that both have, 0 to 1; 0 if only paths overlap.
    share: float = 0.0
    #: Paths that both name.
    paths: tuple[str, ...] = ()


class Created(Record):
    """The tasks that were created, and which tasks they are similar to."""

    tasks: tuple[Stored, ...]
    similar: tuple[SimilarTask, ...] = ()


class TaskView(Record):
    """A task as a reader sees it."""

    stored: Stored
    #: Its status, but ``blocked`` while it waits for other tasks.
    state: str
    #: Why it cannot be taken: what it waits for, or the reason given when it was blocked.
    why: tuple[str, ...] = ()
    #: The agent that holds it, empty if nobody does, and the seconds until its claim expires.
    holder: str = ""
    expires_in: float = 0.0
    #: Whether it can be taken now.
    ready: bool = False
    #: The tasks that depend on it directly.
    dependents: tuple[str, ...] = ()
    #: Set for an archived task; then ``stored`` has no text.
    past: Past | None = None


class TakenTask(Record):
    """The result for a caller that got a task."""

    stored: Stored
    granted: Granted


class NothingFree(Record):
    """The result if no task can be taken: some of the tasks, and why not."""

    tasks: tuple[TaskView, ...]
    #: The same for the lock-file queue.
    queue: tuple[QueuedFile, ...] = ()
    #: How many callers have been waiting longer.
    ahead: int = 0
    #: Whether the caller waited.
    waited: bool = False


class Trouble(Record):
    """A problem with a task that a human must solve."""

    id: str
    code: str
    message: str


class Stuck(Record):
    """A task that takes too long, and what was done about it: ``warned``, ``released``, or ``error``."""

    stored: Stored
    #: When it was assigned or started.
    since: float
    action: str


class EditedFile(Record):
    """A task file that someone created, changed, or moved by hand."""

    id: str
    place: str
    file: str
    reading: TaskFileReading
    #: The version and the life that the file was written from; 0 for an unknown file.
    base: int = 0
    life: str = ""
    #: The row's version when the file was compared with it: 0 without a row, negative if not compared.
    seen: int = -1
    #: The digest of the file as it is on disk.
    digest: str = ""
    #: Who did it: the author of the commit, or the person at this machine; empty if unknown.
    by: str = ""
    #: Whether that is in a commit.
    committed: bool = False
    #: Whether a read accepted the file before without completing it.
    lags: bool = False


class HandEditVerdict(Record):
    """The verdict on a hand edit: accepted (``stored``), or refused (``code``) and why.

    If neither is set, the row changed after the comparison, which must be repeated.
    """

    id: str
    place: str
    stored: Stored | None
    code: str = ""
    message: str = ""
    line: int = 0
    field: str = ""
    hint: str = ""
    #: The follow-up that was created because the task is now done.
    follower: str = ""
