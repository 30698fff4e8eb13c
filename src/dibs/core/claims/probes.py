"""Recognize the ledger entries of ``dibs doctor --prove``: its test agents, acting on its test files.

The ledger is append-only, so these entries stay. Briefings, logs, and pages skip them. An entry is skipped
only if it concerns nothing but test files, so no agent can hide work by taking the name of a test agent.
"""

from __future__ import annotations

from dibs.core.claims.ledger import Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.ledger import Entry
    from dibs.core.claims.rules import Claim

#: Prefixes of a test agent's name, its session, and its test file. Hexadecimal digits follow.
PROBE_AGENT, PROBE_SESSION, PROBE_FILE = "prove-", "prove", ".dibs-prove-"
AGENT_DIGITS, SESSION_DIGITS = 8, 3
_HEX = frozenset("0123456789abcdef")
#: A test agent joins, reports its hook, and leaves.
_PRESENCE = frozenset({Kind.AGENT_JOINED, Kind.AGENT_GUARDED, Kind.AGENT_EXITED})
#: The other entries of a test agent all name files.
_ABOUT_FILES = frozenset({
    Kind.LOCK_ACQUIRED, Kind.LOCK_RELEASED, Kind.LOCK_RENEWED, Kind.LOCK_EXPIRED, Kind.LOCK_DENIED,
    Kind.WRITE_REFUSED, Kind.COMMIT_REFUSED, Kind.FOREIGN_WRITE,
})  # fmt: skip
_FILE_KEYS = ("paths", "path", "patterns", "pattern")


def is_probe_agent(name: str) -> bool:
    """Return whether this names a test agent: ``prove-0123abcd[-git|-mcp]``, or ``claude-prove0ab``."""
    if name.startswith(PROBE_AGENT):
        mark = name.removeprefix(PROBE_AGENT).partition("-")[0]
        return len(mark) == AGENT_DIGITS and _HEX.issuperset(mark)
    before, _, session = name.rpartition("-")
    mark = session.removeprefix(PROBE_SESSION)
    return (
        bool(before) and mark != session and len(mark) == SESSION_DIGITS and _HEX.issuperset(mark)
    )


def is_probe_claim(claim: Claim) -> bool:
    """Return whether a test agent holds a test file, which is nobody's work."""
    return is_probe_agent(claim.agent) and claim.pattern.startswith(PROBE_FILE)


def is_probe_entry(entry: Entry) -> bool:
    """Return whether a test agent caused this entry and it concerns nothing but test files."""
    if not is_probe_agent(entry.agent):
        return False
    if entry.kind in _PRESENCE:
        return True
    found = next((entry.details[key] for key in _FILE_KEYS if entry.details.get(key)), ())
    files = [found] if isinstance(found, str) else found
    if entry.kind not in _ABOUT_FILES or not isinstance(files, list) or not files:
        return False
    return all(str(file).startswith(PROBE_FILE) for file in files)
