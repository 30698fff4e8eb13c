"""What a handler of events is, and what every handler receives.

A handler acts on ledger entries, at least once for each. It may return a function that writes its result.
That function runs in the transaction that records the entries as handled, so a result is written once.
"""

from __future__ import annotations

import os

from dibs.startup.quickjson import dumps
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.core.claims.ledger import Entry
    from dibs.services.state.rows import Rows

    #: Writes a result in the transaction that records its events as handled.
    Finish = Callable[[Rows], None]

#: Where a handler comes from.
BUILT_IN, IN_FILE = "built in", "dibs.toml"
#: The key in an entry's details that marks the work of a handler, which no handler receives.
MARK = "handler"
_LONGEST_VALUE = 4_000


class HandlerFailed(Exception):
    """A handler failed; the text says how, and ``output`` has the last lines it printed."""

    def __init__(self, how: str, output: Sequence[str] = ()) -> None:
        super().__init__(how)
        self.output = tuple(output)


class HandlerStopped(Exception):
    """The server stops; the event is handled by its next run or by another server."""


class Handler(Record):
    """One handler of a project."""

    #: Unique in its project, and stable, because its row has this name.
    name: str
    kinds: frozenset[str]
    #: Called with one entry, or with all that wait.
    act: Callable[[Sequence[Entry]], Finish | None]
    #: How long one call may take, in seconds, and how often it is repeated after a failure.
    timeout: float
    retries: int = 2
    #: Whether a call takes all waiting entries.
    all_at_once: bool = False
    source: str = BUILT_IN
    #: What it runs, for people.
    runs: str = ""
    #: Why it may not run; empty if it may.
    parked: str = ""

    def wants(self, entry: Entry) -> bool:
        """Return whether it handles an entry; none handles what a handler wrote."""
        return entry.kind in self.kinds and MARK not in entry.details


def idempotency_key(handler: str, entry: Entry) -> str:
    """Return the text that stays the same when an event is handled again."""
    return f"{handler}:{entry.seq}"


def event_text(handler: str, entry: Entry) -> bytes:
    """Return an event as JSON, as handlers outside this process receive it."""
    text = dumps({**entry._asdict(), "key": idempotency_key(handler, entry)})
    return text.encode("utf-8", "surrogatepass") + b"\n"


def event_variables(handler: str, entry: Entry) -> dict[str, str]:
    """Return an event as environment variables."""
    facts = {
        "KEY": idempotency_key(handler, entry), "SEQ": entry.seq, "AT": entry.at, "KIND": entry.kind,
        "AGENT": entry.agent, "ROLE": entry.role, "SUMMARY": entry.summary,
    }  # fmt: skip
    facts |= {
        name.upper(): entry.details[name]
        for name in ("commit", "ref", "task", "code")
        if isinstance(entry.details.get(name), str)
    }
    return {f"DIBS_EVENT_{name}": _safe(str(value)) for name, value in facts.items()}


def surroundings(extra: dict[str, str]) -> dict[str, str]:
    """Return this process's variables, without those that point git elsewhere or name an agent."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") and name != "DIBS_AGENT"
    }
    return {**kept, **extra}


def _safe(value: str) -> str:
    """Return a text that fits into a variable; it is data from agents."""
    text = value.replace("\0", "")[:_LONGEST_VALUE]
    return text.encode("utf-8", "replace").decode("utf-8", "replace")
