"""What a task is: its values, its states, and the one table of moves between them.

Pure. A task is a YAML file on the board; a ``Task`` is what the file says, in one spelling. The folder that a
file lies in follows from its state, so state and place can never tell two stories that both look right.
"""

from __future__ import annotations

from dibs.core.text.names import AGENT_ID_CHARACTERS, quote
from dibs.errors import BadInput
from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Sequence


class Status(metaclass=TextEnum):
    """Where a task is in its life. The value is what stands in the file."""

    NEW = "new"
    ASSIGNED = "assigned"
    IN_PROGRESS = "in_progress"
    BLOCKED = "blocked"
    IN_REVIEW = "in_review"
    DONE = "done"
    ERROR = "error"
    CANCELLED = "cancelled"
    ARCHIVE = "archive"


#: What is urgent comes first; the position is the rank.
PRIORITIES = ("critical", "high", "medium", "normal", "low")

#: Folders of the board.
INBOX, ASSIGNED, DONE, ARCHIVE = "inbox", "assigned", "done", "archive"

#: Statuses that nobody works on any more.
FINISHED = frozenset({Status.DONE, Status.CANCELLED, Status.ARCHIVE})
#: Statuses from which a task can be taken.
OPEN = frozenset({Status.NEW, Status.ASSIGNED})

#: An id is a file's name without its ending, on every file system and in every URL.
ID_MAX = 128
_RESERVED = frozenset(
    {"con", "prn", "aux", "nul", *(f"{n}{i}" for n in ("com", "lpt") for i in range(1, 10))}
)


class Handoff(Record):
    """The task that shall follow a finished one."""

    agent: str
    title: str = ""
    artefacts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Task(Record):
    """What a task's file says. Moments are seconds since 1970, 0 where there is none."""

    id: str
    status: str = Status.NEW
    #: Who shall do it: an agent, or a role that agents have; empty if anybody may.
    agent: str = ""
    title: str = ""
    priority: str = "normal"
    mode: str = ""
    #: Paths and globs that the work is about, relative to the repository.
    artefacts: tuple[str, ...] = ()
    #: Ids of the tasks that must be done before.
    dependencies: tuple[str, ...] = ()
    created: float = 0.0
    assigned: float = 0.0
    started: float = 0.0
    completed: float = 0.0
    created_by: str = ""
    #: What its result says, empty before it has one.
    summary: str = ""
    made: tuple[str, ...] = ()
    handoff: Handoff | None = None
    #: What went wrong, empty unless it failed; and how often it was tried again.
    error: str = ""
    retries: int = 0
    #: Why it is blocked or cancelled.
    reason: str = ""


class Transition(Record):
    """One move that the table allows."""

    verb: str
    source: str
    target: str


_WITH_HOLDER = (Status.IN_PROGRESS,)
_STARTABLE = (Status.NEW, Status.ASSIGNED)
_BACK = (Status.NEW, Status.ASSIGNED)


def _steps(verb: str, sources: Sequence[str], targets: Sequence[str]) -> list[Transition]:
    return [Transition(verb, source, target) for source in sources for target in targets]


#: Every move that there is; the diagram in the docs is drawn from it.
TRANSITIONS: tuple[Transition, ...] = tuple(
    _steps("assign", (Status.NEW,), (Status.ASSIGNED,))
    + _steps("take", _STARTABLE, (Status.IN_PROGRESS,))
    + _steps("done", (Status.IN_PROGRESS, Status.IN_REVIEW), (Status.DONE,))
    + _steps("review", (Status.IN_PROGRESS,), (Status.IN_REVIEW,))
    + _steps("fail", (Status.IN_PROGRESS, Status.ASSIGNED, Status.IN_REVIEW), (Status.ERROR,))
    + _steps("release", _WITH_HOLDER, _BACK)
    + _steps("lose", _WITH_HOLDER, (*_BACK, Status.ERROR))
    + _steps("retry", (Status.ERROR,), _BACK)
    + _steps("reopen", (Status.DONE, Status.CANCELLED, Status.IN_REVIEW, Status.BLOCKED), _BACK)
    + _steps("block", (*_STARTABLE, Status.IN_PROGRESS), (Status.BLOCKED,))
    + _steps("reassign", (*_STARTABLE, Status.IN_PROGRESS), _BACK)
    + _steps("reassign", (Status.BLOCKED,), (Status.BLOCKED,))
    + _steps("cancel", (*_STARTABLE, Status.IN_PROGRESS, Status.IN_REVIEW), (Status.CANCELLED,))
    + _steps("cancel", (Status.BLOCKED, Status.ERROR), (Status.CANCELLED,))
    + _steps("archive", (Status.DONE, Status.CANCELLED), (Status.ARCHIVE,))
)

_ALLOWED = frozenset(TRANSITIONS)


def check_step(task: Task, verb: str, target: str) -> None:
    """Refuse a move that is not in the table, with what is (``TASK_TRANSITION``)."""
    if Transition(verb, task.status, target) in _ALLOWED:
        return
    message = f"task {quote(task.id)} is {task.status}: `{verb}` does not apply"
    raise BadInput(message, code="TASK_TRANSITION", field="status", hint=_ways_on(task.status))


def _ways_on(status: str) -> str:
    verbs = dict.fromkeys(step.verb for step in TRANSITIONS if step.source == status)
    return f"from {status} there is: {', '.join(verbs)}" if verbs else f"{status} is the end"


def next_statuses(status: str) -> list[str]:
    """Return the statuses that one step leads to, in the order of the table."""
    return list(dict.fromkeys(step.target for step in TRANSITIONS if step.source == status))


def eligible(task: Task, caller: str, roles: Container[str]) -> bool:
    """Tell whether a task is for this caller: for anybody, for it, or for a role that it has."""
    return not task.agent or task.agent == caller or task.agent in roles


def urgency(priority: str) -> int:
    """Return the rank of a priority, 0 for the most urgent; an unknown one counts as normal."""
    return PRIORITIES.index(priority if priority in PRIORITIES else "normal")


def folder_of(status: str, agent: str, month: str = "") -> str:
    """Return the folder that a task of this status lies in, below the board's own."""
    if status in {Status.DONE, Status.CANCELLED}:
        return DONE
    if status == Status.ARCHIVE:
        return f"{ARCHIVE}/{month}"
    return f"{ASSIGNED}/{agent}" if agent and status != Status.NEW else INBOX


def check_title(text: str) -> str:
    """Return ``text`` if it can be the title of a task that is made, else raise ``TASK_FIELD``."""
    if not text.strip() or "\n" in text:
        raise BadInput("the title is one line of words", code="TASK_FIELD", field="title")
    return text


def check_task_id(text: object) -> str:
    """Return ``text`` if it can be a task's id and so its file's name, else raise ``TASK_NAME``."""
    if (
        isinstance(text, str)
        and 0 < len(text) <= ID_MAX
        and text[0].isalnum()
        and text[-1] != "."
        and AGENT_ID_CHARACTERS.issuperset(text)
        and text.partition(".")[0].lower() not in _RESERVED
    ):
        return text
    raise BadInput(
        f"{quote(text)} cannot be the id of a task",
        code="TASK_NAME",
        field="id",
        hint=f"use up to {ID_MAX} letters, digits, dots, underscores and hyphens, a letter or digit first",
    )
