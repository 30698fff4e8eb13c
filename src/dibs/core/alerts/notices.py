"""Which ledger entries need a human, and what a notification about one says."""

from __future__ import annotations

from dibs.core.alerts.values import LONGEST, Severity, command_line
from dibs.core.claims.agents import HUMAN, AgentStatus
from dibs.core.claims.ledger import Kind
from dibs.core.text.names import cut, printable
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.ledger import Entry

#: The kind of an entry that says that an agent is not started again; such entries need a supervisor.
RESTART_LIMIT = "agent_restart_limit"
#: The kinds of entries that can need a human.
NOTICED = frozenset({
    Kind.ALERT_OPENED, Kind.ALERT_RAISED, Kind.DECISION_ASKED, Kind.CONFLICT_ESCALATED,
    Kind.AGENT_TERMINATED, Kind.AGENT_EXITED, RESTART_LIMIT,
})  # fmt: skip
_TITLES = {
    Kind.DECISION_ASKED: "a decision is needed",
    Kind.CONFLICT_ESCALATED: "a conflict needs a decision",
    Kind.AGENT_TERMINATED: "an agent was stopped",
    Kind.AGENT_EXITED: "an agent failed",
    RESTART_LIMIT: "an agent is not started again",
}


class Notice(Record):
    """A notification."""

    severity: str
    title: str
    text: str
    #: A command that helps, ready to be pasted.
    command: str


def notice_of(entry: Entry) -> Notice | None:
    """Return the notification about an entry; None if no human is needed.

    Only critical alerts count. What a human did is never reported.
    """
    if entry.kind in {Kind.ALERT_OPENED, Kind.ALERT_RAISED}:
        return _of_alert(entry)
    if entry.role == HUMAN or entry.kind not in _TITLES:
        return None
    if entry.kind == Kind.AGENT_EXITED and entry.details.get("status") != AgentStatus.FAILED:
        return None
    if entry.kind == Kind.DECISION_ASKED and entry.details.get("decider", HUMAN) != HUMAN:
        return None
    asks = entry.kind in {Kind.DECISION_ASKED, Kind.CONFLICT_ESCALATED}
    about = str(entry.details.get("toAgentId") or entry.agent)
    command = (
        command_line("decide", "show", f"d{entry.seq}")
        if asks
        else command_line("agent", "show", about)
    )
    severity = Severity.CRITICAL if entry.kind == RESTART_LIMIT else Severity.WARNING
    return Notice(severity, _TITLES[entry.kind], _line(entry.summary), command)


def _of_alert(entry: Entry) -> Notice | None:
    severity = Severity.CRITICAL
    if entry.details.get("severity") != severity:
        return None
    kind = str(entry.details.get("alert_kind", "alert")).replace("_", " ")
    text = _line(str(entry.details.get("text") or entry.summary))
    return Notice(severity, f"{severity}: {kind}", text, str(entry.details.get("command", "")))


def _line(text: str) -> str:
    return cut(printable(" ".join(text.split())), LONGEST)
