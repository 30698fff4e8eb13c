"""Alerts as values, the thresholds of the rules, and how an id is written."""

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
    #: Someone knows about it; it stays until it is resolved.
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
    #: The ledger entry that was seen, for a condition that is an event; 0 for a state.
    seq: int = 0
    #: When the event happened.
    at: float = 0.0


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
    #: Who acknowledged or resolved it last, when, and why; empty if Dibs resolved it.
    by: str = ""
    changed: float = 0.0
    reason: str = ""
    #: For an event: how often it happened, and the number and time of the last occurrence.
    times: int = 1
    seq: int = 0
    last: float = 0.0
    #: Whether its condition still holds; a resolved alert is not opened again while it does.
    holds: bool = True

    @property
    def is_open(self) -> bool:
        """Whether it is not resolved."""
        return self.state != AlertState.RESOLVED


class Thresholds(Record):
    """When rules find a condition; spans are in seconds, shares of a context window in percent."""

    off: tuple[str, ...] = ()
    stuck: float = 600.0
    model_call: float = 1_800.0
    context_warning: int = 85
    context_critical: int = 95
    idle: float = 60.0
    decision: float = 600.0
    convoy_waiters: int = 3
    convoy_wait: float = 600.0
    claim: float = 1_800.0
    edits: float = 1_800.0
    quiet: float = 1_800.0
    task: float = 7_200.0


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
