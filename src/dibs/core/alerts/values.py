"""Alerts as values, and how an id is written."""

from __future__ import annotations

from shlex import join

from dibs.errors import BadInput, NotFound
from dibs.startup.records import Record, TextEnum

#: How many alerts are kept; an open one is never dropped.
RING = 100
#: The longest text of an alert.
LONGEST = 240
#: The most digits of an id.
_DIGITS = 16


class Severity(metaclass=TextEnum):
    """How much an alert matters."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class AlertState(metaclass=TextEnum):
    """The state of an alert."""

    OPEN = "open"
    #: Someone knows about it; it stays until its condition ends.
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"


_RANKS = {Severity.INFO: 0, Severity.WARNING: 1, Severity.CRITICAL: 2}


def rank(severity: str) -> int:
    """Return how severe a severity is, as a number."""
    return _RANKS.get(severity, 0)


class Condition(Record):
    """Something that needs attention, as a rule found it."""

    #: Identifies the condition for as long as it lasts.
    key: str
    kind: str
    severity: str
    #: What it is about: an agent, a path, a task, a decision.
    subject: str
    #: What happened, on one line.
    text: str
    #: A command that helps, ready to be pasted.
    command: str
    #: The agents that it concerns; the first one is the author of texts that are quoted.
    agents: tuple[str, ...] = ()


class Alert(Record):
    """An alert: one for each condition, from its start to its end."""

    #: ``a`` and the number of its ledger entry.
    id: str
    key: str
    kind: str
    severity: str
    subject: str
    text: str
    command: str
    agents: tuple[str, ...]
    at: float
    state: str = AlertState.OPEN
    #: Who acknowledged it and why; empty if nobody did, or if its condition ended.
    by: str = ""
    changed: float = 0.0
    reason: str = ""

    @property
    def is_open(self) -> bool:
        """Whether its condition still holds."""
        return self.state != AlertState.RESOLVED


def command_line(*words: str) -> str:
    """Return a dibs command to paste; a path that looks like an option is written as a path."""
    return join(["dibs", *(f"./{word}" if word.startswith("-") else word for word in words)])


def check_alert_id(text: str) -> str:
    """Return an alert's id; refuse anything else."""
    digits = text[1:]
    if text[:1] == "a" and digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS:
        return f"a{int(digits)}"
    raise BadInput(
        f"{text[:60]!r} is not the id of an alert (such as a41)", code="ALERT", field="id"
    )


def no_alert(id_: str) -> NotFound:
    """Return the error for an unknown alert."""
    return NotFound(f"no alert {id_}", code="NO_ALERT", hint="list them: dibs alerts ls --all")
