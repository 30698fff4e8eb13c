"""What a task is: its fields, its states, and the table of transitions.

Pure. A task is a YAML file on the board; a ``Task`` is its content in one spelling. The folder of a file
follows from its state, so the two cannot contradict each other.
"""

from __future__ import annotations

from dibs.core.text.names import AGENT_ID_CHARACTERS, quote
from dibs.errors import BadInput
from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Sequence


class Status(metaclass=TextEnum):
    """The state of a task, as written in its file."""

    NEW = "new"
    ASSIGNED = "assigned"
    IN_PROGRESS = "in_progress"
    BLOCKED = "blocked"
    DONE = "done"
    ERROR = "error"
    CANCELLED = "cancelled"
    ARCHIVE = "archive"


#: Most urgent first; the index is the rank.
PRIORITIES = ("critical", "high", "medium", "normal", "low")

#: Folders of the board.
INBOX, ASSIGNED, DONE, ARCHIVE = "inbox", "assigned", "done", "archive"

#: Statuses after which nobody works on a task.
FINISHED = frozenset({Status.DONE, Status.CANCELLED, Status.ARCHIVE})
#: Statuses from which a task can be taken.
OPEN = frozenset({Status.NEW, Status.ASSIGNED})

#: An id is a file name without its ending, valid on every file system and in every URL.
ID_MAX = 128
_RESERVED = frozenset(
    {"con", "prn", "aux", "nul", *(f"{n}{i}" for n in ("com", "lpt") for i in range(1, 10))}
)


class Handoff(Record):
    """The follow-up of a finished task."""

    agent: str
    title: str = ""
    artefacts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Task(Record):
    """The content of a task file. Times are seconds since 1970, 0 if unset."""

    id: str
    status: str = Status.NEW
    #: The assigned agent or role; empty if anyone may do it.
    agent: str = ""
    title: str = ""
    priority: str = "normal"
    mode: str = ""
    #: Paths and globs to work on, relative to the repository.
    artefacts: tuple[str, ...] = ()
    #: Ids of tasks that must be done first.
    dependencies: tuple[str, ...] = ()
    created: float = 0.0
    assigned: float = 0.0
    started: float = 0.0
    completed: float = 0.0
    created_by: str = ""
    #: The result, empty until there is one.
    summary: str = ""
    made: tuple[str, ...] = ()
    handoff: Handoff | None = None
    #: What went wrong, empty unless it failed; and how often it was retried.
    error: str = ""
    retries: int = 0
    #: Why it is blocked or cancelled.
    reason: str = ""


class Transition(Record):
    """One allowed transition."""

    verb: str
    source: str
    target: str


_WITH_HOLDER = (Status.IN_PROGRESS,)
_STARTABLE = (Status.NEW, Status.ASSIGNED)
_BACK = (Status.NEW, Status.ASSIGNED)


def _steps(verb: str, sources: Sequence[str], targets: Sequence[str]) -> list[Transition]:
    return [Transition(verb, source, target) for source in sources for target in targets]


#: Every transition; the diagram in the docs is generated from this.
TRANSITIONS: tuple[Transition, ...] = tuple(
    _steps("assign", (Status.NEW,), (Status.ASSIGNED,))
    + _steps("take", _STARTABLE, (Status.IN_PROGRESS,))
    + _steps("done", (Status.IN_PROGRESS,), (Status.DONE,))
    + _steps("fail", (Status.IN_PROGRESS, Status.ASSIGNED), (Status.ERROR,))
    + _steps("release", _WITH_HOLDER, _BACK)
    + _steps("lose", _WITH_HOLDER, (*_BACK, Status.ERROR))
    + _steps("retry", (Status.ERROR,), _BACK)
    + _steps("reopen", (Status.DONE, Status.CANCELLED, Status.BLOCKED), _BACK)
    + _steps("block", (*_STARTABLE, Status.IN_PROGRESS), (Status.BLOCKED,))
    + _steps("reassign", (*_STARTABLE, Status.IN_PROGRESS), _BACK)
    + _steps("reassign", (Status.BLOCKED,), (Status.BLOCKED,))
    + _steps("cancel", (*_STARTABLE, Status.IN_PROGRESS), (Status.CANCELLED,))
    + _steps("cancel", (Status.BLOCKED, Status.ERROR), (Status.CANCELLED,))
    + _steps("archive", (Status.DONE, Status.CANCELLED), (Status.ARCHIVE,))
)

_ALLOWED = frozenset(TRANSITIONS)


def check_step(task: Task, verb: str, target: str) -> None:
    """Refuse a transition that is not in the table, and name the allowed ones (``TASK_TRANSITION``)."""
    if Transition(verb, task.status, target) in _ALLOWED:
        return
    message = f"task {quote(task.id)} is {task.status}; `{verb}` is not possible"
    raise BadInput(message, code="TASK_TRANSITION", field="status", hint=_ways_on(task))


#: Transitions that are not a command of their own.
_NOT_COMMANDS = frozenset({"assign", "lose", "archive"})


def _ways_on(task: Task) -> str:
    """Return the commands that apply to a task now."""
    verbs = dict.fromkeys(step.verb for step in TRANSITIONS if step.source == task.status)
    names = ["start" if v == "take" else v for v in verbs if v not in _NOT_COMMANDS]
    if not names:
        return "it is archived"
    more = f" (also possible: {', '.join(names[1:])})" if len(names) > 1 else ""
    return f"dibs task {names[0]} {task.id}{more}"


def next_statuses(status: str) -> list[str]:
    """Return the statuses reachable in one step, in the order of the table."""
    return list(dict.fromkeys(step.target for step in TRANSITIONS if step.source == status))


def eligible(task: Task, caller: str, roles: Container[str]) -> bool:
    """Return whether a caller may take a task: it is for anyone, for the caller, or for one of its roles."""
    return not task.agent or task.agent == caller or task.agent in roles


def urgency(priority: str) -> int:
    """Return the rank of a priority, 0 for the most urgent; an unknown one counts as normal."""
    return PRIORITIES.index(priority if priority in PRIORITIES else "normal")


def folder_of(status: str, agent: str, month: str = "") -> str:
    """Return the folder of a task with this status, relative to the board's folder."""
    if status in {Status.DONE, Status.CANCELLED}:
        return DONE
    if status == Status.ARCHIVE:
        return f"{ARCHIVE}/{month}"
    return f"{ASSIGNED}/{agent}" if agent and status != Status.NEW else INBOX


def check_title(text: str) -> str:
    """Return ``text`` if it is a valid title for a new task, else raise ``TASK_FIELD``."""
    if not text.strip() or "\n" in text:
        raise BadInput("the title must be one non-empty line", code="TASK_FIELD", field="title")
    return text


def check_task_id(text: object) -> str:
    """Return ``text`` if it is a valid task id, and thus file name, else raise ``TASK_NAME``."""
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
        f"{quote(text)} is not a valid task id",
        code="TASK_NAME",
        field="id",
        hint=f"use at most {ID_MAX} letters, digits, and the characters . _ -; begin with a letter or digit",
    )
