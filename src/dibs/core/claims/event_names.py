"""The names of events: what WebSocket clients call the kinds of ledger entries.

Pure. A kind's name is the kind with ``:`` in place of its first ``_``, except for the few below.
"""

from __future__ import annotations

from dibs.core.claims.ledger import Kind

#: Names that the crew document has for other words, and one that would be ambiguous.
_OTHERS = {
    Kind.AGENT_JOINED: "agent:spawned",
    Kind.SUB_AGENT_SPAWNED: "agent:spawned",
    "alert_opened": "alert:new",
    Kind.ERROR: "agent:error",
}

#: What the server says about the stream itself; these are not in the ledger and have no number of their own.
INIT, RESYNC, RESUMED, HEARTBEAT = "init", "resync", "resumed", "heartbeat"
BEHIND, CURRENT = "behind", "current"
CONTROL = {
    INIT: "the state at the entry `seq`; the events after that number follow",
    RESYNC: "events are missing, for `reason`; drop what you know, an `init` follows",
    RESUMED: "the events after the number `seq`, which you asked for, follow",
    HEARTBEAT: "nothing more happened up to `seq`; every 15 seconds",
    BEHIND: "the store does not answer, or answers from a copy: events are late",
    CURRENT: "the store answers again",
}


def event_name(kind: str) -> str:
    """Return the name of the event for a ledger entry of this kind."""
    return _OTHERS.get(kind) or kind.replace("_", ":", 1)


def is_event(name: str) -> bool:
    """Return whether some kind has this name, or, without ``:``, whether some name begins with it."""
    names = {*event_table(), *_OTHERS.values()}
    return name in names or name in {known.partition(":")[0] for known in names}


def event_table() -> dict[str, list[str]]:
    """Return every name with the kinds of its entries, in order."""
    table: dict[str, list[str]] = {}
    for kind in Kind:
        table.setdefault(event_name(kind), []).append(kind)
    return dict(sorted(table.items()))
